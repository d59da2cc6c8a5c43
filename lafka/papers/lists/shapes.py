"""The shape of a list as programs write it: its encoding, what ends its lines, its delimiter.

A list is UTF-8 with LF or CRLF, in columns by its name's ending. Spreadsheets and old editors write
others: UTF-16, Windows-1252, CR alone, semicolons, blanks, more columns. Each is told by its head,
where this leaves no doubt, or named by who gives the list; then the bytes are made UTF-8 with LF
while they are read.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Literal, NamedTuple, Self

from lafka.errors import BadArgument
from lafka.papers.lists.rows import (
    NO_LINE,
    RUNS,
    SEPARATOR,
    WORDS,
    Columns,
    columns_of,
    splitter,
)
from lafka.pids import Scheme

HEAD = 1 << 16
"""Bytes by which a shape is told."""
_LINES = 50
_MARKED = {
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_NAMES = {code: code[:6].upper() for code in _MARKED.values()} | {"cp1252": "Windows-1252"}
_LINK = re.compile(
    r"[\s<'“#]*(?:https?://|doi:|hdl:|arxiv:|10\.[0-9]{4,9}/)[^\s\"]+\s*", re.IGNORECASE
)
_DELIMITERS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}
_BLANKS = {WORDS: "blanks", RUNS: "two blanks or more"}
_WORDS = {"tab": "\t", "comma": ",", "semicolon": ";", "bar": "|", "blank": WORDS}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """The shape of a list as its user gives it; what is empty is found. ``pid`` and ``url`` are
    columns, by the header's name or by number from 1.
    """

    delimiter: str = ""
    encoding: str = ""
    pid: str = ""
    url: str = ""

    @classmethod
    def parse(cls, given: Mapping[str, str | None]) -> Self:
        """Take the options of a list from *given*, in which others may stand; ``BadArgument``."""
        texts = {name: given.get(name) or "" for name in ("delimiter", "encoding", "pid", "url")}
        mark = _WORDS.get(texts["delimiter"].lower(), texts["delimiter"])
        if mark and (len(mark) > 1 or mark.isalnum() or mark in "\"'\r\n"):
            known = ", ".join(_WORDS)
            raise BadArgument(f"delimiter={mark!r} is neither one character nor one of {known}")
        try:
            encoding = codecs.lookup(texts["encoding"]).name if texts["encoding"] else ""
            "".encode(encoding or "utf-8")
        except LookupError:
            raise BadArgument(f"encoding={texts['encoding']!r} is not known to Python") from None
        return cls(delimiter=mark, encoding=encoding, pid=texts["pid"], url=texts["url"])


class ListShape(NamedTuple):
    """The shape of one list: ``encoding`` and ``delimiter`` are empty where they are as its name
    says; ``by_cr``: CR alone ends its lines; ``odd``: what was found, not said, of the two.
    """

    encoding: str = ""
    by_cr: bool = False
    delimiter: str = ""
    columns: Columns = Columns()
    odd: str = ""

    def __str__(self) -> str:
        """The shape that was found, for whoever gave the list; empty where it is the usual one."""
        ends = "CR ends its lines" if self.by_cr else ""
        return ", ".join(filter(None, (self.odd, ends, str(self.columns))))

    def lines_of(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield *chunks* as UTF-8 in which LF ends lines."""
        decoder = codecs.getincrementaldecoder(self.encoding or "utf-8")("replace")
        for chunk in chunks:
            data = decoder.decode(chunk).encode() if self.encoding else chunk
            yield data.replace(b"\r", b"\n") if self.by_cr else data


_FOUND = ListOptions()


def shape_of(head: bytes, usual: str, scheme: Scheme, options: ListOptions = _FOUND) -> ListShape:
    """Return the shape of a list that begins with *head*, at most :data:`HEAD` bytes of it.

    *usual* is the delimiter that its name stands for, empty for a list that is in no columns. Its
    pids are of *scheme*. ``HopelessList`` where *options* name a column that is none.
    """
    encoding = options.encoding or _encoding(head)
    text = head.decode(encoding or "utf-8", "replace").removeprefix("\ufeff")
    by_cr = "\r" in text and "\n" not in text
    lines = [line for line in re.split("[\r\n]+", text) if line.strip()]
    if len(head) == HEAD:
        lines.pop()
    mark, columns = "", Columns()
    if usual:
        mark = options.delimiter or _delimiter(lines, usual, scheme)
        fields = _fields(lines, mark or usual)
        by_comma = (mark or usual) not in ("\t", *_BLANKS)
        columns = columns_of(fields, scheme, by_comma=by_comma, pid=options.pid, url=options.url)
        at = columns.pid, columns.url
        if encoding == "cp1252" and not options.encoding and not _ascii(fields, at):
            encoding = ""
    odd = [
        f"it is {_NAMES.get(encoding, encoding)}" if encoding and not options.encoding else "",
        f"{(_DELIMITERS | _BLANKS)[mark]} part its columns"
        if mark and not options.delimiter
        else "",
    ]
    return ListShape(encoding, by_cr, mark, columns, ", ".join(filter(None, odd)))


