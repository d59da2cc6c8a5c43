"""``lafka archec check``: proves the store sound."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lafka.cli.archec._shared import the_records, the_store, warn_of_inodes

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy.settings import BaseSettings

HELP = "hold every file and the database against the journals, a JSON line a problem"
EXAMPLE = "lafka archec check --quick || echo damaged"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("ids", nargs="*", metavar="ID", help="these handles and URLs alone")
    parser.add_argument("--quick", action="store_true", help="lengths and names, no digests")


def run(opts: Namespace, settings: BaseSettings) -> int:
    from lafka.archec.checking import check_store  # noqa: PLC0415
    from lafka.archec.records import Kind  # noqa: PLC0415
    from lafka.archec.records.folding import told_of  # noqa: PLC0415
    from lafka.archec.serve.queries import the_id  # noqa: PLC0415

    store, errors, count = the_store(settings), 0, 0
    warn_of_inodes("archec check", store)
    with the_records(settings, store) as records:
        rows = (row for kind in Kind for row in told_of(records.walk(kind)))
        ids = [the_id(text) for text in opts.ids]
        for problem in check_store(store.root, quick=opts.quick, ids=ids, rows=rows):
            print(problem.to_json())
            count += 1
            errors += problem.severity == "error"
    print(f"{store.root}: {count} problems", file=sys.stderr)
    return 1 if errors else 0
