"""A gathering that lives: obis come in groups to their places, and then into its journal.

Nothing that the journal says is lost at any kill (docs/archec.md, "What a kill leaves"): bytes are
on the disk before their names, names before the journal's lines, lines before the records.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent import futures  # which loads its threads when they are asked for
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from lafka.archec.records import Content, Kind, Records, content_of
from lafka.archec.store import tists
from lafka.archec.store.folders import ObiFile, ObiStore
from lafka.archec.store.journals import Journal
from lafka.archec.store.lines import Line, end
from lafka.errors import BadArgument, StorageTrouble
from lafka.storage.folders import DRAFT, make_folders, sync_folder
from lafka.warc.format.sources import write_all

FEW = 16
"""Up to so many files are synced one by one, which disturbs nobody else's writes."""
_THREADS = 8
_TELLS_SINCE = (5, 8)


def _syncfs_reports_errors() -> bool:
    found = re.match(r"(\d+)\.(\d+)", os.uname().release)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    return os.uname().sysname == "Linux" and version >= _TELLS_SINCE


_BY_SYNCFS = _syncfs_reports_errors()


def syncfs(fd: int) -> None:
    """Write all that waits for the disk on which *fd* is; ``OSError``.

    A write that failed since *fd* was opened is told here (syncfs(2), Linux 5.8 and later).
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syncfs(fd):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


Syncing = Callable[[], None]
"""Comes back when a sync that was begun is done; ``OSError``, each time, where it failed."""


def begin_sync(paths: Sequence[str], anchor: int) -> Syncing:
    """Make the bytes of *paths* durable, many of them beside what the caller does meanwhile.

    *anchor* was opened before the first was written, and stays open until that is done.
    ``OSError``, now or then.
    """
    if len(paths) <= FEW:
        for path in paths:
            _sync(path)
    elif _BY_SYNCFS:
        thread = futures.ThreadPoolExecutor(1)
        done = thread.submit(syncfs, anchor)
        thread.shutdown(wait=False)
        return done.result
    else:
        with futures.ThreadPoolExecutor(_THREADS) as threads:
            list(threads.map(_sync, paths))
    return lambda: None


def _sync(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


GROUP = 4096
"""Obis that share their syncs."""
OBIS_MAX = 65_536
"""Obis stored by a gathering: names in one folder."""
AGE_MAX = 86_400
"""Seconds after which the next one begins."""


class LargeBytes(Protocol):
    """Bytes too many to be held at once; ``size`` of them."""

    @property
    def size(self) -> int: ...

    def chunks(self) -> Iterator[bytes]: ...


@dataclass(slots=True, kw_only=True)  # not frozen: made three times as fast
class NewObi:
    """An obi to be stored: its bytes, the mtime of their file, and its line of the journal.

    ``line`` is a :func:`~lafka.archec.store.lines.version`; that the store holds its content
    already is found out when it is stored.
    """

    data: bytes | LargeBytes
    mtime: int
    line: Line

    def write(self, fd: int) -> None:
        for piece in [self.data] if isinstance(self.data, bytes) else self.data.chunks():
            write_all(fd, piece)


@dataclass(slots=True)
class CommitGroup:
    """A group that is stored together: lines, drafts with the names they get, links.

    Paths are texts: of 65,536 files in one folder, making and taking apart each Path would show.
    """

    lines: list[dict[str, Any]] = field(default_factory=list)
    drafts: list[tuple[str, str]] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    contents: dict[str, list[Content]] = field(default_factory=dict)
    named: list[str] = field(default_factory=list)
    anchor: int | None = None
    """A descriptor on the store, opened before the first draft was written."""
    syncing: Syncing | None = None

    def close(self) -> None:
        """Let go of what it has open, once the disk has done with it."""
        if self.syncing is not None:
            with suppress(OSError):
                self.syncing()
        anchor, self.anchor = self.anchor, None
        if anchor is not None:
            os.close(anchor)


class Gathering:
    """The gathering with the software tist *tist*; ``begin`` takes one."""

    def __init__(
        self, store: ObiStore, records: Records, kind: Kind, tist: int, journal: Journal
    ) -> None:
        self.tist = tist
        self.counts: Counter[str] = Counter()
        self.stored = 0
        self._store, self._records, self._kind, self._journal = store, records, kind, journal
        self._folder = store.folder(tist)
        self._held_now: dict[str, list[Content]] = {}
        self._group = CommitGroup()
        self._begun: CommitGroup | None = None  # its drafts are on their way to the disk
        self._drafts = 0

    @classmethod
    def begin(
        cls, store: ObiStore, records: Records, kind: Kind, head: Mapping[str, Any], *,
        not_before: int, exactly: bool = False,
    ) -> Self:  # fmt: skip
        """The gathering that takes the first free tist from *not_before* on.

        ``BadArgument`` where it has to be *exactly* that and it is taken; ``StorageTrouble``.
        """
        tist = tists.checked(not_before)
        try:
            while True:
                journal = _new_journal(store, tist, head)
                if journal:
                    break
                if exactly:
                    raise BadArgument(f"{tist} is taken by another gathering of {store.root}")
                tist = tists.checked(tist + 1)
        except OSError as error:
            raise StorageTrouble(store.journal(tist), error) from error
        gathering = cls(store, records, kind, tist, journal)
        gathering._apply([_head(head, tist)])
        return gathering

    @property
    def waiting(self) -> int:
        """The number of obis and lines in the group that is not stored yet."""
        return len(self._group.lines)

    def expect(self, md5s: Iterable[str]) -> None:
        """Look up together what is held of obis that are about to be put, by 32 hex digits."""
        wanted = set(md5s)
        held = self._records.held_many(self._kind, wanted)
        self._held_now = {md5: held.get(md5, []) for md5 in wanted}

    def put(self, obi: NewObi) -> Content:
        """Take *obi* into the group; its content, where that lies.

        ``StorageTrouble``, and then the group is undone.
        """
        held, key = self._stored_content(obi.line["md5"], obi.line["text_sha256"])
        line = {**obi.line, "md5": key}
        place = self._place_of(line["id"])
        if held is None:
            self._guarded(lambda: self._draft(obi, place))
            content = content_of(self._kind, self.tist, line)
            self._group.contents.setdefault(content.md5[:32], []).append(content)
        else:
            content = held
            line |= held_values(held)
            self._group.links.append((place, self._store.link(self.tist, (held.tist, held.id))))
        self._group.lines.append(line)
        self.stored += 1
        return content

    def link(self, line: Line, to: ObiFile | None) -> None:
        """Take an obi into the group whose content another one has, as ``held`` in *line* says.

        Its place is a symlink *to* that one, or to one that leads there; None for no symlink.
        """
        if to is not None:
            place = self._place_of(line["id"])
            self._group.links.append((place, self._store.link(self.tist, to)))
        self._group.lines.append(dict(line))
        self.stored += 1

    def _place_of(self, obi: str) -> str:
        return f"{self._folder}/{self._store.names.file_name(obi)}"

    def _stored_content(self, md5: str, text_sha256: str) -> tuple[Content | None, str]:
        """The content with the same text that the store holds, and the key of this one."""
        of_store = self._held_now.get(md5)
        if of_store is None:
            of_store = self._records.held(self._kind, md5)
        of_groups = [*self._group.contents.get(md5, ())]
        if self._begun:
            of_groups = [*self._begun.contents.get(md5, ()), *of_groups]
        if not (of_store or of_groups):
            return None, md5
        found = [*of_store]
        known = {content.md5 for content in found}
        found += [content for content in of_groups if content.md5 not in known]
        for content in found:
            if content.text_sha256 == text_sha256:
                there = content in of_groups or self._is_there(content)
                return (content if there else None), content.md5
        return None, f"{md5}-{len(found) + 1}" if found else md5

    def _is_there(self, content: Content) -> bool:
        """Return whether its file is: where somebody took it away, it is stored anew."""
        return self._store.path(content.tist, content.id).is_file()

    def _draft(self, obi: NewObi, place: str) -> None:
        if not self._drafts:
            make_folders(self._folder)
        group = self._group
        if group.anchor is None:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
            group.anchor = os.open(self._store.root, flags)
        draft = f"{self._folder}/{DRAFT}{self._drafts}"
        self._drafts += 1
        group.drafts.append((draft, place))
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
        try:
            obi.write(fd)
            os.utime(fd, (obi.mtime, obi.mtime))
        finally:
            os.close(fd)

    def note(self, line: Line) -> None:
        """Take a line without a file into the group."""
        self._group.lines.append(dict(line))

    def commit(self) -> None:
        """Store the group and acknowledge it; ``StorageTrouble``, and then it is undone.

        ``RecordsAway`` where only the database was not reached: the journal has all by then.
        """
        self.begin_commit()
        self._end_commit()

    def begin_commit(self) -> None:
        """As :meth:`commit`, but the disk may take the group's bytes while the next one is made.

        The group of the call before is acknowledged when this comes back.
        """
        self._end_commit()
        group = self._group
        if not group.lines:
            return
        self._held_now = {}
        self._guarded(lambda: self._sync(group))
        self._begun, self._group = group, CommitGroup()

    def _end_commit(self) -> None:
        """Acknowledge the group that was begun, if there is one."""
        group = self._begun
        if group is None:
            return
        self._guarded(lambda: self._place(group))
        try:
            self._journal.append(group.lines)
        except OSError as error:
            if self._journal.is_sure:
                self._undo()
            self._begun = None  # else recovery finds out which lines there are
            raise StorageTrouble(self._journal.path, error) from error
        self._begun = None
        self._held_now = {}
        self.counts.update(line["e"] for line in group.lines if line["e"] != "end")
        self._apply(group.lines)

    def _sync(self, group: CommitGroup) -> None:
        if group.drafts:
            assert group.anchor is not None
            group.syncing = begin_sync([draft for draft, _ in group.drafts], group.anchor)
        elif group.links:
            make_folders(self._folder)

    def _place(self, group: CommitGroup) -> None:
        if group.syncing is not None:
            group.syncing()
        group.close()
        for draft, place in group.drafts:
            os.rename(draft, place)  # noqa: PTH104 - texts, as Group says
            group.named.append(place)
        for place, target in group.links:
            os.symlink(target, place)  # noqa: PTH211 - texts, as Group says
            group.named.append(place)
        if group.named:
            sync_folder(self._folder)
        self._witness()

    def _witness(self) -> None:
        """Keep what else has to be on the disk before the journal speaks of the group."""

    def _apply(self, lines: list[dict[str, Any]]) -> None:
        self._records.apply(self.tist, self._journal.size, lines)

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except (OSError, StorageTrouble) as error:
            self._undo()
            if isinstance(error, StorageTrouble):
                raise
            raise StorageTrouble(error.filename or self._folder, error) from error
        except BaseException:
            self._undo()
            raise

    def _undo(self) -> None:
        """Take the names of the groups away again, all given just now; what is left, recovery."""
        groups, self._begun, self._group = (self._begun, self._group), None, CommitGroup()
        for group in filter(None, groups):
            group.close()
            for path in (*group.named, *(draft for draft, _ in group.drafts)):
                with suppress(OSError):
                    os.unlink(path)  # noqa: PTH108 - texts, as Group says

    def end(self, *, seconds: float, **more: Any) -> None:
        """Store what waits and close the journal with its last line."""
        self.commit()
        self.note(end(self.counts, seconds, **more))
        self.commit()
        self.close()

    def close(self) -> None:
        """Let go of the journal; without an ``end`` it is that of a killed gathering."""
        self._undo()
        self._journal.close()


def held_values(held: Content) -> dict[str, Any]:
    """The keys of the line of an obi whose content the store has as *held*."""
    return {"md5": held.md5, "sha256": held.sha256, "length": held.length,
            "held": [held.tist, held.id], "text_sha256": held.text_sha256}  # fmt: skip


def _new_journal(store: ObiStore, tist: int, head: Mapping[str, Any]) -> Journal | None:
    """The new journal of *tist*; None where the tist is taken."""
    if os.path.lexists(store.folder(tist)) or store.journal(tist).exists():
        return None
    try:
        return Journal.begin(store.journal(tist), _head(head, tist))
    except FileExistsError:
        return None


def _head(head: Mapping[str, Any], tist: int) -> dict[str, Any]:
    """The first line *head* of the journal of *tist*."""
    return {**head, "gathering": tist}
