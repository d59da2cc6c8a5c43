"""``lafka fileset``: one dataset ingested, or what is held of one, read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand

from lafka.cli.base import attempt, check_args, settle
from lafka.cli.verbs import Described

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


class FilesetCommand(Described, ScrapyCommand):
    requires_project = True

    def syntax(self) -> str:
        return "URL [--dry-run] | --get ID PATH | --list [ID] | --bag ID DIR"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--type", help="ingest type, dataset if not given")
        parser.add_argument("--strategy", help="one of the six strategies")
        parser.add_argument("--version", help="of the fileset, for --get, --list and --bag")
        parser.add_argument("-o", "--output", help="write to this file")
        for option, told in (
            ("--latest", "the newest version"),
            ("--force", "fetch again what is held"),
            ("--dry-run", "tell manifest and strategy, fetch no file"),
            ("--get", "write a file to standard output"),
            ("--list", "JSON lines of what is held"),
            ("--bag", "make a BagIt bag"),
        ):
            parser.add_argument(option, action="store_true", help=told)

    def process_options(self, args: list[str], opts: Namespace) -> None:
        super().process_options(args, opts)
        assert self.settings is not None
        if opts.loglevel is None:  # the result is what matters here, not Scrapy's log
            self.settings.set("LOG_LEVEL", "WARNING", priority="cmdline")

    def run(self, args: list[str], opts: Namespace) -> None:
        self.exitcode = attempt("fileset", lambda: self._act(args, opts)) or self.exitcode

    def _act(self, args: list[str], opts: Namespace) -> None:
        from lafka.cli import filesets  # noqa: PLC0415

        check_args(args, 2)
        settle(self.settings, "fileset")
        held = filesets.filesets_of(self.settings)
        if opts.get:
            filesets.get(held, args, opts.version, opts.output)
        elif opts.list:
            filesets.tell(held, args, opts.version)
        elif opts.bag:
            filesets.bag(held, args, opts.version)
        else:
            self.exitcode = filesets.ingest(self.crawler_process, args, opts)
