"""A reader of pages that dies over one of them, as a parser of foreign bytes may."""

from __future__ import annotations

import os
import signal
from typing import Any

from lafka.index import titles
from lafka.storage import children


def serve() -> None:
    children.serve({"title": _read})


def _read(question: dict[str, Any], data: bytes) -> dict[str, Any]:
    if b"deadly" in data:
        os.kill(os.getpid(), signal.SIGSEGV)
    text, source, authors = titles.said_by_page(question["type"], data)
    return {"title": text, "from": source, "authors": authors}
