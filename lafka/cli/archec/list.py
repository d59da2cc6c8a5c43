"""``lafka archec list``: which obis were found, noted, changed or lost in a time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lafka.cli.archec._shared import the_records, the_store

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from typing import Any

    from scrapy.settings import BaseSettings

HELP = "list what was found, noted, changed or lost in a time, oldest first, a JSON line each"
EXAMPLE = "lafka archec list --lost 2026-11-01 2026-12-01 --archive nbr"


def add_arguments(parser: ArgumentParser) -> None:
    events = parser.add_mutually_exclusive_group(required=True)
    for event, what in (
        ("--found", "first seen"),
        ("--noted", "appeared or changed"),
        ("--changed", "changed"),
        ("--lost", "gone"),
    ):
        events.add_argument(event, nargs=2, metavar=("FROM", "TO"), help=f"{what} in that time")
    parser.add_argument("--kind", choices=("tobi", "fobi"), help="only those")
    parser.add_argument("--archive", metavar="CODE", help="tobis of that archive")
    parser.add_argument("--series", metavar="CODE", help="tobis of that series")


def run(opts: Namespace, settings: BaseSettings) -> int:
    from lafka.archec.serve.queries import listed  # noqa: PLC0415
    from lafka.archec.store import tists  # noqa: PLC0415

    store = the_store(settings)
    event = next(name for name in ("found", "noted", "changed", "lost") if getattr(opts, name))
    begin, end = map(tists.parse, getattr(opts, event))
    with the_records(settings, store) as records:
        for line in listed(store, records, event, begin, end):
            if _is_wanted(opts, line):
                print(json.dumps(line))
    return 0


def _is_wanted(opts: Namespace, line: dict[str, Any]) -> bool:
    from lafka.archec.records import Kind  # noqa: PLC0415

    kind = Kind.of(line["id"])
    parts = [*line["id"].split(":", 3), "", ""] if kind is Kind.TOBI else ["", "", ""]
    wanted = (opts.kind, opts.archive, opts.series)
    has = (kind, parts[1], parts[2])
    return all(want is None or want == had for want, had in zip(wanted, has, strict=True))
