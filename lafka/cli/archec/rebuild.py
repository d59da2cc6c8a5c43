"""``lafka archec rebuild``: makes the database of the obi store again."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from lafka.cli.archec._shared import the_store
from lafka.runs.stores import said
from lafka.runs.terminals import program

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy.settings import BaseSettings

HELP = "make the database again from the journals"
EXAMPLE = "lafka archec rebuild --from-files"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--from-files", action="store_true", help="write journals for folders that have none"
    )


def run(opts: Namespace, settings: BaseSettings) -> int:
    from lafka.archec.records import Kind  # noqa: PLC0415
    from lafka.archec.records.opening import anew, catch_up  # noqa: PLC0415

    store, code = the_store(settings), 0
    with ExitStack() as stack:
        for kind in Kind:
            stack.enter_context(store.locked(kind))
        database = said(settings, "LAFKA_CACHING_DATABASE")
        records = stack.enter_context(anew(store, database, derives=opts.from_files))
        if opts.from_files:
            from lafka.archec.gather.recovery import derive  # noqa: PLC0415

            for derived in derive(store, records):
                print(f"{derived.tist}: a journal for {derived.obis} obis")
                for path in derived.strange:
                    print(f"{program()} archec rebuild: {path}: no obi's", file=sys.stderr)
                    code = 1
        else:
            catch_up(store, records)
        print(f"{len(records.gatherings())} gatherings in the records", file=sys.stderr)
    return code
