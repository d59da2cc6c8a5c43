"""The ground of records in memory and in volumes: their fields by name, their payload."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from ..errors import BadHttp, BadValue
from ..problems import Problem
from . import http
from .codings import OnProblem
from .dates import WarcDate
from .digests import Digest
from .fields import Fields
from .sources import CHUNK, Source

WARC_FIELDS = "application/warc-fields"


_date = lru_cache(maxsize=16)(WarcDate.parse)  # records that belong together have the same


class HasFields(Protocol):
    """A record, in memory or in a volume."""

    @property
    def fields(self) -> Fields: ...


class HasMessage(HasFields, Protocol):
    """A record whose block may hold an HTTP message."""

    @property
    def type(self) -> str: ...

    @property
    def http(self) -> http.Head | None: ...

    @property
    def source(self) -> Source: ...


class BaseRecord:
    """The fields and the payload of a record, wherever it is."""

    __slots__ = ()

    @property
    def type(self: HasFields) -> str:
        """WARC-Type in small letters, in which the standard has all of them."""
        return self.fields.first("WARC-Type").lower()

    @property
    def id(self: HasFields) -> str:
        """WARC-Record-ID as it stands, angle brackets and all."""
        return self.fields.first("WARC-Record-ID")

    @property
    def url(self: HasFields) -> str:
        """The target URI, without the angle brackets of the WARC/1.0 grammar."""
        url = self.fields.first("WARC-Target-URI")
        return url[1:-1] if url.startswith("<") and url.endswith(">") else url

    @property
    def date(self: HasFields) -> WarcDate | None:
        """WARC-Date; None where it is none."""
        with suppress(BadValue):
            return _date(self.fields.first("WARC-Date"))
        return None

    @property
    def content_type(self: HasFields) -> str:
        return self.fields.first("Content-Type")

    @property
    def media_type(self: HasFields) -> str:
        """The Content-Type without its parameters, in small letters."""
        return http.media_type(self.fields.first("Content-Type"))

    def block_fields(self: HasMessage) -> Fields:
        """The fields in the block of a warcinfo or metadata record, read leniently; 1 MiB of them.

        ``BadValue`` where the Content-Type is neither ``application/warc-fields`` nor, as it was
        called before, ``text/anvl``.
        """
        kind = self.fields.first("Content-Type")
        if http.media_type(kind) not in (WARC_FIELDS, "text/anvl"):
            raise BadValue(f"a block of fields was asked for, and is {kind!r}")
        return Fields.parse(self.source.read(0, CHUNK))

    def payload(
        self: HasMessage,
        *,
        decoded: bool = False,
        strict: bool = False,
        problems: list[Problem] | None = None,
    ) -> Iterator[bytes]:
        """The payload in pieces: what an HTTP message carries, else the block.

        Transfer codings are undone; *decoded*: content codings too. The bytes that can be had:
        what is wrong with them goes into *problems* as it is met; *strict*: ``BadHttp`` where the
        body ends early, or its coding is broken or was not applied. A revisit has no payload of
        its own, but for what stands in its block (``Collection.resolve`` finds the one it had).
        """
        head = self.http
        if self.type == "revisit":
            return _leftover(self, head)
        if head is None:
            return self.source.chunks()
        to_end = _goes_on(self, head)
        if strict:
            read = http.entity if decoded else http.payload
            return read(self.source, head, to_end=to_end)
        on_problem = problem_taker(self, problems)
        return http.lenient_payload(self.source, head, on_problem, decoded=decoded, to_end=to_end)


def problem_taker(record: HasFields, problems: list[Problem] | None) -> OnProblem:
    """Return the function that adds problems of the block of *record* to *problems*, if any."""
    if problems is None:
        return _ignored
    path = getattr(record, "path", Path())
    offset, inner = getattr(record, "offset", 0), getattr(record, "inner", 0)

    def take(code: str, **values: object) -> None:
        problems.append(Problem.of(code, path, offset, inner, **values))

    return take


def _ignored(*_: object, **__: object) -> None:
    """Drop a problem that nobody asked for."""


def _leftover(revisit: HasMessage, head: http.Head | None) -> Iterator[bytes]:
    """Return what stands behind the head of *revisit*: mostly nothing."""
    return revisit.source.chunks(head.end) if head else iter(())


def body_length(record: HasMessage, head: http.Head) -> int:
    """Return how many bytes of the block behind *head* are the body, where it is not chunked."""
    rest, stated = record.source.size - head.end, head.content_length
    return rest if stated is None or _goes_on(record, head) else min(rest, stated)


def _goes_on(record: HasMessage, head: http.Head) -> bool:
    """Return whether the body is more than Content-Length says.

    Some recorders keep the length of a coded body and store it decoded. So what stands behind the
    length is body too, unless the payload digest says that it is not.
    """
    length, source = head.content_length, record.source
    if not head.status or length is None or source.size - head.end <= length:
        return False
    with suppress(BadValue):
        stated = Digest.parse(record.fields.first("WARC-Payload-Digest"))
        if stated.known:
            return Digest.of(http.payload(source, head), stated.algorithm) != stated
    return True


def message_in(record: HasMessage) -> http.Head | None:
    """The head of the HTTP message in the block of *record*; None where there is none."""
    if http.media_type(record.fields.first("Content-Type")) != http.MESSAGE:
        return None
    with suppress(BadHttp):
        return http.message_head(record.source)
    return None
