"""``scrapy demo``: the whole road on an example, offline."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand

from lafka.cli import attempt, check_args, settle

if TYPE_CHECKING:
    from argparse import Namespace

PID = "RePEc:dem:wpaper:tagged"
SETTINGS = {
    "LAFKA_ALLOWED_NETWORKS": ["127.0.0.0/8"],
    "LAFKA_CONTACT": "demo@example.org",
    "AUTOTHROTTLE_ENABLED": False,
}


class Command(ScrapyCommand):
    requires_project = True

    def short_desc(self) -> str:
        return "Serve a small site on loopback, archive its papers, show what came of it"

    def process_options(self, args: list[str], opts: Namespace) -> None:
        super().process_options(args, opts)
        assert self.settings is not None
        if opts.loglevel is None:  # what is shown in the end matters here, not Scrapy's log
            self.settings.set("LOG_LEVEL", "ERROR", priority="cmdline")

    def run(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        self.exitcode = attempt("demo", lambda: self._act(args))

    def _act(self, args: list[str]) -> None:
        from lafka.demo.account import account  # noqa: PLC0415
        from lafka.demo.site import list_of, serving  # noqa: PLC0415
        from lafka.papers.archive.archives import Archive  # noqa: PLC0415

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
