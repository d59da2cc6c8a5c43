"""``lafka tobi``, ``obi`` and ``futlis``: RePEc data goes into the obi store, and comes out."""

from __future__ import annotations

import errno
import json
import math
import os
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lafka.archec.gather.loss_rules import LossRule
from lafka.archec.gather.runs import Plan, TobiReport, empty_store, gather_tobis
from lafka.archec.gather.sources import open_source
from lafka.archec.gather.tobis import Clocks
from lafka.archec.records import Records
from lafka.archec.serve import queries
from lafka.archec.serve.futlis import FutliChoice, FutliList, tsv
from lafka.archec.serve.queries import ObiQuery
from lafka.archec.serve.store_futlis import StoreFutliList
from lafka.archec.store import tists
from lafka.archec.store.folders import ObiStore
from lafka.cli.base import ArchiveCommand
from lafka.errors import BadArgument, StorageTrouble
from lafka.runs.sources import store_line
from lafka.runs.terminals import program
from lafka.spiders.obi_settings import INODES_LOW, open_store, records_of, store_root
from lafka.storage.outputs import STDOUT, file_at, write_output

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


def _is_unfilled(settings: BaseSettings) -> bool:
    """Return whether the obi store that is set has no gathering, or is yet to be made; ``BadStore``
    where it cannot be.
    """
    root = store_root(settings)
    return ObiStore.is_to_be_made(root) or not ObiStore(root).journals()


def warn_of_inodes(verb: str, store: ObiStore) -> None:
    """Say where the disk soon takes no more files: each obi is one."""
    if (share := store.free_inodes()) < INODES_LOW:
        print(f"{program()} {verb}: {share:.1%} of the disk's inodes are free", file=sys.stderr)


@contextmanager
def to_be_filled(
    verb: str, settings: BaseSettings, *, dry: bool
) -> Iterator[tuple[ObiStore, Records]]:
    """The store that is set and its records, to be written; a *dry* run reads them, or before the
    first run an empty store elsewhere.
    """
    if dry and _is_unfilled(settings):
        with empty_store() as opened:
            yield opened
        return
    store = open_store(settings, create=not dry)
    warn_of_inodes(verb, store)
    with records_of(settings, store, read_only=dry) as records:
        yield store, records


def plan(settings: BaseSettings, opts: Namespace) -> Plan:
    """The plan of a run; ``BadArgument``."""
    rule = LossRule(
        share=_number(settings, "LAFKA_LOSS_SHARE"),
        days=_number(settings, "LAFKA_LOSS_DAYS"),
        accepted=frozenset(code.lower() for code in opts.accept_losses),
        partial=opts.partial,
    )
    clocks = Clocks(now=lambda: int(time.time()), monotonic=time.monotonic)
    return Plan(rule=rule, clocks=clocks, at=_at(opts), dry=opts.dry_run, in_full=opts.full)


def _at(opts: Namespace) -> int | None:
    if opts.at != "name":
        return tists.parse(opts.at) if opts.at else None
    found = tists.in_name(Path(opts.tarball or "").name)
    if found is None:
        raise BadArgument("--at name wants -f with a tarball whose name has a date as 2012-11-07")
    return found


def _number(settings: BaseSettings, name: str) -> float:
    try:
        number = float(settings[name])
    except (TypeError, ValueError):
        number = math.nan
    if not 0 <= number < math.inf:
        raise BadArgument(f"{name}={settings[name]!r} has to be a number from 0")
    return number


def account(report: TobiReport, *, dry: bool) -> None:
    """Counts as a line of JSON on standard output, what is to be looked at on standard error."""
    told = {"gatherings": report.tists, **dict(sorted(report.counts.items()))}
    told |= {"problems": dict(sorted(report.problems.items()))}
    told |= {"withheld": report.withheld} if report.withheld else {}
    print(json.dumps(told | {"dry": True} if dry else told))
    for one in report.recovered:
        print(f"lafka tobi: the gathering {one.tist} was killed, and is ended", file=sys.stderr)
    if report.moved:
        print(f"lafka tobi: the clock is {report.moved} seconds behind the last gathering;"
              " tists go on from that one", file=sys.stderr)  # fmt: skip
    if not report.whole:
        print("lafka tobi: not all could be read, so nothing is lost", file=sys.stderr)
    for code in sorted(filter(None, report.unread) if report.whole else ()):
        print(f"lafka tobi: not all of {code} could be read, so nothing of it is lost",
              file=sys.stderr)  # fmt: skip
    for code, count in sorted(report.withheld.items()):
        print(f"lafka tobi: {count} losses of {code} are withheld;"
              f" --accept-losses {code} believes them", file=sys.stderr)  # fmt: skip


class TobiCommand(ArchiveCommand):
    most_args = 1
    usage = "[ReDIF_directory] [-f TARBALL] [--at TIME] [--partial] [--dry-run]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("-f", "--tarball", metavar="TARBALL", help="read this, not ReDIF_directory")
        add("--at", metavar="TIME", help="gather as of a tist, a date, or name: that of TARBALL")
        add("--partial", action="store_true", help="archives that are not there are not lost")
        add("--accept-losses", metavar="CODE", nargs="+", default=[], help="believe these losses")
        add("--full", action="store_true", help="take a digest of each file, trust no size or time")
        add("--dry-run", action="store_true", help="say what would come of it, write nothing")

    def act(self, args: list[str], opts: Namespace) -> None:
        asked = plan(self.settings, opts)
        place = self._place(args, opts)
        print(store_line(self.settings), file=sys.stderr, flush=True)
        opened = to_be_filled("tobi", self.settings, dry=opts.dry_run)
        with opened as (store, records), open_source(place) as source:
            report = gather_tobis(store, records, source, asked)
        account(report, dry=opts.dry_run)
        self.exitcode = 0 if report.is_sure else 3

    def _place(self, args: list[str], opts: Namespace) -> Path:
        """The folder or tarball to read."""
        directory = Path(args[0] if args else self.settings["LAFKA_REDIF_DIRECTORY"])
        if not opts.tarball:
            return directory
        tarball = Path(opts.tarball)
        if not tarball.exists() and tarball.name == opts.tarball:
            tarball = directory.parent / "tarballs" / tarball.name
        if not tarball.is_file():
            raise BadArgument(f"{opts.tarball}: no such tarball")
        if not opts.at:
            self._warn(tarball)
        return tarball

    def _warn(self, tarball: Path) -> None:
        if tists.in_name(tarball.name):
            taken = f"lafka tobi: {tarball.name} has a date, --at name would take it; gathered"
            print(f"{taken} as of now", file=sys.stderr)


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
            yield StoreFutliList(store, records, choice, at)
