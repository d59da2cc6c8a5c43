"""Deeds of a repair, and the second name that a damaged file keeps where another replaces it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lafka.storage import drafts
from lafka.storage.folders import free_name
from lafka.warc.writing.names import numbered


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAction:
    """What was done to *path*, or would be where not ``done``.

    ``deed`` is ``recover`` (a tail behind the summary's end), ``rebuild`` (the summary), ``finish``
    (a draft), ``adopt`` (the raw WARCs of a dead run), ``describe`` (``item.json``), ``drop`` (a
    part that nobody goes on with), or ``left`` for what cannot be mended; ``codes`` are those of
    docs/problems.md that led to it.
    """

    path: str
    deed: str
    codes: tuple[str, ...]
    done: bool
    sentence: str

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@contextmanager
def kept_aside(path: Path) -> Iterator[None]:
    """Keep a second name for the file at *path* where another one replaces it."""
    if not path.exists():
        yield
        return
    aside = free_name(numbered(path.with_name(f"{path.name}.torn"), first=0))
    old = path.read_bytes()
    drafts.link(path, aside)
    try:
        yield
    finally:
        if path.read_bytes() == old:
            aside.unlink()
