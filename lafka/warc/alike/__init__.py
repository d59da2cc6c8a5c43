"""Files that hold what WARCs hold, read as volumes: WARC itself, ARC, WACZ, MAFF, MHTML.

A kind is a line in :data:`KINDS`; its class is a :class:`lafka.warc.reading.volumes.Volume` or acts
as one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from lafka.warc.alike import archeaders
from lafka.warc.reading.volumes import Volume

HEAD = 4096  # bytes of a file that tell what it is
Sniff = Callable[[bytes, Path], bool]

_ARC_NAME = re.compile(r"\.arc(?:\.gz|\.bz2|\.zst)?(?:\.open)?$", re.IGNORECASE)
_MHTML_TYPE = re.compile(rb"(?im)^content-type:[ \t]*(?:\r?\n[ \t]+)?multipart/related")
_MIME = re.compile(rb"(?im)^mime-version:")


def _is_arc(head: bytes, path: Path) -> bool:
    if head.startswith(b"filedesc:") or next(archeaders.likely(head), (1,))[0] == 0:
        return True
    return bool(_ARC_NAME.search(path.name)) and head[:5].upper() != b"WARC/"


def _is_wacz(head: bytes, path: Path) -> bool:
    return head.startswith(b"PK") and not path.name.lower().endswith(".maff")


def _is_maff(head: bytes, path: Path) -> bool:
    return head.startswith(b"PK") and path.name.lower().endswith(".maff")


def _is_mhtml(head: bytes, path: Path) -> bool:
    named = path.name.lower().endswith((".mht", ".mhtml"))
    return bool(_MHTML_TYPE.search(head)) or (named and bool(_MIME.search(head)))


KINDS: tuple[tuple[str, Sniff, str], ...] = (
    ("arc", _is_arc, "lafka.warc.alike.arc:ArcVolume"),
    ("maff", _is_maff, "lafka.warc.alike.maff:MaffVolume"),
    ("wacz", _is_wacz, "lafka.warc.alike.wacz:WaczVolume"),
    ("mhtml", _is_mhtml, "lafka.warc.alike.mhtml:MhtmlVolume"),
    ("warc", lambda _head, _path: True, "lafka.warc.reading.volumes:Volume"),
)
"""Name, whether the first bytes (inflated) of a file are such a one's, and its class; in order."""


def kind_of(path: Path | str) -> str:
    """The name of the kind of file at *path*; ``warc`` for whatever is no other. ``OSError``."""
    return _kind(Path(path))[0]


def open_volume(path: Path | str, **kw: Any) -> Volume:
    """The file at *path* as a volume, by what its first bytes are; *kw* are those of its class."""
    path = Path(path)
    module, _, name = _kind(path)[2].partition(":")
    volume: Volume = getattr(import_module(module), name)(path, **kw)
    return volume


def _kind(path: Path) -> tuple[str, Sniff, str]:
    with Volume(path) as volume:  # which refuses what is no regular file
        head = volume.opening(HEAD)
    return next(kind for kind in KINDS if kind[1](head, path))
