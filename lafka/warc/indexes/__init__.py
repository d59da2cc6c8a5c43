"""Indexes: which record of which volume holds a capture, by URL, time, record id or digest.

``base``    entries, queries, what an index and its builder are
``cdx``     CDX files of 9 and 11 columns, others are read; CDXJ files
``sqlite``  an SQLite database, added to while it is read
``lines``   what CDX and CDXJ share: bisection, an external sort (``sorting``)

CDX and CDXJ are for exchange; SQLite is for live search.

>>> build(["a.warc.gz"], into="a.cdxj")  # doctest: +SKIP
>>> next(attach("a.cdxj").search(url="http://x.example/", time="2026")).offset  # doctest: +SKIP
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import BadIndex, BadValue
from ..foreign import open_volume
from ..format.compression import BROKEN_GZIP
from ..problems import Problem
from . import cdx, sqlite
from .base import CAPTURES, Entry, Index, IndexBuilder, Query, volume_name
from .lines import GZIP, InflatedText, LineBuilder, lines_of

__all__ = [
    "CAPTURES", "KINDS", "Entry", "Index", "IndexBuilder", "Kind", "Query", "attach", "build",
    "builder", "copy", "index_lines", "kind_of",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexKind:
    """A kind of index.

    *sniff* is given the first bytes, inflated. *build* replaces what is there when it is closed;
    *live*, where there is such a thing, adds to it at once.
    """

    name: str
    suffixes: tuple[str, ...]
    sniff: Callable[[bytes], bool]
    index: Callable[..., Index]
    build: Callable[[Path], IndexBuilder]
    live: Callable[[Path], IndexBuilder] | None = None


def _is_cdxj(head: bytes) -> bool:
    lines = [line for _, line in lines_of(io.BytesIO(head))]
    return lines[0].startswith(b"!") or any(map(cdx.CDXJ_LINE.fullmatch, lines)) if lines else False


def _is_cdx(head: bytes) -> bool:
    line = next((line for _, line in lines_of(io.BytesIO(head))), b"")
    return bool(cdx.legend_of(line) or cdx.columns(line))


KINDS = (
    IndexKind(
        name="sqlite", suffixes=(".sqlite", ".sqlite3", ".db"),
        sniff=lambda head: head.startswith(sqlite.MAGIC),
        index=sqlite.SqliteIndex, build=sqlite.fresh, live=sqlite.SqliteBuilder,
    ),
    IndexKind(
        name="cdxj", suffixes=(".cdxj", ".cdxj.gz"), sniff=_is_cdxj,
        index=cdx.CdxjIndex, build=cdx.CdxjBuilder,
    ),
    IndexKind(
        name="cdx", suffixes=(".cdx", ".cdx.gz"), sniff=_is_cdx,
        index=cdx.CdxIndex, build=cdx.CdxBuilder,
    ),
    IndexKind(
        name="cdx9", suffixes=(), sniff=lambda _: False, index=cdx.CdxIndex, build=cdx.cdx9,
    ),
)  # fmt: skip
"""Asked in this order what an index is."""
_HEAD = 1 << 16


def kind_of(path: Path | str, name: str = "") -> IndexKind:
    """The kind *name*, else the one that *path* is named after; ``BadValue`` for no such kind."""
    text = Path(path).name.lower()
    for kind in KINDS:
        if kind.name == name or (not name and text.endswith(kind.suffixes)):
            return kind
    raise BadValue(f"{name or path}: no index is called so; {', '.join(k.name for k in KINDS)} are")


def attach(path: Path | str, *, strict: bool = False) -> Index:
    """The index at *path*, whatever its name; the caller closes it.

    Bad lines are problems of the index, or ``BadIndex`` if *strict*. ``BadIndex`` where *path* is
    no index, ``OSError`` where it cannot be read.
    """
    path = Path(path)
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if head.startswith(GZIP):
        try:
            head = InflatedText(io.BytesIO(head)).read(_HEAD)
        except BROKEN_GZIP as error:
            raise BadIndex(path, str(error)) from error
    kinds = (kind for kind in KINDS if kind.sniff(head))
    found = kind_of(path) if not head else next(kinds, None)
    if found is None:
        raise BadIndex(path, "neither CDX nor CDXJ nor an SQLite index")
    return found.index(path, strict=strict)


def builder(path: Path | str, kind: str = "") -> IndexBuilder:
    """Return a builder for the index at *path*, of the kind that its name or *kind* says.

    SQLite is added to at once; CDX and CDXJ are written anew when the builder is closed, with what
    stood in them before. ``BadValue`` for another name, ``BadIndex`` where *path* is no index.
    """
    path, found = Path(path), kind_of(path, kind)
    if found.live is not None:
        return found.live(path)
    made = found.build(path)
    if path.exists():
        with attach(path) as index:
            for entry in index:
                made.add_entry(entry)
    return made


def build(
    volumes: Iterable[Path | str],
    into: Path | str,
    *,
    kind: str = "",
    problems: Callable[[Problem], None] | None = None,
) -> int:
    """Make the index *into* of all records of *volumes*, replacing it when it is whole.

    How many records were read; memory is constant. What is wrong in volumes goes to *problems*,
    which is called with each.
    """
    into = Path(into)
    with kind_of(into, kind).build(into) as made:
        return _fill(made, volumes, problems)


def _fill(
    made: IndexBuilder,
    volumes: Iterable[Path | str],
    problems: Callable[[Problem], None] | None,
) -> int:
    count = 0
    for path in volumes:
        with open_volume(path) as volume:
            for record in volume:
                made.add(record)
                count += 1
            for problem in volume.problems if problems else ():
                problems(problem)  # type: ignore[misc]
    return count


def index_lines(
    volumes: Iterable[Path | str],
    kind: str = "cdxj",
    *,
    folder: Path | str = ".",
    problems: Callable[[Problem], None] | None = None,
) -> Iterator[bytes]:
    """The lines of a CDX or CDXJ index of *volumes*, sorted, for a pipe; each ends with LF.

    Volumes are named relative to *folder*. ``BadValue`` for a kind that has no lines.
    """
    made = kind_of("", kind).build(Path(folder) / "index") if kind != "sqlite" else None
    if not isinstance(made, LineBuilder):
        raise BadValue(f"an index of the kind {kind} has no lines")
    made.sort_in(None)
    try:
        _fill(made, volumes, problems)
        yield from made.sorted_lines()
    finally:
        made.abort()


def copy(index: Index, into: Path | str, *, kind: str = "") -> int:
    """Make the index *into* of the entries of another one; how many there are."""
    into = Path(into)
    count = 0
    with kind_of(into, kind).build(into) as made:
        for entry in index:
            volume = volume_name(index.folder / entry.volume, into.parent)
            made.add_entry(replace(entry, volume=volume))
            count += 1
    return count
