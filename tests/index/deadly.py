"""A reader of pages that dies over one of them, as a parser of foreign bytes may."""

from __future__ import annotations

import os
import signal
from typing import Any

from lafka.index import titles
from lafka.storage import children


def serve() -> None:
    children.serve({"title": _read})


def _read(question: dict[str, Any], data: bytes) -> dict[str, str]:
    if b"deadly" in data:
        os.kill(os.getpid(), signal.SIGSEGV)
    text, source = titles.title_of(question["type"], data)
    return {"title": text, "from": source}
