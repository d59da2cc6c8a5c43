"""The kind of a payload, by its bytes: a PDF, HTML, something else; whole or cut."""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from lafka.errors import BadHttp
from lafka.warc.format import http
from lafka.warc.format.codings import DecodedTooLarge, decode
from lafka.warc.format.records import digest_text
from lafka.warc.format.sources import Source

SNIFF = 1024
_PDF = b"%PDF-"
_HTML = re.compile(
    rb"(?:<!doctype\s+html|<(?:html|head|body|title|meta|script|frameset)\b)", re.IGNORECASE
)
_HTML_LEAD = re.compile(rb"(?:\s|<!--.*?-->|<\?xml[^>]*>)*", re.DOTALL)
# What else browsers take for HTML (WHATWG MIME sniffing, 7.1); but PHP puts a <br> before a PDF.
_FRAGMENT = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*<(?:!--|(?:iframe|h1|div|font|table|a|style|b|br|p)[\s/>])",
    re.IGNORECASE,
)
_UTF_16 = re.compile(rb"\xff\xfe|\xfe\xff|(?:\s\0)*<\0|(?:\0\s)*\0<")
_HTML_TYPES = ("text/html", "application/xhtml+xml")
_TAIL = 2048
END_WITHIN = 64 * 1024
"""Bytes at the end of a PDF among which its end is looked for; junk may follow it."""
_EOF = b"%%EOF"
_STARTXREF = re.compile(rb"startxref[\s\0]+[0-9]+")
_OBJECT = b" obj"
DECODED_TIMES = 16
DECODED_SPARE = 64 << 20


class Kind(StrEnum):
    """The kind of an entity, by its bytes."""

    PDF = "pdf"
    HTML = "html"
    OTHER = "other"
    EMPTY = "empty"


