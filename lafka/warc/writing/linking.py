"""Links to volumes of many folders from one folder, by names that no two of them share."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from ..reading.folders import volumes_below

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
