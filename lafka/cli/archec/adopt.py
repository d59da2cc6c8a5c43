"""``lafka archec adopt DIR``: a tree by the paper's rule becomes an obi store, in place."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from lafka.runs.terminals import program

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy.settings import BaseSettings

HELP = "take over a store of the first ArchEc, as it is and where it is"
EXAMPLE = "lafka archec adopt /srv/archec/archive"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="the folder that holds 032/184/2531/...")


def run(opts: Namespace, settings: BaseSettings) -> int:  # noqa: ARG001
    from lafka.archec.gather.recovery import adopted, derive  # noqa: PLC0415
    from lafka.archec.records import Kind  # noqa: PLC0415
    from lafka.archec.records.opening import anew  # noqa: PLC0415

    store, code, obis = adopted(opts.folder), 0, 0
    with ExitStack() as stack:
        for kind in Kind:
            stack.enter_context(store.locked(kind))
        for derived in derive(store, stack.enter_context(anew(store))):
            obis += derived.obis
            for path in derived.strange:
                print(f"{program()} archec adopt: {path}: no obi's, left as it is", file=sys.stderr)
                code = 1
    print(f"{obis} obis taken over; set LAFKA_OBJECT_STORE={store.root}", file=sys.stderr)
    return code
