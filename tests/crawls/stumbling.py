"""The spider, with pages that its finders cannot read."""

from __future__ import annotations

from lafka import parsing, reading
from lafka.candidates import Candidate
from lafka.finders import Page, PageVerdict, describe, sure
from lafka.parsing import serve
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

reading.sure, reading.describe = stumbling_sure, stumbling_describe


class StumblingSpider(FutliSpider):
    pass


del FutliSpider  # Scrapy takes every spider in here
