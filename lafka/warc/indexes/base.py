"""The ground of all indexes: entries, queries, the order of the answers."""

from __future__ import annotations

import heapq
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import IO, Self, TypedDict, Unpack

from ..errors import BadValue
from ..format.dates import SECONDS, WarcDate
from ..format.digests import Digest
from ..format.http import MESSAGE, media_type
from ..problems import Problem
from ..reading.stored import StoredRecord
from .surts import Prefix, surt

CAPTURES = ("response", "resource", "revisit", "conversion", "metadata", "continuation")
"""Types of records that a search by URL gives, the best first; those not named here come last."""
REVISIT_MIME = "warc/revisit"
"""What indexes say in place of the media type of a revisit."""
FAR = 1 << 62
"""Farther from any time than any date, in microseconds: where an entry has no date."""


key_of = lru_cache(maxsize=16)(surt)  # a query is compared with many entries


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The place of a capture's record, and what it is.

    ``offset`` and ``length`` are of the record in its volume, for a compressed volume of its
    member, and ``inner`` is the record's place in that member. ``payload_offset`` and
    ``payload_length`` say where the payload stands literally in the volume. What an index does not
    tell is None or empty; ``type`` is empty where it could be any but a revisit.
    """

    key: str
    url: str
    date: WarcDate | None = None
    type: str = ""
    record_id: str = ""
    mime: str = ""
    status: int | None = None
    digest: str = ""
    volume: str
    offset: int | None = None
    inner: int = 0
    length: int | None = None
    payload_offset: int | None = None
    payload_length: int | None = None

    @property
    def place(self) -> tuple[str, int | None, int, int | None]:
        """The values that only entries of the same physical record have in common."""
        payload = self.payload_offset if self.offset is None else None
        return self.volume, self.offset, self.inner, payload

    @property
    def time(self) -> int:
        """The beginning of ``date`` in microseconds since 1970; ``FAR`` where there is none."""
        return FAR if self.date is None else span(self.date)[0]

    @classmethod
    def of(cls, record: StoredRecord, volume: str) -> Entry:
        """The entry of *record*, which stands in the volume of that name."""
        mime, status = _described(record)
        place = record.payload_place
        digest = record.fields.first("WARC-Payload-Digest")
        if not digest and record.media_type != MESSAGE:
            digest = record.fields.first("WARC-Block-Digest")  # block and payload are one
        return cls(
            key=key_of(record.url),  # an answer has that of its request
            url=record.url,
            date=record.date,
            type=record.type,
            record_id=record.id,
            mime=mime,
            status=status,
            digest=digest,
            volume=volume,
            offset=record.offset,
            inner=record.inner,
            length=record.length,
            payload_offset=place[0] if place else None,
            payload_length=place[1] if place else None,
        )


def _described(record: StoredRecord) -> tuple[str, int | None]:
    """The media type and the status that an index tells of *record*."""
    mime, status = record.media_type, None
    if record.type in ("response", "revisit"):
        head = record.http
        if head is not None:
            mime, status = media_type(head.fields.first("Content-Type")), head.status
        elif mime == MESSAGE:
            mime = ""
    return REVISIT_MIME if record.type == "revisit" else mime, status


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def span(date: WarcDate) -> tuple[int, int]:
    """Return where *date* begins and where its last second does, in microseconds since 1970."""
    first = (date.datetime - _EPOCH) // _MICROSECOND
    return first, first if date.precision >= SECONDS else (date.last - _EPOCH) // _MICROSECOND


_UNLABELLED = ("sha1", "sha256", "md5", "sha512")


def digest_key(text: str) -> str:
    """*text*, a digest with or without its label, so that equal digests are equal texts.

    CDX files have SHA-1 in base 32 without a label; others are told by their length.
    """
    labels = ("",) if ":" in text else tuple(f"{name}:" for name in _UNLABELLED)
    for label in labels:
        with suppress(BadValue):
            digest = Digest.parse(label + text)
            return f"{digest.algorithm}:{digest.value.hex()}"
    return text.strip().lower()


_CAPTURES = frozenset(CAPTURES)
_RANKS = {name: rank for rank, name in enumerate(("", *CAPTURES))}
Rank = tuple[int, str, int, int, int, str, int, int]


class SearchOptions(TypedDict, total=False):
    """The arguments by name of a search; None is as none."""

    url: str | None
    url_prefix: str | None
    """The beginning of a URL, or ``*.host`` for all that is under a name."""
    time: WarcDate | datetime | str | None
    """The captures nearest to it come first, none is left out."""
    record_id: str | None
    digest: str | None
    types: Iterable[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question to an index; every part that is given narrows it.

    By URL, by its beginning or by time alone, captures are found; by id or digest, every record.
    """

    url: str | None = None
    prefix: Prefix | None = None
    when: tuple[int, int] | None = None
    record_id: str | None = None
    digest: str | None = None
    types: frozenset[str] | None = None

    @classmethod
    def of(cls, **wanted: Unpack[SearchOptions]) -> Self:
        """Return the query that *wanted* says; ``BadValue`` where its time is none."""
        url_prefix, time = wanted.get("url_prefix"), wanted.get("time")
        record_id, digest = wanted.get("record_id"), wanted.get("digest")
        given = wanted.get("types")
        types = None if given is None else frozenset(given)
        if types is None and record_id is None and digest is None:
            types = _CAPTURES
        return cls(
            url=wanted.get("url"),
            prefix=None if url_prefix is None else Prefix.of(url_prefix),
            when=None if time is None else span(WarcDate.of(time)),
            record_id=None if record_id is None else bare_id(record_id),
            digest=None if digest is None else digest_key(digest),
            types=types,
        )

    @property
    def key(self) -> str | None:
        """The key of ``url``, made only where it is needed."""
        return None if self.url is None else key_of(self.url)

    def matches(self, entry: Entry) -> bool:
        """Return whether *entry* is looked for; what it does not tell is no reason against it."""
        if self.types is not None and not self._wants(entry.type, self.types):
            return False
        if self.url is not None and entry.url != self.url and entry.key != self.key:
            return False
        if self.prefix is not None and not self.prefix.matches(entry.key, entry.url):
            return False
        if self.record_id is not None and bare_id(entry.record_id) != self.record_id:
            return False
        return self.digest is None or (
            bool(entry.digest) and digest_key(entry.digest) == self.digest
        )

    @staticmethod
    def _wants(kind: str, types: frozenset[str]) -> bool:
        """Return whether *kind* is one of *types*, or could be where an entry does not tell it."""
        return kind in types if kind else not types.isdisjoint(_CAPTURES)

    def is_exact(self, entry: Entry) -> bool:
        """Return whether *entry* has the very URL that is asked for, or none is."""
        return self.url is None or entry.url in (self.url, "")

    def distance(self, micros: int) -> int:
        """Return how far a capture at *micros* is; without a time the newest is nearest."""
        if self.when is None:
            return FAR if micros == FAR else -micros
        first, last = self.when
        return max(first - micros, micros - last, 0)

    def rank(self, entry: Entry) -> Rank:
        """The lower, the better: the URL itself, the nearest, responses before others, the newest.

        A search by the beginning of a URL without a time goes from URL to URL.
        """
        by_key = self.prefix is not None and self.when is None
        return (
            0 if self.is_exact(entry) else 1,
            entry.key if by_key else "",
            self.distance(entry.time),
            _RANKS.get(entry.type, len(_RANKS)),
            -entry.time,
            entry.volume,
            -1 if entry.offset is None else entry.offset,
            entry.inner,
        )


