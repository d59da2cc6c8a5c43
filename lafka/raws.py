"""The raw WARC of a run: exact records in order of arrival, and the run's write-ahead log.

``raw/<run>/`` holds its WARC files and a lock that dies with the run's process. A file is removed
once no trail in it waits to be copied. What a killed run leaves is read back by :func:`recover`.
"""

from __future__ import annotations

import json
import logging
import os
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from lafka.archives import Archive
from lafka.contents import begins_record, html_date, opened, time_of
from lafka.errors import (
    ArchiveBusy,
    BadHttp,
    BadPid,
    BadWarc,
    KeeperError,
    StorageTrouble,
    TornWarc,
)
from lafka.exchanges import Exchange
from lafka.folders import make_folders
from lafka.futlis import Futli
from lafka.locks import lock_file
from lafka.payloads import Payload, identified_type, inspect
from lafka.rawfiles import RawFiles
from lafka.trails import Ask, Capture, Exchanged, Outcome, Span, Trail, judge
from lafka.warc import dates
from lafka.warc.fields import Fields, one_line
from lafka.warc.records import (
    HTTP_REQUEST,
    HTTP_RESPONSE,
    Record,
    header,
    sha256,
    sha256_of,
    start,
    uuid_urn,
    warcinfo,
)
from lafka.warc.sources import Source
from lafka.warc.stored import StoredRecord

