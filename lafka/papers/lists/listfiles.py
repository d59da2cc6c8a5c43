"""Reads the files of lists and of excludes: bytes to lines, each line of a list with its verdict.

A list is UTF-8, one futli a line, and is read as bytes that are split at LF alone (another shape is
found by its first bytes, or named, and made that: ``lafka.papers.lists.shapes``): tsv (``.tsv``,
``.txt``, standard input), csv (``.csv``), jsonl (``.jsonl``, ``.ndjson``);
``lafka.papers.lists.rows`` says what each is.

Each may be gzipped (``.gz``, known by its first bytes). Where the name does not tell the format,
a first line that begins with ``{`` makes it jsonl, with ``[`` an array of JSON, any other tsv.
A BOM, CR, a header, blank lines, what tables have above and below, and lines that begin with ``#``
are no lines of the list; each other line gets one verdict, whatever it holds. Blanks, quotes and
brackets around a URL belong to the list; what stands between them is the futli, kept char by char.
Memory is bounded by ``LONGEST_LINE``, or ``LONGEST_ARRAY``, however long the list.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from fnmatch import translate
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from lafka.errors import BadList, BadPid, HopelessList
from lafka.papers.lists.futlis import Line
from lafka.papers.lists.rows import (
    FORMATS,
    NO_LINE,
    ColumnRows,
    Jsonl,
    ListRow,
    Rows,
    verdict,
)
from lafka.papers.lists.shapes import HEAD, ListOptions, shape_of
from lafka.pids import Pid, Scheme
from lafka.warc.format.compression import inflated

logger = logging.getLogger(__name__)

LONGEST_LINE = 1 << 20
"""Bytes; a longer line is refused and read over."""
LONGEST_ARRAY = 16 << 20
"""Bytes; a longer array of JSON is read line by line, as JSON lines."""

_CHUNK = 1 << 16
BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_DOCUMENTS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"%PDF-", b"{\\rtf")


def _chunks(stream: BinaryIO, seen: Callable[[bytes], object]) -> Iterator[bytes]:
    # read1 gives what a pipe has; an unbuffered stream has no read1 and does so by itself.
    read = getattr(stream, "read1", stream.read)
    while chunk := read(_CHUNK):
        seen(chunk)
        yield chunk


class _RawLine(NamedTuple):
    number: int
    data: bytes
    too_long: bool = False


def _raw_lines(chunks: Iterable[bytes]) -> Iterator[_RawLine]:
    """Lines without their LF; of one that is too long its first bytes."""
    number = 0
    rest = b""
    skipping = False
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for data in whole:
            number += 1
            yield _RawLine(number, data[:LONGEST_LINE], skipping or len(data) > LONGEST_LINE)
            skipping = False
        if len(rest) > LONGEST_LINE:
            rest, skipping = rest[:LONGEST_LINE], True
    if rest:
        yield _RawLine(number + 1, rest, skipping)


_LINES_OF_A_RECORD = 200


def _records(raw_lines: Iterable[_RawLine], rows: ColumnRows) -> Iterator[_RawLine]:
    """Yield *raw_lines*, those that one record of csv goes over as one."""
    coming = iter(raw_lines)
    ahead: deque[_RawLine] = deque()
    while first := ahead.popleft() if ahead else next(coming, None):
        yield _whole_record(first, rows, ahead, coming)


def _whole_record(
    first: _RawLine, rows: ColumnRows, ahead: deque[_RawLine], coming: Iterator[_RawLine]
) -> _RawLine:
    """Return the record that begins with *first*; what is read beyond it is *ahead*."""
    data = first.data.rstrip(b"\r")
    if first.too_long or not rows.is_open(data.decode("utf-8", "surrogateescape")):
        return first
    for count in range(_LINES_OF_A_RECORD):
        if count == len(ahead):
            ahead.extend(islice(coming, 1))
        if count == len(ahead) or len(data) > LONGEST_LINE:
            break
        data += b"\n" + ahead[count].data.rstrip(b"\r")
        if rows.is_record(data.decode("utf-8", "surrogateescape")):
            for _ in range(count + 1):
                ahead.popleft()
            return first._replace(data=data)
    return first


def _verdicts(raw_lines: Iterable[_RawLine], rows: Rows, form: _Form) -> Iterator[Line]:
    scheme = form.scheme
    if isinstance(rows, ColumnRows) and rows.may_go_on:
        raw_lines = _records(raw_lines, rows)
    for number, raw, too_long in raw_lines:
        data = raw.rstrip(b"\r")
        if not data[:1].isalnum():
            data = data.removeprefix(BOM)  # a list that was put behind another has one
            if NO_LINE.fullmatch(text := data.decode("latin-1")):
                if text.lstrip(' "\t').startswith("#"):
                    form.passed(data)
                continue
        if too_long:
            text = data[:200].decode("utf-8", "replace")
            problem = f"a line of more than {LONGEST_LINE} bytes"
            yield verdict(number, ListRow(text, "", broken_pid=problem), scheme)
            continue
        row = rows.row(data.decode("utf-8", "surrogateescape"))
        if row:
            yield verdict(number, row, scheme)
        else:
            form.passed(data)


_FOUND = ListOptions()


class _Form(NamedTuple):
    """The form of a list before it is read; ``mark`` is None where its name does not show it.

    ``passed`` is called with each comment and header that is read over; ``is_quiet``: what is odd
    is not told.
    """

    mark: str | None
    scheme: Scheme
    options: ListOptions
    passed: Callable[[bytes], object]
    is_quiet: bool


def read(
    source: str | Path,
    scheme: Scheme,
    *,
    stdin: BinaryIO | None = None,
    seen: Callable[[bytes], object] = len,
    passed: Callable[[bytes], object] = len,
    options: ListOptions = _FOUND,
    is_quiet: bool = False,
) -> Iterator[Line]:
    """The lines of the list *source* (``-``: standard input), each with its verdict.

    *seen* is called with the bytes of the file as they are read, with all of them by the end,
    *passed* with each comment and header, which are no lines of the list. *options* say what is
    not to be found by its first bytes. *is_quiet*: what was found there is not told.

    The list is opened at once, and closed when the iterator ends or is closed. BadList, at
    once: it is missing, a folder, not readable, or a document of some program; while reading: a
    gzip that is cut or damaged, or a disk that fails, after every whole line, or a column that
    *options* name and the list has not.
    """
    if str(source) == "-":
        chunks = _chunks(stdin or sys.stdin.buffer, seen)
        return _read("standard input", chunks, None, _Form(None, scheme, options, passed, is_quiet))
    path = Path(source)
    try:
        # Closed by the iterator, which outlives this function.
        stream = path.open("rb", buffering=0)
    except (OSError, ValueError) as error:
        raise BadList(f"{path}: {reason(error)}") from None
    try:
        mark, gzipped = _format(path)
        form = _Form(mark, scheme, options, passed, is_quiet)
        return _read(str(path), _chunks(stream, seen), stream, form, gzipped=gzipped)
    except BaseException:
        stream.close()
        raise


def _format(path: Path) -> tuple[str | None, bool]:
    """Return what parts the columns, None where the name does not tell, and whether it is gzip."""
    gzipped = path.suffix.lower() == ".gz"
    ending = Path(path.stem).suffix.lower() if gzipped else path.suffix.lower()
    return FORMATS.get(ending), gzipped


def _read(
    name: str,
    chunks: Iterator[bytes],
    to_close: BinaryIO | None,
    form: _Form,
    *,
    gzipped: bool = False,
) -> Iterator[Line]:
    """Look at the first bytes, then hand over to the iterator."""
    head = b""
    try:
        while len(head) < 5 and (chunk := next(chunks, b"")):
            head += chunk
    except OSError as error:
        raise BadList(f"{name}: {reason(error)}") from None
    if gzipped and not head.startswith(_GZIP):
        raise BadList(f"{name}: not gzip, as its name says")
    if head.startswith(_DOCUMENTS):
        raise BadList(f"{name}: a workbook or another document, not text: save it as CSV")
    data: Iterator[bytes] = chain([head], chunks)
    if head.startswith(_GZIP):
        data = inflated(data, _CHUNK)
    return _iterate(name, to_close, data, form)


def _shaped(name: str, chunks: Iterator[bytes], form: _Form) -> tuple[Iterator[bytes], Rows]:
    """Return *chunks* as UTF-8 with LF, and what reads their lines; what is odd is told once."""
    head = b""
    # A pipe is waited for until its first line is whole.
    while b"\n" not in head and len(head) < HEAD and (chunk := next(chunks, b"")):
        head += chunk
    mark = form.mark
    if mark is None:
        mark = "" if head.lstrip(BOM + b" \r\n")[:1] in (b"{", b"[") else "\t"
    try:
        shape = shape_of(head[:HEAD], mark, form.scheme, form.options)
    except HopelessList as error:
        raise HopelessList(f"{name}: {error}") from None
    if (odd := str(shape)) and not form.is_quiet:
        logger.warning("%s: read as it seems to be: %s", name, odd)
    rows = ColumnRows(shape.delimiter or mark, shape.columns) if mark else Jsonl()
    data = shape.lines_of(chain([head], chunks))
    is_array = not mark and head.lstrip(BOM + b"\0\xff\xfe \r\n")[:1] == b"["
    return _array_lines(data) if is_array else data, rows


def _array_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield what an array of JSON has, an item a line; *chunks* as they are if they are none."""
    text = b""
    for chunk in chunks:
        text += chunk
        if len(text) > LONGEST_ARRAY:
            break
    try:
        items = json.loads(text.removeprefix(BOM))
    except (ValueError, RecursionError):
        yield from chain([text], chunks)
        return
    yield from (json.dumps(item).encode() + b"\n" for item in items)


