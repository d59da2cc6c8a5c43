"""Findings of the last finished run in each file of RePEc data, so that it is not read again.

A file that is as it was, read by the same reader, has the templates that it had; and each was,
when that run ended, what the records say last of its handle. A file is as it was where its size,
time and inode are, as in git's index, or where its bytes are: a run *in full*, once a month at
least, takes a digest of each. A file that changed is read whole. What is kept is a cache in the
records, never the truth: it counts where no gathering of tobis came since, and nothing but time is
lost with it.
"""

from __future__ import annotations

import json
import pickle
import struct
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import w3lib

from lafka.archec.gather.loss_rules import DoubtfulFile, Proofs
from lafka.archec.gather.sources import SourceFile
from lafka.archec.records import Records
from lafka.errors import TornFile
from lafka.storage.folders import FileStamp

if TYPE_CHECKING:
    from lafka.archec.redif import Readable, Template

LONGEST = 8 << 20
"""Bytes of a file that can be passed over; a longer one is read in pieces, each time."""
FULL_AFTER = 30 * 86_400
"""Seconds after which a run takes a digest of each file again."""
_KEY = 16
_DIGEST = 32
_STAMP = struct.Struct("<QQQqq")
_HEAD = _DIGEST + _STAMP.size
_FULL = b"full"  # the key of the cache that has the time of the last run in full
_NO_STAMP = FileStamp(0, 0, 0, 0, 0)
_TICK = 2 * 10**9
"""Nanoseconds within which a file that is written again may have the same time: FAT has no less."""
_LAFKA = Path(__file__).parents[2]
_READERS = (
    "archec/gather/found_templates.py", "archec/gather/sources.py",
    "archec/gather/unchanged_files.py", "archec/redif/*.py", "archec/store/texts.py",
    "errors.py", "pids.py", "urls/*.py",
)  # fmt: skip


@cache
def reader_version() -> bytes:
    """A digest of what makes sightings of bytes: this code and what it stands on."""
    digest = sha256(f"{sys.version} {w3lib.__version__}".encode())
    for path in (path for pattern in _READERS for path in sorted(_LAFKA.glob(pattern))):
        digest.update(path.read_bytes())
    return digest.digest()


class TemplateProblem(NamedTuple):
    """A problem of a template: how many lines behind its first one, code and sentence."""

    below: int
    code: str
    sentence: str


class UnchangedTobis(NamedTuple):
    """Tobis of one file that are as they were: their numbers in the records, each with its line.

    All of them stand in their own folders, or none; ``key`` is for ``UnchangedFiles``.
    """

    file: str
    tobis: Sequence[tuple[int, int]]
    is_own: bool
    key: bytes


class OutcomeRow(NamedTuple):
    """The place where the outcome of a sighting is to be noted: a draft, and a row of it."""

    draft: int
    place: int


@dataclass(slots=True)
class FileEntry:
    """The content of a file: columns of its templates, number 0 of what is no tobi.

    ``end`` is a digest of the last one, which tells a file that never had a last line end from one
    that is cut.
    """

    numbers: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    own: list[bool] = field(default_factory=list)
    odd: dict[int, list[TemplateProblem]] = field(default_factory=dict)
    end: str = ""

    def encoded(self, digest: bytes, stamp: FileStamp | None) -> bytes:
        """As bytes; *digest* and *stamp* are of the file."""
        odd = [[place, *oddity] for place, some in self.odd.items() for oddity in some]
        columns = [_steps(self.numbers), _steps(self.lines), bytes(self.own).hex(), odd, self.end]
        told = json.dumps(columns, separators=(",", ":"))
        packed = zlib.compress(told.encode(), 1)
        stamped = _STAMP.pack(*(stamp or _NO_STAMP))
        return b"".join([digest, stamped, packed])

    @classmethod
    def decoded(cls, data: bytes) -> FileEntry:
        numbers, lines, own, odd, end = json.loads(zlib.decompress(data[_HEAD:]))
        entry = cls(
            numbers=list(accumulate(numbers)),
            lines=list(accumulate(lines)),
            own=list(map(bool, bytes.fromhex(own))),
            end=end,
        )
        for place, *oddity in odd:
            entry.odd.setdefault(place, []).append(TemplateProblem(*oddity))
        return entry

    def add(self, template: Template, odd: Sequence[TemplateProblem], *, is_own: bool) -> None:
        """A template whose number is not known."""
        if odd:
            self.odd[len(self.numbers)] = list(odd)
        self.numbers.append(0)
        self.lines.append(template.line)
        self.own.append(is_own)


