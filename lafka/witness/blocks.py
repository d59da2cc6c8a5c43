"""Blocks: the HTTP entity in one, and the PDF that stands literally in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from lafka.witness.headers import HEADER_LIMIT

_MARK = b"%PDF-"
_MARK_WITHIN = 1024
_PDF_TAIL = 2048

_HTTP_STATUS = re.compile(rb"HTTP/\d(?:\.\d)?[ \t]+(\d{3})")
_HTTP_FIELD = re.compile(
    rb"\n(transfer-encoding|content-encoding|content-length)[ \t]*:[ \t]*([^\r\n]*)", re.I
)
_HTTP_HEAD_END = re.compile(rb"\n\r?\n")
_MARKUP = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|<!--.*?-->|<\?xml[^>]*>)*"
    rb"<(?:!doctype\s+html|(?:html|head|body|title|meta|script|frameset)\b)",
    re.I | re.S,
)


class RecordBlock(NamedTuple):
    """The block ``file[offset:offset+size]`` of a record.

    ``front`` are those of its first bytes that were read already, ``read`` gives *length* bytes of
    the file from an *offset* on.
    """

    offset: int
    size: int
    front: bytes
    read: Callable[[int, int], bytes]

    @property
    def end(self) -> int:
        return self.offset + self.size

    def cut(self, start: int, length: int) -> bytes:
        """*length* bytes of the block from its byte *start* on, or as many as there are."""
        end = min(start + length, self.size)
        if end <= len(self.front):
            return self.front[start:end]
        return self.read(self.offset + start, end - start)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpEntity:
    """The payload of an HTTP block, ``file[offset:end]``.

    It ends with the block, or before it where Content-Length says so. ``transfer`` and ``content``
    are the codings that the head names, in the order in which they were applied; ``declared`` is
    Content-Length, None where there is none.
    """

    offset: int
    end: int
    status: int | None
    transfer: tuple[str, ...]
    content: tuple[str, ...]
    declared: int | None

    @property
    def chunked(self) -> bool:
        """True where any transfer coding was applied."""
        return bool(self.transfer)

    @property
    def coded(self) -> bool:
        """True where the bytes may be other than the server's file."""
        return bool(self.transfer or self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralPdf:
    """A PDF that stands literally in a record: ``file[offset:offset+length]``.

    ``digest`` is ``sha256:`` and hex, empty where the reader does not hash. ``whole`` is True
    only where nothing speaks against it: a status of success, not truncated, as long as declared
    or else with ``%%EOF`` near its end.
    """

    offset: int
    length: int
    digest: str
    whole: bool


def http_entity(block: RecordBlock) -> HttpEntity:
    """The entity of a block that is an HTTP message, interim answers passed over."""
    status, head, start = _last_head(block)
    transfer, content, declared = _framing(head)
    end = block.end
    if declared is not None and not transfer:
        end = min(end, block.offset + start + declared)
    return HttpEntity(
        offset=block.offset + start,
        end=end,
        status=status,
        transfer=transfer,
        content=content,
        declared=declared,
    )


def _framing(head: bytes) -> tuple[tuple[str, ...], tuple[str, ...], int | None]:
    """Transfer codings, content codings and Content-Length."""
    declared = None
    codings: dict[bytes, tuple[str, ...]] = {}
    for name, value in _HTTP_FIELD.findall(head):
        name, word = name.lower(), value.strip().lower()
        if name == b"content-length":
            declared = int(word) if word.isdigit() and len(word) < 19 else None
        else:
            codings[name] = codings.get(name, ()) + _codings(word)
    if not codings:
        return (), (), declared
    transfer, content = (
        codings.get(b"%b-encoding" % kind, ()) for kind in (b"transfer", b"content")
    )
    return transfer, content, declared


def _last_head(block: RecordBlock) -> tuple[int | None, bytes, int]:
    """Status and bytes of the last head of a block, and where in the block it ends."""
    start, front = 0, block.front
    longest = min(block.size, HEADER_LIMIT)
    while True:
        found = _HTTP_HEAD_END.search(front, start)
        if found is None and len(front) < longest:
            front = block.cut(0, longest)
            longest = len(front)
            continue
        head = front[start : found.end() if found else len(front)]
        line = _HTTP_STATUS.match(head)
        status = int(line[1]) if line else None
        start = found.end() if found else block.size
        if found is None or status is None or not 100 <= status < 200 or status == 101:
            return status, head, start


def _codings(value: bytes) -> tuple[str, ...]:
    words = (word.strip() for word in value.decode("latin-1").split(","))
    return tuple(word for word in words if word not in ("", "identity", "none"))


def pdf_offset(kind: str, block: RecordBlock, entity: HttpEntity | None) -> int | None:
    """Return where a PDF begins literally; None where the record, of type *kind*, has none."""
    if kind not in ("response", "resource", "conversion"):
        return None
    if entity is not None and entity.transfer:
        return None
    start = entity.offset - block.offset if entity is not None else 0
    front = block.cut(start, _MARK_WITHIN)
    found = front.find(_MARK)
    if found < 0 or _MARKUP.match(front[:found]):
        return None
    if entity is not None and entity.content and not _is_bare(front[:found], entity.content):
        return None
    return block.offset + start + found


def _is_bare(junk: bytes, codings: tuple[str, ...]) -> bool:
    """Return whether codings that a server names were not applied to a body of *junk* and a PDF.

    No coded body begins with the mark of a PDF; one that cannot be compressed can hold it as it is
    behind a first few bytes, by which only gzip and Zstandard can be told.
    """
    return not junk or not (
        junk.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd")) or {"deflate", "br"} & {*codings}
    )


def is_whole(
    fields: Mapping[str, str], block: RecordBlock, entity: HttpEntity | None, place: int, end: int
) -> bool:
    """Return whether nothing speaks against a PDF at ``file[place:end]`` having come whole."""
    if "warc-truncated" in fields or "lafka-truncated" in fields:
        return False
    if entity is not None:
        if entity.status is None or not 200 <= entity.status < 300 or entity.status == 206:
            return False
        if entity.declared is not None:
            return entity.declared == entity.end - entity.offset
    tail = max(place, end - _PDF_TAIL)
    return b"%%EOF" in block.read(tail, end - tail)
