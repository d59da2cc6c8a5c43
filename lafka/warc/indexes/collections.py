"""Many volumes and indexes as one collection.

>>> with Collection.from_folder("crawl") as collection:  # doctest: +SKIP
...     record = next(collection.search(url="http://x.example/", time="2026-11"))
...     page = b"".join(collection.resolve(record).payload(decoded=True))
"""

from __future__ import annotations

import heapq
import itertools
import os
import tempfile
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Self, Unpack
from urllib.parse import urldefrag, urljoin

from ..errors import BadIndex, BadValue, BadWarc, NotFound
from ..foreign import open_volume
from ..format.dates import WarcDate
from ..format.fields import lossless
from ..problems import Problem
from ..reading.handles import OPEN, files_below, is_volume
from ..reading.stored import StoredRecord
from ..reading.volumes import Volume
from ..writing import segments
from . import KINDS, attach
from .base import Entry, Index, Query, Rank, SearchOptions
from .lines import word
from .sqlite import SqliteBuilder, SqliteIndex
from .surts import surt

_OPENED_MAX = 16
_ORIGINALS = ("response", "resource", "conversion")
_TIED = "WARC-Concurrent-To"
_EVENT = ("request", "response", "revisit", "resource", "metadata")
_ANSWERS = ("response", "revisit")
_NEAR = 50  # records of a URL, nearest in time, among which those of one event are
_BEHIND = 8  # records behind one, of which no index need know

Found = tuple[Rank, int, Entry]


