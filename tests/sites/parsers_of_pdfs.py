"""A child that looks into futs, and that some titles stop."""

from __future__ import annotations

import os
from typing import Any

from lafka.papers.crawling import pdf_fronts
from lafka.storage import children


def troubled(question: dict[str, Any], data: bytes) -> str:
    title = question["titles"][0]
    if title == "/die":
        os._exit(7)
    while title == "/work":
        pass
    try:
        bytearray(pdf_fronts.MEMORY if title == "/fill" else 0)
    except MemoryError:
        return ""
    return pdf_fronts._answer(question, data)


def serve() -> None:
    children.serve({"fut": troubled}, memory=pdf_fronts.MEMORY)
