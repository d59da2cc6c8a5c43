"""``lafka warc recompress FILE NEW``: the same records, each compressed by itself, or plain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lafka.cli._shared.base import the_file
from lafka.cli.warc._shared import print_json, tell
from lafka.errors import BadArgument

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

HELP = "write the same records to a new file, a gzip member each if it ends with .gz, else plain"
EXAMPLE = "lafka warc recompress one-member.warc.gz by-record.warc.gz"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="FILE", help="a WARC or ARC, however compressed, or WACZ")
    parser.add_argument("target", metavar="NEW", help="the new file, FILE.gz say")
    parser.add_argument("--problems", action="store_true", help="lines for what is wrong with FILE")


def run(opts: Namespace) -> int:
    from lafka.warc.converting.repairing import recompress  # noqa: PLC0415
    from lafka.warc.foreign import kind_of  # noqa: PLC0415

    path = the_file(opts.path)
    if kind_of(path) in ("maff", "mhtml"):
        raise BadArgument(f"{path}: not made of records that can be written anew")
    done = recompress(path, opts.target)
    print_json({"path": str(done.into), "records": done.records})
    return tell(done.problems, printed=opts.problems)
