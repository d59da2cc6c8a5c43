"""What a database stores of records that are as Lafka writes them: one look at each header.

It is what ``row_of(Entry.of(record, volume))`` gives of what a volume reads there. Where that is
not sure it ends: at fields in another order, a date or an HTTP head that is odd, a length that the
body belies, a record that is not followed by another or the end of the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from stat import S_ISREG

from ..errors import BadValue
from ..format import bodies, http
from ..format.dates import WarcDate
from ..format.fields import Fields
from ..format.sources import FileSource
from .base import REVISIT_MIME, digest_key, key_of, span
from .sqlite import Row, hashed

_NOT_ASKED = (
    rb"(?:(?:WARC-(?:Warcinfo-ID|Concurrent-To|IP-Address|Protocol|Cipher-Suite|Profile"
    rb"|Refers-To(?:-Target-URI|-Date)?|Identified-Payload-Type|Source-URI|Creation-Date|Truncated)"
    rb"|Lafka-(?:Certificate|Truncated)): [^\r\n]*+\r\n)*+"
)
_HEADER = re.compile(
    rb"WARC/1\.[01]\r\n"
    rb"WARC-Type: (response|request|revisit|resource|conversion|warcinfo)\r\n"
    rb"WARC-Record-ID: <([!-;=?-~]++)>\r\n"
    rb"WARC-Date: ([0-9TZ:.-]++)\r\n"
    rb"(?:WARC-Target-URI: ([A-Za-z][!-~]*+)\r\n)?+" + _NOT_ASKED + rb""
    rb"(?:WARC-Payload-Digest: ([a-z][!-~]++)\r\n)?+" + _NOT_ASKED + rb""
    rb"Content-Type: ([A-Za-z][!-~]*+(?: [!-~]++)*+)\r\n"
    rb"(?:WARC-Block-Digest: ([a-z][!-~]++)\r\n)?+"
    rb"Content-Length: ([0-9]{1,18})\r\n\r\n"
)
_SHA256 = re.compile(r"sha256:[0-9a-f]{64}")
_ANSWER = re.compile(rb"HTTP/1\.[01] ([2-9][0-9][0-9])(?: [ -~]*+)?+(?=\r\n)")
_ASKING = re.compile(rb"(?:GET|HEAD) [!-~]++ HTTP/1\.[01](?=\r\n)")
_FIRST_LINES = {b"response": _ANSWER, b"revisit": _ANSWER, b"request": _ASKING}
_HEAD_END = re.compile(rb"\n\r?\n")
# What an index asks of a head. Without a value where that may be another than it seems.
_TOLD = re.compile(
    rb"\n(content-type|content-length|transfer-encoding)"
    rb"(?:: ?([!-~]++(?: [!-~]++)*+)(?=\r\n[^ \t]))?+",
    re.IGNORECASE,
)
_NUMBER = re.compile(rb"[0-9]{1,18}")
_BEHIND = (b"\r\n\r\nWARC/1.0\r\n", b"\r\n\r\nWARC/1.1\r\n")
_END = _BEHIND[0][:4]
_WINDOW = 8192
_AHEAD = 4096
"""Bytes of a window in which a header has to begin, so that it is whole there, and its head."""

_Described = tuple[str, int | None, tuple[int, int] | None]
"""The media type and the status that an index tells; where in the block the payload begins, and
its length."""


def usual_rows(fd: int, volume: str, start: int, end: int, rows: list[Row]) -> int:
    """Put what is stored of the records that begin from *start* on and before *end* into *rows*.

    *fd*: the file, which *volume* names there. Gives where it ends: at *end* or behind, or where a
    record begins that has to be read in another way. ``OSError``.
    """
    size = _size_of_plain(fd)
    if size < end:
        return start
    at = base = start
    data = os.pread(fd, _WINDOW, at)
    while at < end:
        if at - base > len(data) - _AHEAD and at != base:
            base, data = at, os.pread(fd, _WINDOW, at)
        header = _HEADER.match(data, at - base)
        if header is None:
            return at
        block = FileSource(fd, base + header.end(), int(header[8]))
        behind = block.offset + block.size
        row = _row(volume, at, header, block)
        if row is None:
            return at
        if behind - base + len(_BEHIND[0]) > len(data):
            base, data = behind, os.pread(fd, _WINDOW, behind)
        if not data.startswith(_BEHIND, behind - base) and not (
            behind + len(_END) == size and data[behind - base :] == _END
        ):
            return at
        rows.append(row)
        at = behind + len(_END)
    return at


def _size_of_plain(fd: int) -> int:
    """The bytes of the file, -1 where it is no file or begins otherwise than a plain volume."""
    status = os.fstat(fd)
    is_plain = S_ISREG(status.st_mode) and os.pread(fd, 5, 0) == b"WARC/"
    return status.st_size if is_plain else -1


def _row(volume: str, at: int, header: re.Match[bytes], block: FileSource) -> Row | None:
    """What ``row_of`` makes of the record at *at* of the file, None in doubt."""
    kind, record_id, date, url, payload_digest, content_type, block_digest = (
        part.decode("ascii") if part else "" for part in header.groups()[:7]
    )
    mime, digest = http.media_type(content_type), payload_digest or block_digest
    told: _Described | None = mime, None, (0, block.size)
    if mime == http.MESSAGE:
        digest, told = payload_digest, _message(header, block)
    time = _time(date)
    if told is None or time is None:
        return None
    mime, status, place = told
    literal = (block.offset + place[0], place[1]) if place else (None, None)
    return (
        url, key_of(url), volume, time[1], at, 0, time[0], kind, record_id, hashed(record_id),
        REVISIT_MIME if kind == "revisit" else mime, status, digest, _digest_number(digest),
        block.offset + block.size + len(_END) - at, *literal,
    )  # fmt: skip


@lru_cache(maxsize=16)  # records that belong together have the same
def _time(date: str) -> tuple[str, int] | None:
    """The digits of *date*, and its place among all."""
    try:
        parsed = WarcDate.parse(date)
    except BadValue:
        return None
    return parsed.digits, span(parsed)[0]


def _digest_number(digest: str) -> int | None:
    if not digest:
        return None
    return hashed(digest if _SHA256.fullmatch(digest) else digest_key(digest))


def _message(header: re.Match[bytes], block: FileSource) -> _Described | None:
    """What is told of the message in the *block* behind *header*; None in doubt."""
    data, start, first_line = header.string, header.end(), _FIRST_LINES.get(header[1])
    stop = min(start + block.size, len(data))
    begun = first_line.match(data, start, stop) if first_line else None
    end = _HEAD_END.search(data, begun.end(), stop) if begun else None
    if begun is None or end is None:
        return None
    if b"\r" in data[start : end.end()].replace(b"\r\n", b""):
        return None
    told: dict[bytes, bytes] = {}
    for name, value in _TOLD.findall(data, begun.end(), end.end()):
        if not value or name.lower() in told:
            return None
        told[name.lower()] = value
    head, status = end.end() - start, int(begun[1]) if begun.re is _ANSWER else None
    body = _body(block, head, status, told)
    if body is None:
        return None
    place = None if body < 0 else (head, body)
    if status is None:
        return http.MESSAGE, None, place
    return http.media_type(told.get(b"content-type", b"").decode("ascii")), status, place


def _body(
    block: FileSource, head: int, status: int | None, told: Mapping[bytes, bytes]
) -> int | None:
    """The length of what is behind the *head* of a message, -1 where it is chunked.

    None in doubt.
    """
    length, coding = told.get(b"content-length"), told.get(b"transfer-encoding")
    if status is None:
        return 0 if length is None and coding is None else None
    if status in (204, 304):
        return None
    rest = block.size - head
    if coding is not None:
        message = http.Head(fields=_NONE, end=head)
        return None if coding != b"chunked" else -1 if bodies.is_chunked(block, message) else rest
    if length is not None and not (_NUMBER.fullmatch(length) and int(length) >= rest):
        return None  # what is behind it may be body, too
    return rest


_NONE = Fields()
