"""The spider, with pages that its finders cannot read."""

from __future__ import annotations

from lafka.papers import finders
from lafka.papers.candidates import Candidate
from lafka.papers.crawling import pages as parsing
from lafka.papers.crawling.pages import serve
from lafka.papers.finders import Page, PageVerdict, describe, sure
from lafka.spiders.futli import FutliSpider


def stumble(page: Page) -> None:
    if page.url.endswith("-1"):
        raise RecursionError("stumbled")


def stumbling_sure(page: Page) -> tuple[Candidate, ...]:
    stumble(page)
    return sure(page)


def stumbling_describe(page: Page) -> PageVerdict:
    stumble(page)
    return describe(page)


__all__ = ["StumblingSpider", "serve"]
parsing.MODULE = __name__  # children read with the functions below

parsing.sure, finders.describe = stumbling_sure, stumbling_describe


class StumblingSpider(FutliSpider):
    pass


del FutliSpider  # Scrapy takes every spider in here
