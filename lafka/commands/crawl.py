"""``scrapy crawl``, with one sentence and exit code 2 for what cannot be crawled.

It replaces Scrapy's command on purpose (docs/adr/0005-crawl-command.md): everything is Scrapy's,
but a bad argument is told before the crawl begins, and a crawl that the disk stopped exits with 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import crawl

from lafka.command import attempt, check_args
from lafka.errors import BadArgument
from lafka.middlewares import TROUBLE_STAT

if TYPE_CHECKING:
    import argparse

    from scrapy import Spider
    from scrapy.crawler import Crawler


class Command(crawl.Command):
    def __init__(self) -> None:
        super().__init__()
        self._crawlers: list[Crawler] = []

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings is not None
        assert self.crawler_process is not None
        code = attempt("crawl", lambda: self._check(args, opts))
        if code:
            raise SystemExit(code)
        super().run(args, opts)
        if any(_stopped(crawler) for crawler in self._crawlers):
            self.exitcode = 1

    def _check(self, args: list[str], opts: argparse.Namespace) -> None:
        check_args(args, 1)
        assert self.crawler_process is not None
        if not args:
            return  # Scrapy shows its usage
        name = args[0]
        try:
            spider = self.crawler_process.spider_loader.load(name)
        except KeyError:
            known = ", ".join(self.crawler_process.spider_loader.list())
            raise BadArgument(f"no spider is called {name!r}; there is {known}") from None
        if hasattr(spider, "check"):
            spider.check(self.settings, opts.spargs)

    def _create_crawler(self, spidercls: type[Spider] | str) -> Crawler:
        crawler = super()._create_crawler(spidercls)
        self._crawlers.append(crawler)
        return crawler


def _stopped(crawler: Crawler) -> bool:
    assert crawler.stats is not None
    return crawler.stats.get_value(TROUBLE_STAT) is not None
