"""WARCs with their index and pages as one WACZ (Web Archive Collection Zipped 1.1.1).

``archive/`` holds the WARCs as they are, stored; ``indexes/`` a CDXJ of them, as ZipNum where it is
long; ``pages/pages.jsonl`` what a reader begins with; ``datapackage.json`` every member with its
length and SHA-256, and ``datapackage-digest.json`` the digest of that. Nothing is signed.

The zip is written from its beginning to its end and never looked at again, so any stream will do:
lengths and CRCs stand behind members and in the directory (APPNOTE.TXT 6.3.9, 4.3.9). The same
WARCs give the same bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from ..errors import BadValue, TornWarc
from ..format.dates import WarcDate
from ..format.sources import CHUNK
from ..indexes.base import CAPTURES, Entry, LineSorter
from ..indexes.cdx import CdxjBuilder
from ..reading.volumes import WarcVolume
from ..writing.appending import new_file

VERSION = "1.1.1"
PLAIN_INDEX_MAX = 50 << 20
"""Bytes of index up to which it is a plain file: readers load such a one whole."""
BLOCK_LINES = 3000
"""Lines of index a gzip member of a ZipNum holds."""
_PAGES = {"format": "json-pages-1.0", "id": "pages", "title": "Pages", "hasText": False}
_SLUG = re.compile(r"[^-a-z0-9._]")
"""What cannot stand in the name of a resource of a data package."""
_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)
_MEMORY = 4 << 20


class Sink(Protocol):
    """An output that can be written to: a file, a socket, an answer that is being sent."""

    def write(self, data: bytes, /) -> int | None: ...


def _rfc3339(date: WarcDate) -> str:
    """*date* with all its parts, as pages and packages have them."""
    return date.datetime.isoformat(timespec="seconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A WARC to be packed under the *name* that no other has: its first *length* bytes, or all.

    *title* is asked of each capture what it is called as a page to begin with: nothing if it is
    none.
    """

    path: Path
    name: str
    length: int | None = None
    title: Callable[[Entry], str] = lambda _: ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """The metadata in ``datapackage.json``: *title* and the *software* that made it."""

    title: str = ""
    description: str = ""
    software: str = "lafka.warc"
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """The account of a packing: WARCs, the entries of their index, pages."""

    warcs: int
    entries: int
    pages: int


def pack(pieces: Iterable[Piece], into: Path | str, package: Package | None = None) -> Packed:
    """Write the new file *into*; ``FileExistsError`` where there is one, then as :func:`stream`.

    There is no file where anything is raised.
    """
    with new_file(Path(into)) as out:
        sink = _Sink(lambda data: out.write([data]))
        return stream(pieces, sink, package, folder=Path(into).parent)


def stream(
    pieces: Iterable[Piece],
    out: Sink,
    package: Package | None = None,
    *,
    folder: Path | None = None,
) -> Packed:
    """Write a WACZ of *pieces* to *out*, which need not seek; memory is constant.

    Longer indexes are sorted in *folder*, None for the temporary one. ``BadValue`` for two pieces
    of one name or none at all; ``TornWarc`` where a WARC is shorter than its piece; ``OSError``.
    """
    with closing(_Writer(out, package or Package(), folder)) as writer:
        for piece in pieces:
            writer.add(piece)
        return writer.finish()


@dataclass(slots=True)
class _Sink:
    """The output of zipfile, which has no place to go back to."""

    take: Callable[[bytes], object]

    def write(self, data: bytes, /) -> int:
        self.take(data)
        return len(data)

    def flush(self) -> None:
        pass


