"""``lafka demo``: the whole road on an example, offline."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand

from lafka.cli.base import attempt, check_args, settle
from lafka.cli.demo.account import account, account_of_filesets
from lafka.cli.demo.platforms import serving_platforms
from lafka.cli.demo.repec import Example, Failed
from lafka.cli.demo.site import list_of, serving
from lafka.cli.verbs import Described
from lafka.errors import BadArgument
from lafka.filesets.archive.filesets import Filesets
from lafka.papers.archive.archives import Archive

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


PID = "RePEc:dem:wpaper:tagged"
SETTINGS = {
    "LAFKA_ALLOWED_NETWORKS": ["127.0.0.0/8"],
    "LAFKA_CONTACT": "demo@example.org",
    "AUTOTHROTTLE_ENABLED": False,
}


class DemoCommand(Described, ScrapyCommand):
    requires_project = True

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--archec", action="store_true", help="RePEc data through three runs, and their store")
        add("--filesets", action="store_true", help="datasets of each platform")

    def process_options(self, args: list[str], opts: Namespace) -> None:
        super().process_options(args, opts)
        assert self.settings is not None
        if opts.loglevel is None:  # what is shown in the end matters here, not Scrapy's log
            self.settings.set("LOG_LEVEL", "ERROR", priority="cmdline")

    def run(self, args: list[str], opts: Namespace) -> None:
        act = self._archec if opts.archec else self._filesets if opts.filesets else self._papers
        self.exitcode = attempt("demo", lambda: act(args))

    def _papers(self, args: list[str]) -> None:
        check_args(args, 0)
        settle(self.settings, "demo")
        assert self.crawler_process is not None
        folder = Path(tempfile.mkdtemp(prefix="lafka-demo-"))
        listed, root = folder / "list.tsv", folder / "archive"
        settings = self.crawler_process.settings
        settings.setdict({**SETTINGS, "LAFKA_ARCHIVE": str(root)}, priority="cmdline")
        with serving() as base:
            listed.write_text(list_of(base), "utf-8")
            self.crawler_process.crawl("futli", input=str(listed))
            self.crawler_process.start()
        for line in account(Archive(root), listed, PID):
            print(line)

    def _archec(self, args: list[str]) -> None:
        check_args(args, 0)
        settle(self.settings, "demo")
        folder = Path(tempfile.mkdtemp(prefix="lafka-demo-"))
        try:
            for line in Example(folder=folder).told():
                print(line, flush=True)
        except Failed as error:
            raise BadArgument(str(error)) from None

    def _filesets(self, args: list[str]) -> None:
        check_args(args, 0)
        settle(self.settings, "demo")
        assert self.crawler_process is not None
        folder = Path(tempfile.mkdtemp(prefix="lafka-demo-"))
        listed, root = folder / "requests.jsonl", folder / "archive"
        with serving_platforms() as (urls, bases):
            listed.write_text("".join(f"{url}\n" for url in urls), "utf-8")
            more = {"LAFKA_ARCHIVE": str(root), "LAFKA_PLATFORM_BASES": bases}
            self.crawler_process.settings.setdict({**SETTINGS, **more}, priority="cmdline")
            self.crawler_process.crawl("fileset", input=str(listed))
            self.crawler_process.start()
        for line in account_of_filesets(Filesets(root), listed):
            print(line)
