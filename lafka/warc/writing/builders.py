"""Writes WARC files: named by the guidelines, of a bounded size, whole or told from whole ones.

A file is named ``NAME.open`` while it is written and ``NAME`` once it is whole. One that could not
be is kept as ``NAME.invalid``. No file is ever overwritten, whoever made it.
"""

from __future__ import annotations

import errno
import itertools
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, Self

from ..errors import BadValue
from ..format.dates import SECONDS, WarcDate
from ..format.fields import Fields
from ..format.records import Record, uuid_urn
from ..format.rules import VERSIONS
from ..reading.handles import name_of
from ..reading.stored import StoredRecord
from ..reading.volumes import Volume
from .appending import Draft, StreamDraft, WritableStream
from .encoding import Encoding, Gzip, Plain, added_size
from .names import TEMPLATE, is_gzip, make_name, sync_folder, this_host

MAX_SIZE = "1G"
# Records of these types may be tied to one another as one capture event (WARC/1.1 section 5.7).
_CAPTURED = frozenset({"request", "response", "resource", "metadata", "revisit"})
_CONCURRENT = "WARC-Concurrent-To"
_HEADER_MAX = 1 << 20


class RecordListener(Protocol):
    """An index, or whatever else takes each record once it is written."""

    def add(self, record: StoredRecord, /) -> object: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place of the record *id*: ``length`` bytes from ``offset`` on of the file ``path``.

    Until the file is whole it has ``.open`` behind that name.
    """

    path: Path
    offset: int
    length: int
    id: str


class Builder:
    """Appends records to WARC files, each group whole or not at all; a context; for one thread.

    *path*: the one file to be made, or whatever has ``write(data)``: a group goes onto that when it
    is whole, and whoever opened it closes it. Else files in *folder*, named by *template*
    (:func:`names.make_name`) with *prefix*, *host* and the next of *serials*;
    another one begins with a group that the last has no room for, of *max_size* bytes (``"1G"``,
    ``"512Mi"``). A group that is larger has a file of its own; a compressed file is full once it
    is over that size. *warcinfo*: what each file begins with, a body or a record, cloned with an
    id, a date and the file's name of its own.

    *gzip*: a member for each record, by default where the name ends with ``.gz``; *skip_lengths*
    tells its length in it. *durable*: a group is
    on the disk when ``append`` returns, and so is the file's name. *indexes* are told of each
    record. *version*: of all records but stored ones; each its own where it is None.

    ``OSError`` is what the disk says, ``FileExistsError`` where *path* or its ``.open`` is there.
    """

    def __init__(
        self,
        path: Path | str | WritableStream | None = None,
        *,
        folder: Path | str | None = None,
        template: str = TEMPLATE,
        prefix: str = "WARC",
        host: str | None = None,
        serials: Iterator[int] | None = None,
        max_size: int | str = MAX_SIZE,
        warcinfo: Fields | Record | StoredRecord | None = None,
        gzip: bool | None = None,
        skip_lengths: bool = False,
        durable: bool = False,
        indexes: Sequence[RecordListener] = (),
        ids: Callable[[], str] = uuid_urn,
        clock: Callable[[], WarcDate] = WarcDate.now,
        version: str | None = None,
    ) -> None:
        _check_ways(path, folder, version)
        self.max_size = parse_size(max_size)
        self.finished: list[Path] = []
        """The files that are whole, by their final names."""
        self.failed: list[Path] = []
        """The files that were set aside."""
        self._stream, self._path = _ways(path, indexes)
        self._encoding = _encoding(self._path or template, gzip, skip_lengths=skip_lengths)
        self._folder = Path(folder or "")
        self._name = (template, prefix, this_host() if host is None else host)
        self._serials = itertools.count() if serials is None else serials
        self._warcinfo = _template(warcinfo)
        self._durable = durable
        self._indexes = indexes
        self.ids = ids
        self.clock = clock
        self._version = version
        self._file: Draft | None = None
        self._closed = False
        if folder is not None:
            self._check_template()

    def _check_template(self) -> None:
        now = self.clock()
        if self._named(0, now) == self._named(1, now):
            raise BadValue(f"a template without a serial: {self._name[0]!r}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def path(self) -> Path | None:
        """The file that is written now, by the name it will have; None before there is one."""
        return self._file.path if self._file else None

    @property
    def is_single(self) -> bool:
        """True if all goes into one file, however large."""
        return self._path is not None

    @property
    def position(self) -> int:
        """Bytes in the file that is written now."""
        return self._file.out.position if self._file else 0

    # ---- Records

    def append(self, *records: Record | StoredRecord, concurrent: bool = True) -> list[Place]:
        """Append *records*, one capture event, to one file: all of them or none.

        A record without an id, a date or a WARC-Warcinfo-ID gets one; where none of them has
        WARC-Concurrent-To, all that may refer to the first that may, unless not *concurrent*.
        Stored records are copied byte by byte. ``BadValue`` for a record that the standard does
        not have, a stored one without id or date, a block of another length than was said;
        ``OSError`` where the disk refuses. Then the file is as it was before or, where it cannot
        be made so, set aside. What an index raises is raised when the records are there for good.
        """
        if self._closed:
            raise BadValue("the builder is closed")
        if not records:
            return []
        for record in records:
            _check(record)
        file = self._file_for(records)
        group, info_id = self._completed(records, file.info_id, concurrent=concurrent)
        try:
            with file.out.group():
                ends = self._encoding.write(file.out, group)
                if self._durable:
                    file.out.sync()
        finally:
            if not file.out.intact:
                self.set_aside()
        file.info_id = info_id
        places = [
            Place(path=file.path, offset=offset, length=end - offset, id=record.id)
            for record, (offset, end) in zip(group, itertools.pairwise(ends), strict=True)
        ]
        if self._indexes:
            self._add_to_indexes(file, places)
        return places

    def _completed(
        self, records: Sequence[Record | StoredRecord], info_id: str, *, concurrent: bool
    ) -> tuple[list[Record | StoredRecord], str]:
        """*records* with what they lack, and the id of the last warcinfo, *info_id* at first."""
        concurrent = concurrent and not any(_CONCURRENT in record.fields for record in records)
        date = ""
        first = ""
        group: list[Record | StoredRecord] = []
        for record in records:
            fields, kind = record.fields, record.type
            added: list[tuple[str, str]] = []
            record_id = fields.first("WARC-Record-ID")
            if not record_id:
                record_id = self.ids()
                added.append(("WARC-Record-ID", record_id))
            if "WARC-Date" not in fields:
                date = date or self._date_of(records)
                added.append(("WARC-Date", date))
            if kind == "warcinfo":
                info_id = record_id
            elif info_id and kind != "continuation" and "WARC-Warcinfo-ID" not in fields:
                # Continuations have no field that they could do without (WARC/1.1 section 7).
                added.append(("WARC-Warcinfo-ID", info_id))
            if concurrent and kind in _CAPTURED:
                if first:
                    added.append((_CONCURRENT, first))
                first = first or record_id
            group.append(self._with(record, added))
        return group, info_id

    def _date_of(self, records: Sequence[Record | StoredRecord]) -> str:
        """The date of a capture event (WARC/1.1 section 5.4)."""
        dates = (record.fields.first("WARC-Date") for record in records)
        return next(filter(None, dates), "") or self.clock().text

    def _with(
        self, record: Record | StoredRecord, added: list[tuple[str, str]]
    ) -> Record | StoredRecord:
        """*record* with the fields *added*; as it is where it was read."""
        if isinstance(record, StoredRecord) or record.fields.frozen:
            return record
        version = self._version or record.version
        if not added and version == record.version == "1.1":
            return record
        fields = Fields([*record.fields, *added])
        if version == "1.0":
            with suppress(BadValue):
                fields.set("WARC-Date", WarcDate.parse(fields["WARC-Date"]).cut(SECONDS).text)
        return Record(
            fields=fields, block=record.block, version=version, algorithm=record.algorithm
        )

    def _add_to_indexes(self, file: Draft, places: Sequence[Place]) -> None:
        with Volume(file.path, fd=file.out.fd) as volume:
            for place in places:
                record = volume.at(place.offset)
                for index in self._indexes:
                    index.add(record)

    # ---- Files

    def has_room(self, *records: Record | StoredRecord) -> bool:
        """Return whether a group goes into the file that is written now."""
        file = self._file
        if file is None or self._path is not None:
            return file is not None
        rest = self.max_size - file.out.position
        if file.out.position == file.begin:
            return True
        if self._encoding.compression:
            return rest > 0
        rest -= sum(record.block_length for record in records)
        return rest >= len(records) * _HEADER_MAX or rest >= sum(map(added_size, records))

    def _file_for(self, records: Sequence[Record | StoredRecord]) -> Draft:
        if self._file and not self.has_room(*records):
            self.roll()
        if self._file is None:
            self._file = self._begin()
        return self._file

    def start(self) -> int:
        """Begin a file where the last has records in it; how many bytes there are room for."""
        if self._file and self._file.out.position > self._file.begin and self._path is None:
            self.roll()
        if self._file is None:
            self._file = self._begin()
        return self.max_size - self.position

    def _named(self, serial: int, date: WarcDate) -> Path:
        template, prefix, host = self._name
        name = make_name(template, prefix=prefix, host=host, date=date, serial=serial)
        if not name.endswith(self._encoding.suffix):
            name += self._encoding.suffix
        return self._folder / name

    def _names(self) -> Iterator[tuple[Path, WarcDate]]:
        """Names of files that are made now, and the time in them."""
        for serial in self._serials:
            date = self.clock()
            yield self._named(serial, date), date

    def _begin(self) -> Draft:
        """A file under a name that nobody else has."""
        if self._path is not None:
            if self.failed:
                raise BadValue(f"{self.failed[0]} was set aside")
            file = self._single(self._path)
        else:
            made = (Draft.created(path, date) for path, date in self._names())
            free = next(filter(None, made), None)
            if free is None:
                raise BadValue("no serial number is left")
            file = free
        try:
            self._write_info(file)
            if self._durable and self._stream is None:
                sync_folder(file.path.parent)
        except BaseException:
            file.discard()
            raise
        return file

    def _single(self, path: Path) -> Draft:
        if self._stream is not None:
            return StreamDraft.of(self._stream, self.clock())
        file = Draft.created(path, self.clock())
        if file is None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        return file

    def _write_info(self, file: Draft) -> None:
        if self._warcinfo is None:
            return
        fields = self._warcinfo.fields.copy()
        fields.set("WARC-Record-ID", self.ids())
        fields.set("WARC-Date", file.date.text)
        fields.set("WARC-Filename", file.path.name)
        record = self._with(replace(self._warcinfo, fields=fields), [])
        places = self._encoding.write(file.out, [record])
        file.info_id, file.begin = record.id, places[-1]
        if self._indexes:
            place = Place(path=file.path, offset=0, length=file.begin, id=record.id)
            self._add_to_indexes(file, [place])

    def roll(self) -> None:
        """Finish the file that is written now; the next group begins another."""
        file, self._file = self._file, None
        if file is None:
            return
        try:
            if self._durable:
                file.out.sync()
        except BaseException:
            file.out.close()
            raise
        others = () if self._path is not None else (path for path, _ in self._names())
        path = file.finish(iter(others))
        self.finished.append(path)
        if self._durable and self._stream is None:
            sync_folder(path.parent)

    def set_aside(self) -> None:
        """Give the file that is written now up: it is kept as ``NAME.invalid``."""
        file, self._file = self._file, None
        if file is not None:
            self.failed.append(file.set_aside())

    def close(self) -> None:
        """Finish the file that is written now, and append no more."""
        self._closed = True
        self.roll()


def _check_ways(path: object, folder: object, version: str | None) -> None:
    if (path is None) == (folder is None):
        raise BadValue("a builder has either a path or a folder")
    if version not in (None, *VERSIONS):
        raise BadValue(f"not a version of WARC: {version!r}")


def _encoding(name: Path | str, gzip: bool | None, *, skip_lengths: bool) -> Encoding:
    return Gzip(skip_lengths=skip_lengths) if is_gzip(name, gzip) else Plain()


def _ways(
    path: Path | str | WritableStream | None, indexes: Sequence[RecordListener]
) -> tuple[WritableStream | None, Path | None]:
    """The stream that is written onto, if it is one, and the one file, if it is one."""
    if path is None or isinstance(path, Path | str):
        return None, None if path is None else Path(path)
    if indexes:
        raise BadValue(f"{name_of(path)}: an index needs a file, and this is a stream")
    return path, name_of(path)


def _template(warcinfo: Fields | Record | StoredRecord | None) -> Record | None:
    """The record that each file's warcinfo is a clone of."""
    if isinstance(warcinfo, Fields):
        return Record.warcinfo(warcinfo)
    if isinstance(warcinfo, StoredRecord):
        version, block = warcinfo.version, warcinfo.block().read(0, warcinfo.block_length)
        return Record(fields=warcinfo.fields.copy(), block=block, version=version)
    return warcinfo


