"""The spider, with a page that its finders cannot read."""

from __future__ import annotations

from scrapy.http import Response

from lafka.finders import Page
from lafka.spiders.futli import FutliSpider
from lafka.trails import Capture


class StumblingSpider(FutliSpider):
    def page(self, capture: Capture, response: Response) -> Page:
        if capture.url.endswith("-1"):
            raise RecursionError("stumbled")
        return super().page(capture, response)


del FutliSpider  # Scrapy takes every spider in here
