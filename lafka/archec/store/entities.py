"""Entities out of a raw log: the bytes of an answer, codings undone, never all at once."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Self

from lafka.archec.store import texts
from lafka.archec.store.texts import Checksums
from lafka.capture.logged import Span
from lafka.payloads import Kind
from lafka.warc.format import http
from lafka.warc.format.fields import Fields
from lafka.warc.format.sources import FileSource

_HEADER_MAX = 1 << 20
_VALIDATOR = re.compile(r"[\x20-\x7e]{1,500}")


class Entity:
    """The entity of the response record at *span*; a context manager that holds the file open.

    ``head`` is that of the answer, ``header`` the record's fields. ``BadHttp``, ``OSError``.
    """

    def __init__(self, span: Span) -> None:
        self._span = span
        self._fd = os.open(span.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            whole = FileSource(self._fd, span.offset, span.length)
            header, _, _ = whole.read(0, _HEADER_MAX).partition(b"\r\n\r\n")
            self.header = Fields.parse(header.partition(b"\r\n")[2] + b"\r\n")
            size = int(self.header.first("Content-Length"))
            self.block = FileSource(self._fd, span.offset + len(header) + 4, size)
            self.head = http.head(self.block)
        except BaseException:
            os.close(self._fd)
            raise
        self.size = 0
        """Bytes of the entity, known once its checksums are taken."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def chunks(self) -> Iterator[bytes]:
        yield from http.entity(self.block, self.head)

    def beginning(self, size: int) -> bytes:
        """The first *size* bytes."""
        found = b""
        for piece in self.chunks():
            found += piece
            if len(found) >= size:
                break
        return found[:size]

    def validator(self, name: str) -> str | None:
        """An ETag or Last-Modified that can be sent back as it came; None for any other."""
        value = self.head.fields.first(name).strip()
        return value if _VALIDATOR.fullmatch(value) else None

    def checksums(self, kind: Kind) -> tuple[Checksums, bool]:
        """Its checksums, and whether they are of the text of a page."""
        if kind is Kind.HTML:
            data = self.beginning(texts.PAGE_MAX + 1)
            if len(data) <= texts.PAGE_MAX:
                self.size = len(data)
                return texts.of_file(data, is_page=True), True
        sums, self.size = texts.of_pieces(self.chunks())
        return sums, False
