"""``lafka warc cdx FILE...``: a CDX index of files, sorted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lafka.cli._shared.volumes import add_paths, the_volumes
from lafka.cli.warc._shared import tell, write

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from lafka.warc.problems import Problem

HELP = "write a sorted CDX index of files, 11 columns"
EXAMPLE = "lafka warc cdx warcs/*.warc.gz > index.cdx"


def add_arguments(parser: ArgumentParser) -> None:
    add_paths(parser)
    parser.add_argument("--nine", action="store_true", help="the 9 columns of older tools")
    parser.add_argument("--folder", default=".", metavar="DIR", help="name files relative to DIR")


def run(opts: Namespace) -> int:
    return lines_of(opts, "cdx9" if opts.nine else "cdx")


def lines_of(opts: Namespace, kind: str) -> int:
    """Write an index of *kind*; the exit code."""
    from lafka.warc.indexes import index_lines  # noqa: PLC0415

    problems: list[Problem] = []
    write(index_lines(the_volumes(opts), kind, folder=opts.folder, problems=problems.append))
    return tell(problems, printed=False)
