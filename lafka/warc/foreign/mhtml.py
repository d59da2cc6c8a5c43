"""MHTML, a page and what it shows in one MIME message, read as a volume of resources (RFC 2557)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import cached_property, partial
from urllib.parse import urljoin

from ..errors import BadValue, BadWarc
from ..format.dates import SECONDS, WarcDate
from ..format.fields import Fields
from ..format.sources import Source
from ..reading.stored import StoredRecord
from . import multipart
from .base import ForeignRecord, ForeignVolume, Listing
from .multipart import MimePart
from .spools import spooled

DECODED_MAX = 1 << 30  # bytes of one part
THIS_MESSAGE = "thismessage:/"
"""What relative locations are relative to where nothing else is said (RFC 2557 section 5)."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class MhtmlVolume(ForeignVolume):
    """Each part is a resource: Content-Location is its URL, Date of the message its date.

    A part without a location has ``cid:`` and its Content-ID as URL, or none.
    """

    def entries(self) -> Iterator[Listing]:
        for part in multipart.parts(self._whole):
            if isinstance(part, MimePart):
                yield part.offset, partial(self._record, part)
            else:
                self._report("bad-part", part[0], reason=part[1])

    @property
    def _whole(self) -> Source:
        return self.stretch(0, self.size)

    @cached_property
    def _message(self) -> Fields:
        """The header of the message."""
        try:
            return Fields.parse(multipart.head(self._whole, 0, self.size)[0])
        except BadValue:
            return Fields()

    @cached_property
    def _ends(self) -> dict[int, int]:
        """Where each part ends, by where it begins: found once, for it takes the whole file."""
        found = multipart.parts(self._whole)
        return {p.offset: p.body + p.length for p in found if isinstance(p, MimePart)}

    def at(self, offset: int, inner: int = 0) -> StoredRecord:
        end = None if inner else self._ends.get(offset)
        part = None if end is None else multipart.part(self._whole, offset, end)
        record = self._record(part) if part else None
        if record is None:
            raise BadWarc(self.path, "no record begins here", offset)
        return record

    def _record(self, part: MimePart) -> ForeignRecord | None:
        message = self._message
        literal = multipart.is_literal(part)
        try:
            content: Source = (
                self.stretch(part.body, part.length)
                if literal
                else spooled(multipart.decoded(self._whole, part), DECODED_MAX)
            )
        except BadValue as error:
            self._report("bad-part", part.offset, reason=str(error))
            return None
        fields = [
            ("WARC-Type", "resource"),
            ("WARC-Date", _date(message)),
            ("WARC-Target-URI", _url(message, part.fields)),
            ("Content-Type", part.content_type),
        ]
        length = part.body + part.length - part.offset
        place = part.body if literal else None
        return self.made((part.offset, length), fields, content, header=part.header, place=place)


def _date(message: Fields) -> str:
    try:
        return WarcDate.of(parsedate_to_datetime(message.first("Date")), SECONDS).text
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""


def _url(message: Fields, part: Fields) -> str:
    location = "".join(part.first("Content-Location").split())
    if not location:
        name = part.first("Content-ID").strip().strip("<>")
        return f"cid:{name}" if name else ""
    base = message.first("Content-Base") or message.first("Content-Location")
    for start in (part.first("Content-Base"), base):
        with suppress(ValueError):
            location = urljoin(start, location)
    return location if _SCHEME.match(location) else THIS_MESSAGE + location.lstrip("/")