CERTIFICATE = "Lafka-Certificate"
LOCK = "lock"
DONE = "copied"
END_TYPE = "application/json"
SOFTWARE = "Lafka"
# warcio takes the first head of a block for the only one, and so another payload than ours.
_INTERIM = re.compile(rb"HTTP/[0-9.]+ +1[0-9][0-9]")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One exchange as it lies in the raw WARC; ``payload`` is None where no HTTP answer came."""

    warcinfo_id: str
    warcinfo: Span
    exchanged: Exchanged
    payload: Payload | None
    time: datetime


class RawRun:
    """The raw WARC files of the run *name*; threads take turns.

    *config*: the keys of a scrapy-warcio settings file. *keep*: files are never removed.
    *max_entity*: bytes after which decoding a content-coded body stops (0: never).
    """

    def __init__(
        self,
        archive: Archive,
        name: str,
        *,
        config: Mapping[str, Any],
        software: str = SOFTWARE,
        keep: bool = False,
        max_entity: int = 0,
    ) -> None:
        self.name = name
        self.folder = archive.root / "raw" / name
        self._lock = _locked_folder(self.folder)
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
        self, exchange: Exchange, ask: Ask | None, known: tuple[str, Span] | None = None
    ) -> Recorded | None:
        """Append *exchange*: its warcinfo where *known* names none yet, request, response.

        None where nothing was exchanged. An exchange without *ask* (robots.txt) belongs to no
        trail and gets no warcinfo of its own. ``StorageTrouble``.
        """
        if exchange.started is None:
            return None
        date = dates.to_text(exchange.started)
        payload = None
        if exchange.response.size:
            with suppress(BadHttp):
                payload = inspect(exchange.response, max_entity=self._max_entity)
        made = None if known else self._warcinfo(ask, date, exact=exchange.exact)
        info_id = known[0] if known else made.id  # type: ignore[union-attr]
        request = self._request(exchange, date, info_id)
        group: list[tuple[bytes, Source | bytes]] = [
            (record.header(), record.block) for record in (made, request) if record
        ]
        if exchange.response.size:
            head = self._response(exchange, date, info_id, request.id, payload)
            group.append((head, exchange.response))
        size = exchange.response.size + len(exchange.request) + 4096
        spans = self._write(group, ask.number if ask else None, size=size)
        info = known[1] if known else spans.pop(0)
        return Recorded(
            warcinfo_id=info_id,
            warcinfo=info,
            exchanged=Exchanged(
                url=exchange.url, request=spans[0], response=spans[1] if spans[1:] else None
            ),
            payload=replace(payload, prefix=b"") if payload else None,
            time=exchange.started,
        )

    def _write(
        self, group: list[tuple[bytes, Source | bytes]], number: int | None, *, size: int
    ) -> list[Span]:
        """Append *group* to one file, for which the trail *number* waits from now on.

        The file is followed by the next where it has no room for *size* bytes.
        """
        with self._turn:
            self._files.room_for(size)
            places = self._files.append_group(group)
            self.files_begun += self._files.path not in self._written
            self.bytes_written += sum(length for _, _, length in places)
            self._written.add(self._files.path)
            if number is not None:
                self._waiting[number].add(self._files.path)
        return [
            Span(path=str(path), offset=offset, length=length, head=head)
            for (path, offset, length), (head, _) in zip(places, group, strict=True)
        ]

    def _warcinfo(self, ask: Ask | None, date: str, *, exact: bool) -> Record:
        body = Fields([("software", self._software), ("format", "WARC File Format 1.1")])
        if not exact:
            body.add("description", "records synthesised from parsed messages, not as on the wire")
        if ask:
            body.add("Paper-Id", one_line(str(ask.futli.pid)))
            body.add("Futli", one_line(ask.futli.url))
            for name, value in (
                ("Found-By", ask.found_by),
                ("HTML-Url", ask.html_url),
                ("HTML-Date", html_date(ask.html_date)),
                ("Label", ask.label),
            ):
                if value:
                    body.add(name, one_line(value))
        return warcinfo(uuid_urn(), date, body)

    def _request(self, exchange: Exchange, date: str, info_id: str) -> Record:
        fields = start("request", uuid_urn(), date, one_line(exchange.url))
        fields.add("WARC-Warcinfo-ID", info_id)
        _add_connection(fields, exchange)
        fields.add("Content-Type", HTTP_REQUEST)
        return Record(fields=fields, block=exchange.request)

    def _response(
        self,
        exchange: Exchange,
        date: str,
        info_id: str,
        request_id: str,
        payload: Payload | None,
    ) -> bytes:
        """The header of the response record."""
        block = exchange.response
        fields = start("response", uuid_urn(), date, one_line(exchange.url))
        fields.add("WARC-Warcinfo-ID", info_id)
        fields.add("WARC-Concurrent-To", request_id)
        _add_connection(fields, exchange)
        if payload and not payload.chunked and not _INTERIM.match(block.read(0, 16)):
            fields.add("WARC-Payload-Digest", payload.payload_digest)
        if payload and (media_type := identified_type(payload)):
            fields.add("WARC-Identified-Payload-Type", media_type)
        if exchange.truncated:
            fields.add("WARC-Truncated", exchange.truncated)
        fields.add("Content-Type", HTTP_RESPONSE)
        digest = payload.block_digest if payload else sha256(block.read(0, block.size))
        fields.add("WARC-Block-Digest", digest)
        fields.add("Content-Length", str(block.size))
        return header(fields)

    def end(self, trail: Trail) -> None:
        """Say in the raw WARC that *trail* has ended, and how; written before it is copied."""
        body = {
            "pid": str(trail.futli.pid),
            "futli": trail.futli.url,
            "number": trail.number,
            "outcome": trail.outcome,
            "captures": [capture.warcinfo_id for capture in trail.captures],
        }
        fields = start(
            "metadata", uuid_urn(), dates.to_text(dates.now()), one_line(trail.futli.url)
        )
        fields.add("Content-Type", END_TYPE)
        record = Record(fields=fields, block=json.dumps(body).encode())
        self._write([(record.header(), record.block)], trail.number, size=0)

    def copied(self, number: int) -> None:
        """The trail *number* is in its paper WARC (or has nothing there to be): forget it."""
        with self._turn:
            self._waiting.pop(number, None)
            self._remove_done(current=self._files.path if self._written else None)

    def _remove_done(self, current: Path | None) -> None:
        if self._keep:
            return
        waited_for = set[Path]().union(*self._waiting.values()) if len(self._written) > 1 else None
        if waited_for is None and current is not None:
            return
        for path in self._written - (waited_for or set()) - {current}:
            path.unlink(missing_ok=True)
            self._written.discard(path)

    def close(self) -> None:
        """End the run: its folder goes unless trails in it wait to be copied, or it is kept."""
        self._files.close()
        try:
            if self._keep and not self._waiting:
                (self.folder / DONE).touch()
            elif not self._waiting:
                _remove(self.folder)
        finally:
            lock, self._lock = self._lock, -1
            os.close(lock)


def _add_connection(fields: Fields, exchange: Exchange) -> None:
    """Whom the exchange was with, and what TLS says of it."""
    if exchange.ip_address:
        fields.add("WARC-IP-Address", exchange.ip_address)
    if secured := exchange.secured:
        for name, value in (
            ("WARC-Protocol", secured.protocol),
            ("WARC-Cipher-Suite", secured.cipher),
            (CERTIFICATE, ", ".join(secured.certificate)),
        ):
            if value:
                fields.add(name, value)


def _locked_folder(folder: Path) -> int:
    """Make *folder* and lock it; again where a recovery took it for an empty leftover.

    ``ArchiveBusy`` where another run of this name lives, ``StorageTrouble``.
    """
    for _ in range(_TRIES):
        make_folders(folder)
        try:
            fd = _lock(folder)
        except OSError as error:
            raise StorageTrouble(folder, error) from error
        if fd is not None:
            return fd
        time.sleep(0.01)
    raise ArchiveBusy(f"{folder}: another run has this name")


_TRIES = 500


def _lock(folder: Path) -> int | None:
    """The lock of a run's folder, held; None where another has it or the folder goes just now."""
    with suppress(FileNotFoundError):
        return lock_file(folder / LOCK, os.O_RDWR | os.O_CREAT, wait=False)
    return None