def end_of(template: Template) -> str:
    """The digest by which the last template of a file is known again."""
    return sha256(template.data).hexdigest()[:_KEY]


def _steps(values: Sequence[int]) -> list[int]:
    return [after - before for before, after in pairwise([0, *values])]


@dataclass(slots=True)
class _Draft:
    """The entry of a file of this run, until all its templates are judged."""

    key: bytes
    digest: bytes
    stamp: FileStamp | None
    entry: FileEntry
    left: int = 1  # what is not judged yet, the end of the file included
    is_spoilt: bool = False


class FileReading:
    """A file that was looked at: ``source`` is what is left to be read of it.

    ``entry`` is what the last run found in it, if it ``is_known``, ``is_same`` whether it is as it
    was then. ``key`` is empty where it cannot be passed over.
    """

    def __init__(
        self, source: bytes | Readable, key: bytes = b"", digest: bytes = b"",
        stamp: FileStamp | None = None,
    ) -> None:  # fmt: skip
        self.source, self.key, self.digest, self.stamp = source, key, digest, stamp
        self.entry = FileEntry()
        self.is_known = self.is_same = False

    def known(self, found: bytes | None, *, is_same: bool) -> None:
        """Take up what the records have of it."""
        if found:
            self.is_known, self.is_same = True, is_same
            self.entry = FileEntry.decoded(found)


class UnchangedFiles:
    """The cache of one run over *records*, which have taken in gatherings of tobis up to *at*.

    *now* is the clock's, in seconds; *in_full*: sizes and times are not trusted.
    """

    def __init__(self, records: Records, at: int, *, now: int, in_full: bool = False) -> None:
        self.proofs = Proofs()
        self._records, self._now = records, now
        self._at = at if at and records.passed_at() == at else 0
        last = int(records.passed(_FULL) or 0) if self._at else 0
        self.in_full = in_full or not 0 <= now - last < FULL_AFTER
        self._full_at = now if self.in_full else last
        self._kept: set[bytes] = set()
        self._drafts: dict[int, _Draft] = {}
        self._last = 0
        self._added = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the run

    def close(self) -> None:
        self._added.close()

    def look(self, file: SourceFile) -> FileReading:
        """*file*, read as far as it can be passed over."""
        if file.size > LONGEST:
            return FileReading(file)
        key = _key(file)
        found = self._records.passed(key) if self._at else None
        if found and not self.in_full and _is_stamped(found, file.stamp):
            look = FileReading(b"", key)
            look.known(found, is_same=True)
            if look.entry.lines:  # else it has to be seen again what it is that has none
                self._kept.add(key)
                return look
        data, torn = _beginning(file)
        if torn or len(data) > LONGEST:
            return FileReading(_Rest(data, file, torn))
        look = FileReading(data, key, sha256(data).digest(), _settled(file.stamp))
        look.known(found, is_same=found is not None and found[:_DIGEST] == look.digest)
        if look.is_same and found:
            self._keep_same(look, found)
        return look

    def _keep_same(self, look: FileReading, found: bytes) -> None:
        """Keep the entry *found* of a file that has the same bytes, by its size and time now."""
        self._kept.add(look.key)
        if look.stamp and not _is_stamped(found, look.stamp):
            pickle.dump((look.key, look.entry.encoded(look.digest, look.stamp)), self._added)

    # The entries of this run -------------------------------------------------------------------

    def draft(self, look: FileReading) -> int:
        """The number of a new draft of an entry; 0 where there is none."""
        if not look.key:
            return 0
        self._last += 1
        self._drafts[self._last] = _Draft(look.key, look.digest, look.stamp, FileEntry())
        return self._last

    def put(
        self, draft: int, template: Template, odd: Sequence[TemplateProblem], *, is_own: bool
    ) -> OutcomeRow | None:
        """A template whose number is found out later."""
        if not draft:
            return None
        entry = self._drafts[draft].entry
        entry.add(template, odd, is_own=is_own)
        self._drafts[draft].left += 1
        return OutcomeRow(draft, len(entry.numbers) - 1)

    def put_other(self, draft: int, template: Template, odd: Sequence[TemplateProblem]) -> None:
        """A template that is no tobi."""
        if draft:
            self._drafts[draft].entry.add(template, odd, is_own=False)

    def found(self, row: OutcomeRow | None, number: int) -> None:
        """The tobi of *row* is the obi *number*, and has its last text."""
        if row:
            self._drafts[row.draft].entry.numbers[row.place] = number
            self._judged(row.draft)

    def spoil(self, row: OutcomeRow | None) -> None:
        """The tobi of *row* has another text than the records: its file is read next time."""
        if row:
            self._judged(row.draft, is_spoilt=True)

    def passed(self, passage: UnchangedTobis, *, is_beaten: bool) -> None:
        """*passage* was judged; *is_beaten*: something in it has another text than the records."""
        if is_beaten:
            self._kept.discard(passage.key)

    def end(self, draft: int, last: Template | None, *, is_whole: bool) -> None:
        """The file was read to its end, which *last* is; *is_whole*: all that is odd was told."""
        if draft:
            self._drafts[draft].entry.end = end_of(last) if last else ""
            self._judged(draft, is_spoilt=not is_whole)

    def doubt(self, file: SourceFile, look: FileReading, *, is_barren: bool) -> None:
        """*file* was read, and proves no loss; what it held is what the last run knew of it."""
        held = frozenset(filter(None, look.entry.numbers)) if look.is_known else None
        if held is None or held:
            self.proofs.doubtful.append(DoubtfulFile(
                path=file.path, place=file.place, key=look.key, held=held, is_barren=is_barren
            ))  # fmt: skip

    def hold(self, file: DoubtfulFile, numbers: Sequence[int]) -> None:
        """Let the next run know that *file* had these tobis, and read it again."""
        if file.key:
            count = len(numbers)
            held = FileEntry(list(numbers), [0] * count, [False] * count)
            # No file has that digest, so none of this is passed over.
            pickle.dump((file.key, held.encoded(bytes(_DIGEST), None)), self._added)

    def _judged(self, number: int, *, is_spoilt: bool = False) -> None:
        draft = self._drafts[number]
        draft.left -= 1
        draft.is_spoilt |= is_spoilt
        if not draft.left:
            del self._drafts[number]
            if not draft.is_spoilt:
                entry = draft.entry.encoded(draft.digest, draft.stamp)
                pickle.dump((draft.key, entry), self._added)

    def keep(self, tist: int) -> None:
        """Let the next run know what this one, which is over, found; *tist* its last gathering."""
        full = [(_FULL, str(self._full_at).encode())]
        self._records.keep_passed(tist, self._kept, chain(unpickled(self._added), full))


