"""``lafka warc check FILE...``: files held to the standard, their digests computed again."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lafka.cli._shared.volumes import add_paths, the_volumes

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

HELP = "hold files to the standard and verify their digests, one JSON line a problem"
EXAMPLE = "lafka warc check warcs || echo damaged"


def add_arguments(parser: ArgumentParser) -> None:
    add_paths(parser)
    parser.add_argument("--quick", action="store_true", help="compute no digests")


def run(opts: Namespace) -> int:
    from lafka.warc.foreign import open_volume  # noqa: PLC0415
    from lafka.warc.reading.checking import check  # noqa: PLC0415

    code = 0
    for path in the_volumes(opts):
        with open_volume(path) as volume:
            checked = check(volume, digests=not opts.quick)
            for problem in checked:
                print(problem.to_json())
        counts = ", ".join(f"{checked.counts[name]} {name}s" for name in ("error", "warning"))
        print(f"{path}: {checked.records} records, {counts}", file=sys.stderr)
        code = max(code, 0 if checked.passed else 1)
    return code
