"""The paper WARC: lock, recover, append a trail, commit the suwaf (docs/formats.md, "Append").

Nothing is lost at any kill: the lock dies with its process, the next writer rolls whole records
forward and keeps a torn tail aside, and only a WARC that was synced is named by a suwaf. A new WARC
is a draft until its first commit, so that bytes under a final name were always synced once.

All of it is work in steps (:mod:`lafka.storage.steps`): papers can be stored side by side, each in
its own order (:func:`storing`), or one by one (:func:`locked`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

from lafka.errors import (
    BadPid,
    BadSuwaf,
    BadWarc,
    KeeperError,
    ShortWarc,
    StorageTrouble,
    TornWarc,
)
from lafka.papers.archive.contents import Contents, Scanner, fut_of
from lafka.papers.archive.inuse import PapersInUse
from lafka.papers.archive.plans import Plan, visit_of
from lafka.papers.archive.suwafs import Fut, Suwaf
from lafka.papers.walk.asks import Capture
from lafka.pids import Pid, Scheme
from lafka.storage import drafts
from lafka.storage.folders import DRAFT, free_name, making_folders
from lafka.storage.locks import Lock, held, locking
from lafka.storage.steps import Aside, DataSync, FolderSync, Steps, done
from lafka.warc.format.sources import FileSource
from lafka.warc.reading.framing import begins_record
from lafka.warc.writing.appending import Appender
from lafka.warc.writing.copying import Files
from lafka.warc.writing.names import or_numbered

LONG = 4 << 20
"""What reads or writes more bytes than this is done aside: it shall not hold up others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What a trail left for its paper: its captures, or the futli that it closes without one.

    ``opened``: its futli is to be asked again.
    """

    captures: Sequence[Capture] = ()
    opened: bool = False
    closes: str = ""

    @property
    def leaves_open(self) -> bool:
        """Whether it has captures, and nothing among them is the site's last word."""
        return bool(self.captures) and not any(c.outcome.is_stored for c in self.captures)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCapture:
    """A fut of a capture as its suwaf names it; ``new`` where its bytes were stored just now."""

    capture: Capture
    fut: Fut
    new: bool


