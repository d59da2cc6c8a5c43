"""``lafka warc link SOURCE FOLDER``: links to volumes, by names that are unique in one folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

HELP = "link to all files below SOURCE from one FOLDER, for tools that know base names alone"
EXAMPLE = "lafka warc link archive/warc flat"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="a folder of WARC or like files")
    parser.add_argument("into", metavar="FOLDER", help="gets a symbolic link for each")


def run(opts: Namespace) -> int:
    from lafka.errors import BadArgument, StorageTrouble  # noqa: PLC0415
    from lafka.warc.reading.folders import link_flat  # noqa: PLC0415

    source = Path(opts.source)
    if not source.is_dir():
        raise BadArgument(f"{source}: no such folder")
    try:
        made, there = link_flat(source, Path(opts.into))
    except FileExistsError as error:
        raise BadArgument(f"{error.filename}: there already, and no link to that file") from None
    except OSError as error:
        raise StorageTrouble(opts.into, error) from error
    print(f"{made} links made, {there} there already", file=sys.stderr)
    return 0
