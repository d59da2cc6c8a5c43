"""Names of a fileset's files on a disk, whatever disk it is.

A part of a path stands for itself wherever every system takes it; else it is escaped as parts of
pids are (``pids.component``). No two files of a manifest share a name, on a disk that is blind to
case or to Unicode normalisation neither, and no name leads out of the folder.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from hashlib import sha256

from lafka.pids import component

LONGEST_NAME = 200
"""Bytes of a part; a disk's own limit is 255, and ``.part-`` and ``.mismatch`` go round it."""

_UNFIT = re.compile(r"[:*?\"<>|%\x00-\x1f\x7f\\/]|^[.\- ]|[. ]$")
# https://learn.microsoft.com/windows/win32/fileio/naming-a-file
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|\Z)", re.IGNORECASE)
# What archive.org puts into an item itself.
_RESERVED_ENDS = ("_meta.xml", "_files.xml", "_meta.sqlite", "_archive.torrent", "_reviews.xml",
                  "_itemimage.jpg", "_thumb.png")  # fmt: skip
_RESERVED = ("__ia_thumb.jpg", "name")


def local_names(paths: Iterable[str], item_name: str = "") -> dict[str, str]:
    """Path of a manifest -> path below the item's ``files`` folder, all different.

    Parts that are equal under NFC and case folding: the first keeps its name, the others are
    escaped whole. *paths* are safe (``manifests.judge``) and all different.
    """
    known: dict[tuple[str, str], str] = {}  # (folder as given, part) -> local part
    taken: set[tuple[str, str]] = set()  # (folder as given, local part, folded)
    found = {}
    for path in paths:
        folder, local = "", []
        for part in path.split("/"):
            if (folder, part) not in known:
                name = _local(part, item_name)
                if (folder, _folded(name)) in taken:
                    name = _escaped_whole(part)
                taken.add((folder, _folded(name)))
                known[folder, part] = name
            local.append(known[folder, part])
            folder = f"{folder}/{part}"
        found[path] = "/".join(local)
    return found


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _local(part: str, item_name: str) -> str:
    if _stands_for_itself(part, item_name):
        return part
    escaped = component(part)
    # An option of many commands begins with "-", which stands for itself in a pid's path.
    return _escaped_whole(part) if escaped == part or part.startswith("-") else escaped


def _stands_for_itself(part: str, item_name: str) -> bool:
    if _UNFIT.search(part) or _DEVICE.match(part) or not unicodedata.is_normalized("NFC", part):
        return False
    if len(part.encode("utf-8", "surrogatepass")) > LONGEST_NAME:
        return False
    reserved = {*_RESERVED, *(item_name + end for end in _RESERVED_ENDS)}
    return _folded(part) not in {_folded(name) for name in reserved}


def _escaped_whole(part: str) -> str:
    """*part* with ``%XX`` for every byte; cut, with its SHA-256, where it gets too long."""
    data = part.encode("utf-8", "surrogatepass")
    name = "".join(f"%{byte:02X}" for byte in data)
    if len(name) <= LONGEST_NAME:
        return name
    mark = "%%" + sha256(b"whole" + data).hexdigest()[:32]
    head = (LONGEST_NAME - len(mark)) // 3 * 3
    return name[:head] + mark