Stored = list[StoredCapture] | KeeperError
"""The futs of a trail, or why the paper could not take it."""


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
            done(self._knowing())
        assert self._contents is not None
        return self._contents

    def _knowing(self) -> Steps[None]:
        if self._contents is None:
            status = os.fstat(self._fd)
            self._contents = self._in_use.contents(self.suwaf, status)
            if self._contents is None and self._lock.is_draft and not status.st_size:
                self._contents = Contents()  # a paper that is new
        if self._contents is None:
            scanner = self._scanner(self.suwaf.end)
            yield from _reading(scanner, status.st_size)
            self._contents = scanner.contents

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

    def recovering(self) -> Steps[None]:
        """Make WARC and suwaf one again after a killed writer.

        ``ShortWarc`` where the WARC is shorter than its suwaf says, ``BadSuwaf`` where that is
        none, ``BadWarc`` where bytes before its end are no records: then nothing is changed.
        """
        size = self.load_suwaf()
        if size > self.suwaf.end:
            yield from self._rebuilding(trusted_to=self.suwaf.end)

    def load_suwaf(self, *, lenient: bool = False) -> int:
        """Read the suwaf; *lenient*: as if there were none where it is damaged. The WARC's size."""
        try:
            if known := self._in_use.suwaf(self.suwaf_path, self.pid):
                self.suwaf = known.copy()
        except BadSuwaf:
            if not lenient:
                raise
        size = os.fstat(self._fd).st_size
        self.suwaf.check_length(self.path, size)
        return size

    def rebuild(self) -> None:
        """Make the suwaf again from the WARC, reading every byte."""
        done(self._rebuilding())

    def _rebuilding(self, *, trusted_to: int = 0) -> Steps[None]:
        """Make the suwaf again from the WARC; a tail that is no record of it is kept aside.

        Digests in headers are believed before byte *trusted_to*, the bytes are read after it.
        """
        scanner = self._scanner(trusted_to)
        try:
            yield from _reading(scanner, os.fstat(self._fd).st_size)
        except BadWarc as error:
            tail = scanner.contents.end
            if tail < self.suwaf.end and isinstance(error, TornWarc):
                raise ShortWarc(self.path, "records that its suwaf knows are torn", tail) from None
            if tail < self.suwaf.end or not (self._is_watched() or self._is_last(tail)):
                raise
            yield from self._setting_tail_aside(tail)
        self._contents = scanner.contents
        if self._lock.is_draft and not self._contents.end:
            return
        opened = self.suwaf.open
        with Files() as files:
            plan = Plan(self.contents, files)
            for unconverted in list(self._contents.unconverted.values()):
                plan.convert_stored(unconverted)
            # What a killed writer left may not be on the disk yet.
            yield from self._writing(plan, sync=True)
        yield from self._keeping_name(self.path)
        self.suwaf = self._contents.suwaf(self.pid)
        self.suwaf.open = opened
        yield from self._committing()

    def _keeping_name(self, path: Path) -> Steps[None]:
        """Make sure of the name of *path*: who gave it may have been killed before its sync."""
        try:
            if path.exists():
                yield FolderSync(path.parent)
        except OSError as error:
            raise StorageTrouble(path, error) from error

    def _is_watched(self) -> bool:
        """Whether it is known how far the WARC was committed: what lies behind is no one's yet."""
        return bool(self.suwaf.end) or self._lock.is_draft

    def _is_last(self, offset: int) -> bool:
        return not begins_record(self._fd, offset + 1)

    def _setting_tail_aside(self, offset: int) -> Steps[None]:
        """Keep the bytes from *offset* on as ``<name>.torn-<offset>`` and cut them off."""
        torn = self.path.with_name(f"{self.path.name}.torn-{offset}")
        aside = free_name(or_numbered(torn, "."))
        draft = aside.with_name(f"{DRAFT}{self.path.name}.torn")
        tail = FileSource(self._fd, offset, os.fstat(self._fd).st_size - offset)
        yield from drafts.replacing(aside, tail.chunks(), draft=draft)
        try:
            os.ftruncate(self._fd, offset)  # synced with what is appended next
        except OSError as error:
            raise StorageTrouble(aside, error) from error

    def append(self, captures: Sequence[Capture], *, opened: bool = False) -> list[StoredCapture]:
        """:meth:`appending` of one trail, at once."""
        return done(self.appending([Left(captures=captures, opened=opened)]))[0]

    def appending(self, trails: Sequence[Left]) -> Steps[list[list[StoredCapture]]]:
        """Copy what *trails* captured, in their order, and commit once.

        Of each trail the futs, as the suwaf now names them. A payload that is held already becomes
        a revisit; a page that is held already adds nothing at all where its trail had no fut.
        Records that the WARC holds were copied before and are passed over.
        """
        yield from self._knowing()
        before = self.suwaf.open
        with Files() as files:
            plan = Plan(self.contents, files)
            ends = []
            for trail in trails:
                plan.add_all(trail.captures)
                ends.append(len(plan.added))
                self._note(trail)
            if plan.pieces or set(before) != set(self.suwaf.open):
                yield from self._writing(plan)
                yield from self._committing()
            else:
                yield from self._keeping_name(self.suwaf_path)
        self._keep()
        named = [self._named(entry) for entry in plan.added]
        return [named[begin:end] for begin, end in pairwise([0, *ends])]

    def _keep(self) -> None:
        """Spare the paper's next writer to read what this one knows."""
        self._in_use.keep(self.suwaf_path, self.suwaf, self._contents, os.fstat(self._fd))

    def _named(self, entry: tuple[Capture, str, bool]) -> StoredCapture:
        capture, digest, new = entry
        held = self.contents.futs[digest]
        return StoredCapture(capture=capture, fut=fut_of(visit_of(capture, digest), held), new=new)

    def _note(self, trail: Left) -> None:
        """Note whether the futli of *trail* is to be asked again."""
        futli = trail.closes
        if trail.captures:
            futli = trail.captures[0].ask.futli.url
        stays = futli in self.suwaf.open and trail.leaves_open
        others = tuple(name for name in self.suwaf.open if name != futli)
        self.suwaf.open = (*others, futli) if trail.opened or stays else others

    def _writing(self, plan: Plan, *, sync: bool = False) -> Steps[None]:
        """Append what *plan* holds; rolled back to the known end where the disk refuses."""
        out = Appender(self._fd, self.contents.end)
        try:
            with out.group():
                if plan.end - out.position > LONG:
                    yield Aside(partial(plan.write, out))
                else:
                    plan.write(out)
                if plan.pieces or sync:
                    yield DataSync(self._fd)
        except OSError as error:
            raise StorageTrouble(self.path, error) from error
        plan.taken_into(self.contents)
        for visit in plan.visits:
            self.suwaf.add(visit.info.futli, visit.time, fut_of(visit, plan.held[visit.digest]))

    def _committing(self) -> Steps[None]:
        self.suwaf.end = self.contents.end
        self.suwaf.chain = self.contents.chain_text
        try:
            yield from self._lock.naming_for_good()
        except OSError as error:
            raise StorageTrouble(self.path, error) from error
        yield from making_folders(self.suwaf_path.parent)
        yield from self.suwaf.saving(self.suwaf_path)


