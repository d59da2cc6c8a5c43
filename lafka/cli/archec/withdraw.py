"""``lafka archec withdraw ID TIST``: notes that a version is taken down; removes nothing."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from lafka.cli.archec._shared import the_records, the_store
from lafka.runs.terminals import program

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy.settings import BaseSettings

HELP = "note that a version is taken down; prints the file that the operator then empties"
EXAMPLE = "lafka archec withdraw http://x.example/1.pdf 1352481230 --why 'a court, 2 O 5/26'"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a handle or URL")
    parser.add_argument("tist", metavar="TIST", help="when the version was noted")
    parser.add_argument("--why", metavar="TEXT", default="", help="told to whoever asks for it")


def run(opts: Namespace, settings: BaseSettings) -> int:
    from lafka.archec.gather.runs import run_name  # noqa: PLC0415
    from lafka.archec.gather.tobis import Clocks  # noqa: PLC0415
    from lafka.archec.gather.withdrawing import withdraw  # noqa: PLC0415
    from lafka.archec.records import Kind  # noqa: PLC0415
    from lafka.archec.serve.queries import the_id  # noqa: PLC0415
    from lafka.archec.store import tists  # noqa: PLC0415

    obi, tist, store = the_id(opts.id), tists.parse(opts.tist), the_store(settings)
    clocks = Clocks(now=lambda: int(time.time()), monotonic=time.monotonic)
    run = run_name(clocks.now(), 0)
    with (
        store.locked(Kind.of(obi)),
        the_records(settings, store, read_only=False) as records,
    ):
        done = withdraw(store, records, obi, tist, why=opts.why, run=run, clocks=clocks)
    if done.others:
        print(f"{program()} archec withdraw: {done.others} other versions have the same bytes, and"
              " lose them where this file is emptied", file=sys.stderr)  # fmt: skip
    print(done.place)
    return 0