def _fields(lines: list[str], mark: str) -> list[list[str]]:
    """Return the fields of the records that begin *lines*, without comments and ``sep=;``."""
    is_tab = mark == "\t"
    quoting: Literal[0, 3] = csv.QUOTE_NONE if is_tab else csv.QUOTE_MINIMAL
    listed = [line for line in lines if not (NO_LINE.fullmatch(line) or SEPARATOR.fullmatch(line))]
    if mark in _BLANKS:
        return [splitter(mark)(line).fields for line in listed[:_LINES]]
    reader = csv.reader(listed, delimiter=mark, quoting=quoting, skipinitialspace=True)
    records = islice(reader, _LINES)
    return [[field.strip('"') for field in fields] if is_tab else fields for fields in records]


def _ascii(fields: list[list[str]], places: tuple[int, int]) -> bool:
    """Return whether pids and links are ASCII, the same in every encoding."""
    body = fields[1:] or fields
    return all(field[at].isascii() for field in body for at in places if at < len(field))


def _encoding(head: bytes) -> str:
    """Return the encoding of *head*, empty for UTF-8 and for what is none of those known."""
    for mark, encoding in _MARKED.items():
        if head.startswith(mark):
            return encoding
    pairs = len(head) // 2
    for encoding, zeros in (("utf-16-le", head[1::2]), ("utf-16-be", head[0::2])):
        if pairs > 1 and zeros.count(0) > 0.8 * pairs:
            return encoding
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "" if _UTF_8.search(head) or _NO_1252.search(head) else "cp1252"
    return ""


_UTF_8 = re.compile(rb"[\xc3-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}")
"""Letters of UTF-8: a file that has some is not of one encoding."""
_NO_1252 = re.compile(rb"[\x00-\x08\x0e-\x1f\x81\x8d\x8f\x90\x9d]")


def _delimiter(lines: list[str], usual: str, scheme: Scheme) -> str:
    """Return what parts *lines* into id and link better than *usual*; empty if none does."""
    if lines and (named := SEPARATOR.fullmatch(lines[0].strip('"'))):
        return named["mark"] if named["mark"] != usual and named["mark"] in _DELIMITERS else ""
    found = {mark: [_fits(fields) for fields in _fields(lines, mark)] for mark in _DELIMITERS}
    share = {mark: sum(fits) / len(fits) if fits else 0 for mark, fits in found.items()}
    best = max(share, key=lambda mark: share[mark])
    has_tab = any("\t" in line for line in lines)
    if not has_tab and (blanks := _parting_blanks(lines, scheme)):
        return blanks
    enough = 0.9 if share[usual] else 0.5
    if share[best] > share[usual] and share[best] >= enough:
        return best
    # Where few links are right, the mark that parts every line does, and the usual one none.
    fields = {mark: _fields(lines, mark) for mark in _DELIMITERS}
    even = [mark for mark in _DELIMITERS if len(lines) > 1 and _is_even(fields[mark])]
    parts_none = all(len(line) < 2 for line in fields[usual])
    return even[0] if len(even) == 1 and parts_none else ""


def _parting_blanks(lines: list[str], scheme: Scheme) -> str:
    """Return which blanks part each of *lines* into its pid, its link and as many columns more.

    Empty if none do: neither a pid nor a link has a blank, but a title has.
    """
    for mark in _BLANKS:
        first, *rest = _fields(lines, mark) or [[]]
        body = rest if rest and not any(map(_LINK.fullmatch, first)) else [first, *rest]
        width = len(body[0])
        is_even = {len(fields) for fields in body} == {width} and len(first) in (width, width - 1)
        if not is_even or width < 2:
            continue
        columns = columns_of([first, *rest], scheme, by_comma=False)
        links = [fields[columns.url] for fields in body]
        pids = {fields[columns.pid] for fields in body}
        if any(word[-1:] in _DELIMITERS for word in {*links, *pids, *(line[0] for line in body)}):
            continue
        likely = [at for at in range(width) if at != columns.url and _are_ids(body, at)]
        is_named = columns.has_header and not columns.is_guess
        is_sure = is_named or width == 2 or likely == [columns.pid]
        if is_sure and all(map(_LINK.fullmatch, links)) and not any("://" in pid for pid in pids):
            return mark
    return ""


def _are_ids(lines: list[list[str]], at: int) -> bool:
    """Return whether the column *at* looks like pids; as one, any word may be taken."""
    return all(":" in fields[at] or "/" in fields[at] for fields in lines)


def _is_even(lines: list[list[str]]) -> bool:
    """Return whether *lines* have as many fields each, some, and no part of a link in the first."""
    widths = {len(fields) for fields in lines}
    return len(widths) == 1 and widths.pop() > 1 and not any("://" in line[0] for line in lines)


def _fits(fields: list[str]) -> bool:
    links = [field for field in fields if _LINK.fullmatch(field)]
    of_web = sum("://" in link for link in links)
    is_pair = len(links) < len(fields) or 0 < of_web < len(links)  # a pid may be a DOI
    return bool(links) and is_pair and any(field.strip(' "') for field in fields)
