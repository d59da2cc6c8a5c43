"""``lafka warc warc2arc FILE [TARGET]``: WARC to ARC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lafka.cli._shared.base import the_file
from lafka.cli.warc._shared import account
from lafka.errors import BadArgument

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

HELP = "convert WARC to ARC; a JSON line says what came of it"
EXAMPLE = "lafka warc warc2arc new.warc.gz old.arc.gz"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="FILE", help="WARC, plain or compressed")
    parser.add_argument(
        "target", nargs="?", metavar="TARGET", help="compressed if it ends with .gz; beside FILE"
    )
    parser.add_argument("--problems", action="store_true", help="lines for what is wrong with FILE")


def run(opts: Namespace) -> int:
    from lafka.warc.converting.warc2arc import warc2arc  # noqa: PLC0415
    from lafka.warc.foreign import kind_of  # noqa: PLC0415

    path = the_file(opts.path)
    if kind_of(path) not in ("warc", "wacz"):
        raise BadArgument(f"{path}: not a WARC file")
    return account(warc2arc(path, opts.target), printed=opts.problems)
