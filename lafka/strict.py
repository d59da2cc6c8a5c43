"""A strict reader of plain WARC files (ISO 28500:2017), for checking and for nothing else.

It shares no code with ``lafka.warc`` nor with any WARC library, so that a mistake there cannot
hide itself here. It reads from first byte to last in bounded memory, reports what is wrong as
:class:`Problem` values, and after an error goes on at the next record, so that one bad record
never hides the others.
"""

from __future__ import annotations

import hashlib
import ipaddress
import os
import re
from base64 import b32decode
from concurrent.futures import wait
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from lafka.errors import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from concurrent.futures import Executor
    from pathlib import Path

    _Hashers = dict[tuple[str, int, int], hashlib._Hash]

Severity = Literal["error", "warning"]

CODES: Mapping[str, Severity] = {
    "bad-version": "error",
    "stray-bytes": "error",
    "line-end": "error",
    "bad-header": "error",
    "missing-field": "error",
    "repeated-field": "error",
    "unknown-field": "warning",
    "unknown-type": "warning",
    "bad-record-id": "error",
    "bad-date": "error",
    "bad-length": "error",
    "bad-uri": "warning",
    "bad-value": "error",
    "content-type": "warning",
    "bad-digest": "error",
    "unknown-digest": "warning",
    "no-block-digest": "warning",
    "block-digest": "error",
    "payload-digest": "error",
    "payload-digest-unsure": "warning",
    "bad-trailer": "error",
    "torn-tail": "error",
}

_CHUNK = 1 << 18
_WINDOW = 1 << 14
_HEADER_LIMIT = 1 << 20
_LINE_LIMIT = 1 << 16
_SHARED_CHUNK = 1 << 19  # more would leave the caches, less hand the interpreter over more often
_PARALLEL = 1 << 17  # below this it costs less to hash one after the other
_MARK = b"%PDF-"
_MARK_WITHIN = 1024
_PDF_TAIL = 2048

_PLAIN = bytes(byte for byte in range(256) if byte not in range(32) and byte != 127) + b"\t\r\n"
_ANY_HEAD_END = re.compile(rb"\r?\n\r?\n")
_RECORD_START = re.compile(rb"WARC/[01]\.\d{1,2}\r?\n[A-Za-z][A-Za-z0-9-]*:")
_HEX = re.compile(r"[0-9A-Fa-f]+")
_PLAIN_SHA256 = re.compile(r"sha256:[0-9a-f]{64}")
_VERSION = re.compile(r"WARC/1\.[01]")
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_RECORD_ID = re.compile(
    r"<(?:urn:uuid:[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
    r"|(?!urn:uuid:)[A-Za-z][A-Za-z0-9+.-]*:[^\s<>]+)>"
)
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?Z")
_SHORT_DATE = re.compile(
    r"\d{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01])(?:T\d\d:\d\dZ)?)?)?"
)
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s]+")
_MEDIA_TYPE = re.compile(
    r"[\w!#$&^.+-]+/[\w!#$&^.+-]+(?:\s*;\s*[\w!#$&^.+-]+=(?:[^\s;\"]+|\"[^\"]*\"))*"
)
_DIGITS = re.compile(r"[0-9]{1,18}")
_TOKENS = re.compile(r"[A-Za-z0-9_-]+(?:, [A-Za-z0-9_-]+)*")
_TRUNCATED = re.compile(r"length|time|disconnect|unspecified")
_PROFILE = re.compile(
    r"http://netpreserve\.org/warc/1\.[01]/(?:revisit/)?"
    r"(?:revisit/)?(?:identical-payload-digest|server-not-modified|uri-agnostic-identical-payload-digest)"
)
_HTTP_TYPE = re.compile(r"application/http(?:\s*;\s*msgtype=\"?(request|response)\"?)?", re.I)
_HTTP_STATUS = re.compile(rb"HTTP/\d(?:\.\d)?[ \t]+(\d{3})")
_HTTP_FIELD = re.compile(
    rb"^(transfer-encoding|content-encoding|content-length)[ \t]*:[ \t]*([^\r\n]*)", re.I | re.M
)
_HTTP_HEAD_END = re.compile(rb"\n\r?\n")
_MARKUP = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|<!--.*?-->|<\?xml[^>]*>)*"
    rb"<(?:!doctype\s+html|(?:html|head|body|title|meta|script|frameset)\b)",
    re.I | re.S,
)

