"""Indexes that are sorted lines of text: found by bisection, made by an external sort."""

from __future__ import annotations

import gzip
import itertools
import os
import re
import uuid
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Protocol

from ..errors import BadIndex
from ..format.compression import BROKEN_GZIP, members
from ..problems import Problem
from ..writing.names import put_in_place
from .base import CAPTURES, Entry, Index, IndexBuilder, LineSorter, Query, Rank
from .surts import surt

GZIP = b"\x1f\x8b"
LINE_MAX = 1 << 20
_BLOCK = 1 << 16
_NEAR = 8192  # bytes that are read on rather than halved
_WHOLE = 1 << 22  # an index of so many bytes is looked at whole before it is taken for sorted
_SAMPLES = 64

Line = tuple[int, bytes]
"""The byte at which a line begins, and the line without its end."""


class Text(Protocol):
    """The text that lines are read from: about so many bytes at a time, none at the end."""

    def read(self, size: int, /) -> bytes: ...


def lines_of(file: Text, start: int = 0, size: int = _BLOCK) -> Iterator[Line]:
    """The lines that are not blank, from the line that begins at byte *start* on.

    A line over 1 MiB is cut to that.
    """
    place, rest = start, b""
    skipping = False
    while True:
        block = file.read(size)
        size = min(2 * size, _BLOCK)
        data = rest + block
        *whole, rest = data.split(b"\n") if block else [data, b""]
        for line in whole:
            if line and not line.isspace() and not skipping:
                yield place, line.removesuffix(b"\r")
            place += len(line) + 1
            skipping = False
        if not block:
            return
        if len(rest) > LINE_MAX:
            if not skipping:
                yield place, rest[:LINE_MAX]
            place, rest, skipping = place + len(rest), b"", True