def _remove(folder: Path) -> None:
    """Remove *folder* and its files; the lock last, so that a killed removal is taken up again."""
    for path in sorted(folder.iterdir(), key=lambda path: path.name == LOCK):
        path.unlink(missing_ok=True)
    with suppress(OSError):  # another recovery may have put its lock there: then it removes all
        folder.rmdir()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """What one recovered run gave: trails copied, those of them left open, problems."""

    run: str
    trails: int
    opened: int
    problems: tuple[str, ...]


def recover(
    archive: Archive, *, keep: bool = False, stopped: Callable[[], bool] = lambda: False
) -> Iterator[Recovery]:
    """Copy what dead runs have captured and not copied; one run at a time, as it is asked for.

    Runs that live are left alone, by their locks. A run whose every trail could be copied loses
    its folder (with *keep* it stays, marked as copied). Doing it twice adds nothing.
    """
    folder = archive.root / "raw"
    for run in sorted(folder.iterdir()) if folder.is_dir() else ():
        if stopped() or not run.is_dir() or (run / DONE).exists():
            continue
        try:
            lock = _lock(run)
        except OSError as error:
            raise StorageTrouble(run, error) from error
        if lock is None:
            continue
        try:
            found = _recover_run(archive, run)
            if not found.problems:
                # Not synced: a run that comes back with a power cut is recovered again.
                (run / DONE).touch() if keep else _remove(run)
            yield found
        except OSError as error:
            raise StorageTrouble(run, error) from error
        finally:
            os.close(lock)


def _recover_run(archive: Archive, run: Path) -> Recovery:
    log = _Log(archive)
    for path in sorted(run.glob("*.warc")):
        log.read(path)
    trails = log.trails()
    problems, copied, opened = list(log.problems), 0, 0
    for left in trails:
        try:
            if left.captures:
                pid = left.captures[0].ask.futli.pid
                with archive.paper(pid) as paper:
                    paper.append(left.captures, opened=left.opened)
                copied += 1
                opened += left.opened
            elif left.closes:
                archive.close(left.closes)
        except KeeperError as error:
            problems.append(str(error))
    return Recovery(run=run.name, trails=copied, opened=opened, problems=tuple(problems))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Left:
    """What a trail left to be copied; ``closes``: the futli of one that ended without a capture."""

    captures: list[Capture]
    opened: bool
    closes: Futli | None = None


@dataclass(slots=True)
class _Capture:
    """The records that one warcinfo binds, as they were found in the raw WARC."""

    id: str
    span: Span
    body: Fields
    requests: dict[str, Span] = field(default_factory=dict)
    answers: list[tuple[StoredRecord, Payload | None]] = field(default_factory=list)


