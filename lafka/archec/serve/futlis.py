"""RePEc data -> futlis: the list that the main crawl takes, without any store.

A line is pid, futli, restriction. The futli is the File-URL, mended but not normalised, as Lafka
keeps futlis char by char; where blanks in it leave open what is meant, the form without them is a
line of its own behind the first. Of several templates of one handle one counts, whatever
order they come in: the one in its own folder, else the first in byte order of path, then offset.
Claims lie in a nameless database on disk, so memory is bounded however many templates there are.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from dataclasses import dataclass
from itertools import chain
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from lafka.archec import redif
from lafka.archec.gather.sources import FolderSource, open_source
from lafka.archec.redif.handles import Handle
from lafka.archec.redif.vocabulary import Problem
from lafka.errors import BadArgument, StorageTrouble, TornFile, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from lafka.archec.gather.sources import RedifSource, SourceFile


_TABLES = (
    """CREATE TABLE claim (handle TEXT PRIMARY KEY, outside INTEGER, path TEXT, at INTEGER,
    line INTEGER, digest BLOB, held TEXT) WITHOUT ROWID""",
    "CREATE TABLE beaten (handle TEXT, path TEXT, line INTEGER, digest BLOB)",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A template's claim to its handle.

    ``outside`` says that it does not stand in its own folder; ``path``, ``at`` and ``line`` are
    where it stands; ``digest`` is equal for templates of one text.
    """

    handle: str
    outside: bool
    path: str
    at: int
    line: int
    digest: bytes

    @property
    def rank(self) -> tuple[bool, str, int]:
        """The lowest counts."""
        return self.outside, self.path, self.at


class Duplicate(NamedTuple):
    """A template that does not count, and where the one stands that does, whose text is another."""

    handle: str
    path: str
    line: int
    counts: str
    counts_line: int


