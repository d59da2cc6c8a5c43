"""``lafka archec pull ARCHIVE``: futs of an archive of papers come into the obi store."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

from lafka.cli.archec._shared import the_records, the_store
from lafka.runs.terminals import program

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy.settings import BaseSettings

HELP = "take in the futs of an archive of papers whose futlis templates of the store point at"
EXAMPLE = "lafka archec pull archive"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("archive", metavar="ARCHIVE", help="the root folder of the archive")


def run(opts: Namespace, settings: BaseSettings) -> int:
    from lafka.archec.files.fobi_recovery import Obis, recover_fobis  # noqa: PLC0415
    from lafka.archec.gather.pulls import pull  # noqa: PLC0415
    from lafka.archec.gather.runs import run_name  # noqa: PLC0415
    from lafka.archec.gather.tobis import Clocks  # noqa: PLC0415
    from lafka.archec.records import Kind  # noqa: PLC0415
    from lafka.cli.offers import offers  # noqa: PLC0415
    from lafka.papers.archive.archives import Archive  # noqa: PLC0415
    from lafka.spiders.fobi_arguments import fobi_rules  # noqa: PLC0415

    store, archive = the_store(settings), Archive(opts.archive)
    problems: list[str] = []
    clocks = Clocks(now=lambda: int(time.time()), monotonic=time.monotonic)
    with store.locked(Kind.FOBI), the_records(settings, store, read_only=False) as records:
        obis = Obis(store=store, records=records, rules=fobi_rules(settings))
        problems += [sentence for one in recover_fobis(obis) for sentence in one.problems]
        name, source = run_name(clocks.now(), 0), str(archive.root.resolve())
        found = offers(archive, problems)
        report = pull(store, records, found, source=source, run=name, clocks=clocks)
    for problem in (*problems, *report.problems):
        print(f"{program()} archec pull: {problem}", file=sys.stderr)
    print(json.dumps({"gatherings": report.tists, **dict(sorted(report.counts.items()))}))
    return 1 if problems or report.problems else 0