class _Log:
    """A dead run's raw WARC files, read back. A torn record ends its file: nothing follows it."""

    def __init__(self, archive: Archive) -> None:
        self.problems: list[str] = []
        self._archive = archive
        self._captures: dict[str, _Capture] = {}
        self._ends: list[dict[str, Any]] = []

    def read(self, path: Path) -> None:
        try:
            with opened(path) as volume:
                for record in volume:
                    self._take(record)
        except TornWarc as error:
            logger.info("%s", error)  # what a kill leaves; what stands before it was read
        except BadWarc as error:
            # Zeros are what a power cut leaves. Never read on behind damage: the bytes of a site
            # could look like records there.
            with path.open("rb") as file:
                if begins_record(file.fileno(), error.offset or 0):
                    self.problems.append(str(error))

    def _take(self, record: StoredRecord) -> None:
        if not _is_whole(record):
            raise BadWarc(record.path, "not the record that was written here", record.offset)
        block = record.block()
        span = _span(record)
        capture = self._captures.get(record.fields.first("WARC-Warcinfo-ID"))
        if record.type == "warcinfo":
            body = Fields.parse(block.read(0, block.size))
            if body.first("Paper-Id"):
                self._captures[record.id] = _Capture(record.id, span, body)
        elif record.type == "metadata":
            with suppress(ValueError):
                self._ends.append(dict(json.loads(block.read(0, block.size))))
        elif capture and record.type == "request":
            capture.requests[record.id] = span
        elif capture and record.type == "response":
            capture.answers.append((record, self._payload(record)))

    def _payload(self, record: StoredRecord) -> Payload | None:
        with suppress(BadHttp):
            payload = inspect(record.block())
            if payload.block_digest == record.fields.first("WARC-Block-Digest"):
                return payload
        return None

    def trails(self) -> list[_Left]:
        """Each trail with what of it belongs into its paper WARC."""
        left: list[_Left] = []
        ended: set[str] = set()
        futlis: set[tuple[str, str]] = set()
        for end in self._ends:
            ids = [i for i in end.get("captures", ()) if i in self._captures]
            ended.update(ids)
            futlis.add((str(end.get("pid")), str(end.get("futli"))))
            captures = [c for c in map(self._capture, ids) if c and c.outcome.is_stored]
            closes = None if ids else self._closed(end)
            left.append(_Left(captures=captures, opened=len(captures) < len(ids), closes=closes))
        opened: dict[tuple[str, str], list[Capture]] = defaultdict(list)
        for found in self._captures.values():
            key = (found.body.first("Paper-Id"), found.body.first("Futli"))
            capture = None if key in futlis or found.id in ended else self._capture(found.id)
            if capture and _belongs(capture):
                opened[key].append(capture)
        return left + [_Left(captures=captures, opened=True) for captures in opened.values()]

    def _closed(self, end: dict[str, Any]) -> Futli | None:
        """The futli of a trail without captures, where the site had the last word on it."""
        with suppress(ValueError):  # an outcome of another version, or a pid
            if not Outcome(str(end.get("outcome"))).may_pass:
                return Futli(pid=self._archive.pid(str(end.get("pid"))), url=str(end.get("futli")))
        return None

    def _capture(self, warcinfo_id: str) -> Capture | None:
        """The capture of a warcinfo; None where no answer of it can be used."""
        found = self._captures[warcinfo_id]
        answers = _without_retries(found.answers)
        if not answers:
            return None
        last, payload = answers[-1]
        try:
            ask, date = _ask(found.body, self._archive), time_of(last)
        except (BadPid, BadWarc) as error:
            self.problems.append(str(error))
            return None
        truncated = last.fields.first("WARC-Truncated")
        return Capture(
            ask=ask,
            url=last.url,
            time=date,
            outcome=judge(payload, truncated=truncated),
            payload=payload,
            warcinfo_id=warcinfo_id,
            warcinfo=found.span,
            exchanges=tuple(_exchanged(record, found) for record, _ in answers),
        )


def _is_whole(record: StoredRecord) -> bool:
    """Whether a power cut left all of *record*; the block of a response is looked at by itself."""
    if b"\0" in record.header:
        return False
    stated = record.fields.first("WARC-Block-Digest")
    return record.type == "response" or stated == sha256_of(record.block().chunks())


def _ask(body: Fields, archive: Archive) -> Ask:
    date = None
    with suppress(ValueError):
        date = dates.parse(body.first("HTML-Date"))
    return Ask(
        futli=Futli(pid=archive.pid(body.first("Paper-Id")), url=body.first("Futli")),
        number=0,
        url="",
        found_by=body.first("Found-By"),
        html_url=body.first("HTML-Url"),
        html_date=date,
        label=body.first("Label"),
    )


def _belongs(capture: Capture) -> bool:
    """Whether the capture of a trail without an end goes into the paper WARC."""
    if capture.ask.html_url:
        return capture.is_pdf
    return capture.outcome.is_stored


def _without_retries(
    answers: list[tuple[StoredRecord, Payload | None]],
) -> list[tuple[StoredRecord, Payload | None]]:
    """The redirect hops and the last answer: of several answers of one URL only the last."""
    kept: list[tuple[StoredRecord, Payload | None]] = []
    for record, payload in answers:
        if kept and kept[-1][0].url == record.url and not _redirects(kept[-1][1]):
            kept.pop()
        kept.append((record, payload))
    return kept


def _redirects(payload: Payload | None) -> bool:
    return payload is not None and 300 <= payload.status < 400


def _span(record: StoredRecord) -> Span:
    return Span(path=str(record.path), offset=record.offset, length=record.length)


def _exchanged(record: StoredRecord, found: _Capture) -> Exchanged:
    request = found.requests.get(record.fields.first("WARC-Concurrent-To"))
    return Exchanged(url=record.url, request=request, response=_span(record))