def _iterate(
    name: str, to_close: BinaryIO | None, chunks: Iterator[bytes], form: _Form
) -> Iterator[Line]:
    reached = 0

    def counted(data: Iterator[bytes]) -> Iterator[_RawLine]:
        nonlocal reached
        for raw in _raw_lines(data):
            reached = raw.number
            yield raw

    try:
        data, rows = _shaped(name, chunks, form)
        yield from _verdicts(counted(data), rows, form)
    except (zlib.error, EOFError, OSError) as error:
        raise BadList(f"{name}: {reason(error)} after line {reached}") from None
    finally:
        if to_close:
            to_close.close()


def reason(error: Exception) -> str:
    """Return why a file could not be read, in the words that a sentence to its owner ends with."""
    if isinstance(error, EOFError):
        return "gzip that is cut short"
    if isinstance(error, zlib.error):
        return "damaged gzip"
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    return str(error)


_WILD = re.compile(r"[*?\[]")


class Excludes:
    """Pids that are not asked for.

    One pid or shell pattern (``*``, ``?``, ``[...]``) a line, blank lines and ``#`` comments
    aside. A pid is made canonical by the scheme. So is a pattern that has the form of a pid
    (``repec:PRA:mprapa:*``); one that has not (``RePEc:pra:*``) is compared as it stands, case
    and all, with canonical pids.
    """

    def __init__(self, entries: Iterable[str], scheme: Scheme) -> None:
        """BadPid at the first entry that is neither a pid nor a pattern."""
        self._pids: dict[str, str] = {}
        # By literal beginning, so that a pid meets few patterns however many there are.
        self._patterns: dict[str, list[_Pattern]] = {}
        self._lengths: set[int] = set()
        for entry in entries:
            self._add(entry, scheme)

    @classmethod
    def load(cls, path: str | Path, scheme: Scheme) -> Excludes:
        """Read *path*; BadList where it cannot be read, or names the line that is bad."""
        try:
            lines = Path(path).read_bytes().removeprefix(BOM).split(b"\n")
        except (OSError, ValueError) as error:
            raise BadList(f"{path}: {reason(error)}") from None
        excludes = cls((), scheme)
        for number, line in enumerate(lines, start=1):
            try:
                entry = line.decode().strip()
                if entry and not entry.startswith("#"):
                    excludes._add(entry, scheme)
            except UnicodeDecodeError:
                raise BadList(f"{path}, line {number}: not UTF-8") from None
            except BadPid as error:
                raise BadList(f"{path}, line {number}: {error}") from None
        return excludes

    def _add(self, entry: str, scheme: Scheme) -> None:
        wild = _WILD.search(entry)
        try:
            canonical = str(scheme.pid(entry))
        except BadPid:
            if not wild:
                raise
            canonical = entry
        # A bracket or a question mark may also be a character of the pid.
        self._pids[canonical] = entry
        if wild := _WILD.search(canonical):
            pattern = _Pattern(entry, canonical)
            self._patterns.setdefault(canonical[: wild.start()], []).append(pattern)
            self._lengths.add(wild.start())

    def match(self, pid: Pid) -> str | None:
        """The entry, as it stands in the file, that names *pid*; None where none does."""
        text = str(pid)
        if entry := self._pids.get(text):
            return entry
        for length in sorted(self._lengths):
            for pattern in self._patterns.get(text[:length], ()):
                if pattern.matches(text):
                    return pattern.entry
        return None


class _Pattern:
    __slots__ = ("_canonical", "_compiled", "_only_beginning", "entry")

    def __init__(self, entry: str, canonical: str) -> None:
        self.entry = entry
        self._canonical = canonical
        self._only_beginning = canonical.endswith("*") and not _WILD.search(canonical[:-1])
        self._compiled: re.Pattern[str] | None = None

    def matches(self, text: str) -> bool:
        """Return whether *text*, which begins as the pattern does, matches it whole."""
        if self._only_beginning:
            return True
        # Compiled when first met: to compile a hundred thousand would take half a minute.
        self._compiled = self._compiled or re.compile(translate(self._canonical))
        return self._compiled.match(text) is not None
