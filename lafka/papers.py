"""The paper WARC: lock, recover, append a trail, commit the suwaf (docs/formats.md, "Append").

Nothing is lost at any kill: the lock dies with its process, the next writer rolls whole records
forward and keeps a torn tail aside, and only a WARC that was synced is named by a suwaf.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from lafka.contents import (
    Contents,
    Held,
    Info,
    Scanner,
    Unconverted,
    Visit,
    chained,
    fut_of,
    html_date,
)
from lafka.errors import BadSuwaf, BadWarc, ShortWarc, StorageTrouble, TornWarc
from lafka.payloads import Kind
from lafka.pids import Pid
from lafka.suwafs import Fut, Suwaf, sync_folder
from lafka.trails import Capture, Exchanged, Span
from lafka.warc import dates, http
from lafka.warc.reader import StoredRecord, record_at
from lafka.warc.records import (
    HTTP_RESPONSE,
    IDENTICAL_PAYLOAD,
    RECORD_END,
    NewId,
    Record,
    header,
    start,
    uuid_urn,
)
from lafka.warc.sources import FileSource

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """A fut of a capture as its suwaf names it; ``new`` where its bytes were stored just now."""

    capture: Capture
    fut: Fut
    new: bool


class PaperWarc:
    """One paper's WARC and suwaf, locked and recovered; made by :func:`locked`."""

    def __init__(
        self,
        warc: Path,
        suwaf_path: Path,
        pid: Pid,
        fd: int,
        *,
        clock: Clock = dates.now,
        new_id: NewId = uuid_urn,
    ) -> None:
        self.path = warc
        self.suwaf_path = suwaf_path
        self.pid = pid
        self.suwaf = Suwaf(pid=pid)
        self._fd = fd
        self._clock = clock
        self._new_id = new_id
        self._contents: Contents | None = None

    def now(self) -> str:
        return dates.to_text(self._clock())

    def new_id(self) -> str:
        return self._new_id()

    @property
    def contents(self) -> Contents:
        """What the WARC holds; read from its headers when first asked for."""
        if self._contents is None:
            scanner = Scanner(self._fd, self.path, trusted_to=self.suwaf.end)
            self._contents = scanner.read()
        return self._contents

    def recover(self) -> None:
        """Make WARC and suwaf one again after a killed writer.

        ``ShortWarc`` where the WARC is shorter than its suwaf says, ``BadSuwaf`` where that is
        none, ``BadWarc`` where bytes before its end are no records: then nothing is changed.
        """
        self.load_suwaf()
        if os.fstat(self._fd).st_size > self.suwaf.end:
            self.rebuild(trusted_to=self.suwaf.end)

    def load_suwaf(self, *, lenient: bool = False) -> None:
        """Read the suwaf; *lenient*: as if there were none where it is damaged."""
        try:
            self.suwaf = Suwaf.load(self.suwaf_path, self.pid) or self.suwaf
        except BadSuwaf:
            if not lenient:
                raise
        size = os.fstat(self._fd).st_size
        if size < self.suwaf.end:
            raise ShortWarc(
                self.path, f"{size} bytes long, but its suwaf knows {self.suwaf.end} bytes"
            )

    def rebuild(self, *, trusted_to: int = 0) -> None:
        """Make the suwaf again from the WARC; a tail that is no whole record is kept aside.

        Digests in headers are believed before byte *trusted_to*, the bytes are read after it.
        """
        scanner = Scanner(self._fd, self.path, trusted_to=trusted_to)
        try:
            scanner.read()
        except BadWarc as error:
            tail = scanner.contents.end
            if tail < self.suwaf.end and isinstance(error, TornWarc):
                raise ShortWarc(self.path, "records that its suwaf knows are torn", tail) from None
            if tail < self.suwaf.end or (not self.suwaf.end and self._records_after(tail)):
                raise
            self._set_tail_aside(tail)
        self._contents = scanner.contents
        opened = self.suwaf.open
        plan = Plan(self)
        for unconverted in list(self._contents.unconverted.values()):
            plan.convert_stored(unconverted)
        self._write(plan)
        self.suwaf = self._contents.suwaf(self.pid)
        self.suwaf.open = opened
        self._commit()

    def _records_after(self, offset: int) -> bool:
        """Whether a record seems to begin behind the trouble at *offset*: then it is no tail."""
        tail = FileSource(self._fd, offset + 1, os.fstat(self._fd).st_size - offset - 1)
        last = b""
        for data in tail.chunks():
            if b"\r\n\r\nWARC/1." in last + data:
                return True
            last = data[-10:]
        return False

    def _set_tail_aside(self, offset: int) -> None:
        """Keep the bytes from *offset* on as ``<name>.torn-<offset>`` and cut them off."""
        aside = _free_name(self.path.with_name(f"{self.path.name}.torn-{offset}"))
        tail = FileSource(self._fd, offset, os.fstat(self._fd).st_size - offset)
        try:
            with aside.open("xb") as file:
                for data in tail.chunks():
                    file.write(data)
                file.flush()
                os.fsync(file.fileno())
            sync_folder(aside.parent)
            os.ftruncate(self._fd, offset)
            os.fsync(self._fd)
        except OSError as error:
            raise StorageTrouble(aside, error) from error

    def append(self, captures: Sequence[Capture], *, opened: bool = False) -> list[Added]:
        """Copy *captures*, a trail's, and commit; the futs among them as the suwaf now names them.

        A payload that is held already becomes a revisit; a page that is held already adds nothing
        at all where no fut was had. A capture whose warcinfo the WARC holds was copied before and
        is passed over. *opened* marks the futli as one to be asked again.
        """
        plan = Plan(self)
        had_fut = any(capture.is_pdf for capture in captures)
        for capture in captures:
            if capture.warcinfo_id not in self.contents.ids:
                plan.add(capture, had_fut=had_fut)
        if captures and self._mark(captures[0].ask.futli.url, opened=opened) | bool(plan.pieces):
            self._write(plan)
            self._commit()
        return [self._named(entry) for entry in plan.added]

    def _named(self, entry: tuple[Capture, str, bool]) -> Added:
        capture, digest, new = entry
        held = self.contents.futs[digest]
        return Added(capture=capture, fut=fut_of(_visit(capture, digest), held), new=new)

    def _mark(self, futli: str, *, opened: bool) -> bool:
        """Note whether *futli* is to be asked again; whether that changed."""
        others = tuple(name for name in self.suwaf.open if name != futli)
        wanted = (*others, futli) if opened else others
        changed = set(wanted) != set(self.suwaf.open)
        self.suwaf.open = wanted
        return changed

    def _write(self, plan: Plan) -> None:
        """Append what *plan* holds; rolled back to the known end where the disk refuses."""
        begin = self.contents.end
        try:
            with ExitStack() as files:
                os.lseek(self._fd, begin, os.SEEK_SET)
                for piece in plan.pieces:
                    piece(self._fd, files)
            if plan.pieces:
                os.fdatasync(self._fd)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._fd, begin)
            raise StorageTrouble(self.path, error) from error
        except BaseException:
            os.ftruncate(self._fd, begin)
            raise
        plan.taken_into(self.contents)
        for visit in plan.visits:
            self.suwaf.add(visit.info.futli, visit.time, fut_of(visit, plan.held[visit.digest]))

    def _commit(self) -> None:
        self.suwaf.end = self.contents.end
        self.suwaf.chain = "sha256:" + self.contents.chain.hex()
        make_folders(self.suwaf_path.parent)
        self.suwaf.save(self.suwaf_path)


