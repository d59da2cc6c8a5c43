"""Volumes of folders: by their names, at any depth."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

VOLUMES = (".warc", ".arc", ".wacz", ".maff", ".mhtml", ".mht")
PACKED = (".gz", ".bz2", ".zst")
"""What the names of volumes in a folder end with, and what may follow."""
OPEN = ".open"


def volumes_below(folder: Path) -> Iterator[Path]:
    """The files below *folder* whose names are those of volumes, sorted within each folder."""
    return (path for path in files_below(folder) if is_volume(path))


def files_below(folder: Path) -> Iterator[Path]:
    """The files below *folder*, sorted within each, without those whose names begin with a dot."""
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from files_below(Path(entry.path))
        elif entry.is_file():
            yield Path(entry.path)


def is_volume(path: Path) -> bool:
    """Whether the name of *path* is that of a volume, packed or open ones included."""
    name = path.name.lower().removesuffix(OPEN)
    for packed in PACKED:
        name = name.removesuffix(packed)
    return name.endswith(VOLUMES)
