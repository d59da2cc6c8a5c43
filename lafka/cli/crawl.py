"""``lafka crawl``, with one sentence and exit code 2 for what cannot be crawled.

It is Scrapy's own command, but for that (docs/adr/0005-crawl-command.md), for signals and for
the exit codes of ``lafka.runs.exits``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable
from functools import partial

# First, as it makes classes that Scrapy calls deprecated, and for each looks at all frames of the
# stack and all modules there are: that took a tenth of a second where other imports came to it.
import scrapy.core.downloader.contextfactory  # noqa: F401
from scrapy import Spider
from scrapy.commands import crawl
from scrapy.crawler import Crawler

from lafka.cli.base import attempt, check_args, refused
from lafka.cli.lists import check_crawl
from lafka.errors import LafkaError, MachineTrouble
from lafka.papers.crawling.arguments import add_help
from lafka.runs.exits import FELL_SHORT, Shutdown, crawled, settle_log
from lafka.runs.terminals import program
from lafka.storage.limits import (
    RAISES,
    keep_what_stands,
    limits_named,
    live_with_limits,
    look_later,
    look_rarely,
)


class CrawlCommand(crawl.Command):
    _shutdown: Shutdown
    _code: int | None = None
    parser: argparse.ArgumentParser | None = None

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        self.parser = parser
        add_help(parser)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        look_rarely()
        look_later()
        super().process_options(args, opts)
        self._shutdown = Shutdown.of(self.settings)
        try:
            live_with_limits()
            with limits_named("a thread"):
                self._shutdown.begin()
        except MachineTrouble as error:
            limit = RAISES.get(error.error.errno or 0, "that")
            why = f"A limit of this machine stopped the crawl: {error}; raise {limit}."
            print(f"{program()} crawl: {why} The same command goes on afterwards.", file=sys.stderr)
            raise SystemExit(FELL_SHORT) from None
        assert self.settings is not None
        settle_log(self.settings)
        # Here, for later Scrapy has begun its log.
        if code := attempt("crawl", lambda: self._check(args, opts)):
            raise SystemExit(code)

    def _check(self, args: list[str], opts: argparse.Namespace) -> None:
        check_args(args, 1, self.parser)
        check_crawl(self.settings, args, opts.spargs)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        super().run(args, opts)
        if self._code is not None:
            self.exitcode = self._code

    def _create_crawler(self, spidercls: type[Spider] | str) -> Crawler:
        crawler = super()._create_crawler(spidercls)
        begin = crawler.crawl_async
        crawler.crawl_async = lambda *args, **more: self._crawl(  # type: ignore[method-assign]
            crawler, partial(begin, *args, **more)
        )
        return crawler

    async def _crawl(self, crawler: Crawler, begin: Callable[[], Awaitable[None]]) -> None:
        keep_what_stands()  # before what killed runs left is copied
        try:
            self._code = await crawled(crawler, begin, self._shutdown)
        except LafkaError as error:  # the disk may refuse right after the check
            self._code = refused("crawl", error)
