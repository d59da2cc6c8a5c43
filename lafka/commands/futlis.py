"""``scrapy futlis DIR``: the futlis of RePEc data, as the list that a crawl takes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lafka.cli import ArchiveCommand
from lafka.errors import BadArgument

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from lafka.archec.futlis import Choice


class Command(ArchiveCommand):
    most_args = 1

    def syntax(self) -> str:
        return "DIR | -f TARBALL [--archive CODE] [--series CODE] [-o FILE]"

    def short_desc(self) -> str:
        return "Print the futlis of RePEc data, a folder or tarball, as a list for a crawl"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("-f", "--tarball", metavar="TARBALL", help="read this and no folder")
        parser.add_argument("--archive", metavar="CODE", help="of this archive only")
        parser.add_argument("--series", metavar="CODE", help="of series with this code only")
        parser.add_argument("--type", metavar="A,B", help="paper,article,chapter,book if not given")
        parser.add_argument("--all-functions", action="store_true", help="appendices, data too")
        parser.add_argument("-o", "--output", metavar="FILE", help="write to FILE, not to stdout")

    def act(self, args: list[str], opts: Namespace) -> None:
        from lafka.archec.futlis import FutliList  # noqa: PLC0415
        from lafka.storage import drafts  # noqa: PLC0415

        if bool(args) == bool(opts.tarball):
            raise BadArgument("say where RePEc data is: a folder, or a tarball by -f")
        with FutliList(opts.tarball or args[0], _choice(opts)) as found:
            if opts.output:
                drafts.replace(Path(opts.output), found.tsv())
            else:
                sys.stdout.buffer.writelines(found.tsv())
                sys.stdout.buffer.flush()
            for problem in found.problems:
                print(problem, file=sys.stderr)
            print(json.dumps(found.counts), file=sys.stderr)
            self.exitcode = 0 if found.whole else 1


def _choice(opts: Namespace) -> Choice:
    """What the options ask for; ``BadArgument``."""
    from lafka.archec.futlis import DEFAULT_TYPES, Choice  # noqa: PLC0415
    from lafka.archec.redif import ITEMS  # noqa: PLC0415

    types = frozenset(opts.type.lower().split(",") if opts.type else DEFAULT_TYPES)
    if wrong := sorted(types - ITEMS):
        raise BadArgument(f"--type {wrong[0]!r} is none of {', '.join(sorted(ITEMS))}")
    return Choice(
        archive=opts.archive and opts.archive.lower(),
        series=opts.series and opts.series.lower(),
        types=types,
        all_functions=opts.all_functions,
    )
