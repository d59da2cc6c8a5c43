"""``scrapy crawl``, with one sentence and exit code 2 for what cannot be crawled.

It is Scrapy's own command, but for that (docs/adr/0005-crawl-command.md), for signals and for
the exit codes of ``lafka.runs.exits``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from scrapy.commands import crawl
from scrapy.spiderloader import get_spider_loader

from lafka.cli import attempt, check_args, refused
from lafka.errors import BadArgument, LafkaError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Awaitable, Callable

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from lafka.runs.signals import Shutdown


class Command(crawl.Command):
    _shutdown: Shutdown
    _code: int | None = None

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        from lafka.runs.signals import Shutdown  # noqa: PLC0415  all commands are imported always

        super().process_options(args, opts)
        self._shutdown = Shutdown.of(self.settings)
        self._shutdown.begin()
        # Here, for later Scrapy has begun its log.
        code = attempt("crawl", lambda: self._check(args, opts))
        if code:
            raise SystemExit(code)

    def _check(self, args: list[str], opts: argparse.Namespace) -> None:
        check_args(args, 1)
        if not args or self.settings is None:
            return  # Scrapy shows its usage
        loader = get_spider_loader(self.settings)
        try:
            spider = loader.load(args[0])
        except KeyError:
            there = f"there is {', '.join(loader.list())}"
            raise BadArgument(f"no spider is called {args[0]!r}; {there}") from None
        if hasattr(spider, "check"):
            spider.check(self.settings, opts.spargs)

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
        from lafka.runs.exits import crawled  # noqa: PLC0415

        try:
            self._code = await crawled(crawler, begin, self._shutdown)
        except LafkaError as error:  # the disk may refuse right after the check
            self._code = refused("crawl", error)
