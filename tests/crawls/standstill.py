"""The spider, with a page reader that comes to a standstill, and says when it has."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from lafka.papers import finders
from lafka.papers.crawling import pages as parsing
from lafka.papers.crawling.pages import serve
from lafka.papers.finders import Page, PageVerdict, describe
from lafka.spiders.futli import FutliSpider

BEGUN = "LAFKA_TESTS_BEGUN"
"""Environment: a FIFO that is written to by the child that stands still."""


def stand_still(page: Page) -> PageVerdict:
    if page.url.endswith("/standstill"):
        Path(os.environ[BEGUN]).write_bytes(b"begun")
        threading.Event().wait()
    return describe(page)


__all__ = ["StandingSpider", "serve"]
parsing.MODULE = __name__  # children read with the function above
finders.describe = stand_still


class StandingSpider(FutliSpider):
    pass


del FutliSpider  # Scrapy takes every spider in here
