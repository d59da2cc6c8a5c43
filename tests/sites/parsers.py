"""A parser's child that some pages stop: by their URL it dies, works or waits
without end, or is filled."""

from __future__ import annotations

import os
import threading

from lafka.papers import finders
from lafka.papers.crawling import pages as parsing
from lafka.papers.finders import Page, PageVerdict, describe
from lafka.storage import children


def troubled(page: Page) -> PageVerdict:
    if page.url.endswith("/die"):
        os._exit(7)
    while page.url.endswith("/work"):
        pass
    if page.url.endswith("/wait"):
        threading.Event().wait()
    if page.url.endswith("/fill"):
        bytearray(2 * children.MEMORY)
    return describe(page)


def serve() -> None:
    finders.describe = troubled
    parsing.serve()
