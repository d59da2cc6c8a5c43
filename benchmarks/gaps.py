"""An extension that tells how long the reactor was kept from its work, into a file."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Self

from scrapy import signals

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_EVERY = 0.02


class Gaps:
    """``BENCHMARK_GAPS``: the file that gets the longest stall, in seconds."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last = 0.0
        self._longest = 0.0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        gaps = cls(Path(crawler.settings["BENCHMARK_GAPS"]))
        crawler.signals.connect(gaps.opened, signal=signals.spider_opened)
        crawler.signals.connect(gaps.closed, signal=signals.spider_closed)
        return gaps

    def opened(self) -> None:
        self._last = monotonic()
        self._again()

    def _again(self) -> None:
        from twisted.internet import reactor  # noqa: PLC0415  it is installed by now

        now = monotonic()
        self._longest = max(self._longest, now - self._last - _EVERY)
        self._last = now
        self._call = reactor.callLater(_EVERY, self._again)

    def closed(self) -> None:
        self._call.cancel()
        self._path.write_text(f"{self._longest:.3f}")
