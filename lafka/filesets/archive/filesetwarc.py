"""The fileset WARC and its summary: groups of records are appended, and named (docs/formats.md)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from msgspec.structs import replace

from lafka.capture.logged import LoggedExchange
from lafka.capture.rawlog import CONNECTION
from lafka.errors import BadSuwaf, Stopped, StorageTrouble
from lafka.filesets.archive.contents import (
    FilesetContents,
    FilesetScanner,
    HeldBytes,
    RecordPlace,
    note,
    page_in,
    place_of,
)
from lafka.filesets.model.summaries import FilesetSummary
from lafka.storage.folders import sync_folder
from lafka.storage.keeping.contents import (
    Conversion,
    OriginalRecord,
    PlannedRecord,
    RecordGroup,
    derived_id,
)
from lafka.storage.keeping.stores import SummarisedWarc
from lafka.storage.locks import Lock, tried
from lafka.storage.steps import Steps, done
from lafka.warc.format import http
from lafka.warc.format.records import sha256_of
from lafka.warc.format.sources import FileSource, Source
from lafka.warc.reading.stored import StoredRecord
from lafka.warc.writing.appending import Files

_OF_THE_VISIT = ("WARC-Warcinfo-ID", "WARC-Concurrent-To", *CONNECTION)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAnswer:
    """The file that a capture brought: ``digest`` and length of its bytes.

    ``decoded``: the content coding is undone; ``mimetype`` is that of a conversion, if one is made.
    """

    digest: str
    l: int  # noqa: E741  the summary's name
    mimetype: str
    decoded: bool = False


class FilesetGroup(RecordGroup):
    """Records for one commit of the WARC, open as *fd*, whose *contents* these are."""

    def __init__(self, contents: FilesetContents, files: Files, fd: int) -> None:
        super().__init__(contents, files)
        self._fileset = contents
        self._fd = fd
        self.pages: dict[str, HeldBytes | None] = {}
        self.places: dict[str, RecordPlace] = {}
        self.notes: list[Mapping[str, Any]] = []

    def commit(self) -> None:
        super().commit()
        self._fileset.pages.update(self.pages)
        self._fileset.places.update(self.places)
        for values in self.notes:
            self._fileset.add_note(values)

    def page(self, exchanges: tuple[LoggedExchange, ...]) -> HeldBytes | None:
        """Plan a capture of a page or an API's answer, unless its payload is held already.

        Where the payload stands; None where it does not stand literally.
        """
        last = exchanges[-1]
        digest = last.payload.payload_digest if last.payload else ""
        known = {**self._fileset.pages, **self.pages}
        if digest and digest in known:
            return known[digest]
        self._way(exchanges)
        if last.response is None:
            return None
        record = self.files.stored(last.response)
        self._response(record)
        digest, page = page_in(record)
        self.pages[digest] = page
        return page

    def heads(self, exchanges: tuple[LoggedExchange, ...]) -> None:
        """Plan a capture whose body went elsewhere: its requests and heads."""
        self._way(exchanges)
        if (answer := exchanges[-1].response) is not None:
            self._response(self.files.stored(answer))

    def file(
        self, exchanges: tuple[LoggedExchange, ...], wanted: FileAnswer
    ) -> tuple[HeldBytes, RecordPlace | None, bool]:
        """Plan the capture of a file: where its bytes stand, its record, whether it is a revisit.

        A file that is held already is not stored again, unless its bytes have rotted.
        """
        self._way(exchanges)
        answer = exchanges[-1].response
        assert answer is not None
        record = self.files.stored(answer)
        held = self._fileset.held.get(wanted.digest)
        if held is not None and self._stands(held, wanted.digest):
            if not self.holds_answer(record):
                self._revisit(record, held, wanted)
            visit = self.place(derived_id(record, "revisit"))
            return held, visit or self.place(record.id), visit is not None
        self._response(record)
        head = http.head(record.block())
        if head.chunked or head.transfer_codings or wanted.decoded:
            held = self._conversion(record, head, wanted)
        else:
            held = _held_bytes(record, record.id, head.end, wanted)
        return held, self.place(record.id), False

    def place(self, record_id: str) -> RecordPlace | None:
        """Return where a record stands that is here, or is to be."""
        return self.places.get(record_id) or self._fileset.places.get(record_id)

    def note(self, values: Mapping[str, Any], url: str, date: str) -> None:
        """Plan a metadata record that says *values*."""
        self.add(note(values, url, date))
        self.notes.append(values)

    # ---- Records

    def _way(self, exchanges: tuple[LoggedExchange, ...]) -> None:
        """Everything of a capture before its last answer."""
        *hops, last = exchanges
        spans = [span for hop in hops for span in (hop.request, hop.response)]
        self.copy_all((exchanges[0].warcinfo, *spans, last.request))

    def _response(self, record: StoredRecord) -> None:
        if (offset := self.copy(record)) is not None:
            self.places[record.id] = place_of(record, offset)

    def _planned(self, made: PlannedRecord, record: StoredRecord) -> None:
        """Note the place of a record that is made of the response *record*."""
        self.places[made.id] = RecordPlace(
            offset=made.offset,
            length=made.length,
            block=made.block,
            url=record.url,
            date=record.fields.first("WARC-Date"),
        )

    def _stands(self, held: HeldBytes, digest: str) -> bool:
        """Return whether the bytes of *held* are those of the file; a revisit would name them."""
        start = self._fileset.places[held.record_id].block + held.at
        try:
            return sha256_of(FileSource(self._fd, start, held.l).chunks()) == digest
        except OSError:  # a sector that cannot be read
            return False

    def _revisit(self, record: StoredRecord, held: HeldBytes, wanted: FileAnswer) -> None:
        """Plan a revisit whose block is the answer's HTTP head."""
        original = OriginalRecord(record_id=held.record_id, url=held.url, date=held.date)
        made = self.add_revisit(
            record, original, digest=wanted.digest,
            head_length=http.head(record.block()).end, visit_fields=_OF_THE_VISIT,
        )  # fmt: skip
        self._planned(made, record)

    def _conversion(
        self, record: StoredRecord, message: http.Head, wanted: FileAnswer
    ) -> HeldBytes:
        """Plan a conversion whose block is the file behind transfer or content coding."""
        record_id = derived_id(record, "conversion")
        if not self.holds(record_id):
            undo = http.entity if wanted.decoded else http.payload
            conversion = Conversion(
                media_type=wanted.mimetype or "application/octet-stream",
                digest=wanted.digest,
                length=wanted.l,
                pieces=partial(_pieces, undo, record, message),
                name="file",
            )
            self._planned(self.add_conversion(record, conversion), record)
        return _held_bytes(record, record_id, 0, wanted)


