"""The raw log of a run: exact WARC records in order of arrival, and the crawl's write-ahead log.

``<folder>/<run>/`` holds its WARC files and a lock that dies with the run's process. What owns an
exchange is a number that the crawl gives; a file is removed once every owner of something in it was
released. What a killed run leaves is found by :mod:`lafka.capture.leftovers`.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from lafka.capture.exchanges import Exchange, TlsSession
from lafka.capture.leftovers import locked_folder, mark, remove, remove_file
from lafka.capture.logged import LoggedExchange, Provenance, Span
from lafka.capture.pulled import PulledMemento
from lafka.capture.rawfiles import RawFiles
from lafka.errors import BadHttp
from lafka.payloads import Payload, decoded_max, identified_type, inspect, inspect_entity
from lafka.warc.format import dates
from lafka.warc.format.fields import Fields, one_line
from lafka.warc.format.records import (
    HTTP_REQUEST,
    HTTP_RESPONSE,
    Record,
    header,
    named_urn,
    sha256,
    start,
    uuid_urn,
    warcinfo,
)
from lafka.warc.format.sources import Source

CERTIFICATE = "Lafka-Certificate"
PULLED = ("WARC-Source-URI", "WARC-Creation-Date")
"""Header fields of what was pulled: from which memento, and on which day."""
UNENDED = "Lafka-Truncated"
"""Of a response whose payload has no end; the block has all that was sent."""
NOTE_TYPE = "application/json"
SOFTWARE = "Lafka"
# warcio takes the first head of a block for the only one, and so another payload than ours.
_INTERIM = re.compile(rb"HTTP/[0-9.]+ +1[0-9][0-9]")


class RawLog:
    """The raw WARC files of the run *name*, in a folder of its own below *folder*; threads take
    turns.

    *config*: the keys of a scrapy-warcio settings file. *keep*: files are never removed.
    *max_entity*: bytes after which decoding a coded body stops, if not by :func:`decoded_max`
    before (0: only by that): who writes is one thread, and no answer shall hold up the others.
    ``ArchiveBusy`` where another run of this name lives, ``StorageTrouble``.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        *,
        config: Mapping[str, Any],
        software: str = SOFTWARE,
        keep: bool = False,
        max_entity: int = 0,
    ) -> None:
        self.name = name
        self.folder = folder / name
        self._lock = locked_folder(self.folder)
        self._turn = threading.Lock()
        self._files = RawFiles(self.folder, config, software)
        self._software = software
        self._keep = keep
        self._max_entity = max_entity
        self._waiting: dict[int, set[Path]] = defaultdict(set)
        self._written: set[Path] = set()
        self.files_begun = 0
        self.bytes_written = 0

    def record(
        self,
        exchange: Exchange,
        provenance: Provenance | None = None,
        first: LoggedExchange | None = None,
    ) -> LoggedExchange | None:
        """Append *exchange*: its warcinfo, request, response.

        A later hop shares the warcinfo of the *first*. None where nothing was exchanged. An
        exchange without *provenance* (robots.txt) is nobody's: its warcinfo names no owner, and
        its file need not wait. ``StorageTrouble``.
        """
        if exchange.started is None:
            return None
        payload = self._inspected(exchange)
        date = dates.to_text(exchange.started)
        made = None if first else self._warcinfo(provenance, date)
        info_id = made.id if made else first.warcinfo_id if first else ""
        group = _group(exchange, date, info_id, payload)
        if made:
            group.insert(0, (_header(made), made.block))
        size = exchange.response.size + len(exchange.request) + 4096
        spans = self._write(group, provenance.owner if provenance else None, size=size)
        info = first.warcinfo if first else spans.pop(0)
        return LoggedExchange(
            url=exchange.url,
            time=exchange.started,
            request=spans[0],
            response=spans[1] if spans[1:] else None,
            warcinfo=info,
            warcinfo_id=info_id,
            payload=replace(payload, prefix=b"") if payload else None,
            truncated=exchange.truncated or "",
            too_big=exchange.too_big,
            dropped=exchange.dropped,
            diverted=exchange.diverted,
            shared=exchange.shared,
        )

    def pulled(
        self, pulled: PulledMemento, provenance: Provenance, first: LoggedExchange | None = None
    ) -> LoggedExchange:
        """Append what was *pulled*: its warcinfo and a resource, at the memento's own time.

        Their ids follow from whom it is for and what it is: pulled again, they are the same. What
        a page led to at once shares the warcinfo of the *first*. ``StorageTrouble``.
        """
        payload = inspect_entity(pulled.body, pulled.media_type)
        date = dates.to_text(pulled.time)
        name = f"{provenance.key} {pulled.url} {date} {payload.payload_digest}"
        info = self._warcinfo(provenance, date, named_urn(f"{name} warcinfo"))
        info_id = first.warcinfo_id if first else info.id
        resource = _resource(pulled, date, info_id, named_urn(f"{name} resource"), payload)
        group: list[tuple[bytes, Source | bytes]] = [(resource, pulled.body)]
        if first is None:
            group.insert(0, (info.header(), info.block))
        *own, last = self._write(group, provenance.owner, size=pulled.body.size + 4096)
        return LoggedExchange(
            url=pulled.url,
            time=pulled.time,
            response=last,
            warcinfo=first.warcinfo if first else own[0],
            warcinfo_id=info_id,
            payload=replace(payload, prefix=b""),
            truncated="length" if pulled.too_big else "",
            too_big=pulled.too_big,
        )

    def _inspected(self, exchange: Exchange) -> Payload | None:
        """The payload of the answer; None where there is none, or it is no HTTP."""
        with suppress(BadHttp):
            if exchange.response.size:
                block = exchange.response
                return inspect(block, max_entity=decoded_max(block.size, self._max_entity))
        return None

    def _write(
        self, group: list[tuple[bytes, Source | bytes]], owner: int | None, *, size: int
    ) -> list[Span]:
        """Append *group* to one file, for which *owner* waits from now on.

        The file is followed by the next where it has no room for *size* bytes.
        """
        with self._turn:
            self._files.room_for(size)
            places = self._files.append_group(group)
            self.files_begun += self._files.path not in self._written
            self.bytes_written += sum(length for _, _, length in places)
            self._written.add(self._files.path)
            if owner is not None:
                self._waiting[owner].add(self._files.path)
        return [
            Span(path=str(path), offset=offset, length=length, head=head)
            for (path, offset, length), (head, _) in zip(places, group, strict=True)
        ]

    def _warcinfo(self, provenance: Provenance | None, date: str, record_id: str = "") -> Record:
        body = Fields([("software", self._software), ("format", "WARC File Format 1.1")])
        for name, value in provenance.fields if provenance else ():
            body.add(name, value)
        return warcinfo(record_id or uuid_urn(), date, body)

    def note(self, owner: int, url: str, values: Mapping[str, Any]) -> None:
        """Say *values* of *owner*, as JSON in a metadata record about *url*."""
        fields = start("metadata", uuid_urn(), dates.to_text(dates.now()), one_line(url))
        fields.add("Content-Type", NOTE_TYPE)
        record = Record(fields=fields, block=json.dumps(values).encode())
        self._write([(_header(record), record.block)], owner, size=0)

    def release(self, owner: int) -> None:
        """Let go of *owner*: its bytes lie elsewhere now, or need not. No file waits for it."""
        with self._turn:
            self._waiting.pop(owner, None)
            self._remove_done(current=self._files.path if self._written else None)

    def _remove_done(self, current: Path | None) -> None:
        if self._keep:
            return
        waited_for = set[Path]().union(*self._waiting.values()) if len(self._written) > 1 else None
        if waited_for is None and current is not None:
            return
        for path in self._written - (waited_for or set()) - {current}:
            remove_file(path, self._files.begun[path.name])
            self._written.discard(path)

    def close(self) -> None:
        """End the run: its folder goes unless an owner waits in it, or it is kept.

        So it does where somebody else has put something there: nothing of that is removed.
        """
        self._files.close()
        try:
            if self._keep and not self._waiting:
                mark(self.folder)
            elif not self._waiting:
                remove(self.folder, self._files.begun)
        finally:
            lock, self._lock = self._lock, -1
            os.close(lock)


