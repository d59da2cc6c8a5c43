"""Files that hold what WARCs hold, read as volumes: WARC itself, ARC, WACZ, MAFF, MHTML.

A kind is a line in :data:`KINDS`; its class is a :class:`Volume` or acts as one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from ..format.compression import BROKEN, GZIP, Inflater, codec_of
from ..format.sources import Source
from ..reading.handles import FileHandle, ReadableStream, name_of, source_of
from ..reading.volumes import Volume
from . import archeaders

HEAD = 4096  # bytes of a file that tell what it is
Sniff = Callable[[bytes, Path], bool]

_ARC_NAME = re.compile(r"\.arc(?:\.gz|\.bz2|\.zst)?(?:\.open)?$", re.IGNORECASE)
_MHTML_TYPE = re.compile(rb"(?im)^content-type:[ \t]*(?:\r?\n[ \t]+)?multipart/related")
_MIME = re.compile(rb"(?im)^mime-version:")


def _is_arc(head: bytes, path: Path) -> bool:
    if head.startswith(b"filedesc:") or next(archeaders.likely(head), (1,))[0] == 0:
        return True
    return bool(_ARC_NAME.search(path.name)) and head[:5].upper() != b"WARC/"


def _is_mhtml(head: bytes, path: Path) -> bool:
    named = path.name.lower().endswith((".mht", ".mhtml"))
    return bool(_MHTML_TYPE.search(head)) or (named and bool(_MIME.search(head)))


KINDS: tuple[tuple[str, Sniff, str], ...] = (
    ("arc", _is_arc, ".arc:ArcVolume"),
    (
        "maff",
        lambda head, path: head.startswith(b"PK") and path.name.lower().endswith(".maff"),
        ".maff:MaffVolume",
    ),
    ("wacz", lambda head, _path: head.startswith(b"PK"), ".wacz:WaczVolume"),
    ("mhtml", _is_mhtml, ".mhtml:MhtmlVolume"),
    ("warc", lambda _head, _path: True, "..reading.volumes:Volume"),
)
"""Name, whether the first bytes (inflated) of a file are such a one's, and its class; in order."""


def kind_of(path: Path | str) -> str:
    """The name of the kind of file at *path*; ``warc`` for whatever is no other. ``OSError``."""
    return _kind(Path(path), None)[0]


def class_of(path: Path, source: Source | None) -> type[Volume]:
    """The class that reads the file at *path*, or what *source* holds."""
    module, _, name = _kind(path, source)[2].partition(":")
    found: type[Volume] = getattr(import_module(module, __name__), name)
    return found


def open_volume(path: Path | str | ReadableStream, **kw: Any) -> Volume:
    """The file at *path*, or a readable, as a volume, by what its first bytes are.

    *kw* are those of its class. ``OSError`` at once where it cannot be read.
    """
    if isinstance(path, Path | str):
        return class_of(Path(path), None)(path, **kw)
    name, source = name_of(path), source_of(path)
    return class_of(name, source)(name, source=source, **kw)


class _Unknown(Volume):
    """A file that may be of any kind."""


def _kind(path: Path, source: Source | None) -> tuple[str, Sniff, str]:
    handle = FileHandle(path, source)  # which refuses what is no regular file
    try:
        head = handle.read(HEAD, 0)
        if head.startswith(b"WARC/"):  # as nearly all do: none of the others is asked
            return KINDS[-1]
        if GZIP.magic.match(head):  # a member of it is enough
            with suppress(*BROKEN):
                head = Inflater().feed(head, HEAD)
        elif codec_of(handle.read, 0):
            with _Unknown(path, source=source) as volume:
                head = volume.opening(HEAD)
    finally:
        handle.close()
    return next(kind for kind in KINDS if kind[1](head, path))
