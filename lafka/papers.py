"""The paper WARC: lock, recover, append a trail, commit the suwaf (docs/formats.md, "Append").

Nothing is lost at any kill: the lock dies with its process, the next writer rolls whole records
forward and keeps a torn tail aside, and only a WARC that was synced is named by a suwaf. A new WARC
is a draft until its first commit, so that bytes under a final name were always synced once.

Record ids of what is made here are derived from the id of the response that it is made of: copying
a trail a second time finds what is there already, record by record.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from lafka.contents import (
    Contents,
    Held,
    Info,
    Scanner,
    Unconverted,
    Visit,
    answer_in,
    begins_record,
    chained,
    fut_of,
    html_date,
    literal_place,
)
from lafka.errors import BadSuwaf, BadWarc, ShortWarc, StorageTrouble, TornWarc
from lafka.payloads import Kind
from lafka.pids import Pid
from lafka.suwafs import DRAFT, Fut, Suwaf, sync_folder
from lafka.trails import Capture, Span
from lafka.warc import dates, http
from lafka.warc.fields import one_line
from lafka.warc.reader import StoredRecord, record_at
from lafka.warc.records import (
    HTTP_RESPONSE,
    IDENTICAL_PAYLOAD,
    RECORD_END,
    Record,
    header,
    start,
)
from lafka.warc.sources import FileSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """A fut of a capture as its suwaf names it; ``new`` where its bytes were stored just now."""

    capture: Capture
    fut: Fut
    new: bool


class PaperWarc:
    """One paper's WARC and suwaf, locked and recovered; made by :func:`locked`."""

    def __init__(self, suwaf_path: Path, pid: Pid, lock: Lock) -> None:
        self.path = lock.warc
        self.suwaf_path = suwaf_path
        self.pid = pid
        self.suwaf = Suwaf(pid=pid)
        self._lock = lock
        self._fd = lock.fd
        self._contents: Contents | None = None

    @property
    def contents(self) -> Contents:
        """What the WARC holds; read from its headers when first asked for."""
        if self._contents is None:
            scanner = Scanner(self._fd, self._lock.path, trusted_to=self.suwaf.end)
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
        scanner = Scanner(self._fd, self._lock.path, trusted_to=trusted_to)
        try:
            scanner.read()
        except BadWarc as error:
            tail = scanner.contents.end
            if tail < self.suwaf.end and isinstance(error, TornWarc):
                raise ShortWarc(self.path, "records that its suwaf knows are torn", tail) from None
            if tail < self.suwaf.end or not (self._is_watched() or self._is_last(tail)):
                raise
            self._set_tail_aside(tail)
        self._contents = scanner.contents
        if self._lock.is_draft and not self._contents.end:
            return
        opened = self.suwaf.open
        with Files() as files:
            plan = Plan(self, files)
            for unconverted in list(self._contents.unconverted.values()):
                plan.convert_stored(unconverted)
            self._write(plan, sync=True)  # what a killed writer left may not be on the disk yet
        self.suwaf = self._contents.suwaf(self.pid)
        self.suwaf.open = opened
        self._commit()

    def _is_watched(self) -> bool:
        """Whether it is known how far the WARC was committed: what lies behind is no one's yet."""
        return bool(self.suwaf.end) or self._lock.is_draft

    def _is_last(self, offset: int) -> bool:
        return not begins_record(self._fd, offset + 1)

    def _set_tail_aside(self, offset: int) -> None:
        """Keep the bytes from *offset* on as ``<name>.torn-<offset>`` and cut them off."""
        aside = _free_name(self.path.with_name(f"{self.path.name}.torn-{offset}"))
        draft = aside.with_name(f"{DRAFT}{self.path.name}.torn")
        tail = FileSource(self._fd, offset, os.fstat(self._fd).st_size - offset)
        try:
            with draft.open("wb") as file:
                for data in tail.chunks():
                    file.write(data)
                file.flush()
                os.fsync(file.fileno())
            draft.rename(aside)
            sync_folder(aside.parent)
            os.ftruncate(self._fd, offset)
            os.fsync(self._fd)
        except OSError as error:
            raise StorageTrouble(aside, error) from error

    def append(self, captures: Sequence[Capture], *, opened: bool = False) -> list[Added]:
        """Copy *captures*, a trail's, and commit; the futs among them as the suwaf now names them.

        A payload that is held already becomes a revisit; a page that is held already adds nothing
        at all where no fut was had. Records that the WARC holds were copied before and are passed
        over. *opened* marks the futli as one to be asked again.
        """
        had_fut = any(capture.is_pdf for capture in captures)
        with Files() as files:
            plan = Plan(self, files)
            for capture in captures:
                plan.add(capture, had_fut=had_fut)
            marked = captures and self._mark(captures[0].ask.futli.url, opened=opened)
            if marked or plan.pieces:
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

    def _write(self, plan: Plan, *, sync: bool = False) -> None:
        """Append what *plan* holds; rolled back to the known end where the disk refuses."""
        begin = self.contents.end
        try:
            os.lseek(self._fd, begin, os.SEEK_SET)
            for piece in plan.pieces:
                piece(self._fd)
            if plan.pieces or sync:
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
        try:
            self._lock.name_for_good()
        except OSError as error:
            raise StorageTrouble(self.path, error) from error
        make_folders(self.suwaf_path.parent)
        self.suwaf.save(self.suwaf_path)


