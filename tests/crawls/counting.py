"""An extension that counts what is looked at of answers, decoded, and by which threads."""

from __future__ import annotations

import threading
from typing import Self

from scrapy.crawler import Crawler

from lafka import payloads


class Decoded:
    """Stats: ``decoded``, bytes; ``decoding_threads``."""

    def __init__(self, crawler: Crawler) -> None:
        assert crawler.stats is not None
        feed, stats, threads = payloads._Entity.feed, crawler.stats, set[int]()

        def counted(entity: payloads._Entity, data: bytes) -> None:
            threads.add(threading.get_ident())
            stats.inc_value("decoded", len(data))
            stats.set_value("decoding_threads", len(threads))
            feed(entity, data)

        payloads._Entity.feed = counted  # type: ignore[method-assign]

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)