def _held_bytes(record: StoredRecord, record_id: str, at: int, wanted: FileAnswer) -> HeldBytes:
    date = record.fields.first("WARC-Date")
    return HeldBytes(record_id=record_id, url=record.url, date=date, at=at, l=wanted.l)


def _pieces(
    undo: Callable[[Source, http.Head], Iterable[bytes]], record: StoredRecord, message: http.Head
) -> Iterable[bytes]:
    return undo(record.block(), message)


T = TypeVar("T")


class FilesetWarc(SummarisedWarc[FilesetContents]):
    """One fileset's WARC and summary, locked; made by :meth:`locked`, ended by :meth:`close`.

    Threads take turns.
    """

    def __init__(self, summary_path: Path, fileset_id: str, lock: Lock) -> None:
        super().__init__(lock, summary_path)
        self.fileset_id = fileset_id
        self._known: FilesetSummary | None = None
        self._turn = threading.Lock()
        self._is_open = True
        self.is_behind = False  # what was appended is not committed yet
        self.unsynced: set[Path] = set()  # folders with names of files that it tells of

    @classmethod
    def locked(
        cls, warc: Path, summary: Path, fileset_id: str, *, recover: bool = True
    ) -> Self | None:
        """Lock the WARC and recover it; None where another process has its lock.

        Raises as :meth:`recovering`, and ``StorageTrouble``.
        """
        lock = tried(warc)
        if lock is None:
            return None
        made = cls(summary, fileset_id, lock)
        try:
            if recover:
                made.recover()
        except BaseException:
            made.close()
            raise
        return made

    def close(self) -> None:
        """Commit what was appended, and give up the lock; what was not appended is not there."""
        try:
            self.commit()
        finally:
            with self._turn, StorageTrouble.at(self.path):
                self._is_open = False
                self.lock.release()

    @property
    def summary(self) -> FilesetSummary:
        """The summary of the contents."""
        contents = self.contents
        return replace(contents.summary, end=contents.end, chain=contents.chain_text)

    @property
    def committed_end(self) -> int:
        return self._known.end if self._known else 0

    def load_summary(self) -> None:
        self._known = load_summary(self.summary_path, self.fileset_id)

    def recover(self) -> None:
        """:meth:`recovering`, at once; any ``OSError`` is ``StorageTrouble``."""
        try:
            done(self.recovering())
        except OSError as error:
            raise StorageTrouble(self.path, error) from error

    def recovering(self) -> Steps[None]:
        yield from super().recovering()
        if self.contents.end and self.summary != self._known:
            yield from self.committing()

    def make_summary(self) -> Steps[None]:
        with Files() as files:  # what a killed writer left may not be on the disk yet
            yield from self.writing(FilesetGroup(self.contents, files, self.lock.fd), sync=True)

    def summary_bytes(self) -> bytes:
        self._known = self.summary
        return self._known.to_bytes()

    def scanner(self, trusted_to: int) -> FilesetScanner:
        chain = self._known.chain if self._known and trusted_to else ""
        return FilesetScanner(
            self.lock.fd, self.lock.path, self.fileset_id, trusted_to=trusted_to, chain=chain
        )

    def append(self, plan: Callable[[FilesetGroup], T], *, later: bool = False) -> T:
        """Append what *plan* plans, and commit it: what *plan* returns. Nothing where it raises.

        *later*: it is committed with what comes next. Where its process is killed before, it is
        rolled forward all the same; a power cut may take it. ``StorageTrouble`` where the disk
        refuses; the WARC then ends as it did before. ``Stopped`` behind :meth:`close`.
        """
        with self._turn, Files() as files:
            if not self._is_open:
                raise Stopped(f"{self.fileset_id}: not stored, for its WARC is closed")
            group = FilesetGroup(self.contents, files, self.lock.fd)
            planned = plan(group)
            if group.pieces:
                if later:
                    self.is_behind = True
                    done(self._appending(group, sync=False))
                    group.commit()
                else:
                    self._commit(group)
        return planned

    def commit(self) -> None:
        """Commit what was appended to be committed later, if anything; ``StorageTrouble``."""
        with self._turn, Files() as files:
            if self._is_open and self.is_behind:
                self._commit(FilesetGroup(self.contents, files, self.lock.fd))

    def _commit(self, group: FilesetGroup) -> None:
        was_behind, self.is_behind = self.is_behind, False
        try:
            while self.unsynced:
                with StorageTrouble.at(folder := self.unsynced.pop()):
                    sync_folder(folder)
            done(self.writing(group, sync=True))
        except StorageTrouble:
            if was_behind:  # nobody knows what of it came to the disk
                with suppress(OSError):
                    self.cut_off(self.committed_end)
            raise
        done(self.committing())


def load_summary(path: Path, fileset_id: str | None = None) -> FilesetSummary | None:
    """The summary at *path*; None where there is none, ``BadSuwaf`` where it is none."""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return FilesetSummary.parse(data, fileset_id)
    except ValueError as error:
        raise BadSuwaf(path, f"not a summary: {error}") from None
