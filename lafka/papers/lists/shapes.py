"""The shape of a list as programs write it: its encoding, what ends its lines, its delimiter.

A list is UTF-8 with LF or CRLF, in columns by its name's ending. Spreadsheets and old editors write
others: UTF-16, Windows-1252, CR alone, semicolons. Each is told by the first bytes, where these
leave no doubt; then the bytes are made UTF-8 with LF while they are read.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HEAD = 1 << 16
"""Bytes by which a shape is told."""
_LINES = 50
_MARKED = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_NAMES = {"utf-16-le": "UTF-16", "utf-16-be": "UTF-16", "cp1252": "Windows-1252"}
_LINK = re.compile(r"\s*\"?\s*(?:https?://|doi:|hdl:|arxiv:|10\.[0-9]{4,9}/)\S", re.IGNORECASE)
_DELIMITERS = {"\t": "tabs", ",": "commas", ";": "semicolons"}


class Shape(NamedTuple):
    """The shape of one list: ``encoding`` and ``delimiter`` are empty where they are as its name
    says; ``by_cr``: CR alone ends its lines.
    """

    encoding: str = ""
    by_cr: bool = False
    delimiter: str = ""

    def __str__(self) -> str:
        """What was found, as it is told to who gave the list; empty where all is as it should."""
        encoding = f"it is {_NAMES[self.encoding]}" if self.encoding else ""
        ends = "CR ends its lines" if self.by_cr else ""
        columns = f"{_DELIMITERS[self.delimiter]} part its columns" if self.delimiter else ""
        return ", ".join(filter(None, (encoding, ends, columns)))

    def lines_of(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield *chunks* as UTF-8 in which LF ends lines."""
        decoder = codecs.getincrementaldecoder(self.encoding or "utf-8")("replace")
        for chunk in chunks:
            data = decoder.decode(chunk).encode() if self.encoding else chunk
            yield data.replace(b"\r", b"\n") if self.by_cr else data


def shape_of(head: bytes, usual: str) -> Shape:
    """Return the shape of a list that begins with *head*, at most :data:`HEAD` bytes of it.

    *usual* is the delimiter that its name stands for, empty for a list that is in no columns.
    """
    encoding = _encoding(head, may_be_1252=usual == ",")
    text = head.decode(encoding or "utf-8", "replace")
    by_cr = "\r" in text and "\n" not in text
    lines = [line for line in re.split("[\r\n]+", text)[:_LINES] if line.strip()]
    return Shape(encoding, by_cr, _delimiter(lines, usual) if usual else "")


def _encoding(head: bytes, *, may_be_1252: bool) -> str:
    """Return the encoding of *head*, empty for UTF-8 and for what is none of those known.

    Windows-1252 is a spreadsheet's csv; of other lists a line that is no UTF-8 is told.
    """
    if marked := _MARKED.get(head[:2]):
        return marked
    pairs = len(head) // 2
    for encoding, zeros in (("utf-16-le", head[1::2]), ("utf-16-be", head[0::2])):
        if pairs > 1 and zeros.count(0) > 0.8 * pairs:
            return encoding
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "" if not may_be_1252 or _UTF_8.search(head) or _NO_1252.search(head) else "cp1252"
    return ""


_UTF_8 = re.compile(rb"[\xc3-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}")
"""Letters of UTF-8: a file that has some is not of one encoding."""
_NO_1252 = re.compile(rb"[\x00-\x08\x0e-\x1f\x81\x8d\x8f\x90\x9d]")


def _delimiter(lines: list[str], usual: str) -> str:
    """Return the delimiter by which more of *lines* part into an id and a link than by the *usual*
    one; empty where none is better.
    """
    fits = Counter({mark: sum(_fits(line.split(mark)) for line in lines) for mark in _DELIMITERS})
    best, count = fits.most_common(1)[0]
    return best if count > fits[usual] and 2 * count > len(lines) else ""


def _fits(fields: list[str]) -> bool:
    links = [bool(_LINK.match(field)) for field in fields]
    return any(links) and not all(links) and any(field.strip(' "') for field in fields)
