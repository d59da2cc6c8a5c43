"""``lafka parse URL``: what a crawl would find on a page, the candidates for its fut.

The spiders of Lafka work on lists; none of them is begun, and no archive is touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider
from scrapy.commands import parse

from lafka.cli._shared.base import attempt
from lafka.cli._shared.scrapys import of_a_list, ready
from lafka.errors import BadArgument

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import AsyncIterator, Iterator


class CandidateSpider(Spider):
    """Gives the candidates of a page, best first, as ``lafka finders`` does."""

    name = "candidates"

    def parse(self, response: Any) -> Iterator[dict[str, Any]]:
        from lafka.papers.finders import Page, find  # noqa: PLC0415

        kind, links = response.headers.get("Content-Type", b""), response.headers.getlist("Link")
        told = tuple(link.decode("latin-1") for link in links)
        page = Page(response.url, response.body, kind.decode("latin-1"), told)
        for candidate in find(page):
            yield candidate.as_json()


class Command(parse.Command):
    def short_desc(self) -> str:
        return "Fetch a page and show what a crawl would find on it, by Scrapy's parse"

    def process_options(self, args: list[str], opts: Namespace) -> None:
        super().process_options(args, opts)
        ready(self.settings, "parse")

    def set_spidercls(self, url: str, opts: Namespace) -> None:
        if opts.spider not in (None, "futli"):
            super().set_spidercls(url, opts)
            if self.spidercls and attempt("parse", lambda: _refuse(self.spidercls)):
                raise SystemExit(2)
            return

        async def start(spider: Spider) -> AsyncIterator[Any]:
            yield self.prepare_request(spider, Request(url), opts)

        self.spidercls = CandidateSpider
        self.spidercls.start = start  # type: ignore[assignment,method-assign]


def _refuse(spider: type[Spider] | None) -> None:
    if spider and of_a_list(spider):
        raise BadArgument(f"the spider {spider.name} works on a list; leave --spider out")