Piece = Callable[[int], None]


class Plan:
    """The records to be appended, their places known before the first byte is written."""

    def __init__(self, paper: PaperWarc, files: Files) -> None:
        self._contents = paper.contents
        self._files = files
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
        if self._copy(capture, self._fut(digest)):
            self.visits.append(_visit(capture, digest))
        self.added.append((capture, digest, new))

    def _holds(self, digest: str) -> bool:
        return digest in self.held or digest in self._contents.futs

    def _fut(self, digest: str) -> Held | None:
        held = self.held.get(digest) or self._contents.futs.get(digest)
        if held:
            self.held.setdefault(digest, held)
        return held

    def _is_here(self, record_id: str) -> bool:
        return record_id in self.ids or record_id in self._contents.ids

    def _copy(self, capture: Capture, held: Held | None) -> bool:
        """Plan what is not here yet of *capture*; whether its last answer was not."""
        *hops, last = capture.exchanges
        way = [span for hop in hops for span in (hop.request, hop.response)]
        for span in (capture.warcinfo, *way, last.request):
            if span:
                self._span(*self._stored(span))
        assert last.response is not None
        record, head = self._stored(last.response)
        if self._is_here(record.id) or self._is_here(_derived_id(record, "revisit")):
            return False
        if held:
            self._revisit(capture, record, held)
        else:
            self._response(capture, record, head)
        return True

    def _stored(self, span: Span) -> tuple[StoredRecord, bytes]:
        """The record at *span* of a raw WARC, and its header; ``BadWarc`` where none is there."""
        path = Path(span.path)
        fd = self._files.fd(path)
        record = record_at(fd, path, span.offset, span.offset + span.length)
        if record.end - record.offset != span.length:
            raise BadWarc(path, "not the record that was written here", span.offset)
        return record, os.pread(fd, record.block - record.offset, record.offset)

    def _span(self, record: StoredRecord, head: bytes) -> int:
        """Plan a record's bytes as they stand in the raw WARC; their place here, -1 if they are."""
        if self._is_here(record.id):
            return -1
        place = self.end
        last = self.pieces[-1] if self.pieces else None
        if not (isinstance(last, Copy) and last.goes_on_with(record)):
            last = Copy(self._files, record.path, record.offset)
            self.pieces.append(last)
        last.end = record.end
        self.chain = chained(self.chain, head)
        self.end += record.end - record.offset
        self.ids.add(record.id)
        return place

    def _record(self, record: Record) -> None:
        data = record.to_bytes()
        self.pieces.append(lambda out: _write_all(out, data))
        self.chain = chained(self.chain, record.header())
        self.end += len(data)
        self.ids.add(record.id)

    def _response(self, capture: Capture, record: StoredRecord, head: bytes) -> None:
        payload = capture.payload
        assert payload is not None
        block = self._span(record, head) + record.block - record.offset
        held = Held(record_id=record.id, url=record.url, date=record.date)
        if payload.kind is not Kind.PDF:
            self.payloads.setdefault(payload.digest, held)
            return
        place = literal_place(record.source(self._files.fd(record.path)), payload)
        if place >= 0:
            self.held[payload.digest] = replace(held, s=block + place, l=payload.length)
        else:
            self.convert_stored(Unconverted(record=record, payload=payload))

    def convert_stored(self, unconverted: Unconverted) -> None:
        """Plan a conversion record whose block is the fut of a response (WARC/1.1 section 6.8).

        The response is wherever ``unconverted.record`` says: a raw WARC, or this one. Both are of
        one capture event, so they have one WARC-Date (section 5.4).
        """
        record, payload = unconverted.record, unconverted.payload
        date = record.fields.first("WARC-Date")
        fields = start("conversion", _derived_id(record, "conversion"), date, record.url)
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
        files = self._files
        self.pieces.append(lambda out: _write_conversion(out, files, head, unconverted))
        self.chain = chained(self.chain, head)
        self.end += len(head) + payload.length + len(RECORD_END)
        self.ids.add(fields.first("WARC-Record-ID"))

    def _revisit(self, capture: Capture, record: StoredRecord, held: Held) -> None:
        """Plan a revisit, identical-payload-digest, whose block is the answer's HTTP head."""
        assert capture.payload is not None
        block = record.source(self._files.fd(record.path)).read(0, capture.payload.body)
        date = record.fields.first("WARC-Date")
        fields = start("revisit", _derived_id(record, "revisit"), date, record.url)
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
        found_by=one_line(ask.found_by),
        html_url=one_line(ask.html_url),
        html_date=html_date(ask.html_date),
        label=one_line(ask.label),
    )
    return Visit(info=info, time=capture.time, url=one_line(capture.url), digest=digest)


