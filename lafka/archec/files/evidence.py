"""Evidence of the exchanges behind a gathering's fobis: ``evidence/<tist>.warc``.

For each way that ended in something new: the warcinfo that says for which fobi, each hop's request
and response, and of the last answer the head alone, with the digest of the entity that lies in the
store. Synced before the journal speaks of it; what no journal line names is harmless.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from lafka.archec.store import pages, texts
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.texts import Checksums
from lafka.capture.logged import LoggedExchange, Span
from lafka.errors import BadWarc
from lafka.payloads import Kind
from lafka.storage.drafts import replace
from lafka.storage.folders import make_folders, sync_folder
from lafka.warc.format import http
from lafka.warc.format.fields import Fields
from lafka.warc.format.records import Record, uuid_urn
from lafka.warc.format.sources import FileSource
from lafka.warc.reading.volumes import WarcVolume
from lafka.warc.writing.appending import Appender

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
            data = self.beginning(pages.PAGE_MAX + 1)
            if len(data) <= pages.PAGE_MAX:
                self.size = len(data)
                return pages.of_file(data, is_page=True), True
        sums, self.size = texts.of_pieces(self.chunks())
        return sums, False


OBI, OBI_FIELD, PATH_FIELD = "Obi", "Lafka-Obi", "Lafka-Path"
"""The warcinfo's field for whom it was asked; the last answer's for what became of it."""
_KEPT_NOT = ("WARC-Record-ID", "WARC-Block-Digest", "WARC-Payload-Digest", "WARC-Truncated",
             "Content-Length")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ObiExchanges:
    """Exchanges, the last of which gave the obi *obi* with the SHA-256 *sha256* (hex) of its bytes.

    ``place``: where it lies below the store.
    """

    exchanges: tuple[LoggedExchange, ...]
    obi: str
    place: str
    sha256: str


class Evidence:
    """The evidence of the gathering with that *tist*; its file is made when it is needed."""

    def __init__(self, store: ObiStore, tist: int) -> None:
        self.path = store.evidence(tist)
        self._out: Appender | None = None

    def append(self, witnesses: Sequence[ObiExchanges]) -> None:
        """Append *witnesses* and sync them; ``OSError``, and then none of them is there."""
        if not witnesses:
            return
        out = self._opened()
        with out.group(), ExitStack() as files:
            sources: dict[str, int] = {}
            for witness in witnesses:
                for span in _copied_spans(witness.exchanges):
                    if span.path not in sources:
                        sources[span.path] = files.enter_context(_reading(span.path))
                    out.copy(sources[span.path], span.offset, span.length)
                out.write(_head(witness).pieces())
            out.sync()

    def _opened(self) -> Appender:
        if self._out is None:
            make_folders(self.path.parent)
            self._out = Appender.create(self.path)
            sync_folder(self.path.parent)
        return self._out

    def close(self) -> None:
        if self._out is not None:
            self._out.close()


def sealed(path: Path) -> dict[str, dict[str, int | str]]:
    """Return what the last line of a journal says of its evidence at *path*; ``OSError``.

    ``evidence``: its bytes and their SHA-256 in hex; nothing where there is none.
    """
    if not path.exists():
        return {}
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return {"evidence": {"length": file.tell(), "sha256": digest.hexdigest()}}


@contextmanager
def _reading(path: str) -> Iterator[int]:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def _copied_spans(exchanges: Sequence[LoggedExchange]) -> Iterator[Span]:
    """Records that are taken as they are: the warcinfo, all requests, the hops' responses."""
    spans = [exchanges[0].warcinfo]
    for exchange in exchanges[:-1]:
        spans += [exchange.request, exchange.response]
    return (span for span in [*spans, exchanges[-1].request] if span is not None)


def _head(witness: ObiExchanges) -> Record:
    """The last response without its body."""
    span = witness.exchanges[-1].response
    assert span is not None  # it gave the obi
    with Entity(span) as entity:
        fields = Fields([item for item in entity.header if item[0] not in _KEPT_NOT])
        fields.add("WARC-Record-ID", uuid_urn())
        fields.add("WARC-Truncated", "unspecified")
        fields.add("WARC-Payload-Digest", f"sha256:{witness.sha256}")
        fields.add(OBI_FIELD, witness.obi)
        fields.add(PATH_FIELD, witness.place)
        return Record(fields=fields, block=entity.block.read(0, entity.head.end))


def cut_torn(path: Path) -> int:
    """Cut off what a kill left behind the last whole record of *path*; how many bytes.

    They are kept beside it; a file without a record goes, for it would be no WARC. ``OSError``.
    """
    if not path.is_file():
        return 0
    size, whole = path.stat().st_size, 0
    with suppress(BadWarc), WarcVolume(path, strict=True) as volume:
        for record in volume:
            whole = record.end
    if whole == size:
        if not size:
            path.unlink()
        return 0
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        kept = path.with_name(f"{path.name}.torn-{whole}")
        replace(kept, FileSource(fd, whole, size - whole).chunks())
        os.ftruncate(fd, whole)
        os.fsync(fd)
    finally:
        os.close(fd)
    if not whole:
        path.unlink()
    return size - whole