Piece = Callable[[int, ExitStack], None]


class Plan:
    """The records to be appended, their places known before the first byte is written."""

    def __init__(self, paper: PaperWarc) -> None:
        self._paper = paper
        self._contents = paper.contents
        self.end = self._contents.end
        self.chain = self._contents.chain
        self.pieces: list[Piece] = []
        self.held: dict[str, Held] = {}
        self.payloads: dict[str, Held] = {}
        self.ids: set[str] = set()
        self.visits: list[Visit] = []
        self.added: list[tuple[Capture, str, bool]] = []

    def taken_into(self, contents: Contents) -> None:
        contents.end, contents.chain = self.end, self.chain
        contents.ids |= self.ids
        contents.futs.update(self.held)
        contents.payloads.update(self.payloads)
        contents.visits += self.visits
        for digest in self.held:
            contents.unconverted.pop(digest, None)

    def add(self, capture: Capture, *, had_fut: bool) -> None:
        """Plan the records of *capture*: a copy, a revisit where its payload is held, or none."""
        assert capture.payload is not None
        assert capture.warcinfo is not None
        digest = capture.payload.digest
        if not capture.is_pdf:
            held = self.payloads.get(digest) or self._contents.payloads.get(digest)
            if held and not had_fut:
                return
            self._copy(capture, held)
            return
        new = not self._holds(digest)
        if digest in self._contents.unconverted and new:
            self.convert_stored(self._contents.unconverted[digest])
        self._copy(capture, self._fut(digest))
        self.visits.append(_visit(capture, digest))
        self.added.append((capture, digest, new))

    def _holds(self, digest: str) -> bool:
        return digest in self.held or digest in self._contents.futs

    def _fut(self, digest: str) -> Held | None:
        held = self.held.get(digest) or self._contents.futs.get(digest)
        if held:
            self.held.setdefault(digest, held)
        return held

    def _copy(self, capture: Capture, held: Held | None) -> None:
        assert capture.warcinfo is not None
        self._span(capture.warcinfo)
        self.ids.add(capture.warcinfo_id)
        *hops, last = capture.exchanges
        for hop in hops:
            self._exchange(hop)
        if last.request:
            self._span(last.request)
        assert last.response is not None
        if held:
            self._revisit(capture, last.response, held)
        else:
            self._response(capture, last.response)

    def _exchange(self, exchanged: Exchanged) -> None:
        for span in (exchanged.request, exchanged.response):
            if span:
                self._span(span)

    def _span(self, span: Span) -> tuple[StoredRecord, int]:
        """Plan a record's bytes as they stand in the raw WARC; the record, and its place here."""
        with _opened(span.path) as fd:
            record = record_at(fd, Path(span.path), span.offset, os.fstat(fd).st_size)
            head = os.pread(fd, record.block - record.offset, record.offset)
        place = self.end
        self.pieces.append(lambda out, files: _copy_span(out, files, span))
        self.chain = chained(self.chain, head)
        self.end += span.length
        self.ids.add(record.id)
        return record, place

    def _record(self, record: Record) -> None:
        data = record.to_bytes()
        self.pieces.append(lambda out, _files: _write_all(out, data))
        self.chain = chained(self.chain, record.header())
        self.end += len(data)
        self.ids.add(record.id)

    def _response(self, capture: Capture, span: Span) -> None:
        payload = capture.payload
        assert payload is not None
        record, place = self._span(span)
        block = place + record.block - record.offset
        held = Held(record_id=record.id, url=record.url, date=record.date)
        if payload.kind is not Kind.PDF:
            self.payloads.setdefault(payload.digest, held)
        elif payload.literal:
            self.held[payload.digest] = Held(
                record_id=record.id, url=record.url, date=record.date,
                s=block + payload.body + payload.start, l=payload.length,
            )  # fmt: skip
        else:
            self.convert_stored(Unconverted(record=record, payload=payload))

    def convert_stored(self, unconverted: Unconverted) -> None:
        """Plan a conversion record whose block is the fut of a response (WARC/1.1 section 6.8).

        The response is wherever ``unconverted.record`` says: a raw WARC, or this one.
        """
        record, payload = unconverted.record, unconverted.payload
        fields = start("conversion", self._paper.new_id(), self._paper.now(), record.url)
        fields.add("WARC-Refers-To", record.id)
        if info := record.fields.first("WARC-Warcinfo-ID"):
            fields.add("WARC-Warcinfo-ID", info)
        fields.add("Content-Type", "application/pdf")
        fields.add("WARC-Block-Digest", payload.digest)
        fields.add("Content-Length", str(payload.length))
        head = header(fields)
        self.held[payload.digest] = Held(
            record_id=fields.first("WARC-Record-ID"), url=record.url, date=record.date,
            s=self.end + len(head), l=payload.length,
        )  # fmt: skip
        self.pieces.append(lambda out, files: _write_conversion(out, files, head, unconverted))
        self.chain = chained(self.chain, head)
        self.end += len(head) + payload.length + len(RECORD_END)
        self.ids.add(fields.first("WARC-Record-ID"))

    def _revisit(self, capture: Capture, span: Span, held: Held) -> None:
        """Plan a revisit, identical-payload-digest, whose block is the answer's HTTP head."""
        with _opened(span.path) as fd:
            record = record_at(fd, Path(span.path), span.offset, os.fstat(fd).st_size)
            assert capture.payload is not None
            block = record.source(fd).read(0, capture.payload.body)
        fields = start(
            "revisit", self._paper.new_id(), record.fields.first("WARC-Date"), record.url
        )
        fields.add("WARC-Profile", IDENTICAL_PAYLOAD)
        for name in ("WARC-Warcinfo-ID", "WARC-Concurrent-To", "WARC-IP-Address"):
            if value := record.fields.first(name):
                fields.add(name, value)
        fields.add("WARC-Refers-To", held.record_id)
        fields.add("WARC-Refers-To-Target-URI", held.url)
        fields.add("WARC-Refers-To-Date", dates.to_text(held.date))
        fields.add("WARC-Payload-Digest", capture.payload.digest)
        fields.add("Content-Type", HTTP_RESPONSE)
        self._record(Record(fields=fields, block=block))


