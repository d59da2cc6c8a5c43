"""``lafka tobi``: RePEc data goes into the obi store.

A module of its own, for a nightly run over data that has not changed takes little but its start.
"""

from __future__ import annotations

import json
import math
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
from lafka.archec.store import tists
from lafka.archec.store.folders import ObiStore
from lafka.cli.base import ArchiveCommand
from lafka.errors import BadArgument
from lafka.runs.sources import store_line
from lafka.runs.terminals import program
from lafka.spiders.obi_settings import INODES_LOW, open_store, records_of, store_root

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