def _reading(scanner: Scanner, size: int) -> Steps[None]:
    """Let *scanner* read its WARC of *size* bytes."""
    if size > LONG:
        yield Aside(scanner.read)
    else:
        scanner.read()


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the files of the paper *pid* lie, by the *scheme*, and what is known of papers."""

    warc: Path
    suwaf: Path
    pid: Pid
    scheme: Scheme
    in_use: PapersInUse

    def paper(self, lock: Lock) -> PaperWarc:
        return PaperWarc(self.suwaf, self.pid, self.scheme, lock, self.in_use)


@contextmanager
def locked(place: Place, *, recover: bool = True) -> Iterator[PaperWarc]:
    """The paper at *place*, locked against every other writer, and recovered.

    What is known of it is not read again, and forgotten where anything is raised. A paper that is
    not here yet comes to be with its first commit. Raises as :meth:`PaperWarc.recovering` does, and
    ``StorageTrouble`` for any ``OSError`` while it is locked.
    """
    with held(place.warc) as lock:
        paper = place.paper(lock)
        try:
            if recover:
                done(paper.recovering())
            yield paper
        except BaseException:
            place.in_use.forget(place.pid)
            raise


def storing(place: Place, trails: Sequence[Left]) -> Steps[list[Stored]]:
    """Store what *trails* of the paper at *place* left, as within :func:`locked`, in steps.

    One commit stores all; where the paper cannot take one of them, each has its own.
    ``StorageTrouble``.
    """
    try:
        return [*(yield from _storing(place, trails))]
    except KeeperError as error:
        if len(trails) == 1:
            return [error]
    found: list[Stored] = []
    for trail in trails:
        found += yield from storing(place, [trail])
    return found


def _storing(place: Place, trails: Sequence[Left]) -> Steps[list[list[StoredCapture]]]:
    if not any(trail.captures for trail in trails):
        suwaf = place.in_use.suwaf(place.suwaf, place.pid)
        if not (suwaf and any(trail.closes in suwaf.open for trail in trails)):
            return [[] for _ in trails]
    try:
        lock = yield from locking(place.warc)
        try:
            paper = place.paper(lock)
            yield from paper.recovering()
            return (yield from paper.appending(trails))
        except BaseException:
            place.in_use.forget(place.pid)
            raise
        finally:
            lock.release()
    except OSError as error:
        raise StorageTrouble(error.filename or place.warc, error) from error
