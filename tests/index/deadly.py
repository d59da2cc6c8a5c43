"""A reader of titles that dies over one of the pages, as a parser of foreign bytes may."""

from __future__ import annotations

import os
import signal
from typing import Any

from lafka.index import titles


def serve() -> None:
    as_it_is = titles.said_by_page

    def said_by_page(content_type: str, data: bytes) -> Any:
        if b"deadly" in data:
            os.kill(os.getpid(), signal.SIGSEGV)
        return as_it_is(content_type, data)

    titles.said_by_page = said_by_page
    titles.serve()
