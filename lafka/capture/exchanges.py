"""One request and its answer on the wire: the bytes, and how they ended."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

from lafka.errors import StorageTrouble
from lafka.payloads import pdf_start
from lafka.warc.format import codings
from lafka.warc.format.fields import Fields


class BodySink(Protocol):
    """A taker of a body, transfer coding undone; it is called in the reactor's thread."""

    def wants(self, status: int, fields: Fields) -> bool:
        """Return whether the body behind this head is to come here; else it goes the usual way."""

    def begin(self, pause: Callable[[], object], resume: Callable[[], object]) -> None:
        """The body begins: *pause* and *resume* stop and go on reading, in this thread."""

    def receive(self, data: bytes) -> None:
        """More of it; ``StorageTrouble`` where it cannot be kept."""


IN_MEMORY = 1280 * 1024
"""A spool of more bytes than this lies on the disk: most futs are smaller, and copied once less."""
_PIECES_MAX = 512
_BEGINNING = 64 * 1024
"""As many bytes from the first on are read without joining all."""
OPENING = 1024
"""The bytes of an entity that decide what it is (PDF 1.7, annex H.3, note 13)."""

Ended = Literal["complete", "closed", "cut", ""]
Truncated = Literal["length", "time", "disconnect"]
OpeningKind = Literal["pdf", "text", "binary", "unknown"]

_SECRET_FIELDS = (b"authorization", b"proxy-authorization")
_REMOVED = b"[removed]"
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_CONTROLS = bytes({*range(0x20)} - set(b"\t\n\f\r\x1b"))


class Spool:
    """Bytes in order of arrival: in memory up to 1.25 MiB, then in an anonymous file in *folder*.

    The file has no name and vanishes with the last reference to the spool, or at :meth:`close`.
    Reading does not move anything, so a thread may read while nobody appends. Each method raises
    StorageTrouble where the disk does not do it.
    """

    __slots__ = ("_folder", "_pieces", "file", "size")

    def __init__(self, folder: Path | str | None = None) -> None:
        self._folder = folder
        self._pieces: list[bytes] = []  # as they came: most answers are never copied while read
        self.file: BinaryIO | None = None
        """The file once there is one, unbuffered; its position means nothing."""
        self.size = 0
        """How many bytes it holds."""

    @property
    def in_memory(self) -> int:
        """The number of bytes of it that are in memory."""
        return self.size if self.file is None else 0

    def append(self, data: bytes) -> None:
        if self.file is None and self.size + len(data) <= IN_MEMORY:
            self._pieces.append(data)
            if len(self._pieces) > _PIECES_MAX:
                self._memory()
        else:
            self._write(data)
        self.size += len(data)

    def _memory(self) -> bytes:
        """Return what is in memory, as one piece."""
        if len(self._pieces) != 1:
            self._pieces = [b"".join(self._pieces)]
        return self._pieces[0]

    def _beginning(self, end: int) -> bytes:
        """At least the first *end* bytes, of what is in memory: the rest need not be joined."""
        found: list[bytes] = []
        size = 0
        for piece in self._pieces:
            found.append(piece)
            size += len(piece)
            if size >= end:
                break
        return b"".join(found)

    def _write(self, data: bytes) -> None:
        try:
            if self.file is None:
                self.file = tempfile.TemporaryFile(buffering=0, dir=self._folder)  # noqa: SIM115
                _write_at(self.file.fileno(), self._memory(), 0)
                self._pieces = []
            _write_at(self.file.fileno(), data, self.size)
        except OSError as error:
            raise self._trouble(error) from error

    def _trouble(self, error: OSError) -> StorageTrouble:
        return StorageTrouble(self._folder or tempfile.gettempdir(), error)

    def trim(self, count: int) -> None:
        """Drop the last *count* bytes."""
        kept = max(self.size - count, 0)
        if self.file is None:
            self._pieces = [self._memory()[:kept]]
        else:
            try:
                os.ftruncate(self.file.fileno(), kept)
            except OSError as error:
                raise self._trouble(error) from error
        self.size = kept

    def read(self, start: int, length: int) -> bytes:
        """At most *length* bytes from byte *start* on."""
        if self.file is None:
            end = start + length
            return (self._beginning(end) if end <= _BEGINNING else self._memory())[start:end]
        try:
            return os.pread(self.file.fileno(), length, start)
        except OSError as error:
            raise self._trouble(error) from error

    def chunks(self, start: int = 0, size: int = 1 << 20) -> Iterator[bytes]:
        """All bytes from byte *start* on, at most *size* at a time; in memory, as it came."""
        if self.file is None:
            for piece in self._pieces:
                if start < len(piece):
                    yield piece[start:] if start else piece
                start = max(start - len(piece), 0)
            return
        while data := self.read(start, size):
            yield data
            start += len(data)

    def fileno(self) -> int | None:
        """The file's descriptor, or None while the bytes are in memory."""
        return None if self.file is None else self.file.fileno()

    def close(self) -> None:
        """Give up the bytes."""
        self._pieces = []
        self.size = 0
        if self.file is not None:
            self.file.close()
            self.file = None


