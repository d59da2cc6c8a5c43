"""The bytes of a file -> its templates as blocks of bytes, in one pass and bounded memory.

A template begins at a line ``Template-Type:``, in any case, with blanks allowed before it and
before its colon; at the same words behind other text where ``ReDIF-`` follows, as a line end is
missing there; and at a line whose name was meant to be that (``late-Type: ReDIF-Paper``). A line
with ``#`` in column one is a comment, whatever else it looks like.
"""

from __future__ import annotations

import codecs
import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_BARE = re.compile(r"\r(?!\n)")
_LINES = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)")
# No line is UTF-8 and more than ASCII where no two such bytes follow one another.
_PAIR = re.compile(rb"[\xc2-\xf4][\x80-\xbf]")
_SECOND = bytes(range(0x80, 0xC0))
# https://encoding.spec.whatwg.org/index-windows-1252.txt: the five bytes that Python leaves out
# are the C1 controls of the same number.
_WINDOWS_1252 = "".join(
    bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(256)
)


def decoded(data: bytes) -> tuple[str, str]:
    """The text of *data*, its line ends as they are, and ``utf-8`` (ASCII included),
    ``windows-1252`` or ``mixed``.
    """
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        # Without any such second byte it is Latin-1 too, which is read ten times as fast.
        if len(data.translate(None, _SECOND)) == len(data):
            return data.decode("latin-1"), "windows-1252"
        return _by_line(data) if _PAIR.search(data) else (_old(data), "windows-1252")


def _old(data: bytes) -> str:
    return codecs.charmap_decode(data, "strict", _WINDOWS_1252)[0]


def _by_line(data: bytes) -> tuple[str, str]:
    texts: list[str] = []
    utf_8 = False
    for line in _LINES.findall(data):
        try:
            texts.append(line.decode("utf-8"))
            utf_8 = utf_8 or not line.isascii()
        except UnicodeDecodeError:
            texts.append(_old(line))
    return "".join(texts), "mixed" if utf_8 else "windows-1252"


def lines_of(text: str) -> list[str]:
    """The lines of *text*, whatever ends them; of CR LF the CR may stay as a blank at the end."""
    return (_BARE.sub("\n", text) if "\r" in text else text).split("\n")


LONGEST_TEMPLATE = 4 << 20
"""Bytes of a template that are kept."""

_CHUNK = 1 << 20
_AHEAD = 256  # bytes behind a name that the patterns below may need
_BOM = b"\xef\xbb\xbf"
_UTF_16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}

_NAME = b"template-type"
_PLAIN = b"template-type:"
_VALUE = b"redif-"
_NAME_AND_VALUE = b"template-type: redif-"
_CR = 13  # of a number Python looks for ten times as fast as of bytes
_COLON = re.compile(rb"template-type[ \t]{0,99}:")
# The colon may be missing, or be another sign, where what follows leaves no doubt.
_SURE = re.compile(rb"template-type[ \t]{0,99}[:;=.]?[ \t]{0,99}redif-")
_LONGEST_MEANT = 64
_MEANT = re.compile(
    rb"[ \t]*[a-z]{0,10}(?:late|emp)[a-z]{0,6}[ _-]*t[a-z]{1,4}[ \t]*[:;=][ \t]*", re.IGNORECASE
)
_BLANK = re.compile(rb"[ \t]*(?:((?:\xef\xbb\xbf)+)[ \t]*)?")


class Readable(Protocol):
    """A giver of bytes: an open file, a member of a tarball."""

    def read(self, size: int, /) -> bytes: ...


class Block(NamedTuple):
    """The bytes of one template, or of what stands before the first one.

    ``offset`` is None in a UTF-16 file. ``begun`` is how it begins: empty before the first
    template, ``plain``, ``glued`` to other text, or ``meant`` where its first field is misspelt.
    ``whole`` is False where it was cut, and ``cut_lines`` are the line ends in what was cut off.
    """

    data: bytes
    offset: int | None
    begun: str
    whole: bool = True
    cut_lines: int = 0


_Start = tuple[int, int, str]
"""Where what stands before a template ends, where it begins (a BOM is between them), and how."""


def blocks(source: bytes | Readable) -> Iterator[Block]:
    """The blocks of a file; the first one may be empty and is of no template."""
    chunks = _chunks(source)
    first = next(chunks, b"")
    while 0 < len(first) < len(_BOM) and (more := next(chunks, b"")):
        first += more
    if encoding := _UTF_16.get(first[:2]):
        return _Splitter(None).blocks(_as_utf_8(chain([first[2:]], chunks), encoding))
    bom = len(_BOM) if first.startswith(_BOM) else 0
    return _Splitter(bom).blocks(chain([first[bom:]], chunks))


def _chunks(source: bytes | Readable) -> Iterator[bytes]:
    if isinstance(source, bytes):
        for start in range(0, len(source), _CHUNK):
            yield source[start : start + _CHUNK]
        return
    while chunk := source.read(_CHUNK):
        yield chunk


