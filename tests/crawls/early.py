"""The spider, whose connections 1 and 3 wait, before they are used, until bytes have come."""

from __future__ import annotations

import select
from typing import Any

from scrapy.crawler import Crawler

from lafka.capture.client.connections import Connection
from lafka.spiders.futli import FutliSpider
from tests.waiting import LIMIT

GREETED = (1, 3)
made = Connection.connectionMade


def made_late(self: Connection) -> None:
    if self.place.split()[0] in map(str, GREETED) and not self.route.secure:
        select.select([self.transport.fileno()], [], [], LIMIT)
    made(self)


class EarlySpider(FutliSpider):
    """Changes the connections of its own process: tests import this module too."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> EarlySpider:
        Connection.connectionMade = made_late  # type: ignore[method-assign]
        spider = super().from_crawler(crawler, *args, **kwargs)
        assert isinstance(spider, cls)
        return spider


del FutliSpider  # Scrapy takes every spider in here
