"""Scrapy's own tools with Lafka's settings: what is set outside the code, Lafka's user agent.

``lafka finders URL-or-FILE``, a page's candidates, best first, and why, is one of them.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, ClassVar

from scrapy import Request, Spider, commands
from scrapy.commands import bench, fetch, parse, settings, shell
from scrapy.settings import BaseSettings
from scrapy.utils.url import guess_scheme
from w3lib.url import file_uri_to_path

from lafka.cli.base import attempt, check_args, json_line, refused, settle
from lafka.cli.verbs import DescribedCommand
from lafka.errors import BadArgument, LafkaError, WarcError
from lafka.papers import Archive
from lafka.papers.crawling import labelled as sets
from lafka.papers.finders import Page, describe, find, look
from lafka.runs import sources
from lafka.runs.sources import meant
from lafka.runs.terminals import program
from lafka.spiders.loading import user_agent

FILE_HANDLER = "scrapy.core.downloader.handlers.file.FileDownloadHandler"
NO_LOG = "; the log, without --nolog, says why"
LOOPBACK = ["127.0.0.0/8", "::1/128"]
"""Where the server of ``lafka bench`` listens."""


def ready(settings: BaseSettings | None, verb: str) -> None:
    """Apply to *settings* what *verb* needs; ends with a sentence and exit code 2 where it cannot.

    The user agent stays a default: ``-s``, a spider and the environment go before it.
    """
    if code := attempt(verb, lambda: _ready(settings, verb)):
        raise SystemExit(code)


def _ready(settings: BaseSettings | None, verb: str) -> None:
    assert settings is not None
    settle(settings, verb)
    call_ourselves(settings)


def call_ourselves(settings: BaseSettings) -> None:
    """Have Lafka's user agent where none is set."""
    if settings.getpriority("USER_AGENT") == 0 or not settings.get("USER_AGENT"):
        settings.set("USER_AGENT", user_agent(settings), priority="default")


class _SettledCommand(commands.ScrapyCommand):
    """A command of Scrapy's, with Lafka's settings and user agent."""

    verb: str

    def process_options(self, args: list[str], opts: Namespace) -> None:
        super().process_options(args, opts)
        ready(self.settings, self.verb)


class BenchCommand(_SettledCommand, bench.Command):
    def process_options(self, args: list[str], opts: Namespace) -> None:
        super().process_options(args, opts)
        assert self.settings is not None
        for name, value in self.default_settings.items():  # the project's would go before them
            self.settings.set(name, value, priority="project")
        alone = {"LAFKA_ALLOWED_NETWORKS": LOOPBACK, "AUTOTHROTTLE_ENABLED": False}
        self.settings.setdict(alone, priority="cmdline")


class FetchCommand(_SettledCommand, fetch.Command):
    pass


class ShellCommand(_SettledCommand, shell.Command):
    def process_options(self, args: list[str], opts: Namespace) -> None:
        super().process_options(args, opts)
        assert self.settings is not None
        if args and (url := guess_scheme(args[0])).startswith("file:"):  # no crawl reads ours
            if attempt("shell", lambda: _refuse_no_file(Path(file_uri_to_path(url)))):
                raise SystemExit(2)
            handlers = self.settings.getdict("DOWNLOAD_HANDLERS") | {"file": FILE_HANDLER}
            own = {"DOWNLOAD_HANDLERS": handlers, "ROBOTSTXT_OBEY": False}
            self.settings.setdict(own, priority="cmdline")
        self.code = opts.code or ""

    def update_vars(self, vars: dict[str, Any]) -> None:  # noqa: A002
        request, response = vars["request"], vars["response"]
        if request is not None and response is None and "response" in self.code:
            why = "" if self.settings and self.settings.getbool("LOG_ENABLED") else NO_LOG
            print(f"lafka shell: {request.url} gave no response{why}", file=sys.stderr)
            raise SystemExit(2)


def _refuse_no_file(path: Path) -> None:
    if not path.is_file():
        raise BadArgument(f"{path} is no file")


def _page_of(response: Any) -> Page:
    """Return the page that *response* has."""
    kind, links = response.headers.get("Content-Type", b""), response.headers.getlist("Link")
    told = tuple(link.decode("latin-1") for link in links)
    return Page(response.url, response.body, kind.decode("latin-1"), told)


class CandidateSpider(Spider):
    """Gives the candidates of a page, best first, as ``lafka finders`` does."""

    name = "candidates"

    def parse(self, response: Any) -> Iterator[dict[str, Any]]:
        for candidate in find(_page_of(response)):
            yield candidate.as_json()


class ParseCommand(DescribedCommand, _SettledCommand, parse.Command):
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


def _refuse(spider: Any) -> None:
    if hasattr(spider, "check"):  # its list, before it begins: a single address is nothing to it
        raise BadArgument(f"the spider {spider.name} works on a list; leave --spider out")


GETTERS = ("get", "getbool", "getint", "getfloat", "getlist")


class SettingsCommand(DescribedCommand, settings.Command):
    def run(self, args: list[str], opts: Namespace) -> None:
        def act() -> None:
            assert self.settings is not None
            settle(self.settings, "settings")
            call_ourselves(self.settings)
            for name in filter(None, (getattr(opts, name) for name in GETTERS)):
                if name not in self.settings:
                    guess = meant(name, map(str, self.settings))
                    raise BadArgument(f"{name} is no setting{guess}")
            if program() == "scrapy" or any(getattr(opts, name) for name in GETTERS):
                settings.Command.run(self, args, opts)
            else:
                check_args(args, 0)
                self._show()

        self.exitcode = attempt("settings", act)

    def _show(self) -> None:
        assert self.settings is not None
        said = sources.here()
        for name in sources.KNOWN:
            value = self.settings.get(name)
            shown = ",".join(value) if isinstance(value, list) else "" if value is None else value
            print(f"{name} = {shown}  # {sources.source_of(self.settings, name, said)}")


class PageSpider(Spider):
    """Fetches one page as the settings allow; no archive is touched."""

    name = "page"
    pages: ClassVar[list[Page]] = []

    @classmethod
    def update_settings(cls, settings: Any) -> None:
        settings["DOWNLOADER_MIDDLEWARES"]["lafka.capture.middlewares.RawWarcMiddleware"] = None
        settings["ITEM_PIPELINES"] = {}

    def parse(self, response: Any) -> None:
        self.pages.append(_page_of(response))


class FindersCommand(DescribedCommand, commands.ScrapyCommand):
    requires_project = True

    def syntax(self) -> str:
        return "URL | FILE --url URL | --from-archive [--by host|platform] [--pages FOLDER]"

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