def _as_utf_8(chunks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for chunk in chunks:
        yield decoder.decode(chunk).encode()
    yield decoder.decode(b"", final=True).encode()


class _Splitter:
    """Cuts a stream into blocks; holds no more of it than the block that is not yet whole."""

    def __init__(self, offset: int | None) -> None:
        self._offset = offset
        self._begun = ""
        # From the beginning of the block; looked through up to here.
        self._window = b""
        self._looked = 0
        # Of a block that is too long: what is kept, how much has left the window, in how many
        # lines, and what the line that the window begins in began with.
        self._head = b""
        self._gone = 0
        self._gone_lines = 0
        self._before = b""

    def blocks(self, chunks: Iterable[bytes]) -> Iterator[Block]:
        for chunk in chunks:
            self._window += chunk
            yield from self._up_to(len(self._window) - _AHEAD)
            if len(self._window) > LONGEST_TEMPLATE + _CHUNK:
                self._let_go()
        yield from self._up_to(len(self._window))
        yield self._end_block(self._window)

    def _up_to(self, reach: int) -> Iterator[Block]:
        """The blocks whose successor begins before *reach*; the window begins behind them."""
        if reach <= self._looked:
            return
        at, window = 0, self._window
        for end, start, begun in _starts(window, self._looked, reach, self._before):
            if start > at or not self._begun:
                yield self._end_block(window[at:end])
                if self._offset is not None:
                    self._offset += start - end
                at, self._begun = start, begun
        self._window = window[at:]
        self._looked = reach - at

    def _end_block(self, data: bytes) -> Block:
        """The block that ends with *data*; the next one begins behind it."""
        offset, self._before = self._offset, b""
        if self._gone or len(data) > LONGEST_TEMPLATE:
            return self._cut(data)
        if offset is not None:
            self._offset = offset + len(data)
        return Block(data, offset, self._begun)

    def _cut(self, data: bytes) -> Block:
        """As ``_end_block``, of a block that is too long."""
        offset = self._offset
        kept = (self._head + data if self._gone else data)[:LONGEST_TEMPLATE]
        cut_lines = self._gone_lines + line_ends(data) - line_ends(kept)
        if offset is not None:
            self._offset = offset + self._gone + len(data)
        self._head, self._gone, self._gone_lines = b"", 0, 0
        return Block(kept, offset, self._begun, whole=False, cut_lines=cut_lines)

    def _let_go(self) -> None:
        """Drop what was looked through of a block that is too long, but for its beginning."""
        window, cut = self._window, self._looked
        if window[cut - 1 : cut + 1] == b"\r\n":
            cut -= 1
        line = _line_start(window, 0, cut)
        if line or not self._before:
            self._before = window[line : line + 1] if window[line:cut].strip() else b""
        if not self._gone:
            self._head = window[:LONGEST_TEMPLATE]
        self._gone += cut
        self._gone_lines += line_ends(window[:cut])
        self._window, self._looked = window[cut:], self._looked - cut


def line_ends(data: bytes) -> int:
    """The line ends in *data*: LF, CR LF, bare CR."""
    ends = data.count(b"\n")
    if _CR in data:
        ends += data.count(b"\r") - data.count(b"\r\n")
    return ends


def _line_start(window: bytes, least: int, place: int) -> int:
    """Return where the line of *place* begins, 0 where it does so before *least*."""
    return max(window.rfind(b"\n", least, place), window.rfind(b"\r", least, place)) + 1


def _hits(low: bytes, word: bytes) -> list[int]:
    found, place = [], low.find(word)
    while place >= 0:
        found.append(place)
        place = low.find(word, place + 1)
    return found


def _starts(window: bytes, looked: int, reach: int, before: bytes) -> Iterator[_Start]:
    """Yield where templates begin in *window*, by names from *looked* up to *reach*.

    *before* is what the line began with in which the window begins, if that is not its start.
    """
    low = window[looked : reach + _AHEAD].lower()
    line, was = _line_start(window, 0, looked), looked
    for place in _names(low):
        hit = looked + place
        if hit >= reach:
            return
        if low.startswith(_PLAIN, place) and hit and window[hit - 1] in b"\r\n":
            line = was = hit
            yield hit, hit, "plain"
            continue
        line, was = _line_start(window, was, hit) or line, hit
        inside = not line and bool(before)
        if (before if inside else window[line : line + 1]) == b"#":
            continue
        if low.startswith(_NAME, place):
            blank = None if inside else _BLANK.fullmatch(window, line, hit)
            begun = _begun(low, place, blank=bool(blank), after=window[hit - 1 : hit])
        else:
            blank, begun = None, "" if inside else _meant(window, line, hit)
        if begun:
            end, start = blank.span(1) if blank and blank[1] else (line, line)
            yield (hit, hit, begun) if begun == "glued" else (end, start, begun)


def _names(low: bytes) -> list[int]:
    """Return where a template may begin by its name, or by the value that makes any name sure."""
    places = _hits(low, _NAME)
    # Nearly always each value has its name before it, and need not be looked at.
    if low.count(_VALUE) > sum(low.startswith(_NAME_AND_VALUE, place) for place in places):
        places = sorted(places + _hits(low, _VALUE))
    return places


def _begun(low: bytes, place: int, *, blank: bool, after: bytes) -> str:
    """Return how a template begins by the name at *place*; empty where it does not."""
    if blank and _COLON.match(low, place):
        return "plain"
    if not _SURE.match(low, place):
        return ""
    if blank:
        return "meant"
    return "" if after in (b"-", b"_") else "glued"


def _meant(window: bytes, line: int, hit: int) -> str:
    """Return whether the line is a misspelt name before ReDIF- at *hit*."""
    if hit - line > _LONGEST_MEANT or not _MEANT.fullmatch(window, line, hit):
        return ""
    return "" if _NAME in window[line:hit].lower() else "meant"