class Collection:
    """Records of many volumes, found through indexes; a context manager, for one thread at a time.

    *volumes* are files, and folders that hold some at any depth; *indexes* are indexes, and files
    that are. Volumes that no index knows are indexed when they are first searched, aside, in a
    temporary file that goes with the collection; without *volumes* those of the indexes are meant.

    Volumes are opened when a record of theirs is asked for, and *opened_max* of them kept open.
    What is wrong in them, and index entries that lead to nothing, go into ``problems``; *strict*
    raises them, ``BadWarc`` or ``BadIndex``.
    """

    def __init__(
        self,
        volumes: Iterable[Path | str] = (),
        indexes: Iterable[Index | Path | str] = (),
        *,
        opened_max: int = _OPENED_MAX,
        strict: bool = False,
    ) -> None:
        self.problems: list[Problem] = []
        self._given = tuple(map(Path, volumes))
        self._strict = strict
        self._opened: OrderedDict[Path, Volume] = OrderedDict()
        self._opened_max = opened_max
        self._own: list[Index] = []
        self._aside: tempfile.TemporaryDirectory[str] | None = None
        self._indexes = [self._attached(index) for index in indexes]

    @classmethod
    def of(cls, paths: Iterable[Path | str], *, opened_max: int = _OPENED_MAX) -> Self:
        """Return a collection of *paths*: volumes, indexes by their names, and folders of both."""
        volumes: list[Path] = []
        indexes: list[Path] = []
        for path in map(Path, paths):
            if path.is_dir():
                volumes.append(path)
                indexes.extend(file for file in files_below(path) if _is_index(file))
            else:
                (indexes if _is_index(path) else volumes).append(path)
        return cls(volumes, indexes, opened_max=opened_max)

    @classmethod
    def from_folder(cls, folder: Path | str, *, opened_max: int = _OPENED_MAX) -> Self:
        """All volumes below *folder*, with the CDX, CDXJ and SQLite indexes that lie there."""
        return cls.of([folder], opened_max=opened_max)

    def _attached(self, index: Index | Path | str) -> Index:
        if isinstance(index, Index):
            return index
        self._own.append(attach(index, strict=self._strict))
        return self._own[-1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the volumes, and the indexes that were given as files."""
        for volume in self._opened.values():
            volume.close()
        self._opened.clear()
        for index in self._own:
            index.close()
        if self._aside is not None:
            self._aside.cleanup()

    # Volumes ----------------------------------------------------------------------------------

    def volumes(self) -> Iterator[Path]:
        """The paths of all volumes, those of a folder sorted, found as they are asked for."""
        if not self._given:
            for index in self._indexes:
                for name in sorted(index.volumes()):
                    yield self._located(index, name)
        for path in self._given:
            if path.is_dir():
                yield from (file for file in files_below(path) if is_volume(file))
            else:
                yield path

    def volume(self, path: Path) -> Volume:
        """The volume at *path*, opened where it is not; it may be closed by any later call."""
        volume = self._opened.get(path)
        if volume is None:
            volume = self._opened[path] = open_volume(path, strict=self._strict)
            while len(self._opened) > self._opened_max:
                self._opened.popitem(last=False)[1].close()
        self._opened.move_to_end(path)
        return volume

    def _located(self, index: Index, name: str) -> Path:
        """Return where the volume is that *index* calls *name*; it need not be there."""
        path = index.folder / name
        for place in (path, path.with_name(path.name + OPEN) if path.name else path):
            if place.is_file():
                return place
        return self._by_name.get(Path(name).name, path)

    @cached_property
    def _by_name(self) -> dict[str, Path]:
        """Given volumes by their bare names, by which many indexes call them."""
        return {path.name: path for path in self.volumes()} if self._given else {}

    def __iter__(self) -> Iterator[StoredRecord]:
        """Every record of every volume."""
        for path in self.volumes():
            try:
                volume = self.volume(path)
                yield from volume
            except FileNotFoundError as error:
                self._note_error("missing-volume", path, 0, error)
                continue
            self._note(volume)

    def next(self, record: StoredRecord) -> StoredRecord | None:
        """The record behind *record*: the next one of its volume, or the first of a later one."""
        behind = record.next()
        if behind is not None:
            return behind
        later = itertools.dropwhile(lambda path: path != record.path, self.volumes())
        for path in itertools.islice(later, 1, None):
            try:
                first = self.volume(path).first()
            except FileNotFoundError as error:
                self._note_error("missing-volume", path, 0, error)
                continue
            if first is not None:
                return first
        return None

    def _note_one(self, problem: Problem) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

    def _note(self, volume: Volume) -> None:
        known = {(problem.path, problem.offset, problem.code) for problem in self.problems}
        for problem in volume.problems:
            if (problem.path, problem.offset, problem.code) not in known:
                self.problems.append(problem)

    def _note_error(self, code: str, path: Path, offset: int, error: Exception) -> None:
        if self._strict:
            raise BadIndex(path, str(error), offset) from error
        self._note_one(Problem.of(code, path, offset, reason=str(error)))

    # Searching --------------------------------------------------------------------------------

    def search(self, **wanted: Unpack[SearchOptions]) -> Iterator[StoredRecord]:
        """Return the records that match all that is *wanted*, the best first: see :class:`Query`.

        By ``url``, ``url_prefix``, ``time``, ``record_id``, ``digest`` and ``types``. A record that
        several indexes know is given once. An index that has no record ids is passed over in a
        search for one, which is a problem.
        """
        for index in self._sources if wanted.get("record_id") is not None else ():
            if not index.has_ids and index.path:
                self._note_one(Problem.of("no-record-ids", index.path, 0))
        return self._matching(**wanted)

    def _matching(self, **wanted: Unpack[SearchOptions]) -> Iterator[StoredRecord]:
        return self._found(Query.of(**wanted))

    def _found(self, query: Query) -> Iterator[StoredRecord]:
        given: set[tuple[object, ...]] = set()
        sources = self._sources
        ranked = [_ranked(index, query, number) for number, index in enumerate(sources)]
        for _, number, entry in heapq.merge(*ranked, key=lambda found: found[:2]):
            record = self._record(sources[number], entry)
            # The entry may not have told the type.
            if record is None or (query.types is not None and record.type not in query.types):
                continue
            place = (record.volume.identity(), record.offset, record.inner)
            if place not in given:
                given.add(place)
                yield record

    @cached_property
    def _sources(self) -> list[Index]:
        """The indexes, and one of the volumes that none of them knows."""
        unknown = list(self._unknown())
        return [*self._indexes, self._scanned(unknown)] if unknown else self._indexes

    def _unknown(self) -> Iterator[Path]:
        """The given volumes that no index names, by its way to them or by their bare names."""
        known: set[str] = set()
        for index in self._indexes:
            folder = os.path.realpath(index.folder)
            known.update(
                os.path.normpath(os.path.join(folder, name)) if "/" in name else name  # noqa: PTH118
                for name in index.volumes()
            )
        real = lru_cache(maxsize=16)(os.path.realpath)
        for path in self.volumes() if self._given else ():
            if path.name not in known and f"{real(path.parent)}/{path.name}" not in known:
                yield path

    def _scanned(self, paths: list[Path]) -> Index:
        self._aside = tempfile.TemporaryDirectory(prefix="warc-index-")
        path = Path(self._aside.name) / "volumes.sqlite"
        with SqliteBuilder(path, fresh=True) as builder:
            builder.folder = None
            for volume in paths:
                try:
                    for record in self.volume(volume):
                        builder.add(record)
                except FileNotFoundError as error:
                    self._note_error("missing-volume", volume, 0, error)
                    continue
                self._note(self.volume(volume))
        return self._attached(path)

    def _record(self, index: Index, entry: Entry) -> StoredRecord | None:
        """The record that *entry* of *index* leads to; None where that is another one or none."""
        if not entry.volume or (entry.offset is None and entry.payload_offset is None):
            return None  # it tells of captures that lie elsewhere
        path = self._located(index, entry.volume)
        try:
            volume = self.volume(path)
            if entry.offset is None:
                return _around(volume, entry.payload_offset or 0)
            record = volume.at(entry.offset, entry.inner)
        except FileNotFoundError as error:
            self._note_error("missing-volume", path, 0, error)
        except BadWarc as error:
            self._note_error("stale-entry", path, entry.offset or 0, error)
        else:
            if _is_of(entry, record):
                return record
            other = BadWarc(path, f"the record is not of {entry.url}", entry.offset)
            self._note_error("stale-entry", path, entry.offset, other)
        return None

    # What belongs together --------------------------------------------------------------------

    def resolve(self, record: StoredRecord) -> StoredRecord:
        """The record whose payload *record*, a revisit, had; any other record is its own.

        Found by WARC-Refers-To; else by WARC-Refers-To-Target-URI and -Date; else by the payload
        digest, best among captures of its URL; where a server said that nothing was modified,
        else as the latest capture of the URL before. ``NotFound`` where there is none.
        """
        seen: set[StoredRecord] = set()
        while record.type == "revisit":
            if record in seen:
                raise NotFound(f"{record.id} refers to itself")
            seen.add(record)
            found = next((one for one in self._referred(record) if one not in seen), None)
            if found is None:
                raise NotFound(f"what {record.id or record.url} refers to is in no volume")
            record = found
        return record

    def _referred(self, revisit: StoredRecord) -> Iterator[StoredRecord]:
        fields = revisit.fields
        digest = fields.first("WARC-Payload-Digest") or None
        if refers_to := fields.first("WARC-Refers-To"):
            yield from self._matching(record_id=refers_to)
        url = fields.first("WARC-Refers-To-Target-URI").strip("<>")
        with suppress(BadValue):
            date = WarcDate.parse(fields.first("WARC-Refers-To-Date"))
            for record in self._matching(url=url or revisit.url, time=date, types=_ORIGINALS):
                if record.date and not record.date.distance(date):
                    yield record
        if digest is not None:
            yield from self._matching(url=revisit.url, digest=digest, types=_ORIGINALS)
            yield from self._matching(digest=digest, types=_ORIGINALS)
        if fields.first("WARC-Profile").endswith("/server-not-modified"):
            yield from self._before(revisit)

    def _before(self, revisit: StoredRecord) -> Iterator[StoredRecord]:
        for record in self._matching(url=revisit.url, time=revisit.date, types=_ORIGINALS):
            if record.date and revisit.date and record.date <= revisit.date:
                yield record

    def concurrent(self, record: StoredRecord) -> Iterator[StoredRecord]:
        """The other records of the capture event of *record*, in whichever way they are tied.

        A request is tied to its answer by WARC-Concurrent-To in either of them, or in both to a
        third record (WARC/1.1 section 5.7).
        """
        given = {record}
        for other in self._near(record):
            if other not in given and _are_tied(record, other):
                given.add(other)
                yield other

    def _near(self, record: StoredRecord) -> Iterator[StoredRecord]:
        """Records that may be of the event of *record*."""
        for name in record.fields.all(_TIED):
            yield from self._matching(record_id=name)
        around = self._matching(url=record.url, time=record.date, types=_EVENT)
        yield from itertools.islice(around, _NEAR)
        behind = record.next()
        for _ in range(_BEHIND):
            if behind is None:
                return
            yield behind
            behind = behind.next()

    def request(self, record: StoredRecord) -> StoredRecord | None:
        """The request that *record* is the answer to; None where it is not archived.

        Where nothing is tied, as in old files, URL and date tell.
        """
        tied = (other for other in self.concurrent(record) if other.type == "request")
        found = next(tied, None)
        if found is not None or _TIED in record.fields:
            return found
        return next((other for other in self._near(record) if _is_request_of(other, record)), None)

    def redirects(self, record: StoredRecord) -> Iterator[StoredRecord]:
        """The answers that *record* redirects to, one after the other, each the nearest in time.

        None of them twice, and as far as they are archived.
        """
        seen = {record}
        while target := _location(record):
            answers = self._matching(url=target, time=record.date, types=_ANSWERS)
            near = itertools.islice(answers, _NEAR)
            found = next((one for one in near if one not in seen), None)
            if found is None:
                return
            yield found
            seen.add(found)
            record = found

    def whole(self, record: StoredRecord, *, eager: bool = False) -> segments.SegmentedRecord:
        """The record that *record* is a segment of, or is: ``segments.join`` of it."""
        return segments.join(record, self._segment, eager=eager)

    def _segment(self, origin: str, number: int) -> StoredRecord | None:
        wanted = (origin, number)
        for first in self._matching(record_id=origin):
            if number == 1 and segments.segment_of(first) == wanted:
                return first
            for record in self._matching(url=first.url, types=["continuation"]):
                if segments.segment_of(record) == wanted:
                    return record
        if all(isinstance(index, SqliteIndex) for index in self._sources):
            return None
        return self._segments(origin, number)  # other indexes need not know every record

    @cached_property
    def _segments(self) -> segments.Find:
        return segments.finder(self)


def _ranked(index: Index, query: Query, number: int) -> Iterator[Found]:
    return ((query.rank(entry), number, entry) for entry in index.found(query))


def _is_of(entry: Entry, record: StoredRecord) -> bool:
    """Return whether *record* may be that of *entry*: the volume may have been changed."""
    url = record.url
    return entry.url in ("", url, word(url)) or surt(url) in (entry.key, surt(entry.url))


def _around(volume: Volume, place: int) -> StoredRecord | None:
    """The record in which the byte *place* of a plain volume lies."""
    return next((one for one in volume if one.offset <= place < one.offset + one.length), None)


def _is_index(path: Path) -> bool:
    name = path.name.lower()
    return any(name.endswith(kind.suffixes) for kind in KINDS)


def _are_tied(one: StoredRecord, other: StoredRecord) -> bool:
    names, others = ({r.id, *r.fields.all(_TIED)} - {""} for r in (one, other))
    return not names.isdisjoint(others)


def _is_request_of(request: StoredRecord, answer: StoredRecord) -> bool:
    """Return whether *request*, tied to nothing, is of the URL and the time of *answer*."""
    return (
        request.type == "request"
        and _TIED not in request.fields
        and (request.url, request.date) == (answer.url, answer.date)
    )


def _location(record: StoredRecord) -> str:
    """The URL that an answer redirects to, without a fragment; empty where it does not."""
    head = record.http
    if head is None or not 300 <= head.status < 400 or head.status == 304:
        return ""
    target = lossless(head.fields.first("Location").encode("latin-1", "replace"))
    try:
        return urldefrag(urljoin(record.url, target))[0] if target else ""
    except ValueError:
        return ""
