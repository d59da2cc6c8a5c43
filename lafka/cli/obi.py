"""``lafka obi`` and ``futlis``: what the obi store has, and the files that templates point at."""

from __future__ import annotations

import errno
import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from lafka.archec.serve import queries
from lafka.archec.serve.futlis import FutliChoice, FutliList, StoreFutliList, tsv
from lafka.archec.serve.queries import ObiQuery
from lafka.archec.statistics import check_archive
from lafka.archec.store import tists
from lafka.cli.base import ArchiveCommand
from lafka.errors import BadArgument, StorageTrouble
from lafka.spiders.obi_settings import open_store, records_of
from lafka.storage.outputs import STDOUT, file_at, write_output


class ObiCommand(ArchiveCommand):
    most_args = 1
    usage = "ID [--at TIME] [-o FILE] [--versions] [--diff A B] [--refipos] [--pointing]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--at", metavar="TIME", help="as it was at a tist or date, such as 2012-11-07")
        add("-o", "--output", metavar="FILE", help="write to FILE, which is not there yet")
        add("--versions", action="store_true", help="a JSON line for each version and loss")
        add("--diff", metavar="TIME", nargs=2, help="what changed from one time to another")
        add("--refipos", action="store_true", help="the files that a template points at")
        add("--pointing", action="store_true", help="the templates that point at a file")
        add("--path", action="store_true", help="where it lies")

    def act(self, args: list[str], opts: Namespace) -> None:
        if not args:
            raise BadArgument("say which obi: its handle or URL is missing")
        store = open_store(self.settings)
        at = tists.parse(opts.at) if opts.at else None
        with records_of(self.settings, store) as records:
            look = queries.ObiQuery(store, records, queries.the_id(args[0]))
            if opts.diff:
                sys.stdout.writelines(look.diff(*map(tists.parse, opts.diff)))
            elif opts.path:
                print(look.path(at))
            elif lines := _lines(look, opts, at):
                print("\n".join(lines))
            elif not (opts.versions or opts.refipos or opts.pointing):
                _write(look.read(at), opts.output)


def _lines(look: ObiQuery, opts: Namespace, at: int | None) -> list[str]:
    if opts.versions:
        return look.versions()
    return look.refipos(at) if opts.refipos else look.pointing() if opts.pointing else []


def _write(data: bytes, output: str | None) -> None:
    if output and (path := file_at(output)) and path.exists():
        raise StorageTrouble(output, FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)))
    write_output(output or STDOUT, [data])


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
            check_archive(records, opts.archive or "")
            yield StoreFutliList(store, records, choice, at)