def _group(
    exchange: Exchange, date: str, info_id: str, payload: Payload | None
) -> list[tuple[bytes, Source | bytes]]:
    """The request record and, where something came, that of the response: headers and blocks."""
    request = _request(exchange, date, info_id)
    group: list[tuple[bytes, Source | bytes]] = [(_header(request), request.block)]
    if exchange.response.size:
        head = _response(exchange, date, info_id, request.id, payload)
        group.append((head, exchange.response))
    return group


def _header(record: Record) -> bytes:
    """As ``Record.header()``, without its check: what it may have is settled in this module."""
    block = record.block
    assert isinstance(block, bytes)
    fields = record.fields
    if "WARC-Block-Digest" not in fields:
        fields.add("WARC-Block-Digest", sha256(block))
    fields.add("Content-Length", str(len(block)))
    return header(fields)


def _request(exchange: Exchange, date: str, info_id: str) -> Record:
    fields = start("request", uuid_urn(), date, one_line(exchange.url))
    fields.add("WARC-Warcinfo-ID", info_id)
    _add_connection(fields, exchange)
    fields.add("Content-Type", HTTP_REQUEST)
    return Record(fields=fields, block=exchange.request)


def _response(
    exchange: Exchange, date: str, info_id: str, request_id: str, payload: Payload | None
) -> bytes:
    """The header of the response record."""
    block = exchange.response
    fields = start("response", uuid_urn(), date, one_line(exchange.url))
    fields.add("WARC-Warcinfo-ID", info_id)
    fields.add("WARC-Concurrent-To", request_id)
    _add_connection(fields, exchange)
    if (
        payload
        and not payload.chunked
        and not exchange.diverted
        and not _INTERIM.match(block.read(0, 16))
    ):
        fields.add("WARC-Payload-Digest", payload.payload_digest)
    if payload and not exchange.diverted and (media_type := identified_type(payload)):
        fields.add("WARC-Identified-Payload-Type", media_type)
    if exchange.truncated:
        fields.add("WARC-Truncated", exchange.truncated)
    elif payload and payload.is_unended:
        fields.add(UNENDED, "payload")
    fields.add("Content-Type", HTTP_RESPONSE)
    digest = payload.block_digest if payload else sha256(block.read(0, block.size))
    fields.add("WARC-Block-Digest", digest)
    fields.add("Content-Length", str(block.size))
    return header(fields)


