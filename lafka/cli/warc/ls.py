"""``lafka warc ls FILE...``: the records of files, one JSON line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lafka.cli._shared.base import the_files
from lafka.cli.warc._shared import described, print_json, tell

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

HELP = "list the records of files, one JSON line each"
EXAMPLE = "lafka warc ls --type response a.warc.gz | jq -r .url"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="FILE", help="WARC, ARC, WACZ, MAFF or MHTML")
    parser.add_argument(
        "--type", action="append", metavar="T", help="only records of type T; may be repeated"
    )
    parser.add_argument(
        "--problems", action="store_true", help="lines for what is wrong with the file, too"
    )


def run(opts: Namespace) -> int:
    from lafka.warc.foreign import open_volume  # noqa: PLC0415

    code = 0
    for path in the_files(opts.paths):
        with open_volume(path) as volume:
            for record in volume.records(types=opts.type):
                print_json(described(record))
            code = max(code, tell(volume.problems, printed=opts.problems))
    return code