def bare_id(record_id: str) -> str:
    """A record id without the angle brackets in which it stands in a header."""
    return record_id.strip().removeprefix("<").removesuffix(">")


class Index(ABC):
    """An index that can be searched. A context manager; iteration gives every entry.

    What is wrong in it is in ``problems``, each once. Names of volumes in entries are relative to
    ``folder``.
    """

    has_ids = True
    """Whether entries know the ids of records."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.folder = path.parent if path is not None else Path()
        self.problems: list[Problem] = []

    @abstractmethod
    def __iter__(self) -> Iterator[Entry]: ...

    @abstractmethod
    def found(self, query: Query) -> Iterator[Entry]:
        """The entries that *query* matches, in the order of ``query.rank``."""

    def search(self, **wanted: Unpack[SearchOptions]) -> Iterator[Entry]:
        """Return the entries that match all that is *wanted*, the best first (see :class:`Query`).

        By ``url``, ``url_prefix``, ``time``, ``record_id``, ``digest`` and ``types``. ``BadValue``
        for a record id where the index has none.
        """
        if wanted.get("record_id") is not None and not self.has_ids:
            raise BadValue(f"{self.path}: an index of this kind has no record ids")
        return self.found(Query.of(**wanted))

    def volumes(self) -> frozenset[str]:
        """The names of all volumes that have entries."""
        return frozenset(entry.volume for entry in self)

    def close(self) -> None:  # noqa: B027  an index may have nothing to close
        """Give up what is open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class IndexBuilder(ABC):
    """Takes records one by one; the index is there once it is closed.

    A context manager: leaving it by an exception gives up what was not there before. Volumes are
    named relative to the folder of the index.
    """

    types: frozenset[str] | None = None
    """The types of records that are taken; None takes all."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder: Path | None = path.parent
        """What the names of volumes are relative to; None where they are absolute."""
        self._named: tuple[Path | str, str] = ("", "")

    def add(self, record: StoredRecord, volume: Path | str | None = None) -> None:
        """Take *record*; *volume* is where it will be found, if not where it is now."""
        if self.types is None or record.type in self.types:
            path = volume if volume is not None else record.path
            if path != self._named[0]:
                self._named = path, volume_name(path, self.folder)
            self.add_entry(Entry.of(record, self._named[1]))

    @abstractmethod
    def add_entry(self, entry: Entry) -> None:
        """Take an entry as it is."""

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def abort(self) -> None:
        """Leave everything as it was before, as far as that can be."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()


