"""Futlis, the list they come in, and the file of pids that are left out.

A list is UTF-8, one futli a line, and is read as bytes that are split at LF alone:

- tsv (``.tsv``, ``.txt``, standard input): ``pid TAB futli``. A quote is a character like any.
- csv (``.csv``): ``pid,futli``, quoted as in RFC 4180, except that a quoted field ends with its
  line: one stray quote costs one line, never the rest of the list. A line with more columns than
  its header (without one: than two) is refused, as it holds an unquoted URL with a comma.
- jsonl (``.jsonl``, ``.ndjson``): ``{"pid": ..., "futli": ...}``.

Each may be gzipped (``.gz``, known by its first bytes). Where the name does not tell the format,
a first line that begins with ``{`` makes it jsonl, any other tsv. A BOM, CR, a header, blank
lines and lines that begin with ``#`` are no lines of the list; each other line gets one verdict,
whatever it holds. Spaces around a URL belong to the list; what stands between them is the
futli, kept char by char. Memory is bounded by ``LONGEST_LINE``, however long the list.
"""

from __future__ import annotations

import json
import re
import sys
import zlib
from dataclasses import dataclass
from fnmatch import translate
from ipaddress import IPv6Address
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple
from urllib.parse import SplitResult, urlsplit

from lafka.errors import BadList, BadPid, BadUrl
from lafka.warc.gzips import inflated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lafka.pids import Collection, Pid

LONGEST_LINE = 1 << 20
"""Bytes; a longer line is refused and read over."""

LONGEST_URL = 65_000
"""Bytes; a longer one cannot stand in a line of a WARC header that all readers take."""

_CHUNK = 1 << 16
_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")

_PID_KEYS = ("pid", "handle", "id", "paper", "paper-id", "paper_id", "doi")
_URL_KEYS = ("futli", "url", "link", "href", "uri", "file-url", "file_url", "fulltext")
_RESTRICTION_KEYS = ("restriction", "restricted", "file-restriction", "file_restriction")


