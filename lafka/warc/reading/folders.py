"""Volumes of folders: by their names, at any depth, and links to them from one folder."""

from __future__ import annotations

import hashlib
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
    """Return whether the name of *path* is that of a volume, packed or open ones included."""
    name = path.name.lower().removesuffix(OPEN)
    for packed in PACKED:
        name = name.removesuffix(packed)
    return name.endswith(VOLUMES)


_LONGEST = 240
"""Bytes of a name; disks take 255."""


def flat_name(relative: Path) -> str:
    """The path *relative* as one name: commas between its parts, ``%2C`` for those in them.

    The beginning of one that is too long, and a digest of the whole; suffixes stay.
    """
    name = ",".join(part.replace(",", "%2C") for part in relative.parts)
    if len(name.encode()) <= _LONGEST:
        return name
    suffixes = "".join(relative.suffixes[-2:])[-20:]
    digest = hashlib.sha256(name.encode()).hexdigest()[:32]
    return f"{name.encode()[:180].decode(errors='ignore')}%%{digest}{suffixes}"


def link_flat(source: Path, into: Path) -> tuple[int, int]:
    """Link from the folder *into* to each volume below *source*; how many were made, and known.

    Links are symbolic and relative. A link that is there already is left; ``FileExistsError`` where
    the name is another file's. ``OSError``.
    """
    into.mkdir(parents=True, exist_ok=True)
    made = there = 0
    for path in volumes_below(source):
        link = into / flat_name(path.relative_to(source))
        target = os.path.relpath(path.resolve(), into.resolve())
        try:
            link.symlink_to(target)
            made += 1
        except FileExistsError:
            if not (link.is_symlink() and os.path.samefile(link, path)):  # noqa: PTH121
                raise FileExistsError(17, "there already", str(link)) from None
            there += 1
    return made, there