MEDIA_TYPES = {Kind.PDF: "application/pdf", Kind.HTML: "text/html"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """The facts of one answer, all from its bytes.

    ``body`` is the offset of the body in the response block; ``literal`` says that the entity
    stands there as it is. ``start`` is the offset of the fut's ``%`` in the entity (0 but for junk
    before it), ``length`` the fut's length, or the entity's where it is no PDF. ``digest`` is that
    of the fut, else of the payload (transfer coding undone); ``payload_digest`` always of the
    payload, ``block_digest`` of the whole block; all ``sha256:`` and hex. ``whole`` is false where
    a framing, a coding or the end of a PDF shows that bytes are missing; ``trouble`` says which,
    and ``too_big`` that a coded body was not decoded to its end. ``ended`` is false for a PDF that
    has no end (:func:`has_end`), however it was framed. ``chunked`` stands for any transfer
    coding. ``prefix`` is the first 1,024 bytes of the entity.
    """

    kind: Kind
    status: int
    content_type: str
    body: int
    literal: bool
    chunked: bool
    start: int
    length: int
    digest: str
    payload_digest: str
    block_digest: str
    whole: bool
    trouble: str = ""
    too_big: bool = False
    ended: bool = True
    prefix: bytes = b""

    @property
    def is_unended(self) -> bool:
        """True where all that was sent came, and is a PDF without its end."""
        return self.whole and not self.ended

    @property
    def fault(self) -> str:
        """A sentence on what is missing, empty where nothing is."""
        return self.trouble or ("" if self.ended else "the PDF has no end")


def has_end(tail: bytes) -> bool:
    """Return whether a PDF ends in *tail*, its last 64 KiB or all of it.

    The end is the last ``%%EOF``, or ``startxref`` with its number where that was left out (PDF
    1.7, 7.5.5); no object begins behind it. What else follows is junk, and common: readers look
    for the end themselves (annex H.3, note 18).
    """
    last = tail.rfind(_EOF)
    end = last + len(_EOF) if last >= 0 else -1
    for found in _STARTXREF.finditer(tail, max(end, 0)):
        end = found.end()
    return end >= 0 and tail.find(_OBJECT, end) < 0


def pdf_start(prefix: bytes) -> int:
    """Return where ``%PDF-`` stands in the first 1,024 bytes of *prefix*, or -1.

    A page that begins as HTML and speaks of ``%PDF-`` is a page.
    """
    place = prefix[:SNIFF].find(_PDF)
    if place > 0 and _begins_as_html(prefix[:place]):
        return -1
    return place


def kind_of(prefix: bytes, content_type: str = "") -> Kind:
    """The kind of an entity that begins with *prefix* (its first 1,024 bytes or all).

    Content-Type only tells HTML without any usual tag from other text.
    """
    if not prefix:
        return Kind.EMPTY
    if pdf_start(prefix) >= 0:
        return Kind.PDF
    return Kind.HTML if _is_html(prefix[:SNIFF], content_type) else Kind.OTHER


def _is_html(prefix: bytes, content_type: str) -> bool:
    if _UTF_16.match(prefix):
        prefix = prefix.removeprefix(b"\xff\xfe").removeprefix(b"\xfe\xff").replace(b"\0", b"")
    if _begins_as_html(prefix) or _FRAGMENT.match(prefix):
        return True
    declared = content_type.partition(";")[0].strip().lower() in _HTML_TYPES
    return declared and b"\0" not in prefix and not prefix.startswith(_BINARY)


# Signatures that servers send as text/html often enough to be worth knowing.
_BINARY = (b"PK\x03\x04", b"\x1f\x8b", b"%!PS", b"{\\rtf", b"\xd0\xcf\x11\xe0", b"\x89PNG", b"GIF8",
           b"\xff\xd8\xff", b"AT&TFORM", b"Rar!")  # fmt: skip


def _begins_as_html(prefix: bytes) -> bool:
    prefix = prefix.removeprefix(b"\xef\xbb\xbf")
    lead = _HTML_LEAD.match(prefix)
    return bool(_HTML.match(prefix, lead.end() if lead else 0))


class _Entity:
    """An entity as it goes by: its ends, its size, and its digests from the fut's start on."""

    def __init__(self) -> None:
        self.first = b""
        self.size = 0
        self._last: deque[bytes] = deque()
        self._kept = 0
        self.start = -1  # not known before 1,024 bytes are
        self._whole = self._fut = hashlib.sha256()

    def feed(self, data: bytes | memoryview) -> None:
        self._keep(bytes(data[-END_WITHIN:]))
        self.size += len(data)
        if self.start < 0:
            missing = SNIFF - len(self.first)
            self.first += bytes(data[:missing])
            if len(self.first) < SNIFF:
                return
            self._settle()
            data = data[missing:]
        self._update(data)

    def _keep(self, data: bytes) -> None:
        """Pieces, for joining them costs more than all else where a body comes in small ones."""
        self._last.append(data)
        self._kept += len(data)
        while self._kept - len(self._last[0]) >= END_WITHIN:
            self._kept -= len(self._last.popleft())

    def last(self) -> bytes:
        """Its last 64 KiB, or all."""
        return b"".join(self._last)[-END_WITHIN:]

    def _settle(self) -> None:
        self.start = max(0, pdf_start(self.first))
        if self.start:
            self._whole, self._fut = hashlib.sha256(self.first), hashlib.sha256()
            self._fut.update(self.first[self.start :])
        else:
            self._fut.update(self.first)

    def _update(self, data: bytes | memoryview) -> None:
        self._fut.update(data)
        if self.start:
            self._whole.update(data)

    def digests(self) -> tuple[str, str]:
        """Of the fut (or all, where it is none), and of all."""
        if self.start < 0:
            self._settle()
        return digest_text(self._fut), digest_text(self._whole)


def decoded_max(size: int, most: int = 0) -> int:
    """Return how many bytes a coding of an answer of *size* bytes may make, undone; more is a bomb.

    Honest codings make up to ten times as many, and much more of little. Never over *most* bytes
    (0: no other bound).
    """
    own = DECODED_TIMES * size + DECODED_SPARE
    return min(own, most or own)


def inspect(block: Source, *, max_entity: int = 0) -> Payload:
    """The facts of the response in *block*, every digest computed; constant memory.

    *max_entity* bounds a decoded entity in bytes (0: no bound). ``BadHttp`` where the block holds
    no HTTP answer; a body that is broken or ends early is described with ``whole=False``.
    """
    message = http.head(block)
    seen = _Entity()
    whole, body = hashlib.sha256(), hashlib.sha256()
    too_big = False
    if message.literal:
        trouble = _feed_literal(block, message, seen, whole)
    else:
        for data in block.chunks():
            whole.update(data)
        trouble = _feed_decoded(block, message, seen, body, max_entity)
        too_big = trouble == _TOO_BIG
    fut, everything = seen.digests()
    kind = kind_of(seen.first, message.fields.first("Content-Type"))
    payload_digest = digest_text(body) if message.content_codings else everything
    tail = seen.last() if kind is Kind.PDF else b""
    trouble = trouble or _unended(kind, message, tail[-_TAIL:])
    return Payload(
        kind=kind,
        status=message.status,
        content_type=message.fields.first("Content-Type"),
        body=message.end,
        literal=message.literal,
        chunked=message.chunked or bool(message.transfer_codings),
        start=seen.start,
        length=seen.size - seen.start,
        digest=fut if kind is Kind.PDF else payload_digest,
        payload_digest=payload_digest,
        block_digest=digest_text(whole),
        whole=not trouble,
        trouble=trouble,
        too_big=too_big,
        ended=kind is not Kind.PDF or has_end(tail),
        prefix=seen.first,
    )


def inspect_entity(entity: Source, content_type: str = "") -> Payload:
    """The facts of *entity*, bytes that no HTTP is around; as those of a whole answer of 200."""
    seen = _Entity()
    for data in entity.chunks():
        seen.feed(data)
    fut, everything = seen.digests()
    kind = kind_of(seen.first, content_type)
    return Payload(
        kind=kind,
        status=200,
        content_type=content_type,
        body=0,
        literal=True,
        chunked=False,
        start=seen.start,
        length=seen.size - seen.start,
        digest=fut if kind is Kind.PDF else everything,
        payload_digest=everything,
        block_digest=everything,
        whole=True,
        prefix=seen.first,
    )


def _feed_literal(block: Source, message: http.Head, seen: _Entity, whole: hashlib._Hash) -> str:
    skip, left = message.end, message.content_length
    for data in block.chunks():
        whole.update(data)
        piece = memoryview(data)[skip:]  # uncopied
        skip -= len(data) - len(piece)
        if left is not None:
            piece = piece[:left]
            left -= len(piece)
        if piece:
            seen.feed(piece)
    if left:
        return f"the body ends {left} bytes early"
    return ""


_TOO_BIG = "the decoded body is too big"


def _feed_decoded(
    block: Source, message: http.Head, seen: _Entity, body: hashlib._Hash, max_entity: int
) -> str:
    if not message.content_codings:
        return _feed(http.payload(block, message, most=max_entity), seen)

    def hashed() -> Iterator[bytes]:
        for piece in http.payload(block, message, most=max_entity):
            body.update(piece)
            yield piece

    payload = hashed()
    codings = message.content_codings
    trouble = _feed(decode(map(bytes, payload), codings, most=max_entity), seen)
    with suppress(BadHttp):
        for _ in payload:  # where decoding stopped early: the payload's digest is of all of it
            pass
    return trouble


def _feed(entity: Iterator[bytes], seen: _Entity) -> str:
    try:
        for piece in entity:
            seen.feed(piece)
    except DecodedTooLarge:
        return _TOO_BIG
    except BadHttp as error:
        return str(error)
    return ""


def _unended(kind: Kind, message: http.Head, tail: bytes) -> str:
    """Without a length a reset looks like an end; then only the PDF itself can tell."""
    unframed = message.literal and message.content_length is None
    if kind is Kind.PDF and unframed and _EOF not in tail:
        return "a PDF without a length does not end with %%EOF"
    return ""


_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)


def identified_type(facts: Payload) -> str:
    """The media type that the bytes show, for WARC-Identified-Payload-Type; empty for no bytes."""
    if facts.kind in MEDIA_TYPES:
        return MEDIA_TYPES[facts.kind]
    if not facts.prefix:
        return ""
    magic = libmagic()
    try:
        media_type = str(magic.from_buffer(facts.prefix, mime=True))
    except magic.MagicException:
        return ""
    if media_type == MEDIA_TYPES[Kind.PDF]:
        return ""  # libmagic takes less than a header for one
    return media_type if _MEDIA_TYPE.fullmatch(media_type) else ""


def libmagic() -> Any:
    """Return the module ``magic``, python-magic, with the libmagic that pylibmagic brings."""
    import pylibmagic  # noqa: F401, PLC0415  first, so that python-magic finds it

    import magic  # noqa: PLC0415  isort: skip

    return magic
