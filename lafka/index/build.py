"""An index brought up to date, or made anew, by one process at a time.

What changed is written in batches, each one transaction that leaves the index true of some moment:
who is killed loses a batch, and the next run goes on. A folder is noted as read with the last of
its papers. An index that is made anew is a draft until it is whole: of a kill nothing is left.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import time_ns
from typing import Any

import lafka
from lafka.errors import ArchiveBusy
from lafka.index import tables
from lafka.index.anew import Anew
from lafka.index.feeds import FeedRows
from lafka.index.papers import Account, Hosts, PaperRows
from lafka.index.reading import Reader, read_papers
from lafka.index.scan import ChangedFolder, FolderTimes, Found, GoneFolder, Scan
from lafka.papers import Archive
from lafka.storage import drafts
from lafka.storage.folders import make_folders, put_in_place
from lafka.storage.locks import lock_file
from lafka.warc.errors import BadIndex

FOLDER = "index"
METADATA = Path(__file__).with_name("metadata.yml")
BATCH = 5_000
"""Papers or lines of a feed in one transaction."""
_TOGETHER = 250
"""Suwafs that are read in one go where all are."""
UNFINISHED = "unfinished"
"""A key of ``meta`` that is there while an index is brought up to date, and after a kill."""


More = Callable[[sqlite3.Connection, Account, Archive, "Place"], None]
"""What else is brought up to date, with the open index and its account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the index of an archive lies: ``index/`` in its root, or a folder of its own."""

    folder: Path

    @classmethod
    def of(cls, root: Path, setting: str | Path | None = None) -> Place:
        """*setting* is ``LAFKA_INDEX``."""
        return cls(folder=Path(setting) if setting else root / FOLDER)

    @property
    def database(self) -> Path:
        return self.folder / tables.NAME

    @property
    def captures(self) -> Path:
        return self.folder / "captures.sqlite"

    @property
    def draft(self) -> Path:
        """An index that is made anew to be compared, or to take the other's place."""
        return self.folder / f".draft-{tables.NAME}"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The right to write to it; ``ArchiveBusy`` where another process has it."""
        make_folders(self.folder)
        lock = self.folder / "lock"
        with tables.telling(lock):
            fd = lock_file(lock, os.O_RDWR | os.O_CREAT, wait=False)
        if fd is None:
            raise ArchiveBusy(f"{self.folder}: another process brings this index up to date")
        try:
            yield
        finally:
            os.close(fd)


def refresh(
    archive: Archive,
    place: Place,
    *,
    anew: bool = False,
    more: Sequence[More] = (),
    clock: Callable[[], int] = time_ns,
    batch: int = BATCH,
) -> Account:
    """Bring the index at *place* up to date with *archive*; *anew*: from nothing.

    While it is made anew, readers see the old one. *more*: what else is added in the end, as
    ``captures.index_captures`` does. *clock* gives nanoseconds since 1970. ``ArchiveBusy``,
    ``StorageTrouble``, ``BadIndex`` where a database of something else is in its place.
    """
    making = _Making(archive, place, clock=clock, batch=batch)
    with place.locked():
        tables.remove(place.draft)  # a killed one's
        if anew and place.database.exists():
            making.replace(more)
        else:
            making.bring(more)
        describe(place)
        return making.account


class _Making:
    """What :func:`refresh` does, by the one process that may."""

    def __init__(
        self, archive: Archive, place: Place, *, clock: Callable[[], int], batch: int
    ) -> None:
        self._archive = archive
        self._place = place
        self._clock = clock
        self._batch = batch
        self.account = Account()

    def bring(self, more: Sequence[More]) -> None:
        """Bring the index up to date, making it where there is none."""
        try:
            self._bring(more)
        except BadIndex as error:  # damage shows when its page is reached
            _discard(self._place.database, error, self.account)
            self._bring(more)

    def _bring(self, more: Sequence[More]) -> None:
        is_new = not self._place.database.exists()
        if is_new:
            with drafted(self._place) as draft:
                self._build(draft)
            with tables.telling(self._place.draft):
                with self._place.draft.open("rb") as file:
                    os.fsync(file.fileno())
                put_in_place(self._place.draft, self._place.database)
        with opened(self._place.database, self.account) as db:
            if not is_new:
                self._build(db)
            self._add(db, more)

    def replace(self, more: Sequence[More]) -> None:
        """Make it anew with all there is *more*, then put its rows in the place of the old."""
        with drafted(self._place) as draft:
            self._build(draft)
            self._add(draft, more)
        with (
            tables.telling(self._place.draft),
            closing(tables.open_to_read(self._place.draft)) as draft,
            opened(self._place.database, self.account) as db,
        ):
            draft.backup(db)  # in one step for its readers
        tables.remove(self._place.draft)

    def _build(self, db: sqlite3.Connection) -> None:
        Builder(db, self._archive, self._place, account=self.account, clock=self._clock,
                batch=self._batch).run()  # fmt: skip

    def _add(self, db: sqlite3.Connection, more: Sequence[More]) -> None:
        for add in more:
            add(db, self.account, self._archive, self._place)


@contextmanager
def drafted(place: Place) -> Iterator[sqlite3.Connection]:
    """An empty index under the name of a draft; gone where it is left by an exception."""
    tables.remove(place.draft)
    with tables.telling(place.draft):
        try:
            with closing(tables.open_draft(place.draft)) as db:
                yield db
        except BaseException:
            tables.remove(place.draft)
            raise


def describe(place: Place) -> None:
    """Put what Datasette says of the tables beside the index, where it is not there already."""
    path, told = place.folder / "metadata.yml", METADATA.read_bytes()
    with tables.telling(path):
        if not path.exists() or path.read_bytes() != told:
            drafts.replace(path, [told])


@contextmanager
def opened(path: Path, account: Account) -> Iterator[sqlite3.Connection]:
    """The index at *path* to write to; what is damaged or of another version goes, and is told."""
    try:
        db = tables.open_to_write(path)
    except BadIndex as error:
        _discard(path, error, account)
        db = tables.open_to_write(path)
    with tables.telling(path):
        try:
            yield db
        finally:
            with suppress(sqlite3.Error):
                if db.in_transaction:
                    db.execute("ROLLBACK")
                db.execute("PRAGMA busy_timeout = 0")  # a reader in the middle is not waited for
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            db.close()


def _discard(path: Path, error: BadIndex, account: Account) -> None:
    with tables.telling(path):
        kept = tables.discard(path)
    told = f"{error}; it is made anew"
    account.told.append(f"{told}, the old file is kept as {kept.name}" if kept else told)


class Builder:
    """Brings an open database up to date. Raises what SQLite and the disk do."""

    def __init__(
        self,
        db: sqlite3.Connection,
        archive: Archive,
        place: Place,
        *,
        account: Account,
        clock: Callable[[], int] = time_ns,
        batch: int = BATCH,
    ) -> None:
        self._db = db
        self._archive = archive
        self._place = place
        self._account = account
        self._clock = clock
        self._batch = batch
        self._waiting = 0
        self._hosts = Hosts(db)
        self._papers = PaperRows(db, archive, self._hosts)

    def run(self) -> None:
        began = self._clock()
        self._db.execute("BEGIN IMMEDIATE")
        met = self._begin()
        if met:
            self._read_suwafs(began)
            self._step()
            self._feeds(self._step).refresh()
        else:
            self._make_anew(began)
        if not met or UNFINISHED in met or self._account.changed:
            self._note(began)
        self._db.execute("DELETE FROM meta WHERE key = ?", (UNFINISHED,))
        self._db.execute("COMMIT")
        tables.make_indexes(self._db)
        if self._account.changed > self._batch:
            self._db.execute("PRAGMA optimize")

    def _begin(self) -> set[str]:
        """The keys of ``meta`` that are there: none in a new index."""
        met = {key for (key,) in self._db.execute("SELECT key FROM meta")}
        self._db.execute("INSERT OR IGNORE INTO meta VALUES (?, '')", (UNFINISHED,))
        return met

    def _feeds(self, step: Callable[[], None]) -> FeedRows:
        return FeedRows(self._db, self._archive, self._hosts, self._papers,
                        account=self._account, step=step, batch=self._batch)  # fmt: skip

    def _make_anew(self, began: int) -> None:
        """Fill an index that has no rows, in the one transaction that was begun."""
        anew = Anew(self._db, self._archive, self._hosts, self._papers, account=self._account)
        reader = Reader(self._archive)
        anew.read_feeds(self._feeds(lambda: None), reader)
        for number, path, names in self._every(began):
            papers, told = reader.papers(number, path, names)
            for paper in papers:
                anew.take(paper)
            for sentence in told:
                self._account.tell(sentence)
        anew.finish()

    def _every(self, began: int) -> Iterator[tuple[int, str, list[str]]]:
        """All suwafs there are, some at a time; their folders are noted on the way."""
        for folder in self._scan({}, began, names_only=True):
            assert isinstance(folder, ChangedFolder)
            number, names = self._folder(folder), sorted(name for name, *_ in folder.suwafs)
            for start in range(0, len(names), _TOGETHER):
                yield number, folder.path, names[start : start + _TOGETHER]
            self._looked_at(number, folder)

    def _step(self) -> None:
        """What was written so far is there for readers, and outlives a kill."""
        self._db.execute("COMMIT")
        self._db.execute("BEGIN IMMEDIATE")
        self._waiting = 0

    def _note(self, began: int) -> None:
        self._drop_hosts()
        as_of = datetime.fromtimestamp(began / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        values = {
            "format": str(tables.VERSION),
            "root": os.path.relpath(self._archive.root.absolute(), self._place.folder.absolute()),
            "collection": self._archive.scheme.name,
            "as_of": as_of,
            "lafka": lafka.__version__,
        }
        self._db.executemany("REPLACE INTO meta VALUES (?, ?)", values.items())

    def _drop_hosts(self) -> None:
        """Delete hosts that nothing tells of. What is quick to look through comes first."""
        unused = {host for (host,) in self._db.execute("SELECT id FROM host")}
        for used in ("host FROM futli", "host FROM waits", "host FROM daily",
                     "final_host FROM futli"):  # fmt: skip
            if unused:
                unused -= {host for (host,) in self._db.execute(f"SELECT DISTINCT {used}")}
        self._db.executemany("DELETE FROM host WHERE id = ?", ((host,) for host in unused))
        self._hosts.forget()

    # Suwafs ---------------------------------------------------------------------------------

    def _read_suwafs(self, began: int) -> None:
        known = {
            path: FolderTimes(mtime_ns=mtime, ino=ino)
            for path, mtime, ino in self._db.execute("SELECT path, mtime_ns, ino FROM folder")
        }
        for folder in self._scan(known, began):
            if isinstance(folder, GoneFolder):
                self._forget(folder)
            else:
                self._read(folder)

    def _scan(self, known: Mapping[str, FolderTimes], began: int, **how: Any) -> Scan:
        def lost(link: Path) -> None:
            self._account.tell(f"{link}: a link that leads nowhere")

        return Scan(self._archive.root, known, began_ns=began, lost=lost, **how)

    def _read(self, folder: ChangedFolder) -> None:
        number = self._folder(folder)
        known, there = self._known(number, folder.path), {*folder.suwafs}
        names = sorted(name for name, *_ in there - known)
        before = {name for name, *_ in known - there}  # whose papers are others, or gone
        self._remove(number, folder.path, before.difference(names))
        gone = []
        told: list[str] = []
        for name, paper in read_papers(self._archive, folder.path, names, told):
            if paper is not None:
                self._papers.take(number, paper)
                self._account.papers += 1
                self._wrote()
            elif name in before:
                gone.append(name)
        self._remove(number, folder.path, gone)
        for sentence in told:
            self._account.tell(sentence)
        self._looked_at(number, folder)

    def _looked_at(self, number: int, folder: ChangedFolder) -> None:
        self._db.execute(
            "UPDATE folder SET (mtime_ns, ino) = (?, ?) WHERE id = ?",
            (folder.times.mtime_ns, folder.times.ino, number),
        )

    def _folder(self, folder: ChangedFolder) -> int:
        """Its number; that it was looked at is noted when all in it is read."""
        self._db.execute("INSERT OR IGNORE INTO folder VALUES (NULL, ?, -1, -1)", (folder.path,))
        row = self._db.execute("SELECT id FROM folder WHERE path = ?", (folder.path,)).fetchone()
        return int(row[0])

    def _known(self, folder: int, path: str) -> set[Found]:
        """The facts known of the suwafs in the folder at *path*."""
        return set(
            self._db.execute(
                "SELECT substr(path, ?), mtime_ns, size, ino FROM paper WHERE folder = ?",
                (len(path) + 2, folder),
            )
        )

    def _forget(self, folder: GoneFolder) -> None:
        row = self._db.execute("SELECT id FROM folder WHERE path = ?", (folder.path,)).fetchone()
        self._remove(row[0], folder.path, {name for name, *_ in self._known(row[0], folder.path)})
        self._db.execute("DELETE FROM folder WHERE id = ?", row)

    def _remove(self, folder: int, path: str, names: Collection[str]) -> None:
        """The suwafs of these *names* in the folder at *path* are gone."""
        if not names:
            return
        rows = self._db.execute("SELECT path, id FROM paper WHERE folder = ?", (folder,))
        numbers = dict(rows.fetchall())
        for name in names:
            if (number := numbers.get(f"{path}/{name}")) is not None:  # else taken elsewhere
                self._papers.remove(number)
                self._account.gone += 1
                self._wrote()

    def _wrote(self) -> None:
        self._waiting += 1
        if self._waiting >= self._batch:
            self._step()
