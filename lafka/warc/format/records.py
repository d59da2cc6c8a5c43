"""Records to be written: a header and a block, of any size (WARC/1.1 sections 5 and 6)."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Self, TypedDict, Unpack

from ..errors import BadValue
from ..problems import CODES
from . import http
from .base import WARC_FIELDS, BaseRecord, HasFields, message_in
from .dates import SECONDS, WarcDate
from .digests import SHA256, Digest, hashed
from .fields import Fields
from .rules import VERSIONS, faults
from .sources import CHUNK, MemorySource, Source

VERSION = b"WARC/1.1\r\n"
RECORD_END = b"\r\n\r\n"
HTTP_REQUEST = "application/http;msgtype=request"
HTTP_RESPONSE = "application/http;msgtype=response"
IDENTICAL_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_PROFILE = "http://netpreserve.org/warc/{}/revisit/{}"


def uuid_urn() -> str:
    """A fresh record id, ``<urn:uuid:...>``."""
    return f"<urn:uuid:{uuid.uuid4()}>"


def named_urn(name: str) -> str:
    """The record id that *name* has each time: UUID version 5, namespace URL."""
    return f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, name)}>"


def digest_text(digest: hashlib._Hash) -> str:
    """``sha256:`` and hex, as it stands in digests of WARC headers and suwafs."""
    return "sha256:" + digest.hexdigest()


def sha256(data: bytes) -> str:
    """The digest of *data*."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def sha256_of(pieces: Iterable[bytes]) -> str:
    """The digest of what *pieces* are together, in constant memory."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest_text(digest)


def header(fields: Fields) -> bytes:
    """The header of a record, from its version line through the blank line."""
    return VERSION + fields.to_bytes() + b"\r\n"


class RecordOptions(TypedDict, total=False):
    """The arguments by name that every kind of record takes."""

    date: WarcDate | datetime | str
    """When it was captured; now, where none is given. WARC/1.0 gets it cut to seconds."""
    id: str
    """``<URI>``; from ``ids`` where none is given."""
    ids: Callable[[], str]
    version: str
    """``1.0`` or ``1.1``, which is the default."""
    algorithm: str
    """Of the digests that are made when it is written: ``sha256``; empty for none."""
    warcinfo: str | HasFields
    concurrent_to: str | HasFields | Iterable[str | HasFields]
    ip_address: str
    truncated: str
    """``length``, ``time``, ``disconnect`` or ``unspecified``."""
    payload_type: str
    """WARC-Identified-Payload-Type: what the payload is, independently of what the server says."""
    block_digest: str | Digest
    payload_digest: str | Digest
    segment_number: int
    more: Iterable[tuple[str, str]]
    """Fields of your own, or of an extension of the standard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(BaseRecord):
    """A record at hand, to be written.

    ``block`` is bytes, or a source of any size. Content-Length, and the digests that ``fields``
    does not have, are added when the header is made: WARC-Block-Digest, and WARC-Payload-Digest
    for an HTTP response (WARC/1.1 section 5.9: of the entity body, transfer codings undone).
    """

    fields: Fields
    block: bytes | Source = b""
    version: str = "1.1"
    algorithm: str = SHA256

    @property
    def source(self) -> Source:
        """The block as a source."""
        return MemorySource(self.block) if isinstance(self.block, bytes) else self.block

    @property
    def block_length(self) -> int:
        return len(self.block) if isinstance(self.block, bytes) else self.block.size

    @property
    def http(self) -> http.Head | None:
        """The head of the HTTP message in the block; None where there is none."""
        return message_in(self)

    def header(self) -> bytes:
        """From the version line through the blank line; the block is read for its digests.

        ``BadValue`` where the standard does not have such a record.
        """
        length = str(self.block_length)
        if self.fields.first("Content-Length", length) != length:
            raise BadValue(f"Content-Length is not {length}, the length of the block")
        added = [*self._digests(), ("Content-Length", length)]
        fields = Fields([*self.fields, *(item for item in added if item[0] not in self.fields)])
        self._check(fields)
        return b"WARC/%s\r\n%s\r\n" % (self.version.encode(), fields.to_bytes())

    def _digests(self) -> Iterator[tuple[str, str]]:
        """Those of block and payload, where ``fields`` do not have what can be had."""
        wants_payload = self.type == "response" and "WARC-Payload-Digest" not in self.fields
        if not self.algorithm or not (wants_payload or "WARC-Block-Digest" not in self.fields):
            return
        made = hashed(self.source, self.algorithm, self.http if wants_payload else None)
        if made.payload:
            yield "WARC-Payload-Digest", made.payload.text
        yield "WARC-Block-Digest", made.block.text

    def _check(self, fields: Fields) -> None:
        if self.version not in VERSIONS:
            raise BadValue(f"not a version of WARC: {self.version!r}")
        for code, values in faults(fields, self.version):
            severity, sentence = CODES[code]
            if severity == "error":
                raise BadValue(sentence.format(**values))

    def pieces(self) -> Iterator[bytes]:
        """The record, a piece at a time; pieces are at most 1 MiB where the block is a source."""
        yield self.header()
        if isinstance(self.block, bytes):
            yield self.block
        else:
            yield from self.block.chunks(0, CHUNK)
        yield RECORD_END

    def to_bytes(self) -> bytes:
        return b"".join(self.pieces())

    @classmethod
    def _made(
        cls,
        type_: str,
        url: str,
        block: bytes | Source,
        content_type: str,
        own: Iterable[tuple[str, str]] = (),
        **named: Unpack[RecordOptions],
    ) -> Self:
        version = named.get("version", "1.1")
        new_id = named.get("id") or named.get("ids", uuid_urn)()
        fields = start(type_, new_id, _date(named.get("date"), version), url)
        optional = [
            ("WARC-Warcinfo-ID", _id(named.get("warcinfo", ""))),
            *(("WARC-Concurrent-To", one) for one in _ids(named.get("concurrent_to", ()))),
            ("WARC-IP-Address", named.get("ip_address", "")),
            *own,
            ("WARC-Truncated", named.get("truncated", "")),
            ("WARC-Segment-Number", str(named.get("segment_number") or "")),
            ("WARC-Identified-Payload-Type", named.get("payload_type", "")),
            ("WARC-Payload-Digest", str(named.get("payload_digest", ""))),
            *named.get("more", ()),
            ("Content-Type", content_type),
            ("WARC-Block-Digest", str(named.get("block_digest", ""))),
        ]
        for name, value in optional:
            if value:
                fields.add(name, value)
        algorithm = named.get("algorithm", SHA256)
        return cls(fields=fields, block=block, version=version, algorithm=algorithm)

    @classmethod
    def warcinfo(cls, body: Fields, *, filename: str = "", **named: Unpack[RecordOptions]) -> Self:
        """A description of the records that follow; *filename*: of the volume it begins."""
        own = [("WARC-Filename", filename)]
        return cls._made("warcinfo", "", body.to_bytes(), WARC_FIELDS, own, **named)

    @classmethod
    def response(
        cls,
        url: str,
        block: bytes | Source,
        *,
        content_type: str = HTTP_RESPONSE,
        **named: Unpack[RecordOptions],
    ) -> Self:
        """An answer of a server, head and all; another *content_type* where that was no HTTP."""
        return cls._made("response", url, block, content_type, **named)

    @classmethod
    def request(
        cls,
        url: str,
        block: bytes | Source,
        *,
        content_type: str = HTTP_REQUEST,
        **named: Unpack[RecordOptions],
    ) -> Self:
        """A request to a server, head and all."""
        return cls._made("request", url, block, content_type, **named)

    @classmethod
    def resource(
        cls, url: str, block: bytes | Source, *, content_type: str, **named: Unpack[RecordOptions]
    ) -> Self:
        """A resource without protocol information: its block is the payload."""
        return cls._made("resource", url, block, content_type, **named)

    @classmethod
    def metadata(
        cls,
        body: Fields | bytes | Source,
        *,
        url: str = "",
        of: str | HasFields = "",
        content_type: str = WARC_FIELDS,
        **named: Unpack[RecordOptions],
    ) -> Self:
        """A statement about the record *of*, or about *url*."""
        own = [("WARC-Refers-To", _id(of))]
        block = body.to_bytes() if isinstance(body, Fields) else body
        return cls._made("metadata", url, block, content_type, own, **named)

    @classmethod
    def revisit_identical(
        cls, url: str, of: HasFields, block: bytes | Source = b"", **named: Unpack[RecordOptions]
    ) -> Self:
        """The payload was that of the record *of* once more (profile identical-payload-digest).

        *block*: the head of the answer, as a rule; so it is truncated, and says so, unless it is
        told otherwise. The digest is that of *of*, unless it is given; ``BadValue`` where neither
        is.
        """
        digest = str(named.pop("payload_digest", of.fields.first("WARC-Payload-Digest")))
        if not digest:
            raise BadValue(f"no payload digest is known of {_id(of)}")
        named["payload_digest"] = digest
        if block or not isinstance(block, bytes):
            named.setdefault("truncated", "length")
        return cls._revisit("identical-payload-digest", url, of, block, **named)

    @classmethod
    def revisit_not_modified(
        cls, url: str, of: HasFields, block: bytes | Source = b"", **named: Unpack[RecordOptions]
    ) -> Self:
        """The server said that *of* still holds, 304 (profile server-not-modified)."""
        return cls._revisit("server-not-modified", url, of, block, **named)

    @classmethod
    def _revisit(
        cls,
        profile: str,
        url: str,
        of: HasFields,
        block: bytes | Source,
        **named: Unpack[RecordOptions],
    ) -> Self:
        # A revisit of a revisit refers to what that one refers to: the record with the payload.
        prefix = "WARC-Refers-To-" if "WARC-Refers-To-Date" in of.fields else "WARC-"
        own = [
            ("WARC-Profile", _PROFILE.format(named.get("version", "1.1"), profile)),
            ("WARC-Refers-To", of.fields.first("WARC-Refers-To") or _id(of)),
            ("WARC-Refers-To-Target-URI", of.fields.first(f"{prefix}Target-URI").strip("<>")),
            ("WARC-Refers-To-Date", of.fields.first(f"{prefix}Date")),
        ]
        kind = HTTP_RESPONSE if block or not isinstance(block, bytes) else ""
        return cls._made("revisit", url, block, kind, own, **named)

    @classmethod
    def conversion(
        cls,
        of: HasFields,
        block: bytes | Source,
        *,
        content_type: str,
        **named: Unpack[RecordOptions],
    ) -> Self:
        """The payload of *of* in another form."""
        own = [("WARC-Refers-To", _id(of))]
        url = of.fields.first("WARC-Target-URI").strip("<>")
        return cls._made("conversion", url, block, content_type, own, **named)

    @classmethod
    def continuation(
        cls,
        origin: HasFields,
        number: int,
        block: bytes | Source,
        *,
        total_length: int | None = None,
        **named: Unpack[RecordOptions],
    ) -> Self:
        """Segment *number*, from 2 on, of the record that begins with *origin*.

        *total_length*: of all blocks together; said in the last segment alone.
        """
        named["segment_number"] = number
        total = "" if total_length is None else str(total_length)
        own = [
            ("WARC-Segment-Origin-ID", _id(origin)),
            ("WARC-Segment-Total-Length", total),
        ]
        url = origin.fields.first("WARC-Target-URI").strip("<>")
        return cls._made("continuation", url, block, "", own, **named)


def _date(time: WarcDate | datetime | str | None, version: str) -> str:
    date = WarcDate.now() if time is None else WarcDate.of(time)
    return (date.cut(SECONDS) if version == "1.0" else date).text


def _id(record: str | HasFields) -> str:
    return record if isinstance(record, str) else record.fields.first("WARC-Record-ID")


def _ids(records: str | HasFields | Iterable[str | HasFields]) -> list[str]:
    if isinstance(records, str) or not isinstance(records, Iterable):
        return [_id(records)]
    return [_id(record) for record in records]


def start(kind: str, record_id: str, date: str, url: str = "") -> Fields:
    """The fields every record begins with; *url* is the target URI."""
    fields = Fields([("WARC-Type", kind), ("WARC-Record-ID", record_id), ("WARC-Date", date)])
    if url:
        fields.add("WARC-Target-URI", url)
    return fields


def warcinfo(record_id: str, date: str, body: Fields, filename: str = "") -> Record:
    """A warcinfo record whose block is *body* (WARC/1.1 section 6.2)."""
    return Record.warcinfo(body, id=record_id, date=date, filename=filename)
