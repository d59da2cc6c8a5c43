"""``lafka finders URL-or-FILE``: a page's candidates, best first, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from scrapy import Spider, commands

from lafka.cli.base import attempt, check_args, json_line, refused, settle
from lafka.cli.verbs import Described
from lafka.errors import BadArgument, LafkaError, WarcError
from lafka.papers import Archive
from lafka.papers.crawling import labelled as sets
from lafka.papers.finders import Page, describe, look


class PageSpider(Spider):
    """Fetches one page as the settings allow; no archive is touched."""

    name = "page"
    pages: ClassVar[list[Page]] = []

    @classmethod
    def update_settings(cls, settings: Any) -> None:
        settings["DOWNLOADER_MIDDLEWARES"]["lafka.capture.middlewares.RawWarcMiddleware"] = None
        settings["ITEM_PIPELINES"] = {}

    def parse(self, response: Any) -> None:
        kind, links = response.headers.get("Content-Type", b""), response.headers.getlist("Link")
        links = tuple(v.decode("latin-1") for v in links)
        self.pages.append(Page(response.url, response.body, kind.decode("latin-1"), links))


class FindersCommand(Described, commands.ScrapyCommand):
    requires_project = True

    def add_options(self, parser: Any) -> None:
        super().add_options(parser)
        self.settings.set("LOG_LEVEL", "ERROR", priority="cmdline")  # type: ignore[union-attr]
        parser.add_argument("--url", default="", help="where the page in FILE came from")
        parser.add_argument(
            "--explain", action="store_true", help="say first what kind of page it is, and why"
        )
        parser.add_argument(
            "--from-archive", action="store_true", help="of the archive's pages, what links came to"
        )
        parser.add_argument("--by", choices=("host", "platform"), help="... counted by these")
        parser.add_argument("--pages", type=Path, help="... and the pages into this new folder")

    def run(self, args: list[str], opts: Any) -> None:
        if opts.from_archive:
            self.exitcode = attempt("finders", lambda: self._from_archive(args, opts))
            return
        try:
            check_args(args, 1)
            if opts.by or opts.pages:
                raise BadArgument("--by and --pages go with --from-archive")
            settle(self.settings, "finders")
            page = self._page("".join(args), opts.url)
            verdict = describe(page)
            found, kind = look(page, verdict)
            if opts.explain:
                print(json_line({"kind": kind, "end": verdict.kind, "reason": verdict.reason}))
            for candidate in found:
                print(json_line(candidate.as_json()))
        except (LafkaError, WarcError, OSError) as error:
            raise SystemExit(refused("finders", BadArgument(str(error)))) from None

    def _from_archive(self, args: list[str], opts: Any) -> None:
        check_args(args, 0)
        settle(self.settings, "finders")
        archive = Archive(self.settings["LAFKA_ARCHIVE"])  # type: ignore[index]
        folder = sets.LabelledFolder(opts.pages) if opts.pages else None
        rows = []
        for splap, row in sets.labelled(archive):
            rows += [row] if opts.by else []
            if folder:
                folder.add(splap)
            if not opts.by:
                print(json_line(row))
        for line in sets.measured(rows, opts.by) if opts.by else ():
            print(json_line(line))

    def _page(self, given: str, url: str) -> Page:
        if given.startswith(("http://", "https://")):
            self.crawler_process.crawl(PageSpider, start_urls=[given])  # type: ignore[union-attr]
            self.crawler_process.start()  # type: ignore[union-attr]
            if PageSpider.pages:
                return PageSpider.pages.pop()
            raise BadArgument(f"{given}: no page came; -L INFO says why")
        if not Path(given).is_file() or not url.startswith(("http://", "https://")):
            raise BadArgument(f"{given!r}: say a URL, or a file and with --url its http address")
        return Page(url, Path(given).read_bytes())
