"""``lafka wacz PID... -o FILE``: papers as one WACZ, which any replay program opens."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from lafka.cli.base import ArchiveCommand
from lafka.cli.choosing import chosen
from lafka.errors import BadArgument
from lafka.papers.archive.index import package, pieces
from lafka.storage.outputs import file_at, opened_stream
from lafka.warc.converting.packing import pack, stream


class WaczCommand(ArchiveCommand):
    def syntax(self) -> str:
        return "[PID...] [--list FILE] [--archive CODE] [--since T] -o FILE.wacz"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("-o", "--output", metavar="FILE", help="a new file; - for stdout")
        parser.add_argument("--list", metavar="FILE", help="pids, the first column of its lines")
        parser.add_argument("--archive", metavar="CODE", help="papers of this RePEc archive")
        since = "papers with a fut of this time or later, 2026-11-20"
        parser.add_argument("--since", metavar="T", help=since)
        parser.add_argument("--title", default="", metavar="TEXT", help="what the whole is called")

    def act(self, args: list[str], opts: Namespace) -> None:
        if not opts.output:
            raise BadArgument("say where to: -o FILE.wacz is missing")
        archive = self.archive()
        found = pieces(archive, chosen(archive, args, opts))
        told = package(opts.title or "Papers of Lafka")
        if path := file_at(opts.output):
            packed = pack(found, path, told)
        else:
            with opened_stream(opts.output) as out:
                packed = stream(found, out, told)
        counts = f"{packed.warcs} papers, {packed.entries} captures, {packed.pages} pages"
        print(counts, file=sys.stderr)
