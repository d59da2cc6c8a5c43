"""``lafka warc cdxj FILE...``: a CDXJ index of files, sorted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lafka.cli._shared.volumes import add_paths
from lafka.cli.warc.cdx import lines_of

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

HELP = "write a sorted CDXJ index of files, places of payloads included"
EXAMPLE = "lafka warc cdxj --folder warcs warcs > warcs/index.cdxj"


def add_arguments(parser: ArgumentParser) -> None:
    add_paths(parser)
    parser.add_argument("--folder", default=".", metavar="DIR", help="name files relative to DIR")


def run(opts: Namespace) -> int:
    return lines_of(opts, "cdxj")
