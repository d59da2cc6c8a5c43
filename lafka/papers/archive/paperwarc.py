"""The paper WARC: lock, recover, append a trail, commit the suwaf (docs/formats.md, "Append").

Nothing is lost at any kill: the lock dies with its process, the next writer rolls whole records
forward and keeps a torn tail aside, and only a WARC that was synced is named by a suwaf. A new WARC
is a draft until its first commit, so that bytes under a final name were always synced once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from lafka.errors import BadPid, BadSuwaf, BadWarc, ShortWarc, StorageTrouble, TornWarc
from lafka.papers.archive.contents import Contents, Scanner, begins_record, fut_of
from lafka.papers.archive.inuse import PapersInUse
from lafka.papers.archive.plans import Files, Plan, visit_of
from lafka.papers.archive.suwafs import Fut, Suwaf
from lafka.papers.walk.asks import Capture
from lafka.pids import Pid, Scheme
from lafka.storage import drafts
from lafka.storage.folders import DRAFT, free_name, make_folders, sync_folder
from lafka.storage.locks import Lock, held
from lafka.warc.format.sources import FileSource
from lafka.warc.writing.appending import Appender
from lafka.warc.writing.names import or_numbered


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCapture:
    """A fut of a capture as its suwaf names it; ``new`` where its bytes were stored just now."""

    capture: Capture
    fut: Fut
    new: bool


class PaperWarc:
    """One paper's WARC and suwaf, locked and recovered; made by :func:`locked`."""

    def __init__(
        self, suwaf_path: Path, pid: Pid, scheme: Scheme, lock: Lock, in_use: PapersInUse
    ) -> None:
        self.path = lock.warc
        self.suwaf_path = suwaf_path
        self.pid = pid
        self.suwaf = Suwaf(pid=pid)
        self._scheme = scheme
        self._lock = lock
        self._in_use = in_use
        self._fd = lock.fd
        self._contents: Contents | None = None

    @property
    def contents(self) -> Contents:
        """What the WARC holds; read from its headers when first asked for, unless it is known."""
        if self._contents is None:
            known = self._in_use.contents(self.suwaf, os.fstat(self._fd))
            self._contents = known or self._scanner(self.suwaf.end).read()
        return self._contents

    def _scanner(self, trusted_to: int) -> Scanner:
        chain = self.suwaf.chain if trusted_to else ""
        return Scanner(
            self._fd, self._lock.path, trusted_to=trusted_to, chain=chain, is_paper=self._is_paper
        )

    def _is_paper(self, text: str) -> bool:
        """Whether the Paper-Id *text*, in any spelling, is that of this paper."""
        with suppress(BadPid):
            return self._scheme.pid(text).path == self.pid.path
        return False

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
            if known := self._in_use.suwaf(self.suwaf_path, self.pid):
                self.suwaf = known.copy()
        except BadSuwaf:
            if not lenient:
                raise
        self.suwaf.check_length(self.path, os.fstat(self._fd).st_size)

    def rebuild(self, *, trusted_to: int = 0) -> None:
        """Make the suwaf again from the WARC; a tail that is no record of it is kept aside.

        Digests in headers are believed before byte *trusted_to*, the bytes are read after it.
        """
        scanner = self._scanner(trusted_to)
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
            plan = Plan(self.contents, files)
            for unconverted in list(self._contents.unconverted.values()):
                plan.convert_stored(unconverted)
            self._write(plan, sync=True)  # what a killed writer left may not be on the disk yet
        self._keep_name(self.path)
        self.suwaf = self._contents.suwaf(self.pid)
        self.suwaf.open = opened
        self._commit()

    def _keep_name(self, path: Path) -> None:
        """Make sure of the name of *path*: who gave it may have been killed before its sync."""
        try:
            if path.exists():
                sync_folder(path.parent)
        except OSError as error:
            raise StorageTrouble(path, error) from error

    def _is_watched(self) -> bool:
        """Whether it is known how far the WARC was committed: what lies behind is no one's yet."""
        return bool(self.suwaf.end) or self._lock.is_draft

    def _is_last(self, offset: int) -> bool:
        return not begins_record(self._fd, offset + 1)

    def _set_tail_aside(self, offset: int) -> None:
        """Keep the bytes from *offset* on as ``<name>.torn-<offset>`` and cut them off."""
        torn = self.path.with_name(f"{self.path.name}.torn-{offset}")
        aside = free_name(or_numbered(torn, "."))
        draft = aside.with_name(f"{DRAFT}{self.path.name}.torn")
        tail = FileSource(self._fd, offset, os.fstat(self._fd).st_size - offset)
        drafts.replace(aside, tail.chunks(), draft=draft)
        try:
            os.ftruncate(self._fd, offset)  # synced with what is appended next
        except OSError as error:
            raise StorageTrouble(aside, error) from error

    def append(self, captures: Sequence[Capture], *, opened: bool = False) -> list[StoredCapture]:
        """Copy *captures*, a trail's, and commit; the futs among them as the suwaf now names them.

        A payload that is held already becomes a revisit; a page that is held already adds nothing
        at all where no fut was had. Records that the WARC holds were copied before and are passed
        over. *opened* marks the futli as one to be asked again.
        """
        had_fut = any(capture.is_pdf for capture in captures)
        with Files() as files:
            plan = Plan(self.contents, files)
            for capture in captures:
                plan.add(capture, had_fut=had_fut)
            marked = captures and self._mark(captures[0].ask.futli.url, opened=opened)
            if marked or plan.pieces:
                self._write(plan)
                self._commit()
            else:
                self._keep_name(self.suwaf_path)
        self._keep()
        return [self._named(entry) for entry in plan.added]

    def close(self, futli: str) -> None:
        """Note that a trail of *futli* has ended and has nothing to store: it is open no longer."""
        if self._mark(futli, opened=False):
            self._commit()
            self._keep()

    def _keep(self) -> None:
        """Spare the paper's next writer to read what this one knows."""
        self._in_use.keep(self.suwaf_path, self.suwaf, self._contents, os.fstat(self._fd))

    def _named(self, entry: tuple[Capture, str, bool]) -> StoredCapture:
        capture, digest, new = entry
        held = self.contents.futs[digest]
        return StoredCapture(capture=capture, fut=fut_of(visit_of(capture, digest), held), new=new)

    def _mark(self, futli: str, *, opened: bool) -> bool:
        """Note whether *futli* is to be asked again; whether that changed."""
        others = tuple(name for name in self.suwaf.open if name != futli)
        wanted = (*others, futli) if opened else others
        changed = set(wanted) != set(self.suwaf.open)
        self.suwaf.open = wanted
        return changed

    def _write(self, plan: Plan, *, sync: bool = False) -> None:
        """Append what *plan* holds; rolled back to the known end where the disk refuses."""
        out = Appender(self._fd, self.contents.end)
        try:
            with out.group():
                for piece in plan.pieces:
                    piece(out)
                if plan.pieces or sync:
                    out.sync()
        except OSError as error:
            raise StorageTrouble(self.path, error) from error
        plan.taken_into(self.contents)
        for visit in plan.visits:
            self.suwaf.add(visit.info.futli, visit.time, fut_of(visit, plan.held[visit.digest]))

    def _commit(self) -> None:
        self.suwaf.end = self.contents.end
        self.suwaf.chain = self.contents.chain_text
        try:
            self._lock.name_for_good()
        except OSError as error:
            raise StorageTrouble(self.path, error) from error
        make_folders(self.suwaf_path.parent)
        self.suwaf.save(self.suwaf_path)


@contextmanager
def locked(
    warc: Path,
    suwaf: Path,
    pid: Pid,
    scheme: Scheme,
    in_use: PapersInUse,
    *,
    recover: bool = True,
) -> Iterator[PaperWarc]:
    """The paper at *warc*, locked against every other writer, and recovered.

    What *in_use* has of it is not read again, and forgotten where anything is raised. A paper that
    is not here yet comes to be with its first commit. Raises as :meth:`PaperWarc.recover` does, and
    ``StorageTrouble`` for any ``OSError`` while it is locked.
    """
    with held(warc) as lock:
        paper = PaperWarc(suwaf, pid, scheme, lock, in_use)
        try:
            if recover:
                paper.recover()
            yield paper
        except BaseException:
            in_use.forget(pid)
            raise
