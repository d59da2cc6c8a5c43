"""What the last finished run found in each file of RePEc data, so that it is not read again.

A file whose bytes are as they were, read by the same reader, has the templates that it had; and
each was, when that run ended, what the records say last of its handle. Of a file that changed, the
templates whose bytes lie in the store are passed over one by one. What is kept is a cache in the
records, never the truth: it counts where no gathering of tobis came since, and nothing but time is
lost with it. Digests decide, never sizes and times.
"""

from __future__ import annotations

import json
import pickle
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

from lafka.archec.records import Kind, Records
from lafka.archec.redif import Found, Readable
from lafka.archec.sources import SourceFile
from lafka.errors import TornFile

LONGEST = 8 << 20
"""Bytes of a file that can be passed over; a longer one is read in pieces, each time."""
_KEY = 16
_DIGEST = 32
_OWN, _EXACT = 1, 2  # flags of a template
_HERE = Path(__file__).parent
_READERS = (
    "handles.py", "passing.py", "problems.py", "sightings.py", "sources.py", "texts.py", "uris.py",
    "../errors.py", "../pids.py", "../urls.py",
)  # fmt: skip


@cache
def reader_version() -> bytes:
    """A digest of what makes sightings of bytes: this code and what it stands on."""
    digest = sha256(f"{sys.version} {version('w3lib')}".encode())
    for path in [*(_HERE / name for name in _READERS), *sorted((_HERE / "redif").glob("*.py"))]:
        digest.update(path.read_bytes())
    return digest.digest()


class Oddity(NamedTuple):
    """A problem of a template: how many lines behind its first one, code and sentence."""

    below: int
    code: str
    sentence: str


class Passage(NamedTuple):
    """Tobis of one file that are as they were, by their numbers in the records and their lines.

    All of them stand in their own folders, or none; ``key`` and ``draft`` are for ``Passing``.
    """

    file: str
    numbers: Sequence[int]
    lines: Sequence[int]
    is_own: bool
    key: bytes
    draft: int


class Row(NamedTuple):
    """Where the outcome of a sighting is to be noted: a draft, and a place in it."""

    draft: int
    place: int


@dataclass(slots=True)
class Entry:
    """What a file had: columns of its templates, number 0 of what is no tobi."""

    numbers: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    flags: list[int] = field(default_factory=list)
    odd: dict[int, list[Oddity]] = field(default_factory=dict)

    def encoded(self, digest: bytes) -> bytes:
        """As bytes; *digest* is of the file."""
        odd = [[place, *oddity] for place, some in self.odd.items() for oddity in some]
        columns = [_steps(self.numbers), _steps(self.lines), bytes(self.flags).hex(), odd]
        told = json.dumps(columns, separators=(",", ":"))
        return digest + zlib.compress(told.encode(), 1)

    @classmethod
    def decoded(cls, data: bytes) -> Entry:
        numbers, lines, flags, odd = json.loads(zlib.decompress(data[_DIGEST:]))
        entry = cls(list(accumulate(numbers)), list(accumulate(lines)), list(bytes.fromhex(flags)))
        for place, *oddity in odd:
            entry.odd.setdefault(place, []).append(Oddity(*oddity))
        return entry


def _steps(values: Sequence[int]) -> list[int]:
    return [after - before for before, after in pairwise([0, *values])]


@dataclass(slots=True)
class _Draft:
    """The entry of a file of this run, until all its templates are judged."""

    key: bytes
    digest: bytes
    entry: Entry = field(default_factory=Entry)
    left: int = 1  # what is not judged yet, the end of the file included
    is_spoilt: bool = False


class Look:
    """A file that was looked at: ``source`` is what is left to be read of it.

    ``entry`` is what the last run found in it, ``is_same`` whether it had the same bytes then.
    ``key`` is empty where it cannot be passed over.
    """

    def __init__(self, source: bytes | Readable, key: bytes = b"", digest: bytes = b"") -> None:
        self.source, self.key, self.digest = source, key, digest
        self.entry = Entry()
        self.is_same = False
        self._exact: dict[bytes, int] | None = None

    def known(self, found: bytes | None, records: Records, at: int) -> None:
        """Take up what the records have of it as of the gathering *at*."""
        if found:
            self.entry = Entry.decoded(found)
            self.is_same = found[:_DIGEST] == self.digest
            self._records, self._at = records, at

    def find(self, data: bytes) -> Found | None:
        """Which of the known templates has these bytes; asked of the files in the store."""
        if not self.entry.numbers:
            return None
        if self._exact is None:
            self._exact = self._digests()
        place = self._exact.get(sha256(data).digest())
        return None if place is None else Found(place, len(self.entry.odd.get(place, ())))

    def _digests(self) -> dict[bytes, int]:
        entry = self.entry
        exact = {
            number: place
            for place, (number, flags) in enumerate(zip(entry.numbers, entry.flags, strict=True))
            if number and flags & _EXACT
        }
        # What this run itself has changed is another text than the one that was known.
        return {
            bytes.fromhex(last.sha256): exact[number]
            for number, last in self._records.numbered(Kind.TOBI, exact).items()
            if last.sha256 and last.noted is not None and last.noted <= self._at
        }