def _visit(capture: Capture, digest: str) -> Visit:
    ask = capture.ask
    info = Info(
        id=capture.warcinfo_id,
        pid_text=str(ask.futli.pid),
        futli=ask.futli.url,
        found_by=ask.found_by,
        html_url=ask.html_url,
        html_date=html_date(ask.html_date),
        label=ask.label,
    )
    return Visit(info=info, time=capture.time, url=capture.url, digest=digest)


@contextmanager
def _opened(path: str | Path) -> Iterator[int]:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def _write_all(out: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(out, view) :]


def _copy_span(out: int, files: ExitStack, span: Span) -> None:
    source = files.enter_context(_opened(span.path))
    offset, left = span.offset, span.length
    while left:
        sent = os.sendfile(out, source, offset, left)
        if not sent:
            raise BadWarc(span.path, "the raw WARC ends inside a record", offset)
        offset += sent
        left -= sent


def _write_conversion(out: int, files: ExitStack, head: bytes, unconverted: Unconverted) -> None:
    record, payload = unconverted.record, unconverted.payload
    block = record.source(files.enter_context(_opened(record.path)))
    _write_all(out, head)
    skip, left = payload.start, payload.length
    for piece in http.entity(block, http.head(block)):
        taken = piece[skip : skip + left]
        skip = max(0, skip - len(piece))
        left -= len(taken)
        _write_all(out, taken)
    _write_all(out, RECORD_END)