def _derived_id(record: StoredRecord, kind: str) -> str:
    """The id of the *kind* of record that is made of *record*: always the same."""
    return f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{record.id} {kind}')}>"


class Files:
    """Files open for reading, few at a time however many a trail lies in; a context."""

    MOST = 8

    def __init__(self) -> None:
        self._open: dict[Path, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._open:
            os.close(self._open.popitem()[1])

    def fd(self, path: Path) -> int:
        """A descriptor of *path*, good until eight other files were asked for."""
        if path not in self._open:
            if len(self._open) == self.MOST:
                os.close(self._open.pop(next(iter(self._open))))
            self._open[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        return self._open[path]


class Copy:
    """Records that lie side by side in one file, to be copied byte for byte by one call."""

    def __init__(self, files: Files, path: Path, offset: int) -> None:
        self.end = offset
        self._files = files
        self._path = path
        self._offset = offset

    def goes_on_with(self, record: StoredRecord) -> bool:
        return self._path == record.path and self.end == record.offset

    def __call__(self, out: int) -> None:
        source, offset = self._files.fd(self._path), self._offset
        while offset < self.end:
            sent = os.sendfile(out, source, offset, self.end - offset)
            if not sent:
                raise BadWarc(self._path, "the raw WARC ends inside a record", offset)
            offset += sent


def _write_all(out: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(out, view) :]


def _write_conversion(out: int, files: Files, head: bytes, unconverted: Unconverted) -> None:
    record, payload = unconverted.record, unconverted.payload
    _write_all(out, head)
    skip, left, digest = payload.start, payload.length, hashlib.sha256()
    block = answer_in(record, files.fd(record.path))
    for piece in http.entity(block, http.head(block)):
        taken = piece[skip : skip + left]
        skip = max(0, skip - len(piece))
        left -= len(taken)
        digest.update(taken)
        _write_all(out, taken)
    if payload.digest != "sha256:" + digest.hexdigest():
        raise BadWarc(record.path, "decodes to another fut than before", record.offset)
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
) -> Iterator[PaperWarc]:
    """The paper at *warc*, locked against every other writer, and recovered.

    A paper that is not here yet comes to be with its first commit. Raises as
    :meth:`PaperWarc.recover` does, and ``StorageTrouble`` for any ``OSError`` while it is locked.
    """
    with _locked(warc) as lock:
        paper = PaperWarc(suwaf, pid, lock)
        if recover:
            paper.recover()
        yield paper


@contextmanager
def vacant(warc: Path) -> Iterator[None]:
    """Keep the place *warc* free of writers, so that a file can be linked to it.

    ``BadWarc`` where a WARC or the draft of one is there, ``StorageTrouble``.
    """
    with _locked(warc) as lock:
        if not lock.is_draft or os.fstat(lock.fd).st_size:
            raise BadWarc(warc, "exists already")
        yield


@dataclass(slots=True, kw_only=True)
class Lock:
    """The lock of the WARC *warc* on the open file *fd*, which is its draft before a commit."""

    warc: Path
    fd: int
    is_draft: bool

    @property
    def path(self) -> Path:
        """Where the file stands now."""
        return _draft(self.warc) if self.is_draft else self.warc

    def name_for_good(self) -> None:
        """Give a draft, which is synced, its final name, durably."""
        if self.is_draft:
            self.path.rename(self.warc)
            self.is_draft = False
            sync_folder(self.warc.parent)

    def release(self) -> None:
        try:
            if self.is_draft and not os.fstat(self.fd).st_size:
                self.path.unlink(missing_ok=True)
        finally:
            os.close(self.fd)


def _draft(warc: Path) -> Path:
    return warc.with_name(DRAFT + warc.name)


@contextmanager
def _locked(warc: Path) -> Iterator[Lock]:
    try:
        lock = None
        while lock is None:
            lock = _try_lock(warc)
        try:
            yield lock
        finally:
            lock.release()
    except OSError as error:
        raise StorageTrouble(error.filename or warc, error) from error


def _try_lock(warc: Path) -> Lock | None:
    """Wait for the lock; None where the file got another name meanwhile: then try again."""
    is_draft = not warc.exists()
    if is_draft:
        make_folders(warc.parent)
    path = _draft(warc) if is_draft else warc
    try:
        # As anyone else may do, by the umask: several users may write to one archive.
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | (is_draft and os.O_CREAT), 0o666)
    except FileNotFoundError:
        return None
    lock = Lock(warc=warc, fd=fd, is_draft=is_draft)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        if _is_at(fd, path) and not (is_draft and warc.exists()):
            return lock
    except BaseException:
        os.close(fd)
        raise
    lock.is_draft = is_draft and _is_at(fd, path)
    lock.release()
    return None


def _is_at(fd: int, path: Path) -> bool:
    """Whether *path* still names the file that *fd* is: another process may have renamed it."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(fd), path.stat())
    return False