class Passing:
    """The cache of one run over *records*, which have taken in gatherings of tobis up to *at*."""

    def __init__(self, records: Records, at: int) -> None:
        self._records = records
        self._at = at if at and records.passed_at() == at else 0
        self._kept: set[bytes] = set()
        self._drafts: dict[int, _Draft] = {}
        self._last = 0
        self._added = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the run

    def close(self) -> None:
        self._added.close()

    def look(self, file: SourceFile) -> Look:
        """*file*, read as far as it can be passed over."""
        if file.size > LONGEST:
            return Look(file)
        data, torn = _beginning(file)
        if torn or len(data) > LONGEST:
            return Look(_Rest(data, file, torn))
        key = sha256(reader_version())
        key.update(json.dumps([file.path, file.place]).encode())
        look = Look(data, key.digest()[:_KEY], sha256(data).digest())
        if self._at:
            look.known(self._records.passed(look.key), self._records, self._at)
        if look.is_same:
            self._kept.add(look.key)
        return look

    # The entries of this run -------------------------------------------------------------------

    def draft(self, look: Look) -> int:
        """The number of a new draft of an entry; 0 where there is none."""
        if not look.key:
            return 0
        self._last += 1
        self._drafts[self._last] = _Draft(look.key, look.digest)
        return self._last

    def put(self, draft: int, line: int, odd: Iterable[Oddity], *, is_own: bool) -> Row | None:
        """A template whose number is found out later."""
        if row := self._put(draft, 0, line, odd, _OWN * is_own):
            self._drafts[draft].left += 1
        return row

    def put_known(self, draft: int, entry: Entry, place: int, line: int) -> None:
        """A template that is as it was."""
        odd = entry.odd.get(place, ())
        self._put(draft, entry.numbers[place], line, odd, entry.flags[place])

    def put_other(self, draft: int, line: int, odd: Iterable[Oddity]) -> None:
        """A template that is no tobi."""
        self._put(draft, 0, line, odd, 0)

    def _put(
        self, draft: int, number: int, line: int, odd: Iterable[Oddity], flags: int
    ) -> Row | None:
        if not draft:
            return None
        entry = self._drafts[draft].entry
        place = len(entry.numbers)
        entry.numbers.append(number)
        entry.lines.append(line)
        entry.flags.append(flags)
        if odd := list(odd):
            entry.odd[place] = odd
        return Row(draft, place)

    def await_passage(self, draft: int) -> None:
        if draft:
            self._drafts[draft].left += 1

    def found(self, row: Row | None, number: int, *, exact: bool) -> None:
        """The tobi of *row* is the obi *number*, and has its last text; *exact*: its bytes."""
        if row:
            entry = self._drafts[row.draft].entry
            entry.numbers[row.place] = number
            entry.flags[row.place] |= _EXACT * exact
            self._judged(row.draft)

    def spoil(self, row: Row | None) -> None:
        """The tobi of *row* has another text than the records: its file is read next time."""
        if row:
            self._judged(row.draft, is_spoilt=True)

    def passed(self, passage: Passage, *, is_beaten: bool) -> None:
        """*passage* was judged; *is_beaten*: something in it has another text than the records."""
        if is_beaten:
            self._kept.discard(passage.key)
        if passage.draft:
            self._judged(passage.draft, is_spoilt=is_beaten)

    def end(self, draft: int, *, is_whole: bool) -> None:
        """The file was read to its end; *is_whole*: all that is odd about it was told."""
        if draft:
            self._judged(draft, is_spoilt=not is_whole)

    def _judged(self, number: int, *, is_spoilt: bool = False) -> None:
        draft = self._drafts[number]
        draft.left -= 1
        draft.is_spoilt |= is_spoilt
        if not draft.left:
            del self._drafts[number]
            if not draft.is_spoilt:
                pickle.dump((draft.key, draft.entry.encoded(draft.digest)), self._added)

    def keep(self, tist: int) -> None:
        """Let the next run know what this one, which is over, found; *tist* its last gathering."""
        self._added.seek(0)
        self._records.keep_passed(tist, self._kept, self._written())

    def _written(self) -> Iterator[tuple[bytes, bytes]]:
        try:
            while True:
                yield pickle.load(self._added)  # noqa: S301 - this process wrote it
        except EOFError:
            return


def passages(
    file: str, look: Look, found: Iterable[tuple[int, int]], draft: int = 0
) -> Iterator[Passage]:
    """The known templates *found*, by their places in the entry and their lines now."""
    numbers, flags = look.entry.numbers, look.entry.flags
    tobis = [(numbers[place], line, flags[place] & _OWN) for place, line in found if numbers[place]]
    for own in (_OWN, 0):
        if some := [(number, line) for number, line, is_own in tobis if is_own == own]:
            yield Passage(
                file=file,
                numbers=[number for number, _ in some],
                lines=[line for _, line in some],
                is_own=bool(own),
                key=look.key,
                draft=draft,
            )


def _beginning(file: SourceFile) -> tuple[bytes, TornFile | None]:
    """The bytes of *file*, at most one more than can be passed over; why there are no more."""
    had = b""
    try:
        while len(had) <= LONGEST and (more := file.read(LONGEST + 1 - len(had))):
            had = had + more if had else more
    except TornFile as error:
        return had, error
    return had, None


class _Rest:
    """What was read of a file already, and then the rest of it; *torn*: there is none."""

    def __init__(self, had: bytes, file: Readable, torn: TornFile | None) -> None:
        self._had, self._file, self._torn = had, file, torn

    def read(self, size: int, /) -> bytes:
        if self._had:
            piece, self._had = self._had[:size], self._had[size:]
            return piece
        if self._torn:
            raise self._torn
        return self._file.read(size)
