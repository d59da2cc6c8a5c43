"""A crawl that pulls: its gateway, asked in threads, and what happens where that goes away."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from lafka.capture.pulled import GatewayAway, GatewayClient, Pulled
from lafka.errors import Stopped
from lafka.storage.stopping import stop_for
from lafka.storage.threads import Threads

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

GATEWAY_AWAY = "gateway-away"
"""Finish reason of a crawl whose gateway went away."""
_AT_ONCE = 4


class Pulling:
    """What *crawler* pulls from: the gateway at ``base``."""

    def __init__(self, crawler: Crawler, client: GatewayClient) -> None:
        self.base = client.base
        self._crawler = crawler
        self._client = client
        self._threads = Threads("lafka-pulling", _AT_ONCE)

    async def times(self, url: str) -> list[datetime]:
        """As the client's; ``Stopped`` where the gateway is away, and the crawl stops."""
        try:
            return await self._threads.run(self._client.times, url)
        except GatewayAway as error:
            raise self._stop(error) from error

    async def pull(self, url: str, time: datetime) -> Pulled:
        """As the client's; ``Stopped`` where the gateway is away, and the crawl stops."""
        try:
            return await self._threads.run(self._client.pull, url, time)
        except GatewayAway as error:
            raise self._stop(error) from error

    def _stop(self, error: GatewayAway) -> Stopped:
        stop_for(self._crawler, GATEWAY_AWAY, f"The gateway stopped the crawl: {error}")
        return Stopped(str(error))

    def close(self) -> None:
        self._threads.stop()
