"""The spider, whose callback raises at one URL as a bug would have it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from scrapy.http import Response

from lafka.spiders.futli import FutliSpider


class RaisingSpider(FutliSpider):
    async def parse(self, response: Response, **how: Any) -> AsyncIterator[Any]:
        if response.url.endswith("/3.pdf"):
            raise RuntimeError("a bug")
        async for next_ in super().parse(response, **how):
            yield next_


del FutliSpider  # Scrapy takes every spider in here
