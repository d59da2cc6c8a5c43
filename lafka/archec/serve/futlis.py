"""RePEc data, or the templates of an obi store -> futlis: the list that the main crawl takes.

A line is pid, futli, restriction. The futli is the File-URL, mended but not normalised, as Lafka
keeps futlis char by char; where blanks in it leave open what is meant, the form without them is a
line of its own behind the first. Of several templates of one handle the first in order counts.
Handles lie in a nameless database on disk, so memory is bounded however many templates there are.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from lafka.archec import redif
from lafka.archec.gather.found_templates import Spool, in_order
from lafka.archec.gather.sources import FolderSource, open_source
from lafka.archec.records import Kind
from lafka.archec.redif.handles import Handle
from lafka.archec.redif.vocabulary import Problem
from lafka.archec.serve.queries import standing
from lafka.archec.store.journals import Withdrawals
from lafka.errors import BadArgument, KeeperError, NotHeld, StorageTrouble, TornFile, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from lafka.archec.gather.sources import SourceFile
    from lafka.archec.records import Obi, Records
    from lafka.archec.store.folders import ObiStore


_SEEN = """CREATE TABLE seen (handle TEXT PRIMARY KEY, path TEXT, line INTEGER, digest BLOB)
  WITHOUT ROWID"""


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


class Claim(NamedTuple):
    """A template of an item, which its handle may be that of; *files* are those to be asked for.

    ``is_own``: it stands in its own folder; ``digest`` is equal for templates of one text.
    """

    handle: str
    is_own: bool
    file: str
    line: int
    digest: bytes
    title: str | None
    files: list[redif.File]


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
        self._seen = Spool(_SEEN)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._seen.close()
        self._source.close()

    def __iter__(self) -> Iterator[FutliLine]:
        # What a folder restricts is known before its papers are read; a tarball is read but once,
        # so all that it holds waits for its end.
        if isinstance(self._source, FolderSource):
            self._read_restrictions()
        with closing(in_order(self._claims(), self._source)) as claims:
            for claim in filter(self._is_first, claims):
                handle = Handle(text=claim.handle)
                for line in lines_of(handle, claim.files, self._restrictions, claim.title):
                    self.counts["lines"] += 1
                    self.counts["restricted"] += bool(line.restriction)
                    yield line
        self.problems.sort()
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

    def _claims(self) -> Iterator[Claim]:
        for file in self._source:
            try:
                for template in redif.read(file, file.path):
                    self._restrictions.add(template)
                    if claim := self._claim(file, template):
                        yield claim
            except TornFile:
                continue  # the source has told of it

    def _claim(self, file: SourceFile, template: redif.Template) -> Claim | None:
        handle = template.handle
        if not handle or handle.number is None or not self._choice.takes(template, handle):
            return None
        self.counts["templates"] += 1
        return Claim(
            handle=handle.text, is_own=handle.owns(file.place), file=file.place,
            line=template.line, digest=template.fingerprint, title=template.first("Title"),
            files=asked(template.files(), self._choice, self.counts),
        )  # fmt: skip

    def _is_first(self, claim: Claim) -> bool:
        """Return whether no other has its handle; told where one with another text has."""
        row = (claim.handle, claim.file, claim.line, claim.digest)
        if self._seen.execute("INSERT OR IGNORE INTO seen VALUES (?, ?, ?, ?)", row).rowcount:
            return True
        query = "SELECT path, line, digest FROM seen WHERE handle = ?"
        path, line, digest = self._seen.execute(query, row[:1]).fetchone()
        if digest != claim.digest:
            self.counts["duplicates"] += 1
            if self.counts["duplicates"] <= redif.MOST_PROBLEMS:
                told = printable(f"{claim.handle}, as in {path}, line {line}, which counts")
                self.problems.append(Problem(
                    file=printable(claim.file), line=claim.line, code="duplicate-handle",
                    sentence=told,
                ))  # fmt: skip
        return False


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


_WITHOUT_FILES = redif.TYPES - redif.ITEMS - {"archive", "series"}


class StoreFutliList:
    """The futlis of the templates that *store* has at the tist *at*, now if that is None.

    As ``FutliList``: read once, in the order of the handles' bytes. Templates that were lost by
    then, or withdrawn since, are not in it; the latter, and those that cannot be read, are counted.
    ``RecordsAway``.
    """

    def __init__(
        self, store: ObiStore, records: Records, choice: FutliChoice, at: int | None
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.problems: list[Problem] = []
        self.whole = False
        self._store, self._records, self._choice, self._at = store, records, choice, at
        self._restrictions = redif.Restrictions()
        self._withdrawals = Withdrawals(store)

    def __iter__(self) -> Iterator[FutliLine]:
        # In this order an archive comes before its series, a series before its papers, so that
        # what restricts a paper is known when it comes.
        for obi in self._records.walk(Kind.TOBI):
            if self._is_left_out(obi):
                continue
            for template in self._templates(obi):
                self._restrictions.add(template)
                for line in self._lines(template):
                    self.counts["lines"] += 1
                    self.counts["restricted"] += bool(line.restriction)
                    yield line
        self.whole = not self.problems

    def _is_left_out(self, obi: Obi) -> bool:
        """Return whether it neither has files that are wanted nor restricts any; it is not even
        read.
        """
        of_other = obi.type in redif.ITEMS and self._choice.series not in (None, obi.series)
        return (
            of_other
            or obi.type in _WITHOUT_FILES
            or self._choice.archive not in (None, obi.archive)
        )

    def _templates(self, obi: Obi) -> Iterator[redif.Template]:
        tist = standing(obi, self._at)
        if tist is None:
            return
        if self._withdrawals.why(obi.id, tist):
            self.counts["withdrawn"] += 1
            return
        try:
            yield from redif.read(self._store.read(tist, obi.id), obi.id)
        except (KeeperError, NotHeld, StorageTrouble) as error:
            self.counts["unreadable"] += 1
            if self.counts["unreadable"] <= redif.MOST_PROBLEMS:
                place = self._store.path(tist, obi.id).relative_to(self._store.root).as_posix()
                self.problems.append(
                    Problem(file=place, line=0, code="unreadable", sentence=printable(str(error)))
                )

    def _lines(self, template: redif.Template) -> list[FutliLine]:
        handle = template.handle
        if not handle or handle.number is None or not self._choice.takes(template, handle):
            return []
        self.counts["templates"] += 1
        files = asked(template.files(), self._choice, self.counts)
        return lines_of(handle, files, self._restrictions, template.first("Title"))