def _free_name(path: Path) -> Path:
    """*path*, or *path* with the first number behind it that no file has."""
    names = (path.with_name(f"{path.name}.{n}") for n in range(1, 10_000))
    return path if not path.exists() else next(name for name in names if not name.exists())


def make_folders(folder: Path) -> None:
    """Make *folder* and its missing parents, each name synced; ``StorageTrouble`` if refused."""
    missing = []
    try:
        while not folder.is_dir():
            missing.append(folder)
            folder = folder.parent
        for name in reversed(missing):
            name.mkdir(exist_ok=True)
            sync_folder(name.parent)
    except OSError as error:
        raise StorageTrouble(folder, error) from error


@contextmanager
def locked(
    warc: Path,
    suwaf: Path,
    pid: Pid,
    *,
    recover: bool = True,
    clock: Clock = dates.now,
    new_id: NewId = uuid_urn,
) -> Iterator[PaperWarc]:
    """The paper at *warc*, locked against every other writer, and recovered; made if missing.

    Raises as :meth:`PaperWarc.recover` does, and ``StorageTrouble``.
    """
    fd = _lock(warc)
    try:
        paper = PaperWarc(warc, suwaf, pid, fd, clock=clock, new_id=new_id)
        if recover:
            paper.recover()
        yield paper
    finally:
        os.close(fd)


def _lock(warc: Path) -> int:
    """An open descriptor of *warc* that holds its lock, made durable where it is new."""
    try:
        while True:
            new = not warc.exists()
            if new:
                make_folders(warc.parent)
            fd = os.open(warc, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX)
                if _is_at(fd, warc):
                    if new:
                        sync_folder(warc.parent)
                    return fd
            except BaseException:
                os.close(fd)
                raise
            os.close(fd)
    except OSError as error:
        raise StorageTrouble(warc, error) from error


def _is_at(fd: int, path: Path) -> bool:
    """Whether *path* still names the file that *fd* is: another process may have renamed it."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(fd), path.stat())
    return False
