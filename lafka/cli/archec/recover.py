"""``lafka archec recover``: ends gatherings that were killed, keeps what crawls captured."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lafka.cli.archec._shared import the_records, the_store
from lafka.runs.terminals import program

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy.settings import BaseSettings

    from lafka.archec.records import Records
    from lafka.archec.store.folders import ObiStore

HELP = "end what killed runs of tobi and fobi left, as their next run would"
EXAMPLE = "lafka archec recover"


def add_arguments(parser: ArgumentParser) -> None:
    pass


def run(opts: Namespace, settings: BaseSettings) -> int:  # noqa: ARG001
    from lafka.archec.records import Kind  # noqa: PLC0415

    store = the_store(settings)
    with store.locked(Kind.TOBI), the_records(settings, store, read_only=False) as records:
        count = _tobis(store, records)
    with store.locked(Kind.FOBI), the_records(settings, store, read_only=False) as records:
        found, problems = _fobis(store, records, settings)
    print(f"{count + found} gatherings recovered", file=sys.stderr)
    return 1 if problems else 0


def _tobis(store: ObiStore, records: Records) -> int:
    from lafka.archec.gather.found_templates import read_tobi  # noqa: PLC0415
    from lafka.archec.gather.recovery import Unlisted, recover  # noqa: PLC0415
    from lafka.archec.records import Kind  # noqa: PLC0415

    count = 0
    for found in recover(store, records, Kind.TOBI, Unlisted(read_tobi=read_tobi)):
        count += 1
        print(
            f"{found.tist}: {found.rolled} tobis rolled forward,"
            f" {found.removed} drafts and links removed, {found.torn} bytes torn"
        )
    return count


def _fobis(store: ObiStore, records: Records, settings: BaseSettings) -> tuple[int, int]:
    """Return how many gatherings were ended, how many problems there are."""
    from lafka.archec.files.fobi_recovery import Obis, recover_fobis  # noqa: PLC0415
    from lafka.spiders.fobi_arguments import fobi_rules  # noqa: PLC0415

    count = problems = 0
    obis = Obis(store=store, records=records, rules=fobi_rules(settings))
    for one in recover_fobis(obis, keep=settings.getbool("LAFKA_KEEP_RAW")):
        if one.taken:
            count += one.taken.ended
            print(f"{one.run or 'no raw log'}: {one.taken.ended} gatherings ended,"
                  f" {one.taken.stored} fobis stored")  # fmt: skip
        for problem in one.problems:
            problems += 1
            print(f"{program()} archec recover: {problem}", file=sys.stderr)
    return count, problems