class LineIndex(Index):
    """Lines that begin with a key, in a file that is plain or gzip.

    A sorted plain file is never read whole: a search takes some reads of 8 KiB and the lines that
    it finds. Where the lines are unsorted, or sorted by keys of another kind, and in gzip, each
    search reads all of them. A file over 4 MiB is taken for sorted where 64 places in it are; the
    first search that finds nothing makes sure of the rest.

    ``BadIndex`` for the first bad line if *strict*; else it becomes a problem, and is passed over.
    """

    delimiter = b" "

    def __init__(self, path: Path, *, strict: bool = False) -> None:
        super().__init__(path)
        self._path = path
        self._strict = strict
        self._file = path.open("rb", buffering=0)
        self._fd = self._file.fileno()
        self._size = os.fstat(self._fd).st_size
        self._gzip = os.pread(self._fd, 2, 0) == GZIP
        self._sorted: bool | None = False if self._gzip else None
        self._sure = False
        self._foreign: bool | None = None
        self._noted: set[int] = set()
        self._begin()

    def _begin(self) -> None:
        """Look at the head of the file; the descriptor is closed where that fails."""
        try:
            self.read_head(line for _, line in itertools.islice(self._lines(), 100))
        except BaseException:
            self.close()
            raise

    def read_head(self, lines: Iterable[bytes]) -> None:
        """Learn from the first *lines* how the others are to be read."""

    @abstractmethod
    def parse(self, line: bytes) -> Entry | None:
        """The entry of *line*, None where it is a header; ``ValueError`` says what is wrong."""

    def close(self) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[Entry]:
        return (entry for _, entry in self._entries(self._lines()))

    # Reading ----------------------------------------------------------------------------------

    def _lines(self, start: int = 0, size: int = _BLOCK) -> Iterator[Line]:
        if self._gzip:
            try:
                yield from lines_of(InflatedText(FileText(self._fd)))
            except BROKEN_GZIP as error:
                self._note_error(self._size, str(error))
        else:
            yield from lines_of(FileText(self._fd, start), start, size)

    def _entries(self, lines: Iterable[Line]) -> Iterator[tuple[int, Entry]]:
        for offset, line in lines:
            try:
                if len(line) >= LINE_MAX:
                    raise ValueError("it is over 1 MiB")
                entry = self.parse(line)
            except ValueError as error:
                self._note_error(offset, str(error))
            else:
                if entry is not None:
                    yield offset, self._own(entry) if self.is_foreign else entry

    def _own(self, entry: Entry) -> Entry:
        if not entry.url:
            return entry
        return replace(entry, key=surt(entry.url))

    def _note_error(self, offset: int, reason: str) -> None:
        if self._strict:
            raise BadIndex(self._path, f"line {self._number(offset)}: {reason}", offset)
        if offset not in self._noted:
            self._noted.add(offset)
            self.problems.append(Problem.of("bad-line", self._path, offset, reason=reason))

    def _number(self, offset: int) -> int:
        """The number of the line that begins at byte *offset* of the text, from 1."""
        number = 1
        text = InflatedText(FileText(self._fd)) if self._gzip else FileText(self._fd)
        with suppress(*BROKEN_GZIP):
            while offset > 0 and (block := text.read(_BLOCK)):
                number += block[:offset].count(b"\n")
                offset -= len(block)
        return number

    # Order ------------------------------------------------------------------------------------

    @property
    def is_foreign(self) -> bool:
        """True if the keys are of another kind than ours, so that ours are made of the URLs."""
        if self._foreign is None:
            self._foreign = False  # while the sample is read
            entries = [entry for _, entry in self._entries(itertools.islice(self._lines(), 100))]
            odd = sum(bool(entry.url) and surt(entry.url) != entry.key for entry in entries)
            self._foreign = odd * 10 > len(entries)
        return self._foreign

    @property
    def is_sorted(self) -> bool:
        """True if the lines can be found by bisection."""
        if self._sorted is None:
            self._sorted = not self.is_foreign and self._in_order(self._sample())
            self._sure = self._size <= _WHOLE
        return self._sorted

    def _in_order(self, lines: Iterable[Line]) -> bool:
        last = b""
        for offset, line in lines:
            if line < last:
                self.problems.append(Problem.of("unsorted-index", self._path, offset))
                return False
            last = line
        return True

    def _sample(self) -> Iterator[Line]:
        if self._size <= _WHOLE:
            yield from self._lines()
            return
        for n in range(_SAMPLES):
            start = self._line_start(self._size * n // _SAMPLES)
            for offset, line in self._lines(start):
                yield offset, line
                if offset > start + _BLOCK // 2:
                    break

    def _is_surely_sorted(self) -> bool:
        if not self._sure:
            self._sorted = self._in_order(self._lines())
            self._sure = True
        return self.is_sorted

    def _line_start(self, place: int) -> int:
        """Return where the first line begins that begins at *place* or later."""
        if not place:
            return 0
        place -= 1
        while block := os.pread(self._fd, 1024, place):
            end = block.find(b"\n")
            if end >= 0:
                return place + end + 1
            place += len(block)
        return self._size

    def _from(self, target: bytes) -> int:
        """Return where a line begins before which all lines are less than *target*."""
        low, high = 0, self._size
        while high - low > _NEAR:
            middle = (low + high) // 2
            found = next(self._lines(self._line_start(middle), 1024), None)
            if found is None or found[0] >= high or found[1] >= target:
                high = middle
            else:
                low = found[0]
        return low

    def _beginning(self, target: bytes) -> Iterator[Line]:
        """The lines that begin with *target*, in a sorted file."""
        for offset, line in self._lines(self._from(target), _NEAR):
            if line.startswith(target):
                yield offset, line
            elif line > target:
                return

    # Searching --------------------------------------------------------------------------------

    def found(self, query: Query) -> Iterator[Entry]:
        if query.record_id is not None and not self.has_ids:
            return
        target = b""
        if query.key is not None:
            target = query.key.encode("ascii") + self.delimiter
        elif query.prefix is not None:
            target = query.prefix.start.encode("ascii")
        if target and self.is_sorted:
            empty = True
            for entry in self._ranked(query, self._beginning(target), in_order=True):
                empty = False
                yield entry
            if not empty or self._is_surely_sorted():
                return
        lines = self._lines()
        if target and not self.is_foreign:
            lines = (line for line in lines if line[1].startswith(target))
        yield from self._ranked(query, lines, in_order=False)

    def _ranked(self, query: Query, lines: Iterator[Line], *, in_order: bool) -> Iterator[Entry]:
        found = ((o, entry) for o, entry in self._entries(lines) if query.matches(entry))
        if in_order and query.prefix is not None and query.when is None:
            for _, group in itertools.groupby(found, key=lambda pair: pair[1].key):
                yield from self._best_first(query, group)
        else:
            yield from self._best_first(query, found)

    def _best_first(self, query: Query, found: Iterable[tuple[int, Entry]]) -> Iterator[Entry]:
        """Holds a rank and an offset an entry, and reads its line again."""
        if self._gzip:
            yield from sorted((entry for _, entry in found), key=query.rank)
            return
        ranks: list[tuple[Rank, int]] = [(query.rank(entry), offset) for offset, entry in found]
        ranks.sort()
        for _, offset in ranks:
            yield next(entry for _, entry in self._entries(self._lines(offset, 1024)))


class FileText:
    """A file read from *place* on, whatever others read meanwhile."""

    def __init__(self, fd: int, place: int = 0) -> None:
        self._fd = fd
        self._place = place

    def read(self, size: int) -> bytes:
        data = os.pread(self._fd, size, self._place)
        self._place += len(data)
        return data


class InflatedText:
    """The text in gzip members, each ended by a line end, which ZipNum leaves out.

    ``zlib.error`` or ``EOFError`` where they are broken; zeros behind them are padding.
    """

    def __init__(self, packed: Text) -> None:
        self._texts = _with_line_ends(members(iter(lambda: packed.read(_BLOCK), b""), _BLOCK))

    def read(self, size: int) -> bytes:  # noqa: ARG002  what is at hand, not over 64 KiB
        return next(self._texts, b"")


def _with_line_ends(members: Iterable[tuple[bytes, bool]]) -> Iterator[bytes]:
    last = b"\n"
    for text, is_over in members:
        last = text[-1:] or last
        end = b"\n" if is_over and last != b"\n" else b""
        last = b"\n" if is_over else last
        if text or end:
            yield text + end


class LineBuilder(IndexBuilder):
    """Sorts the lines of what it takes, in constant memory, and replaces the file when closed."""

    types = frozenset(CAPTURES)

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._lines = LineSorter(path.parent)

    def sort_in(self, folder: Path | None) -> None:
        """Sort in *folder*, None for the temporary one; before anything is taken."""
        self._lines = LineSorter(folder)

    @property
    def head(self) -> bytes:
        """The bytes before the lines."""
        return b""

    @abstractmethod
    def line(self, entry: Entry) -> bytes:
        """The line of *entry*, with its end."""

    def add_entry(self, entry: Entry) -> None:
        self._lines.add(self.line(entry))

    def sorted_lines(self) -> Iterator[bytes]:
        """The head and the lines, once; then nothing is left to be written."""
        with closing(self._lines):
            if self.head:
                yield self.head
            yield from self._lines

    def close(self) -> None:
        draft = self.path.with_name(f".draft-{uuid.uuid4().hex}-{self.path.name}")
        try:
            with draft.open("xb") as file:
                self._write(file)
                file.flush()
                os.fsync(file.fileno())
            put_in_place(draft, self.path)
        finally:
            with suppress(OSError):
                draft.unlink()

    def _write(self, file: IO[bytes]) -> None:
        if self.path.suffix == ".gz":
            with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                packed.writelines(self.sorted_lines())
        else:
            file.writelines(self.sorted_lines())

    def abort(self) -> None:
        self._lines.close()


_UNFIT = re.compile(r"[\x00-\x20\x7f\x85\u2028\u2029\ud800-\udfff]|\s")


def word(text: str) -> str:
    """*text* without spaces and control characters, each percent-encoded; ``-`` for none."""
    return _UNFIT.sub(_percent, text) or "-"


def _percent(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was no UTF-8
        return f"%{code - 0xDC00:02X}"
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogatepass"))


def whole_number(text: object) -> int | None:
    """*text* as a number from 0, None for ``-`` and nothing; ``ValueError`` for anything else."""
    if isinstance(text, int) and not isinstance(text, bool) and text >= 0:
        return text
    if text in ("-", "", None):
        return None
    if isinstance(text, str) and re.fullmatch(r"[0-9]{1,18}", text):
        return int(text)
    raise ValueError(f"{text!r} is no number")