class _Writer:
    def __init__(self, out: Sink, package: Package, folder: Path | None) -> None:
        self._sink = _Sink(out.write)
        self._zip = ZipFile(self._sink, "w", ZIP_STORED)  # type: ignore[call-overload]
        self._package = package
        self._beside = ThreadPoolExecutor(1, "wacz")
        self._copying: Future[None] | None = None
        self._resources: list[dict[str, Any]] = []
        self._names: set[str] = set()
        self._lines = LineSorter(folder)
        self._index = CdxjBuilder(Path("index.cdxj"))
        self._pages = tempfile.SpooledTemporaryFile(_MEMORY, dir=str(folder) if folder else None)  # noqa: SIM115
        self._newest: WarcDate | None = None
        self._count = {"entries": 0, "pages": 0, "index": 0}

    def close(self) -> None:
        self._beside.shutdown()
        self._lines.close()
        self._pages.close()
        self._sink.take = len  # a zip that broke off gets no directory
        self._zip.close()

    # ---- WARCs

    def add(self, piece: Piece) -> None:
        """Index *piece* while the one before it is copied."""
        if piece.name in self._names:
            raise BadValue(f"{piece.name}: two WARCs would have this name")
        self._names.add(piece.name)
        file = piece.path.open("rb", buffering=0)
        try:
            size = os.fstat(file.fileno()).st_size if piece.length is None else piece.length
            self._read(piece, file.fileno(), size)
            self._copied()
        except BaseException:
            file.close()
            raise
        self._copying = self._beside.submit(self._copy, piece, file, size)

    def _copied(self) -> None:
        copying, self._copying = self._copying, None
        if copying is not None:
            copying.result()

    def _copy(self, piece: Piece, file: IO[bytes], size: int) -> None:
        with file:
            self._member(f"archive/{piece.name}", _first(file, size, piece), size)

    def _read(self, piece: Piece, fd: int, size: int) -> None:
        """Index the records of *piece* and note its pages."""
        with WarcVolume(piece.path, fd=fd, part=(0, size)) as volume:
            for record in volume.records(CAPTURES):
                entry = Entry.of(record, piece.name)
                self._enter(entry)
                if entry.date and (title := piece.title(entry)):
                    self._note(entry.url, entry.date, title)

    def _enter(self, entry: Entry) -> None:
        line = self._index.line(entry)
        self._lines.add(line)
        self._count["entries"] += 1
        self._count["index"] += len(line)
        if entry.date and (self._newest is None or entry.date > self._newest):
            self._newest = entry.date

    def _note(self, url: str, date: WarcDate, title: str) -> None:
        self._count["pages"] += 1
        page = {"id": str(self._count["pages"]), "url": url, "ts": _rfc3339(date), "title": title}
        self._pages.write(_json_line(page))

    # ---- What tells of them

    def finish(self) -> Packed:
        if not self._names:
            raise BadValue("no WARC is to be packed")
        self._copied()
        if self._count["index"] <= PLAIN_INDEX_MAX:
            self._member("indexes/index.cdx", iter(self._lines), self._count["index"])
        else:
            self._zipnum()
        size = self._pages.tell()
        self._pages.seek(0)
        lines = itertools.chain([_json_line(_PAGES)], iter(lambda: self._pages.read(CHUNK), b""))
        self._member("pages/pages.jsonl", lines, size)
        package = _json_text(self._description())
        self._member("datapackage.json", iter([package]), len(package))
        digest = {"path": "datapackage.json", "hash": self._resources[-1]["hash"]}
        self._member("datapackage-digest.json", iter([_json_text(digest)]))
        self._zip.close()
        counted = {name: self._count[name] for name in ("entries", "pages")}
        return Packed(warcs=len(self._names), **counted)

    def _zipnum(self) -> None:
        """The index in gzip members of :data:`BLOCK_LINES` lines, and where each begins."""
        blocks: list[bytes] = []
        size = self._count["index"]
        self._member("indexes/index.cdx.gz", _blocks(iter(self._lines), blocks), size)
        head = b'!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}\n'
        self._member("indexes/index.idx", iter([head, *blocks]))

    def _description(self) -> dict[str, Any]:
        package = self._package
        time = _rfc3339(self._newest) if self._newest else ""
        values = {
            "profile": "data-package",
            "title": package.title,
            "description": package.description,
            "wacz_version": VERSION,
            "software": package.software,
            "created": time,
            **package.extra,
            "resources": self._resources,
        }
        return {name: value for name, value in values.items() if value != ""}

    def _member(self, path: str, chunks: Iterator[bytes], size: int = 0) -> None:
        """Write *chunks*, some *size* bytes: who has over 2 GiB gets a zip64 header."""
        info = ZipInfo(path, _ZIP_EPOCH)
        info.external_attr = 0o644 << 16
        info.file_size = size
        digest, length = hashlib.sha256(), 0
        with self._zip.open(info, "w") as member:
            for data in chunks:
                digest.update(data)
                length += member.write(data)
        name = _SLUG.sub("-", path.rpartition("/")[2].lower())
        resource = {
            "name": f"{len(self._resources)}-{name}",
            "path": path,
            "hash": f"sha256:{digest.hexdigest()}",
            "bytes": length,
        }
        self._resources.append(resource)


def _first(file: IO[bytes], size: int, piece: Piece) -> Iterator[bytes]:
    """The first *size* bytes of *file*; ``TornWarc`` where it has fewer."""
    left = size
    while left:
        data = file.read(min(left, CHUNK))
        if not data:
            raise TornWarc(piece.path, f"it ends {left} bytes too early", size - left)
        left -= len(data)
        yield data


def _blocks(lines: Iterator[bytes], index: list[bytes]) -> Iterator[bytes]:
    place = 0
    while block := list(itertools.islice(lines, BLOCK_LINES)):
        data = gzip.compress(b"".join(block), mtime=0)
        key, date, _ = block[0].split(b" ", 2)
        block_place = {"offset": place, "length": len(data), "filename": "index.cdx.gz"}
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        index.append(key + b" " + date + b" " + _json_line({**block_place, "digest": digest}))
        place += len(data)
        yield data


def _json_line(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values).encode("ascii") + b"\n"


def _json_text(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, indent=2).encode("ascii") + b"\n"