def _resource(
    pulled: PulledMemento, date: str, info_id: str, record_id: str, payload: Payload
) -> bytes:
    """The header of the resource record; its block is the payload (WARC/1.1 section 6.4)."""
    fields = start("resource", record_id, date, one_line(pulled.url))
    fields.add("WARC-Warcinfo-ID", info_id)
    fields.add("WARC-Payload-Digest", payload.payload_digest)
    media_type = identified_type(payload)
    if media_type:
        fields.add("WARC-Identified-Payload-Type", media_type)
    for name, value in zip(PULLED, (pulled.source, f"{pulled.day:%Y-%m-%d}"), strict=True):
        fields.add(name, value)
    if pulled.too_big:
        fields.add("WARC-Truncated", "length")
    fields.add("Content-Type", media_type or "application/octet-stream")
    fields.add("WARC-Block-Digest", payload.block_digest)
    fields.add("Content-Length", str(pulled.body.size))
    return header(fields)


def _secured(said: Callable[[TlsSession], str]) -> Callable[[Exchange], str | None]:
    return lambda exchange: said(exchange.secured) if exchange.secured else None


_CONNECTION: tuple[tuple[str, Callable[[Exchange], str | None]], ...] = (
    ("WARC-IP-Address", lambda exchange: exchange.ip_address),
    ("WARC-Protocol", _secured(lambda secured: secured.protocol)),
    ("WARC-Cipher-Suite", _secured(lambda secured: secured.cipher)),
    (CERTIFICATE, _secured(lambda secured: ", ".join(secured.certificate))),
    ("Lafka-Connection", lambda exchange: exchange.connection),
)
CONNECTION = tuple(name for name, _ in _CONNECTION)
"""Header fields of requests and responses that hold for a revisit made of them, too."""


def _add_connection(fields: Fields, exchange: Exchange) -> None:
    """Add the peer of the exchange, what TLS says of it, and its connection."""
    for name, value_of in _CONNECTION:
        if value := value_of(exchange):
            fields.add(name, value)
