"""The volumes that a verb means: files, those below folders, those of a list."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lafka.cli._shared.base import the_file, the_files
from lafka.errors import BadArgument

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_paths(parser: ArgumentParser) -> None:
    """The files of a verb: by name, below folders, in a list."""
    parser.add_argument("paths", nargs="*", metavar="FILE", help="WARC or like files, or folders")
    parser.add_argument("--list", metavar="FILE", help="paths, one a line; - for standard input")


def the_volumes(opts: Namespace) -> list[Path]:
    """The files that *opts* name; of a folder those whose names are those of volumes.

    ``BadArgument`` where one is not there, or a folder has none, or none is named.
    """
    from lafka.warc.reading.folders import volumes_below  # noqa: PLC0415

    names = [*opts.paths, *(_listed(opts.list) if opts.list else ())]
    if not names:
        raise BadArgument("say which files: none is named")
    found: list[Path] = []
    for name in names:
        inside = [*volumes_below(Path(name))] if Path(name).is_dir() else the_files([name])
        if not inside:
            raise BadArgument(f"{name}: no WARC or like file is below it")
        found += inside
    return found


def _listed(path: str) -> list[str]:
    data = sys.stdin.buffer.read() if path == "-" else the_file(path).read_bytes()
    return [os.fsdecode(line.rstrip(b"\r")) for line in data.split(b"\n") if line.strip()]
