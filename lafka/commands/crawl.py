"""``scrapy crawl``, with one sentence and exit code 2 for what cannot be crawled.

It replaces Scrapy's command on purpose (docs/adr/0005-crawl-command.md): everything is Scrapy's,
but a bad argument is told before the crawl begins, and a crawl that the disk stopped or whose list
ended early exits with 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.commands import crawl
from scrapy.spiderloader import get_spider_loader

from lafka.command import attempt, check_args, refused
from lafka.errors import BadArgument, LafkaError

if TYPE_CHECKING:
    import argparse

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
        check_args(args, 1)
        if not args:
            return  # Scrapy shows its usage
        assert self.settings is not None
        loader = get_spider_loader(self.settings)
        try:
            spider = loader.load(args[0])
        except KeyError:
            known = ", ".join(loader.list())
            raise BadArgument(f"no spider is called {args[0]!r}; there is {known}") from None
        if hasattr(spider, "check"):
            spider.check(self.settings, opts.spargs)

    def _create_crawler(self, spidercls: type[Spider] | str) -> Crawler:
        crawler = super()._create_crawler(spidercls)
        self._crawlers.append(crawler)
        begin = crawler.crawl_async

        async def begin_or_tell(*args: Any, **kwargs: Any) -> None:
            try:
                await begin(*args, **kwargs)
            except LafkaError as error:  # the disk may refuse right after the check
                self.exitcode = refused("crawl", error)

        crawler.crawl_async = begin_or_tell  # type: ignore[method-assign]
        return crawler


def _fell_short(crawler: Crawler) -> bool:
    """Whether the disk stopped the crawl, or its list could not be read to the end."""
    from lafka.middlewares import LIST_STAT, TROUBLE_STAT  # noqa: PLC0415

    if crawler.spider is None:
        return False  # it never began
    assert crawler.stats is not None
    return any(crawler.stats.get_value(stat) for stat in (TROUBLE_STAT, LIST_STAT))