_TYPES = frozenset(
    [
        "warcinfo",
        "request",
        "response",
        "resource",
        "metadata",
        "revisit",
        "conversion",
        "continuation",
    ]
)
_ABOUT_URI = frozenset(["request", "response", "resource", "revisit", "conversion", "continuation"])
_MANDATORY = ("warc-type", "warc-record-id", "warc-date", "content-length")
_FIELDS = frozenset(
    [
        "warc-type",
        "warc-record-id",
        "warc-date",
        "content-length",
        "content-type",
        "warc-concurrent-to",
        "warc-block-digest",
        "warc-payload-digest",
        "warc-ip-address",
        "warc-refers-to",
        "warc-refers-to-target-uri",
        "warc-refers-to-date",
        "warc-target-uri",
        "warc-truncated",
        "warc-warcinfo-id",
        "warc-filename",
        "warc-profile",
        "warc-identified-payload-type",
        "warc-segment-number",
        "warc-segment-origin-id",
        "warc-segment-total-length",
        "warc-protocol",
        "warc-cipher-suite",
        "lafka-certificate",
    ]
)
# The usual spelling of each name; looking it up is cheaper than to fold its case.
_SPELLINGS = {
    name.title()
    .replace("Warc-", "WARC-", 1)
    .replace("-Id", "-ID")
    .replace("-Uri", "-URI")
    .replace("-Ip-", "-IP-"): name
    for name in _FIELDS
}
_REPEATABLE = frozenset(("warc-concurrent-to", "warc-protocol"))
_SYNTAX: Mapping[str, tuple[re.Pattern[str], str]] = {
    "warc-record-id": (_RECORD_ID, "bad-record-id"),
    "warc-concurrent-to": (_RECORD_ID, "bad-record-id"),
    "warc-refers-to": (_RECORD_ID, "bad-record-id"),
    "warc-warcinfo-id": (_RECORD_ID, "bad-record-id"),
    "warc-segment-origin-id": (_RECORD_ID, "bad-record-id"),
    "content-length": (_DIGITS, "bad-length"),
    "content-type": (_MEDIA_TYPE, "content-type"),
    "warc-identified-payload-type": (_MEDIA_TYPE, "bad-value"),
    "warc-refers-to-target-uri": (_URI, "bad-uri"),
    "warc-truncated": (_TRUNCATED, "bad-value"),
    "warc-profile": (_PROFILE, "bad-value"),
    "warc-segment-number": (_DIGITS, "bad-value"),
    "warc-segment-total-length": (_DIGITS, "bad-value"),
    "warc-cipher-suite": (_TOKENS, "bad-value"),
    "lafka-certificate": (_TOKENS, "bad-value"),
}
_ALGORITHMS: Mapping[str, int] = {"md5": 16, "sha1": 20, "sha256": 32, "sha384": 48, "sha512": 64}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong: *offset* is the byte in *path* it begins at, where there is one."""

    path: str
    offset: int | None = None
    code: str
    severity: Severity
    sentence: str

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
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
        """Whether any transfer coding was applied."""
        return bool(self.transfer)

    @property
    def coded(self) -> bool:
        """Whether the bytes may be other than the server's file."""
        return bool(self.transfer or self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fut:
    """A PDF that stands literally in a record: ``file[offset:offset+length]``.

    ``digest`` is ``sha256:`` and hex, empty where the reader does not hash. ``whole`` is True
    only where nothing speaks against it: a status of success, not truncated, as long as declared
    or else with ``%%EOF`` near its end.
    """

    offset: int
    length: int
    digest: str
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictRecord:
    """A record whose header could be read and whose block is all there.

    ``fields`` has lower-case names and the first value of each. ``chain`` is the running digest
    of all record headers so far: SHA-256 over the chain before and this header's bytes from its
    version line to its blank line, beginning with 32 zero bytes. ``info`` is the block of a
    warcinfo.
    """

    offset: int
    block: int
    length: int
    end: int
    version: str
    fields: Mapping[str, str]
    concurrent_to: tuple[str, ...]
    chain: bytes
    entity: Entity | None
    fut: Fut | None
    info: bytes

    @property
    def type(self) -> str:
        return self.fields.get("warc-type", "")

    @property
    def id(self) -> str:
        return self.fields.get("warc-record-id", "")

    @property
    def date(self) -> str:
        return self.fields.get("warc-date", "")

    @property
    def url(self) -> str:
        """The target URI, without the angle brackets of WARC/1.0 writers."""
        url = self.fields.get("warc-target-uri", "")
        return url[1:-1] if url.startswith("<") and url.endswith(">") else url


def canonical_digest(value: str) -> str | None:
    """``algorithm:hex`` in lower case; None where *value* is no digest in hex or base32.

    Of one case throughout: a digest in mixed case was not written by any writer. An algorithm
    that is not known is returned as it is.
    """
    if not value:
        return None
    if _PLAIN_SHA256.fullmatch(value):
        return value
    algorithm, _, text = value.partition(":")
    algorithm = algorithm.lower().replace("-", "")
    if (
        not re.fullmatch(r"[a-z0-9/_]+", algorithm)
        or not text
        or text
        not in (
            text.lower(),
            text.upper(),
        )
    ):
        return None
    size = _ALGORITHMS.get(algorithm)
    if size is None:
        return f"{algorithm}:{text}"
    try:
        is_hex = _HEX.fullmatch(text) and len(text) == 2 * size
        padded = text.upper().rstrip("=") + "=" * (-len(text.rstrip("=")) % 8)
        raw = bytes.fromhex(text) if is_hex else b32decode(padded)
    except ValueError:
        return None
    return f"{algorithm}:{raw.hex()}" if len(raw) == size else None


class _Claim(NamedTuple):
    """*digest* (hex) should be that of one of *parts*: algorithm, first byte, end."""

    field: str
    digest: str
    parts: tuple[tuple[str, int, int], ...]


class StrictReader:
    """Iterating gives the records of one plain WARC; ``problems`` fills up on the way.

    *start* is the offset of the first record, *end* where to stop (the file's size). Without
    *hashing* blocks are skipped. *progress* is told how many bytes were passed since it was
    called last. A *pool* lets the digests of big blocks run beside each other.
    Raises OSError where the file cannot be read.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        start: int = 0,
        end: int | None = None,
        hashing: bool = True,
        progress: Callable[[int], None] | None = None,
        pool: Executor | None = None,
    ) -> None:
        self.path = str(path)
        self.problems: list[Problem] = []
        self._start = start
        self._end = end
        self._hashing = hashing
        self._progress = progress
        self._pool = pool
        self._chain = bytes(32)
        self._size = 0
        self._fd = -1

    def __iter__(self) -> Iterator[StrictRecord]:
        with self._opened():
            offset = self._start
            while offset < self._size:
                record = self._record(offset)
                if record is not None:
                    yield record
                after = record.end if record is not None else self._resumed
                if self._progress is not None:
                    self._progress(after - offset)
                offset = after

    @contextmanager
    def _opened(self) -> Iterator[None]:
        self._fd = os.open(self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            size = os.fstat(self._fd).st_size
            self._size = size if self._end is None else min(size, self._end)
            yield
        finally:
            os.close(self._fd)
            self._fd = -1

    # One record

    def _record(self, offset: int) -> StrictRecord | None:
        window = self._read(offset, _WINDOW)
        head = self._head(offset, window)
        if head is None:
            return None
        block = offset + len(head)
        fields, concurrent_to, version = self._parse(offset, head)
        size = self._block_length(offset, block, fields, window)
        if size is None:
            return None
        self._chain = hashlib.sha256(self._chain + head).digest()
        entity, fut = self._contents(offset, block, size, fields, window)
        return StrictRecord(
            offset=offset,
            block=block,
            length=size,
            end=block + size + 4,
            version=version,
            fields=fields,
            concurrent_to=concurrent_to,
            chain=self._chain,
            entity=entity,
            fut=fut,
            info=self._info(block, size, fields),
        )

    def _block_length(
        self, offset: int, block: int, fields: Mapping[str, str], window: bytes
    ) -> int | None:
        """Content-Length, where the file has that many bytes and the end of a record after them."""
        length = fields.get("content-length", "")
        if not _DIGITS.fullmatch(length):
            self._give_up(offset, "bad-length", "no Content-Length that can be used")
            return None
        end = block + int(length)
        if end > self._size:
            missing = end + 4 - self._size
            self._give_up(offset, "torn-tail", f"the file ends {missing} bytes before the record")
            return None
        trailer = window[end - offset : end - offset + 4]
        if len(trailer) < 4:
            trailer = self._read(end, 4)
        if trailer == b"\r\n\r\n":
            return int(length)
        torn = end + 4 > self._size and b"\r\n\r\n".startswith(trailer)
        self._give_up(
            offset,
            "torn-tail" if torn else "bad-trailer",
            "the block is not followed by two line ends where Content-Length says",
        )
        return None

    def _head(self, offset: int, window: bytes) -> bytes | None:
        if not window.startswith(b"WARC/"):
            if b"WARC/".startswith(window) or not window:
                self._give_up(offset, "torn-tail", "the file ends inside a version line")
            else:
                self._give_up(offset, "stray-bytes", "bytes outside a record")
            return None
        found = window.find(b"\r\n\r\n")
        if found < 0 and len(window) == _WINDOW:
            window = self._read(offset, _HEADER_LIMIT)
            found = window.find(b"\r\n\r\n")
        head = window[: found + 4] if found >= 0 else window
        if found < 0 or not _has_plain_lines(head):
            match = _ANY_HEAD_END.search(head)
            if match is None and len(window) < _HEADER_LIMIT:
                self._give_up(offset, "torn-tail", "the file ends inside a record header")
                return None
            if match is None:
                self._give_up(offset, "bad-header", "a record header of more than 1 MiB")
                return None
            head = head[: match.end()]
        return head

    def _parse(self, offset: int, head: bytes) -> tuple[dict[str, str], tuple[str, ...], str]:
        self._check_bytes(offset, head)
        try:
            text = head.decode()
        except UnicodeDecodeError:
            self._add(offset, "bad-header", "the record header is not UTF-8")
            text = head.decode("utf-8", "replace")
        version, *lines = text.replace("\r\n", "\n").split("\n")[:-2]
        if not _VERSION.fullmatch(version):
            self._add(offset, "bad-version", f"the version line is {version[:40]!r}")
        fields: dict[str, str] = {}
        concurrent_to: list[str] = []
        folded = "\n " in text or "\n\t" in text
        for line in _unfolded(lines) if folded else lines:
            name, value = self._field(offset, line)
            if name == "warc-concurrent-to":
                concurrent_to.append(value)
            if name in fields and name not in _REPEATABLE and name in _FIELDS:
                self._add(offset, "repeated-field", f"{name} stands there twice")
            fields.setdefault(name, value)
        self._check_whole(offset, fields, version)
        return fields, tuple(concurrent_to), version

    def _check_bytes(self, offset: int, head: bytes) -> None:
        if head.translate(None, _PLAIN):
            self._add(offset, "bad-header", "a control character in the record header")
        if not _has_plain_lines(head):
            self._add(offset, "line-end", "a line of the record header does not end in CR LF")

    def _field(self, offset: int, line: str) -> tuple[str, str]:
        spelled, colon, value = line.partition(":")
        value = value.strip(" \t")
        name = _SPELLINGS.get(spelled, "")
        if not colon or not name:
            name = spelled.lower()
            if not colon or not _NAME.fullmatch(name):
                self._add(offset, "bad-header", f"{line[:60]!r} is no header field")
                return "", ""
            if name not in _FIELDS:
                self._add(offset, "unknown-field", f"{name} is no field of WARC 1.1")
        if len(line) > _LINE_LIMIT:
            self._add(offset, "bad-header", f"{name} is longer than 64 KiB")
        syntax = _SYNTAX.get(name)
        if syntax is not None and not syntax[0].fullmatch(value):
            self._add(offset, syntax[1], f"{name} is {value[:80]!r}")
        return name, value

    def _check_whole(self, offset: int, fields: dict[str, str], version: str) -> None:
        kind = fields.get("warc-type", "")
        for name in _MANDATORY:
            if name not in fields:
                self._add(offset, "missing-field", f"no {name}")
        if kind and kind not in _TYPES:
            self._add(offset, "unknown-type", f"a record of type {kind[:40]!r}")
        for name in ("warc-date", "warc-refers-to-date"):
            if name in fields and not _is_date(fields[name], version):
                self._add(offset, "bad-date", f"{name} is {fields[name][:40]!r}")
        if "warc-ip-address" in fields and not _is_address(fields["warc-ip-address"]):
            self._add(offset, "bad-value", f"{fields['warc-ip-address'][:60]!r} is no IP address")
        self._check_url(offset, kind, fields, version)
        self._check_kind(offset, kind, fields)

    def _check_url(self, offset: int, kind: str, fields: dict[str, str], version: str) -> None:
        url = fields.get("warc-target-uri")
        if url is None:
            if kind in _ABOUT_URI:
                self._add(offset, "missing-field", f"a {kind} record without warc-target-uri")
            return
        if kind == "warcinfo":
            self._add(offset, "bad-value", "a warcinfo record with warc-target-uri")
        if version == "WARC/1.0" and url.startswith("<") and url.endswith(">"):
            url = url[1:-1]
        if not _URI.fullmatch(url):
            self._add(offset, "bad-uri", f"warc-target-uri is {url[:80]!r}")

    def _check_kind(self, offset: int, kind: str, fields: dict[str, str]) -> None:
        media_type = fields.get("content-type", "")
        http = _HTTP_TYPE.fullmatch(media_type)
        if kind == "warcinfo" and media_type != "application/warc-fields":
            self._add(offset, "content-type", f"a warcinfo of type {media_type[:60]!r}")
        elif kind in ("request", "response", "revisit") and media_type:
            wanted = "request" if kind == "request" else "response"
            if http is None or http[1] not in (None, wanted):
                self._add(offset, "content-type", f"a {kind} of type {media_type[:60]!r}")
        elif not media_type and fields.get("content-length", "0") != "0" and kind != "continuation":
            self._add(offset, "content-type", "a block without content-type")
        if kind == "revisit" and "warc-profile" not in fields:
            self._add(offset, "missing-field", "a revisit without warc-profile")
        identical = fields.get("warc-profile", "").endswith("payload-digest")
        if kind == "revisit" and identical and "warc-payload-digest" not in fields:
            self._add(offset, "missing-field", "a revisit without warc-payload-digest")
        if kind == "conversion" and "warc-refers-to" not in fields:
            self._add(offset, "missing-field", "a conversion without warc-refers-to")

    # Blocks

    def _contents(
        self, offset: int, block: int, size: int, fields: dict[str, str], window: bytes
    ) -> tuple[Entity | None, Fut | None]:
        """The HTTP entity and the fut of a block; digests are compared on the way."""
        kind = fields.get("warc-type", "")
        at = block - offset
        front = window[at : at + size]
        entity = None
        if _HTTP_TYPE.match(fields.get("content-type", "")):
            entity = self._entity(block, size, front)
        place = self._fut_place(kind, block, size, front, entity)
        end = entity.end if entity is not None else block + size
        hashers: _Hashers = {}
        claims = list(self._claims(offset, block, size, fields, entity))
        if self._hashing:
            for claim in claims:
                for part in claim.parts:
                    hashers.setdefault(part, _hasher(part[0]))
            if place is not None:
                hashers.setdefault(("sha256", place, end), hashlib.sha256())
            self._hash(block, size, hashers, front)
            self._compare(offset, claims, hashers, chunked=entity is not None and entity.chunked)
        if place is None:
            return entity, None
        hasher = hashers.get(("sha256", place, end))
        return entity, Fut(
            offset=place,
            length=end - place,
            digest=f"sha256:{hasher.hexdigest()}" if hasher else "",
            whole=self._whole(fields, place, end, entity),
        )

    def _entity(self, block: int, size: int, front: bytes) -> Entity:
        start, status, head = 0, None, front
        while True:
            found = _HTTP_HEAD_END.search(front, start)
            if found is None and len(front) < min(size, _HEADER_LIMIT):
                front = self._read(block, min(size, _HEADER_LIMIT))
                continue
            head = front[start : found.end() if found else len(front)]
            line = _HTTP_STATUS.match(head)
            status = int(line[1]) if line else None
            start = found.end() if found else size
            if found is None or status is None or not 100 <= status < 200 or status == 101:
                break
        declared = None
        codings: dict[bytes, tuple[str, ...]] = {}
        for name, value in _HTTP_FIELD.findall(head):
            name, word = name.lower(), value.strip().lower()
            if name == b"content-length":
                declared = int(word) if word.isdigit() and len(word) < 19 else None
            else:
                codings[name] = codings.get(name, ()) + _codings(word)
        transfer = codings.get(b"transfer-encoding", ())
        end = block + size
        if declared is not None and not transfer:
            end = min(end, block + start + declared)
        return Entity(
            offset=block + start,
            end=end,
            status=status,
            transfer=transfer,
            content=codings.get(b"content-encoding", ()),
            declared=declared,
        )

    def _fut_place(
        self, kind: str, block: int, size: int, front: bytes, entity: Entity | None
    ) -> int | None:
        if kind not in ("response", "resource", "conversion"):
            return None
        if entity is not None and entity.transfer:
            return None
        start = entity.offset - block if entity is not None else 0
        if len(front) < min(start + _MARK_WITHIN, size):
            front = self._read(block + start, min(_MARK_WITHIN, size - start))
        else:
            front = front[start : start + _MARK_WITHIN]
        found = front.find(_MARK)
        if found < 0 or _MARKUP.match(front[:found]):
            return None
        if entity is not None and entity.content and not _is_bare(front[:found], entity.content):
            return None
        return block + start + found

    def _whole(
        self, fields: Mapping[str, str], place: int, end: int, entity: Entity | None
    ) -> bool:
        if "warc-truncated" in fields:
            return False
        if entity is not None:
            if entity.status is None or not 200 <= entity.status < 300 or entity.status == 206:
                return False
            if entity.declared is not None:
                return entity.declared == entity.end - entity.offset
        tail = max(place, end - _PDF_TAIL)
        return b"%%EOF" in self._read(tail, end - tail)

    def _claims(
        self,
        offset: int,
        block: int,
        size: int,
        fields: Mapping[str, str],
        entity: Entity | None,
    ) -> Iterator[_Claim]:
        """Each digest in the header that this record alone can prove."""
        if "warc-block-digest" not in fields:
            self._add(offset, "no-block-digest", "nothing says what the block should be")
        begin, end = (entity.offset, entity.end) if entity else (block, block + size)
        elsewhere = fields.get("warc-type") in ("revisit", "continuation") or (
            "warc-segment-number" in fields
        )
        for name in ("warc-block-digest", "warc-payload-digest"):
            value = fields.get(name)
            if value is None:
                continue
            digest = canonical_digest(value)
            if digest is None:
                self._add(offset, "bad-digest", f"{name} is {value[:80]!r}")
                continue
            algorithm, _, text = digest.partition(":")
            if algorithm not in _ALGORITHMS:
                self._add(offset, "unknown-digest", f"{name} is by {algorithm[:40]!r}")
            elif name == "warc-block-digest":
                yield _Claim(name, text, ((algorithm, block, block + size),))
            elif not elsewhere:
                # Other writers count what stands after the end that Content-Length gives.
                ends = dict.fromkeys((end, block + size))
                yield _Claim(name, text, tuple((algorithm, begin, at) for at in ends))

    def _compare(
        self, offset: int, claims: list[_Claim], hashers: _Hashers, *, chunked: bool
    ) -> None:
        for claim in claims:
            if any(hashers[part].hexdigest() == claim.digest for part in claim.parts):
                continue
            code = claim.field.removeprefix("warc-")
            if code == "payload-digest" and chunked:
                # Writers disagree whether it is of the chunked or of the plain bytes.
                self._add(offset, "payload-digest-unsure", "not the digest of the chunked payload")
            else:
                self._add(offset, code, f"the bytes do not have the digest of {claim.field}")

    def _hash(self, block: int, size: int, hashers: _Hashers, front: bytes) -> None:
        """Feed every hasher its range of the block."""
        if len(front) == size:
            view = memoryview(front)
            for (_, start, end), hasher in hashers.items():
                hasher.update(view[start - block : end - block])
            return
        if self._pool is None or size < _PARALLEL or len(hashers) < 2:
            self._hash_together(block, block + size, hashers)
            return
        # Each thread reads for itself: the second finds the bytes in the system's cache, and
        # that costs less than to meet for each chunk.
        mine, *others = hashers.items()
        waiting = [self._pool.submit(self._hash_range, hasher, part) for part, hasher in others]
        try:
            self._hash_range(mine[1], mine[0])
        finally:
            wait(waiting)
        for done in waiting:
            done.result()

    def _hash_together(self, at: int, end: int, hashers: _Hashers) -> None:
        buffer = memoryview(bytearray(min(_SHARED_CHUNK, end - at)))
        while at < end:
            view = buffer[: min(_SHARED_CHUNK, end - at)]
            self._fill(view, at)
            for (_, first, last), hasher in hashers.items():
                if first < at + len(view) and last > at:
                    hasher.update(view[max(0, first - at) : last - at])
            at += len(view)

    def _fill(self, view: memoryview, at: int) -> None:
        if _read_into(self._fd, view, at) < len(view):
            raise OSError(f"{self.path}: became shorter while it was read")

    def _hash_range(self, hasher: hashlib._Hash, part: tuple[str, int, int]) -> None:
        _, at, end = part
        buffer = memoryview(bytearray(min(_CHUNK, end - at)))
        while at < end:
            view = buffer[: min(_CHUNK, end - at)]
            self._fill(view, at)
            hasher.update(view)
            at += len(view)

    def _info(self, block: int, size: int, fields: dict[str, str]) -> bytes:
        if fields.get("warc-type") != "warcinfo":
            return b""
        return self._read(block, min(size, _HEADER_LIMIT))

    # Reading and reporting

    def _read(self, offset: int, length: int) -> bytes:
        return os.pread(self._fd, min(length, self._size - offset), offset)

    def _add(self, offset: int, code: str, sentence: str) -> None:
        self.problems.append(
            Problem(
                path=self.path,
                offset=offset,
                code=code,
                severity=CODES[code],
                sentence=printable(sentence),
            )
        )

    def _give_up(self, offset: int, code: str, sentence: str) -> None:
        """Leave the record at *offset*; ``_resumed`` is where the next one begins."""
        found = self._next_start(offset + 1)
        if code == "torn-tail" and found is not None:
            code = "bad-trailer"
            sentence = "the block does not end where Content-Length says"
        self._resumed = self._size if found is None else found
        self._add(offset, code, f"{sentence}; {self._resumed - offset} bytes skipped")

    def _next_start(self, offset: int) -> int | None:
        overlap = 256
        while offset < self._size:
            data = self._read(offset, _CHUNK)
            found = _RECORD_START.search(data)
            if found:
                return offset + found.start()
            if len(data) <= overlap or offset + len(data) >= self._size:
                return None
            offset += len(data) - overlap
        return None


def records(
    path: Path | str, start: int = 0, problems: list[Problem] | None = None
) -> Iterator[StrictRecord]:
    """The records of a plain WARC from *start* on; what is wrong is added to *problems*.

    A problem of a record is there before the record is given. Raises OSError.
    """
    reader = StrictReader(path, start=start)
    if problems is not None:
        reader.problems = problems
    return iter(reader)


def _hasher(algorithm: str) -> hashlib._Hash:
    return hashlib.sha256() if algorithm == "sha256" else hashlib.new(algorithm)


def _codings(value: bytes) -> tuple[str, ...]:
    words = (word.strip() for word in value.decode("latin-1").split(","))
    return tuple(word for word in words if word not in ("", "identity", "none"))


def _is_bare(junk: bytes, codings: tuple[str, ...]) -> bool:
    """Whether codings that a server names were not applied to a body of *junk* and a PDF.

    No coded body begins with the mark of a PDF; one that cannot be compressed can hold it as it is
    behind a first few bytes, by which only gzip and Zstandard can be told.
    """
    return not junk or not (
        junk.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd")) or {"deflate", "br"} & {*codings}
    )


def _unfolded(lines: list[str]) -> list[str]:
    whole: list[str] = []
    for line in lines:
        if line.startswith((" ", "\t")) and whole:
            whole[-1] += " " + line.strip(" \t")
        else:
            whole.append(line)
    return whole


def _has_plain_lines(head: bytes) -> bool:
    return head.count(b"\r\n") == head.count(b"\n") == head.count(b"\r")


@lru_cache(1024)
def _is_date(value: str, version: str) -> bool:
    match = _DATE.fullmatch(value)
    if match is None:
        return version == "WARC/1.1" and _SHORT_DATE.fullmatch(value) is not None
    if version == "WARC/1.0" and "." in value:
        return False
    try:
        datetime(*map(int, match.groups()))  # type: ignore[arg-type]
    except ValueError:
        return False
    return True


@lru_cache(1024)
def _is_address(value: str) -> bool:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return True


def _read_into(fd: int, view: memoryview, offset: int) -> int:
    """Fill *view* from *offset* on; less than its length only where the file ends."""
    done = 0
    while done < len(view):
        got = os.preadv(fd, [view[done:]], offset + done)
        if got == 0:
            break
        done += got
    return done