def volume_name(path: Path | str, folder: Path | None) -> str:
    """Return the name of the volume at *path* for an index in *folder*: the way, with slashes."""
    path = Path(path)
    place = os.path.realpath(path.parent)  # symbolic links cannot be gone back through
    if folder is not None:
        place = os.path.relpath(place, os.path.realpath(folder))
    return (Path(place) / path.name).as_posix()


RUN_SIZE = 16 << 20
"""Bytes of lines that are sorted at once; twice as many are in memory."""
_RUNS_MAX = 64  # open files that one merge takes


class LineSorter:
    """Takes lines (bytes, each ended by LF) and gives them sorted by their bytes, each once.

    Runs lie in anonymous files in *folder*; ``OSError`` where the disk refuses. A context manager.
    """

    def __init__(self, folder: Path | str | None = None, *, run_size: int = 0) -> None:
        self._folder = folder
        self._run_size = run_size or RUN_SIZE
        self._lines: list[bytes] = []
        self._size = 0
        self._runs: list[IO[bytes]] = []

    def add(self, line: bytes) -> None:
        self._lines.append(line)
        self._size += len(line)
        if self._size >= self._run_size:
            self._spill()

    def _spill(self) -> None:
        self._lines.sort()
        self._keep(self._lines)
        self._lines, self._size = [], 0
        if len(self._runs) >= _RUNS_MAX:
            runs, self._runs = self._runs, []
            self._keep(heapq.merge(*runs))
            for run in runs:
                run.close()

    def _keep(self, lines: Iterable[bytes]) -> None:
        run: IO[bytes] = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
        self._runs.append(run)
        run.writelines(lines)
        run.seek(0)

    def __iter__(self) -> Iterator[bytes]:
        """All lines, once: what was merged is used up."""
        self._lines.sort()
        last = None
        for line in heapq.merge(*self._runs, self._lines):
            if line != last:
                yield line
            last = line

    def close(self) -> None:
        for run in self._runs:
            run.close()
        self._runs, self._lines = [], []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
