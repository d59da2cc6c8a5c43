"""Records to be written: a header, and a block that is bytes at hand (WARC/1.1 section 5)."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from lafka.warc.fields import Fields

VERSION = b"WARC/1.1\r\n"
RECORD_END = b"\r\n\r\n"
WARC_FIELDS = "application/warc-fields"
HTTP_REQUEST = "application/http;msgtype=request"
HTTP_RESPONSE = "application/http;msgtype=response"
IDENTICAL_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"


def uuid_urn() -> str:
    """A fresh record id, ``<urn:uuid:...>``."""
    return f"<urn:uuid:{uuid.uuid4()}>"


def digest_text(digest: hashlib._Hash) -> str:
    """``sha256:`` and hex, as it stands in digests of WARC headers and suwafs."""
    return "sha256:" + digest.hexdigest()


def sha256(data: bytes) -> str:
    """The digest of *data*."""
    return sha256_of((data,))


def sha256_of(pieces: Iterable[bytes]) -> str:
    """The digest of what *pieces* are together, in constant memory."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest_text(digest)


def header(fields: Fields) -> bytes:
    """The header of a record, from its version line through the blank line."""
    return VERSION + fields.to_bytes() + b"\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A whole record in memory; ``fields`` without Content-Length and WARC-Block-Digest."""

    fields: Fields
    block: bytes

    @property
    def id(self) -> str:
        return self.fields.first("WARC-Record-ID")

    def header(self) -> bytes:
        fields = Fields(self.fields)
        fields.add("WARC-Block-Digest", sha256(self.block))
        fields.add("Content-Length", str(len(self.block)))
        return header(fields)

    def to_bytes(self) -> bytes:
        return self.header() + self.block + RECORD_END


def start(kind: str, record_id: str, date: str, url: str = "") -> Fields:
    """The fields every record begins with; *url* is the target URI."""
    fields = Fields([("WARC-Type", kind), ("WARC-Record-ID", record_id), ("WARC-Date", date)])
    if url:
        fields.add("WARC-Target-URI", url)
    return fields


def warcinfo(record_id: str, date: str, body: Fields, filename: str = "") -> Record:
    """A warcinfo record whose block is *body* (WARC/1.1 section 6.2)."""
    fields = start("warcinfo", record_id, date)
    if filename:
        fields.add("WARC-Filename", filename)
    fields.add("Content-Type", WARC_FIELDS)
    return Record(fields=fields, block=body.to_bytes())
