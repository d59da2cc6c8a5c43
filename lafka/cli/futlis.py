"""``lafka futlis DIR``: the futlis of RePEc data, as the list that a crawl takes."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lafka.archec.serve.futlis import FutliChoice, FutliList, tsv
from lafka.archec.serve.store_futlis import StoreFutliList
from lafka.archec.store import tists
from lafka.cli.base import ArchiveCommand
from lafka.errors import BadArgument
from lafka.spiders.obi_settings import open_store, records_of
from lafka.storage.outputs import STDOUT, write_output

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator


class FutlisCommand(ArchiveCommand):
    most_args = 1
    usage = "DIR | -f TARBALL | --from-store [--archive CODE] [--series CODE] [-o FILE]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("-f", "--tarball", metavar="TARBALL", help="read this and no folder")
        add("--from-store", action="store_true", help="read the templates of the obi store")
        add("--at", metavar="TIME", help="with --from-store: as they stood at a tist or date")
        add("--archive", metavar="CODE", help="of this archive only")
        add("--series", metavar="CODE", help="of series with this code only")
        add("--type", metavar="A,B", help="paper,article,chapter,book if not given")
        add("--all-functions", action="store_true", help="appendices, data too")
        add("-o", "--output", metavar="FILE", help="write to FILE, not to stdout")

    def act(self, args: list[str], opts: Namespace) -> None:
        if bool(args) + bool(opts.tarball) + opts.from_store != 1:
            raise BadArgument(
                "say where RePEc data is: a folder, a tarball by -f, or the store by --from-store"
            )
        with self._found(args, opts) as found:
            write_output(opts.output or STDOUT, tsv(found))
            for problem in found.problems:
                print(problem, file=sys.stderr)
            print(json.dumps(found.counts), file=sys.stderr)
            self.exitcode = 0 if found.whole else 3

    @contextmanager
    def _found(self, args: list[str], opts: Namespace) -> Iterator[FutliList | StoreFutliList]:
        choice = FutliChoice.of(opts)
        if not opts.from_store:
            if opts.at:
                raise BadArgument("--at is for --from-store")
            with FutliList(opts.tarball or args[0], choice) as found:
                yield found
            return
        at, store = tists.parse(opts.at) if opts.at else None, open_store(self.settings)
        with records_of(self.settings, store) as records:
            yield StoreFutliList(store, records, choice, at)
