"""A child that reads texts and dies over a PDF that is none."""

from __future__ import annotations

import os
from typing import Any

from lafka.papers.archive.texts import read_text
from lafka.storage import children


def serve() -> None:
    children.serve({"text": _dying})


def _dying(question: dict[str, Any], data: bytes) -> dict[str, Any]:
    found = read_text(data)
    if found["error"]:
        os._exit(7)
    return found
