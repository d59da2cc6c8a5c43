"""``scrapy archec recover``: ends gatherings of tobis that were killed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lafka.commands.archec._shared import the_records, the_store

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy.settings import BaseSettings

HELP = "end the gatherings of scrapy tobi that were killed, as its next run would"
EXAMPLE = "scrapy archec recover"


def add_arguments(parser: ArgumentParser) -> None:
    pass


def run(opts: Namespace, settings: BaseSettings) -> int:  # noqa: ARG001
    from lafka.archec.records import Kind  # noqa: PLC0415
    from lafka.archec.recovering import recover  # noqa: PLC0415
    from lafka.archec.sightings import read_tobi  # noqa: PLC0415

    store, count = the_store(settings), 0
    with store.locked(Kind.TOBI), the_records(settings, store, read_only=False) as records:
        for found in recover(store, records, Kind.TOBI, read_tobi):
            count += 1
            print(
                f"{found.tist}: {found.rolled} tobis rolled forward,"
                f" {found.removed} drafts and links removed, {found.torn} bytes torn"
            )
    print(f"{count} gatherings recovered", file=sys.stderr)
    return 0