@dataclass(frozen=True, slots=True, kw_only=True)
class Futli:
    """A link that came with a pid, char by char as it came."""

    pid: Pid
    url: str

    @property
    def host(self) -> str:
        """Host name in lower case, without port: the slot in which Scrapy asks for the URL."""
        if plain := _PLAIN_HOST.match(self.url):
            return plain[1]
        return urlsplit(self.url).hostname or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a list and its verdict.

    ``number`` counts every line of the file from 1. ``outcome`` is None where ``futli`` can be
    asked for, else ``bad-pid``, ``bad-url`` or ``restricted`` with the reason in ``problem``;
    a bad line has no futli, a restricted one has. What is not UTF-8 stands as escapes in the
    texts. Of a line that has no columns the texts show the beginning.
    """

    number: int
    pid_text: str
    url_text: str
    futli: Futli | None = None
    outcome: str | None = None
    problem: str | None = None


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
        first, *others = chunk.split(b"\n")
        for piece in (first, *others[:-1]) if others else ():
            data = rest + piece
            number += 1
            yield _RawLine(number, data[:LONGEST_LINE], skipping or len(data) > LONGEST_LINE)
            rest, skipping = b"", False
        rest += others[-1] if others else first
        if len(rest) > LONGEST_LINE:
            rest, skipping = rest[:LONGEST_LINE], True
    if rest:
        yield _RawLine(number + 1, rest, skipping)


class _Row(NamedTuple):
    """The columns of one line; ``broken`` says what is wrong with the line as such."""

    pid: str
    url: str
    restriction: str = ""
    broken_pid: str = ""
    broken_url: str = ""


class _Columns(NamedTuple):
    pid: int = 0
    url: int = 1
    restriction: int | None = None
    width: int = 2

    def row(self, fields: list[str]) -> _Row:
        def field(column: int | None) -> str:
            return fields[column] if column is not None and column < len(fields) else ""

        return _Row(field(self.pid), field(self.url), field(self.restriction))


def _header(fields: list[str]) -> _Columns | None:
    """The columns that a header line names, None where the line is no header."""
    names = [field.strip().lower() for field in fields]

    def column(keys: tuple[str, ...]) -> int | None:
        return next((i for i, name in enumerate(names) if name in keys), None)

    pid, url = column(_PID_KEYS), column(_URL_KEYS)
    if pid is None or url is None:
        return None
    return _Columns(pid, url, column(_RESTRICTION_KEYS), len(names))


class _Split(NamedTuple):
    fields: list[str]
    open_quote: bool = False
    """The last field begins with a quote that its line does not close."""


def _split_tsv(text: str) -> _Split:
    return _Split(text.split("\t"))


_CSV_QUOTED = re.compile(r' *"([^"]*(?:""[^"]*)*)" *(?=,|\Z)')
_CSV_PLAIN = re.compile(r'(?! *")[^,]*')


def _split_csv(text: str) -> _Split:
    fields: list[str] = []
    at = 0
    while at <= len(text):
        if quoted := _CSV_QUOTED.match(text, at):
            fields.append(quoted[1].replace('""', '"'))
            at = quoted.end() + 1
        elif plain := _CSV_PLAIN.match(text, at):
            fields.append(plain[0])
            at = plain.end() + 1
        else:
            return _Split([*fields, text[at:]], open_quote=True)
    return _Split(fields)


class _Table:
    """Rows of a list in columns; its first line may be a header."""

    def __init__(self, split: Callable[[str], _Split], *, strict: bool) -> None:
        """*strict*: a line may not have more columns than its header names."""
        self._split = split
        self._strict = strict
        self._columns: _Columns | None = None

    def row(self, text: str) -> _Row | None:
        """The columns of a line, None for the header."""
        split = self._split(text)
        if self._columns is None:
            header = _header(split.fields)
            self._columns = header or _Columns()
            if header:
                return None
        return self._checked(self._columns, split)

    def _checked(self, columns: _Columns, split: _Split) -> _Row:
        row = columns.row(split.fields)
        if split.open_quote:
            problem = "a quote is not closed on its line"
            if len(split.fields) <= columns.pid + 1:
                return row._replace(broken_pid=problem)
            return row._replace(broken_url=problem)
        if self._strict and any(split.fields[columns.width :]):
            return row._replace(broken_url="more columns than a pid and a URL: quote the URL")
        return row


class _Jsonl:
    """Rows of a list of JSON objects."""

    def row(self, text: str) -> _Row:
        try:
            keys = json.loads(text)
        except (ValueError, RecursionError):
            return _Row(_beginning(text), "", broken_pid="the line is not JSON")
        if not isinstance(keys, dict):
            return _Row(_beginning(text), "", broken_pid="the line is no JSON object")
        keys = {key.lower(): value for key, value in keys.items()}
        pid, broken_pid = self._text(keys, _PID_KEYS)
        url, broken_url = self._text(keys, _URL_KEYS)
        restriction = next((keys[key] for key in _RESTRICTION_KEYS if keys.get(key)), "")
        shown = restriction if isinstance(restriction, str) else "yes"
        return _Row(pid, url, shown, broken_pid, broken_url)

    def _text(self, keys: dict[str, Any], names: tuple[str, ...]) -> tuple[str, str]:
        value = next((keys[name] for name in names if name in keys), None)
        if isinstance(value, str):
            return value, ""
        shown = str(value) if isinstance(value, int | float) else ""
        return shown, f"no {names[0]}" if value is None else f"{names[0]} is no string"


_Rows = _Table | _Jsonl


def _tsv() -> _Table:
    return _Table(_split_tsv, strict=False)


def _csv() -> _Table:
    return _Table(_split_csv, strict=True)


_FORMATS: dict[str, Callable[[], _Rows]] = {
    ".tsv": _tsv,
    ".txt": _tsv,
    ".csv": _csv,
    ".jsonl": _Jsonl,
    ".ndjson": _Jsonl,
}


# ---------------------------------------------------------------------------------- verdicts

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_PLAIN_URL = re.compile(
    rf"https?://(?=[^/?#:]{{1,253}}(?:[/?#:]|\Z))(?:{_LABEL}\.)*{_LABEL}\.?"
    r"(?::[1-9][0-9]{0,3})?(?:[/?#](?:[!-~ ]*[!-~])?)?"
)
# What the urlsplit of the standard library says too, in a tenth of its time.
_PLAIN_HOST = re.compile(r"https?://([a-z0-9._-]+)(?::[0-9]+)?(?:[/?#]|\Z)")
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
# Cc, the two separators at which others break lines, and what has no UTF-8.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_BRACKETED = re.compile(r"\[[0-9A-Fa-f:.]+\](?::[0-9]*)?")
# WHATWG URL, forbidden domain code points; the rest cannot be in a netloc.
_NOT_IN_HOST = re.compile(r"[\s<>\[\]^|%\\]")


def check_url(url: str) -> None:
    """BadUrl, with the reason, where *url* cannot be asked for as it stands.

    It can where it is absolute, http or https, with a host and a port that can exist, and
    without control characters. Spaces in the path or query are kept, as in a browser's bar.
    """
    if len(url) <= LONGEST_URL // 4 and _PLAIN_URL.fullmatch(url):
        return
    if (size := len(url.encode("utf-8", "surrogatepass"))) > LONGEST_URL:
        raise BadUrl(f"a URL of {size} bytes")
    if not url:
        raise BadUrl("no URL")
    if control := _CONTROL.search(url):
        raise BadUrl(f"U+{ord(control[0]):04X} cannot stand in a URL")
    scheme = _SCHEME.match(url)
    if not scheme or "." in scheme[1] or scheme[1].lower() == "localhost":
        raise BadUrl("no scheme")
    if scheme[1].lower() not in ("http", "https"):
        raise BadUrl(f"{scheme[1][:40]} is neither http nor https")
    try:
        _check_netloc(urlsplit(url))
    except ValueError as error:
        raise error if isinstance(error, BadUrl) else BadUrl("a bad host or port") from None


def _check_netloc(url: SplitResult) -> None:
    """BadUrl or ValueError where host or port cannot exist."""
    host = url.hostname or ""
    if not host.strip("."):
        raise BadUrl("no host")
    if "\\" in url.netloc:
        raise BadUrl("a backslash in the host")
    if url.port == 0:
        raise BadUrl("a bad port")
    if "[" in url.netloc or "]" in url.netloc:
        if not _BRACKETED.fullmatch(url.netloc.rpartition("@")[2]):
            raise BadUrl("a bad host or port")
        IPv6Address(host)
    elif _NOT_IN_HOST.search(host):
        raise BadUrl("a character that cannot stand in a host")
    # UnicodeError, a ValueError: an empty label, or one longer than DNS has.
    if len(host.encode("idna").removesuffix(b".")) > 253:
        raise BadUrl("a host longer than DNS has")


def _beginning(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}..."


_SURROGATE = re.compile("[\ud800-\udfff]")


def _as_escapes(text: str) -> str:
    r"""*text* with bytes that were no UTF-8 as ``\xNN``, lone surrogates as ``\uNNNN``."""

    def escape(match: re.Match[str]) -> str:
        code = ord(match[0])
        return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"

    return _SURROGATE.sub(escape, text)


def _verdict(number: int, row: _Row, collection: Collection) -> Line:
    pid_text, url_text = _as_escapes(row.pid), _as_escapes(row.url.strip(" \t\r\n"))

    def bad(outcome: str, problem: str, futli: Futli | None = None) -> Line:
        return Line(
            number=number,
            pid_text=pid_text,
            url_text=url_text,
            futli=futli,
            outcome=outcome,
            problem=problem,
        )

    if row.broken_pid:
        return bad("bad-pid", row.broken_pid)
    if _SURROGATE.search(row.pid):
        return bad("bad-pid", "not UTF-8")
    try:
        pid = collection.pid(row.pid)
    except BadPid as error:
        return bad("bad-pid", str(error))
    if row.broken_url:
        return bad("bad-url", row.broken_url)
    if _SURROGATE.search(row.url):
        return bad("bad-url", "not UTF-8")
    try:
        check_url(url_text)
    except BadUrl as error:
        return bad("bad-url", str(error))
    futli = Futli(pid=pid, url=url_text)
    if restriction := row.restriction.strip():
        return bad("restricted", _beginning(_as_escapes(restriction)), futli)
    return Line(number=number, pid_text=pid_text, url_text=url_text, futli=futli)


def _verdicts(
    raw_lines: Iterable[_RawLine], rows: _Rows | None, collection: Collection
) -> Iterator[Line]:
    for number, raw, too_long in raw_lines:
        data = (raw.removeprefix(_BOM) if number == 1 else raw).rstrip(b"\r")
        start = data.lstrip(b" ")[:1]
        if start == b"#" or not data.strip():
            continue
        if too_long:
            text = data[:200].decode("utf-8", "replace")
            problem = f"a line of more than {LONGEST_LINE} bytes"
            yield _verdict(number, _Row(text, "", broken_pid=problem), collection)
            continue
        rows = rows or (_Jsonl() if start == b"{" else _tsv())
        row = rows.row(data.decode("utf-8", "surrogateescape"))
        if row:
            yield _verdict(number, row, collection)


def read(
    source: str | Path,
    collection: Collection,
    *,
    stdin: BinaryIO | None = None,
    seen: Callable[[bytes], object] = len,
) -> Iterator[Line]:
    """The lines of the list *source* (``-``: standard input), each with its verdict.

    *seen* is called with the bytes of the file as they are read, with all of them by the end.

    The list is opened at once, and closed when the iterator ends or is closed. BadList, at
    once: it is missing, a folder, not readable, or its name ends in no known format; while
    reading: a gzip that is cut or damaged, or a disk that fails, after every whole line.
    """
    if str(source) == "-":
        chunks = _chunks(stdin or sys.stdin.buffer, seen)
        return _read("standard input", chunks, None, None, collection)
    path = Path(source)
    gzipped = path.suffix.lower() == ".gz"
    ending = Path(path.stem).suffix.lower() if gzipped else path.suffix.lower()
    try:
        # Closed by the iterator, which outlives this function.
        stream = path.open("rb", buffering=0)
    except (OSError, ValueError) as error:
        raise BadList(f"{path}: {_reason(error)}") from None
    try:
        if ending not in _FORMATS and not gzipped:
            raise BadList(
                f"{path}: a list is called .tsv, .txt, .csv, .jsonl or .ndjson, or so .gz"
            )
        rows = _FORMATS.get(ending)
        made = rows() if rows else None
        return _read(str(path), _chunks(stream, seen), stream, made, collection, gzipped=gzipped)
    except BaseException:
        stream.close()
        raise


def _read(
    name: str,
    chunks: Iterator[bytes],
    to_close: BinaryIO | None,
    rows: _Rows | None,
    collection: Collection,
    *,
    gzipped: bool = False,
) -> Iterator[Line]:
    """Look at the first bytes, then hand over to the iterator."""
    head = b""
    try:
        while len(head) < 2 and (chunk := next(chunks, b"")):
            head += chunk
    except OSError as error:
        raise BadList(f"{name}: {_reason(error)}") from None
    if head.startswith(_UTF_16):
        raise BadList(f"{name}: UTF-16, a list is UTF-8")
    if gzipped and not head.startswith(_GZIP):
        raise BadList(f"{name}: not gzip, as its name says")
    data: Iterator[bytes] = chain([head], chunks)
    if head.startswith(_GZIP):
        data = inflated(data, _CHUNK)
    return _iterate(name, to_close, data, rows, collection)


def _iterate(
    name: str,
    to_close: BinaryIO | None,
    chunks: Iterator[bytes],
    rows: _Rows | None,
    collection: Collection,
) -> Iterator[Line]:
    reached = 0

    def counted() -> Iterator[_RawLine]:
        nonlocal reached
        for raw in _raw_lines(chunks):
            reached = raw.number
            yield raw

    try:
        yield from _verdicts(counted(), rows, collection)
    except (zlib.error, EOFError, OSError) as error:
        raise BadList(f"{name}: {_reason(error)} after line {reached}") from None
    finally:
        if to_close:
            to_close.close()


def _reason(error: Exception) -> str:
    if isinstance(error, EOFError):
        return "gzip that is cut short"
    if isinstance(error, zlib.error):
        return "damaged gzip"
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    return str(error)


class Excludes:
    """Pids that are not asked for.

    One pid or shell pattern (``*``, ``?``, ``[...]``) a line, blank lines and ``#`` comments
    aside. A pid is made canonical by the collection. So is a pattern that has the form of a pid
    (``repec:PRA:mprapa:*``); one that has not (``RePEc:pra:*``) is compared as it stands, case
    and all, with canonical pids.
    """

    def __init__(self, entries: Iterable[str], collection: Collection) -> None:
        """BadPid at the first entry that is neither a pid nor a pattern."""
        self._pids: dict[str, str] = {}
        # By literal beginning, so that a pid meets few patterns however many there are.
        self._patterns: dict[str, list[_Pattern]] = {}
        self._lengths: set[int] = set()
        for entry in entries:
            self._add(entry, collection)

    @classmethod
    def load(cls, path: str | Path, collection: Collection) -> Excludes:
        """Read *path*; BadList where it cannot be read, or names the line that is bad."""
        try:
            lines = Path(path).read_bytes().removeprefix(_BOM).split(b"\n")
        except (OSError, ValueError) as error:
            raise BadList(f"{path}: {_reason(error)}") from None
        excludes = cls((), collection)
        for number, line in enumerate(lines, start=1):
            try:
                entry = line.decode().strip()
                if entry and not entry.startswith("#"):
                    excludes._add(entry, collection)
            except UnicodeDecodeError:
                raise BadList(f"{path}, line {number}: not UTF-8") from None
            except BadPid as error:
                raise BadList(f"{path}, line {number}: {error}") from None
        return excludes

    def _add(self, entry: str, collection: Collection) -> None:
        wild = _WILD.search(entry)
        try:
            canonical = str(collection.pid(entry))
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


_WILD = re.compile(r"[*?\[]")


class _Pattern:
    __slots__ = ("_canonical", "_compiled", "_only_beginning", "entry")

    def __init__(self, entry: str, canonical: str) -> None:
        self.entry = entry
        self._canonical = canonical
        self._only_beginning = canonical.endswith("*") and not _WILD.search(canonical[:-1])
        self._compiled: re.Pattern[str] | None = None

    def matches(self, text: str) -> bool:
        """Whether *text*, which has the literal beginning of the pattern, matches it whole."""
        if self._only_beginning:
            return True
        # Compiled when first met: to compile a hundred thousand would take half a minute.
        self._compiled = self._compiled or re.compile(translate(self._canonical))
        return self._compiled.match(text) is not None