def _check(record: Record | StoredRecord) -> None:
    """``BadValue`` where *record* has no type, or lacks something and cannot be given it."""
    if not record.fields.first("WARC-Type"):
        raise BadValue("a record without WARC-Type")
    if not isinstance(record, StoredRecord) and not record.fields.frozen:
        return
    if isinstance(record, StoredRecord) and record.torn:
        raise BadValue(f"a torn record is not copied, its header is that of the whole: {record!r}")
    for name in ("WARC-Record-ID", "WARC-Date"):
        if not record.fields.first(name):
            raise BadValue(f"a record that was read has no {name}, and cannot be given one")
    if isinstance(record, StoredRecord) and record.header[:5].upper() != b"WARC/":
        raise BadValue(f"not a WARC record: {record!r}")


_SIZE = re.compile(r"([0-9]{1,18})([KMG]i?)?")
UNITS = {
    "": 1,
    "K": 10**3, "M": 10**6, "G": 10**9,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30,
}  # fmt: skip


def parse_size(size: int | str) -> int:
    """*size* in bytes: a number over 0, or one with a suffix, ``"512Mi"``; else ``BadValue``."""
    if isinstance(size, str) and (found := _SIZE.fullmatch(size)):
        size = int(found[1]) * UNITS[found[2] or ""]
    if type(size) is not int or size <= 0:
        raise BadValue(f"not a size: {size!r} (a number of bytes, or one with K, M, G, Ki, Mi, Gi)")
    return size