def unpickled(file: IO[bytes]) -> Iterator[Any]:
    """The values that this process put into a nameless *file*, from the first on."""
    file.seek(0)
    with suppress(EOFError):
        while True:
            yield pickle.load(file)  # noqa: S301 - nobody else can have written it


def passages(file: str, look: FileReading) -> Iterator[UnchangedTobis]:
    """The tobis of a file that is as it was."""
    entry = look.entry
    for is_own in (True, False):
        tobis = [
            (number, line)
            for number, line, own in zip(entry.numbers, entry.lines, entry.own, strict=True)
            if own is is_own and number
        ]
        if tobis:
            yield UnchangedTobis(file, tobis, is_own, look.key)


def _key(file: SourceFile) -> bytes:
    key = sha256(reader_version())
    key.update(json.dumps([file.path, file.place]).encode())
    return key.digest()[:_KEY]


def _is_stamped(found: bytes, stamp: FileStamp | None) -> bool:
    """Return whether the entry *found* is of a file with that size, time and inode."""
    return stamp is not None and found[_DIGEST : _DIGEST + _STAMP.size] == _STAMP.pack(*stamp)


def _settled(stamp: FileStamp | None) -> FileStamp | None:
    """*stamp*, unless the file may yet be written within the same tick of its clock."""
    if stamp is None or time.time_ns() - max(stamp.modified, stamp.changed) < _TICK:
        return None
    return stamp


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
    """The part of a file that was read already, and then the rest of it; *torn*: there is none."""

    def __init__(self, had: bytes, file: Readable, torn: TornFile | None) -> None:
        self._had, self._file, self._torn = had, file, torn

    def read(self, size: int, /) -> bytes:
        if self._had:
            piece, self._had = self._had[:size], self._had[size:]
            return piece
        if self._torn:
            raise self._torn
        return self._file.read(size)