class Claims:
    """The best claim to each handle so far, and what is held back of it."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._execute("PRAGMA journal_mode = OFF")
        for table in _TABLES:
            self._execute(table)
        self._execute("BEGIN")  # one for all: nobody else reads it, and it is gone in the end

    def close(self) -> None:
        """Drop everything; nothing is left on disk."""
        self._database.close()

    def put(self, claim: Claim, held: Any = None) -> bool:
        """Take up *claim* and, as JSON, what is *held* of it; whether it is the best so far."""
        row = (claim.handle, *claim.rank, claim.line, claim.digest, json.dumps(held))
        if self._execute("INSERT OR IGNORE INTO claim VALUES (?, ?, ?, ?, ?, ?, ?)", row).rowcount:
            return True
        other = self._claim(claim.handle)
        best = claim.rank < other.rank
        beaten = other if best else claim
        if best:
            self._execute("REPLACE INTO claim VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        told = (beaten.handle, beaten.path, beaten.line, beaten.digest)
        self._execute("INSERT INTO beaten VALUES (?, ?, ?, ?)", told)
        return best

    def duplicates(self) -> Iterator[Duplicate]:
        """The templates that were beaten by one of another text, by path and line."""
        yield from map(
            Duplicate._make,
            self._execute(
                "SELECT handle, beaten.path, beaten.line, claim.path, claim.line"
                " FROM beaten JOIN claim USING (handle) WHERE beaten.digest <> claim.digest"
                " ORDER BY beaten.path, beaten.line"
            ),
        )

    def held(self) -> Iterator[tuple[str, Any]]:
        """Handle and what is held, of those of which anything is, the best claims first."""
        rows = self._execute(
            "SELECT handle, held FROM claim WHERE held <> 'null' ORDER BY outside, path, at"
        )
        for handle, held in rows:
            yield handle, json.loads(held)

    def _execute(self, statement: str, values: tuple[object, ...] = ()) -> sqlite3.Cursor:
        try:
            return self._database.execute(statement, values)
        except sqlite3.Error as error:
            raise StorageTrouble(gettempdir(), OSError(0, f"no room to sort: {error}")) from None

    def _claim(self, handle: str) -> Claim:
        query = "SELECT outside, path, at, line, digest FROM claim WHERE handle = ?"
        outside, path, at, line, digest = self._execute(query, (handle,)).fetchone()
        return Claim(
            handle=handle, outside=bool(outside), path=path, at=at, line=line, digest=digest
        )


HEADER = ("pid", "futli", "restriction", "title")
DEFAULT_TYPES = ("paper", "article", "chapter", "book")

# What such a File-Function begins with is no full text: seen in RePEc data, and what is like it.
NO_FULL_TEXT = (
    "abstract", "appendi", "additional", "code", "cover", "data", "erratum", "errata", "figure",
    "image", "index", "online appendi", "poster", "presentation", "program", "readme",
    "replication", "slide", "software", "source", "supplement", "supporting", "table",
    "technical appendi", "video",
)  # fmt: skip

TITLE_MAX = 500  # characters of a title that a line has
_READ_AT_ONCE = 64 << 20  # bytes of a file that are looked at for templates that restrict
_CHUNK = 1 << 20
_MAY_RESTRICT = re.compile(rb"type[ \t]*[:;=.]?[ \t\r\n]*(?:redif-?)?(?:archive|series)")


class FutliLine(NamedTuple):
    """A line of the list; ``restriction`` is empty where nothing restricts."""

    pid: str
    futli: str
    restriction: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FutliChoice:
    """The templates and files that are wanted; codes of archive and series in lower case."""

    archive: str | None = None
    series: str | None = None
    types: frozenset[str] = frozenset(DEFAULT_TYPES)
    all_functions: bool = False

    @classmethod
    def of(cls, opts: Any) -> FutliChoice:
        """Return what the options of a command ask for; ``BadArgument``."""
        types = frozenset(opts.type.lower().split(",") if opts.type else DEFAULT_TYPES)
        if wrong := sorted(types - redif.ITEMS):
            raise BadArgument(f"--type {wrong[0]!r} is none of {', '.join(sorted(redif.ITEMS))}")
        return cls(
            archive=opts.archive and opts.archive.lower(),
            series=opts.series and opts.series.lower(),
            types=types,
            all_functions=opts.all_functions,
        )

    def takes(self, template: redif.Template, handle: Handle) -> bool:
        """Return whether futlis of *template* are wanted."""
        return (
            template.type in self.types
            and self.archive in (None, handle.archive)
            and self.series in (None, handle.series)
        )

    def takes_file(self, file: redif.File) -> bool:
        """Return whether *file* is, or may be, a full text."""
        function = (file.function or "").strip().lower()
        return self.all_functions or not function.startswith(NO_FULL_TEXT)


def asked(
    files: Iterable[redif.File], choice: FutliChoice, counts: Counter[str]
) -> list[redif.File]:
    """Those of *files* whose URLs can be asked for; the others are counted by the reason."""
    found = []
    for file in files:
        if not choice.takes_file(file):
            counts["other functions"] += 1
        elif not file.uris:
            counts["not a URL" if file.url else "empty"] += 1
        elif file.uris[0].is_ftp:
            counts["ftp"] += 1
        else:
            found.append(file)
    return found


def lines_of(
    handle: Handle,
    files: Iterable[redif.File],
    restrictions: redif.Restrictions,
    title: str | None = None,
) -> list[FutliLine]:
    """The lines of one template, each URL once; also for files that were read from a store."""
    found: dict[str, FutliLine] = {}
    called = printable(" ".join((title or "").split())[:TITLE_MAX])
    for file in files:
        said = restrictions.of(handle, file) or ""
        for reading in file.uris:
            shown = printable(" ".join(said.split()))
            line = FutliLine(handle.text, reading.futli, shown, called)
            found.setdefault(reading.futli, line)
    return list(found.values())


def tsv(lines: Iterable[FutliLine]) -> Iterator[bytes]:
    """*lines* as a file: a header, then a line each."""
    for line in chain([HEADER], lines):
        yield "\t".join(line).encode() + b"\n"


class FutliList:
    """The futlis of RePEc data in a folder or tarball; read once.

    ``counts`` (templates, lines, restricted, and what was left out by reason) and ``problems``
    (duplicate handles, what could not be read) are whole when the iteration has ended; ``whole``
    then says whether the source was read to its end.
    """

    def __init__(self, path: str | Path, choice: FutliChoice) -> None:
        """BadSource where *path* is no folder and no tarball."""
        self.counts: Counter[str] = Counter()
        self.problems: list[Problem] = []
        self.whole = False
        self._source = open_source(path)
        self._choice = choice
        self._restrictions = redif.Restrictions()
        self._claims = Claims()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._claims.close()
        self._source.close()

    def __iter__(self) -> Iterator[FutliLine]:
        # What a folder restricts is known before its papers are read; a tarball is read but once,
        # so all that it holds waits for its end.
        streaming = isinstance(self._source, FolderSource)
        if streaming:
            self._read_restrictions()
        for line in chain(self._from(self._source, streaming=streaming), self._held()):
            self.counts["lines"] += 1
            self.counts["restricted"] += bool(line.restriction)
            yield line
        self._tell_of_duplicates()
        self.problems += self._source.problems
        self.whole = self._source.whole and not self._source.problems

    def _read_restrictions(self) -> None:
        with open_source(self._source.path) as source:
            for file in source:
                try:
                    data = _may_restrict(file)
                    for template in redif.read(data) if data else ():
                        self._restrictions.add(template)
                except TornFile:
                    continue  # the second reading tells of it

    def _from(self, source: RedifSource, *, streaming: bool) -> Iterator[FutliLine]:
        for file in source:
            try:
                for template in redif.read(file, file.path):
                    self._restrictions.add(template)
                    if files := self._claimed(file, template, streaming=streaming):
                        assert template.handle
                        title = template.first("Title")
                        yield from lines_of(template.handle, files, self._restrictions, title)
            except TornFile:
                continue  # the source has told of it

    def _claimed(
        self, file: SourceFile, template: redif.Template, *, streaming: bool
    ) -> list[redif.File]:
        """The files of a template whose turn it is: at once, or when all are read."""
        handle = template.handle
        if not handle or handle.number is None or not self._choice.takes(template, handle):
            return []
        self.counts["templates"] += 1
        claim = _claim(file, template, handle)
        files = asked(template.files(), self._choice, self.counts)
        at_once = streaming and not claim.outside
        best = self._claims.put(
            claim, None if at_once else [template.first("Title"), _packed(files)]
        )
        return files if at_once and best else []

    def _tell_of_duplicates(self) -> None:
        for handle, path, line, counts, counts_line in self._claims.duplicates():
            self.counts["duplicates"] += 1
            if self.counts["duplicates"] <= redif.MOST_PROBLEMS:
                sentence = printable(f"{handle}, as in {counts}, line {counts_line}, which counts")
                self.problems.append(
                    Problem(
                        file=printable(path), line=line, code="duplicate-handle", sentence=sentence
                    )
                )

    def _held(self) -> Iterator[FutliLine]:
        for handle, (title, packed) in self._claims.held():
            files = _unpacked(packed)
            yield from lines_of(Handle(text=handle), files, self._restrictions, title)


def _claim(file: SourceFile, template: redif.Template, handle: Handle) -> Claim:
    return Claim(
        handle=handle.text,
        outside=not handle.owns(file.place),
        path=file.place,
        at=template.line if template.offset is None else template.offset,
        line=template.line,
        digest=template.fingerprint,
    )


def _packed(files: list[redif.File]) -> list[list[object]]:
    return [[file.n, file.url, file.line, file.restriction, file.free] for file in files]


def _unpacked(packed: list[list[object]]) -> Iterator[redif.File]:
    for n, url, line, restriction, free in packed:
        yield redif.File(
            n=n,  # type: ignore[arg-type]  # as _packed has put it there
            url=url,  # type: ignore[arg-type]
            uris=redif.uris_of(url),  # type: ignore[arg-type]
            line=line,  # type: ignore[arg-type]
            restriction=restriction,  # type: ignore[arg-type]
            free=free,  # type: ignore[arg-type]
        )


def _may_restrict(file: SourceFile) -> bytes:
    """The bytes of a file that may hold a template which restricts others; else none."""
    parts: list[bytes] = []
    size = 0
    while size < _READ_AT_ONCE and (chunk := file.read(_CHUNK)):
        parts.append(chunk)
        size += len(chunk)
    data = b"".join(parts)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data
    low = data.lower()
    return data if b"restriction" in low and _MAY_RESTRICT.search(low) else b""