def _write_at(descriptor: int, data: bytes, offset: int) -> None:
    rest = memoryview(data)
    while rest:
        written = os.pwrite(descriptor, rest, offset)
        rest = rest[written:]
        offset += written


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSession:
    """The outcome of TLS: names as in WARC-Protocol and WARC-Cipher-Suite, empty where unknown.

    ``certificate`` is :func:`lafka.capture.certificates.verdict`.
    """

    protocol: str
    cipher: str
    certificate: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Exchange:
    """One request and its answer, byte for byte, whole or not.

    It grows while the answer comes in, and stays as it is once the download handler has returned
    or raised. What reads it closes ``response``.
    """

    url: str
    method: str
    response: Spool = field(default_factory=Spool)
    """Every byte read: interim (1xx) answers, head, body as transferred, trailers."""
    request: bytes = b""
    """Every byte written, but for the values of Authorization and Proxy-Authorization."""
    started: datetime | None = None
    """When the request was written, aware, UTC; None where there was never a connection."""
    ip_address: str | None = None
    """The address that was asked; behind a proxy, the proxy's."""
    secured: TlsSession | None = None
    """None without TLS, before its handshake, and where the wire could not be seen."""
    connection: str = ""
    """The number of the connection in this process, a blank, the exchange's number on it; empty
    where the wire could not be seen."""
    ended: Ended = ""
    """``complete``: the answer told its own end; ``closed``: a body without a length ended with
    a clean close; ``cut``: the connection ended too early or was reset; empty: there was no
    answer, or we stopped reading."""
    truncated: Truncated | None = None
    """Why bytes are missing, as WARC-Truncated says it; None where none are."""
    exact: bool = True
    """False: put together from Scrapy's request and response, for the wire could not be seen."""
    dropped: bool = False
    """We stopped reading because it was no PDF."""
    too_big: bool = False
    """The entity is, or was announced to be, over the limit."""
    diverted: bool = False
    """The body went to a sink: ``response`` ends with the head."""
    secrets: tuple[bytes, ...] = ()
    """Names of further header fields, in small letters, whose values ``request`` does not show."""

    @property
    def shared(self) -> bool:
        """Return whether its connection had carried others before."""
        return self.connection.rpartition(" ")[2] not in ("", "1")

    @property
    def tls(self) -> bool:
        return self.url.lower().startswith("https:")

    def begin(
        self,
        now: datetime,
        ip_address: str | None,
        secured: TlsSession | None = None,
        connection: str = "",
    ) -> None:
        """A request is being written: forget what an attempt before it brought."""
        self.started = now
        self.connection = connection
        self.ip_address = ip_address
        self.secured = secured
        self.request = b""
        self.ended = ""
        self.truncated = None
        self.response.trim(self.response.size)


def without_secrets(request: bytes, more: tuple[bytes, ...] = ()) -> bytes:
    """The request with ``[removed]`` as the value of each Authorization and Proxy-Authorization.

    So of the fields *more*, in small letters. All other bytes, and the body, are as they were.
    """
    head, gap, body = request.partition(b"\r\n\r\n")
    names = (*_SECRET_FIELDS, *more)
    lower = head.lower()
    if not any(name in lower for name in names):
        return request
    lines: list[bytes] = []
    secret = False
    for line in head.split(b"\r\n"):
        if line[:1] in (b" ", b"\t") and secret:
            continue  # the value goes on in a folded line
        name, colon, _ = line.partition(b":")
        secret = bool(colon) and name.strip().lower() in names
        lines.append(name + b": " + _REMOVED if secret else line)
    return b"\r\n".join(lines) + gap + body


def kind_of_opening(opening: bytes | None, content_type: str = "") -> OpeningKind:
    """Return what an entity is by *opening*, its first 1,024 bytes (see :func:`decoded_opening`).

    ``pdf``: as :func:`lafka.payloads.pdf_start` has it; ``text``: it reads as text, or its
    Content-Type says so; ``unknown``: None was given, for it could not be decoded; ``binary``:
    the rest.
    """
    if opening is None:
        return "unknown"
    if pdf_start(opening) >= 0:
        return "pdf"
    if opening.startswith(_BOMS) or opening.translate(None, _CONTROLS) == opening:
        return "text"
    return "text" if content_type.lower().lstrip().startswith("text/") else "binary"


def decoded_opening(data: bytes, coding: str, size: int = OPENING) -> bytes | None:
    """The first *size* bytes of the entity behind *data*, fewer where *data* has fewer.

    *coding* is the value of Content-Encoding. None where it is unknown or *data* contradicts it.
    Never decodes more than *size* bytes, whatever *data* would expand to.
    """
    name = coding.strip().lower()
    return data[:size] if name in ("", "identity") else codings.opening(data, name, size)
