"""``scrapy crawl``, with one sentence and exit code 2 for what cannot be crawled.

It is Scrapy's own command, but for that (docs/adr/0005-crawl-command.md); a crawl that the disk
stopped or whose list ended early exits with 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import crawl

from lafka.cli import attempt, check_args, refused
from lafka.errors import LafkaError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Awaitable

    from scrapy import Spider
    from scrapy.crawler import Crawler


class Command(crawl.Command):
    def __init__(self) -> None:
        super().__init__()
        self._crawlers: list[Crawler] = []

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        # Here, for later Scrapy has begun its log.
        code = attempt("crawl", lambda: self._check(args, opts))
        if code:
            raise SystemExit(code)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        super().run(args, opts)
        if any(_fell_short(crawler) for crawler in self._crawlers):
            self.exitcode = 1

    def _check(self, args: list[str], opts: argparse.Namespace) -> None:
        from lafka.cli.lists import check_crawl  # noqa: PLC0415

        check_args(args, 1)
        check_crawl(self.settings, args, opts.spargs)

    def _create_crawler(self, spidercls: type[Spider] | str) -> Crawler:
        crawler = super()._create_crawler(spidercls)
        self._crawlers.append(crawler)
        begin = crawler.crawl_async
        crawler.crawl_async = lambda *args, **more: self._ended(begin(*args, **more))  # type: ignore[method-assign]
        return crawler

    async def _ended(self, crawling: Awaitable[None]) -> None:
        try:
            await crawling
        except LafkaError as error:  # the disk may refuse right after the check
            self.exitcode = refused("crawl", error)


def _fell_short(crawler: Crawler) -> bool:
    """Whether the disk stopped the crawl, or its list could not be read to the end."""
    from lafka.storage.stopping import LIST_STAT, TROUBLE_STAT  # noqa: PLC0415

    if crawler.spider is None or crawler.stats is None:
        return False  # it never began
    return any(crawler.stats.get_value(stat) for stat in (TROUBLE_STAT, LIST_STAT))
