"""The one-line header of an ARC record (ARC 1.0 and 1.1: five fields, version 2: ten).

A header line is ``URL IP-address Archive-date Content-type Archive-length``, with single spaces.
Real files hold URLs and media types with spaces of their own, so the ends of a line and the pair of
address and date are what a reader can hold on to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address

from ..errors import BadValue
from ..format.fields import lossless

LINE_MAX = 1 << 16
ONE = ("URL", "IP-address", "Archive-date", "Content-type", "Archive-length")
TWO = (*ONE[:4], "Result-code", "Checksum", "Location", "Offset", "Filename", "Archive-length")
NAMES_LINE = " ".join(ONE).encode() + b"\n"

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}:")
_LENGTH = re.compile(r"[0-9]{1,18}", re.ASCII)
_DIGITS = re.compile(r"[0-9]{4,20}", re.ASCII)
_ADDRESS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*|[-0]")
# One quantifier over the line, so that a long line costs no more than its length.
_LINE = re.compile(
    rb"(?:(?<=\n)|^)(?=[A-Za-z][A-Za-z0-9+.-]{0,30}:)([^\r\n]{5,65536}) ([0-9]{1,18})\r?\n"
)
_BROKEN = re.compile(rb"(?:[a-z][a-z0-9+.-]{0,30}://|dns:)[^\r\n]")
_USUAL = re.compile(rb"(?:https?|ftps?|dns|filedesc|whois|gopher|rtsp|mms|warcinfo|metadata):")
_SCHEME_MAX = 9
_ESCAPED = re.compile(rb"\\x([0-9A-F]{2})|\\(\\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArcHeader:
    """A header line as it stands: ``line`` exact, without its line end; ``values`` by ``names``."""

    line: bytes
    names: tuple[str, ...]
    values: tuple[str, ...]

    def value(self, name: str) -> str:
        """The value of the field *name*; empty where the line has none or a dash."""
        value = dict(zip(self.names, self.values, strict=False)).get(name, "")
        return "" if value == "-" else value

    @property
    def url(self) -> str:
        """The URL as it stands, spaces and all."""
        return self.value("URL")

    @property
    def date(self) -> str:
        """Archive-date as it stands."""
        return self.value("Archive-date")

    @property
    def media_type(self) -> str:
        """Content-type as it stands."""
        return self.value("Content-type")

    @property
    def address(self) -> str:
        """The IP address in its usual form; empty where there is none or it stands for none."""
        try:
            address = ip_address(self.value("IP-address"))
        except ValueError:
            return ""
        return "" if address.is_unspecified else str(address)

    @property
    def length(self) -> int:
        """Bytes of the block behind the line."""
        return int(self.values[-1])

    @property
    def is_filedesc(self) -> bool:
        return self.url.startswith("filedesc:")

    @property
    def is_sure(self) -> bool:
        """True if address and date are as they should be, or missing as in a filedesc."""
        fields = dict(zip(self.names, self.values, strict=False))
        address, date = fields.get("IP-address", ""), fields.get("Archive-date", "")
        return _ADDRESS.fullmatch(address) is not None and (
            _DIGITS.fullmatch(date) is not None or (self.is_filedesc and date == "-")
        )


def parse(line: bytes, names: tuple[str, ...] = ONE) -> ArcHeader:
    """The header in *line* (without its line end), whose fields are *names*.

    ``BadValue`` where it does not begin with a URL or end with a length, or has too few fields.
    Bytes that are no UTF-8 stand in the values as escapes, ``%E9``.
    """
    text = lossless(line)
    parts = text.split(" ")
    if not _SCHEME.match(text):
        raise BadValue(f"an ARC header does not begin with a URL: {text[:80]!r}")
    if not _LENGTH.fullmatch(parts[-1]):
        raise BadValue(f"an ARC header does not end with a length: {text[-80:]!r}")
    for fields in (names, ONE) if names != ONE or not _has_ten(parts) else (TWO,):
        values = _split(parts, len(fields))
        if values:
            return ArcHeader(line=line, names=fields, values=values)
    raise BadValue(f"an ARC header has {len(parts)} fields: {text[:80]!r}")


def _has_ten(parts: list[str]) -> bool:
    """Return whether *parts* are surely those of version 2, with a status behind the media type."""
    pair = len(parts) == len(TWO) and _ADDRESS.fullmatch(parts[1]) and _DIGITS.fullmatch(parts[2])
    return bool(pair and re.fullmatch("[0-9]{3}|-", parts[4]))


def _split(parts: list[str], count: int) -> tuple[str, ...]:
    """*parts* as *count* values, the spaces of a URL or a media type in them; else nothing."""
    behind = count - 4  # fields behind the media type
    if len(parts) < count:
        return ()
    if len(parts) == count:
        return tuple(parts)
    # The last pair of address and date; else the URL alone is thought to have spaces.
    pairs = (
        place
        for place in range(len(parts) - behind - 3, 0, -1)
        if _ADDRESS.fullmatch(parts[place]) and _DIGITS.fullmatch(parts[place + 1])
    )
    at = next(pairs, len(parts) - behind - 3)
    media_type = " ".join(parts[at + 2 : len(parts) - behind])
    return (" ".join(parts[:at]), parts[at], parts[at + 1], media_type, *parts[-behind:])


def likely(data: bytes, start: int = 0) -> Iterator[tuple[int, ArcHeader]]:
    """Places in *data*, at the beginning of a line, where a header surely stands, in order."""
    for found in _LINE.finditer(data, start):
        try:
            header = parse(data[found.start() : found.end()].rstrip(b"\r\n"))
        except BadValue:
            continue
        if header.is_sure:
            yield found.start(), header


def rest(before: bytes, behind: bytes) -> int:
    """Return how many of the bytes *before* are of a header that goes on with *behind*; 0 where
    none is.

    One that begins a line, or whose scheme begins there.
    """
    begin = before.rfind(b"\n") + 1
    line = before[begin:] + behind.partition(b"\n")[0] + b"\n"
    size = len(before) - begin
    for found in _USUAL.finditer(line, 0, size + _SCHEME_MAX):
        place = found.start()
        if place < size and (not place or found.end() > size) and _is_header(line[place:]):
            return size - place
    return 0


def _is_header(line: bytes) -> bool:
    try:
        parse(line.rstrip(b"\r\n"))
    except BadValue:
        return False
    return True


def is_broken(data: bytes) -> bool:
    """Return whether *data* seems to begin with a header, though :func:`parse` refuses it."""
    return _BROKEN.match(data) is not None


def names_in(block: bytes) -> tuple[str, ...]:
    """The field names that the first block of a file gives in its second line; :data:`ONE` else."""
    lines = block[:4096].split(b"\n", 2)
    names = tuple(lossless(lines[1]).split()) if len(lines) > 1 else ()
    known = names[:4] == ONE[:4] and names[-1:] == ONE[-1:] and 5 <= len(names) <= 32
    return names if known else ONE


def escaped(line: bytes) -> str:
    r"""*line* as text in one line: what is no printable ASCII as ``\xHH``, a backslash twice."""
    return "".join(
        "\\\\" if byte == 0x5C else chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02X}"
        for byte in line
    )


def unescaped(text: str) -> bytes:
    """The inverse of :func:`escaped`."""
    return _ESCAPED.sub(
        lambda found: bytes.fromhex(found[1].decode()) if found[1] else b"\\",
        text.encode("utf-8", "surrogateescape"),
    )
