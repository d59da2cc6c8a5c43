"""An index brought up to date, or made anew, by one process at a time.

What changed is written in batches, each one transaction that leaves the index true of some moment:
who is killed loses a batch, and the next run goes on. A folder is noted as read with the last of
its papers. An index that is made anew is a draft until it is whole: of a kill nothing is left.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from time import time_ns
from typing import Any, Protocol, runtime_checkable

import lafka
from lafka.index import tables
from lafka.index.feeds import FeedRows
from lafka.index.papers import HostRows, IndexTally, PaperRows
from lafka.index.scan import (
    Asked,
    ChangedFolder,
    FolderTimes,
    Found,
    GoneFolder,
    PaperRow,
    Reading,
    Scan,
)
from lafka.index.tables import IndexFiles
from lafka.papers import Archive
from lafka.storage import drafts
from lafka.storage.folders import put_in_place
from lafka.warc.errors import BadIndex
from lafka.warc.format.dates import to_seconds

METADATA = Path(__file__).with_name("metadata.yml")
BATCH = 5_000
"""Papers or lines of a feed in one transaction."""
PART = 200
"""Suwafs that are read at once."""
UNFINISHED = "unfinished"
"""A key of ``meta`` that is there while an index is brought up to date, and after a kill."""


More = Callable[[sqlite3.Connection, IndexTally, Archive, IndexFiles], None]
"""What else is brought up to date, with the open index and its account."""


@runtime_checkable
class Beside(Protocol):
    """What goes on beside the making of an index anew, with each step of it, and waits for nothing;
    what is left *is_last* waits for, before words are made of it. Returns whether more may come.
    """

    def beside(
        self, db: sqlite3.Connection, account: IndexTally, archive: Archive, place: IndexFiles,
        *, is_last: bool,
    ) -> bool: ...  # fmt: skip

    def close(self) -> None: ...


def refresh(
    archive: Archive,
    place: IndexFiles,
    *,
    anew: bool = False,
    more: Sequence[More] = (),
    clock: Callable[[], int] = time_ns,
    batch: int = BATCH,
) -> IndexTally:
    """Bring the index at *place* up to date with *archive*; *anew*: from nothing.

    While it is made anew, readers see the old one. *more*: what else is added in the end, as
    ``captures.index_captures`` does. *clock* gives nanoseconds since 1970. ``ArchiveBusy``,
    ``StorageTrouble``, ``BadIndex`` where a database of something else is in its place.
    """
    making = _Making(archive, place, more, clock=clock, batch=batch)
    with place.locked():
        tables.remove(place.draft)  # a killed one's
        try:
            if anew and place.database.exists():
                making.replace()
            else:
                making.bring()
        finally:
            for one in making.beside:
                one.close()
        describe(place)
        return making.account


class _Making:
    """The work of :func:`refresh`, by the one process that may."""

    def __init__(
        self,
        archive: Archive,
        place: IndexFiles,
        more: Sequence[More],
        *,
        clock: Callable[[], int],
        batch: int,
    ) -> None:
        self._archive = archive
        self._place = place
        self._more = more
        self.beside: list[Beside] = []
        for one in more:
            if isinstance(one, Beside):
                self.beside.append(one)
        self._clock = clock
        self._batch = batch
        self.account = IndexTally()

    def bring(self) -> None:
        """Bring the index up to date, making it where there is none."""
        try:
            self._bring()
        except BadIndex as error:  # damage shows when its page is reached
            _discard(self._place.database, error, self.account)
            self._bring()

    def _bring(self) -> None:
        is_new = not self._place.database.exists()
        if is_new:
            with drafted(self._place) as draft:
                self._build(draft, anew=True)
            with tables.reraising(self._place.draft):
                with self._place.draft.open("rb") as file:
                    os.fsync(file.fileno())
                put_in_place(self._place.draft, self._place.database)
        with opened(self._place.database, self.account) as db:
            if not is_new:
                self._build(db)
            self._add(db)

    def replace(self) -> None:
        """Make it anew with all there is *more*, then put its rows in the place of the old."""
        with drafted(self._place) as draft:
            self._build(draft, anew=True)
            self._add(draft)
        with (
            tables.reraising(self._place.draft),
            closing(tables.open_to_read(self._place.draft)) as draft,
            opened(self._place.database, self.account) as db,
        ):
            draft.backup(db)  # in one step for its readers
        tables.remove(self._place.draft)

    def _build(self, db: sqlite3.Connection, *, anew: bool = False) -> None:
        def beside(is_last: bool) -> bool:
            given = (db, self.account, self._archive, self._place)
            more = [one.beside(*given, is_last=is_last) for one in self.beside if anew]
            return any(more)  # of all, each of which has done its part

        IndexBuilder(db, self._archive, self._place, account=self.account, clock=self._clock,
                batch=self._batch, anew=anew, beside=beside).run()  # fmt: skip

    def _add(self, db: sqlite3.Connection) -> None:
        for add in self._more:
            add(db, self.account, self._archive, self._place)
        if self.account.titles:
            note_figures(db)


@contextmanager
def drafted(place: IndexFiles) -> Iterator[sqlite3.Connection]:
    """An empty index under the name of a draft; gone where it is left by an exception."""
    tables.remove(place.draft)
    with tables.reraising(place.draft):
        try:
            with closing(tables.open_draft(place.draft)) as db:
                yield db
        except BaseException:
            tables.remove(place.draft)
            raise


def describe(place: IndexFiles) -> None:
    """Put what Datasette says of the tables beside the index, where it is not there already."""
    path, described = place.folder / "metadata.yml", METADATA.read_bytes()
    with tables.reraising(path):
        if not path.exists() or path.read_bytes() != described:
            drafts.replace(path, [described])


@contextmanager
def opened(path: Path, account: IndexTally) -> Iterator[sqlite3.Connection]:
    """The index at *path* to write to; what is damaged or of another version goes, with a note."""
    try:
        db = tables.open_to_write(path)
    except BadIndex as error:
        _discard(path, error, account)
        db = tables.open_to_write(path)
    with tables.reraising(path):
        try:
            yield db
        finally:
            with suppress(sqlite3.Error):
                if db.in_transaction:
                    db.execute("ROLLBACK")
                db.execute("PRAGMA busy_timeout = 0")  # a reader in the middle is not waited for
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            db.close()


def _discard(path: Path, error: BadIndex, account: IndexTally) -> None:
    with tables.reraising(path):
        kept = tables.discard(path)
    sentence = f"{error}; it is made anew"
    account.sentences.append(
        f"{sentence}, the old file is kept as {kept.name}" if kept else sentence
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Some suwafs of a folder, or none; ``before``: names of those that were there otherwise."""

    folder: ChangedFolder
    number: int
    before: set[str]
    is_last: bool


class IndexBuilder:
    """Brings an open database up to date. Raises what SQLite and the disk do.

    *anew*: the database is an empty draft, of which a kill leaves nothing; *beside* is called with
    each step of it, in its transaction.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        archive: Archive,
        place: IndexFiles,
        *,
        account: IndexTally,
        clock: Callable[[], int] = time_ns,
        batch: int = BATCH,
        anew: bool = False,
        beside: Callable[[bool], bool] = lambda is_last: False,  # noqa: ARG005
    ) -> None:
        self._db = db
        self._archive = archive
        self._place = place
        self._account = account
        self._clock = clock
        self._batch = batch
        self._waiting = 0
        self._hosts = HostRows(db)
        self._papers = PaperRows(db, self._hosts, anew=anew)
        self._reading = Reading(archive, is_anew=anew)
        self._beside = beside

    def run(self) -> None:
        try:
            self._run()
        finally:
            self._reading.close()

    def _run(self) -> None:
        began = self._clock()
        self._db.execute("BEGIN IMMEDIATE")
        met = self._begin()
        self._read_suwafs(began)
        self._step()
        FeedRows(self._db, self._archive, self._hosts, self._papers, reading=self._reading,
                 account=self._account, step=self._step, batch=self._batch).refresh()  # fmt: skip
        while self._beside(True):
            self._step()
        self._papers.finish()
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

    def _step(self) -> None:
        """Commit: what was written so far is there for readers, and outlives a kill."""
        self._beside(False)
        self._db.execute("COMMIT")
        self._db.execute("BEGIN IMMEDIATE")
        self._waiting = 0

    def _note(self, began: int) -> None:
        self._drop_hosts()
        values = {
            "format": str(tables.VERSION),
            "root": os.path.relpath(self._archive.root.absolute(), self._place.folder.absolute()),
            "collection": self._archive.scheme.name,
            "as_of": to_seconds(datetime.fromtimestamp(began / 1e9, UTC)),
            "lafka": lafka.__version__,
        }
        self._db.executemany("REPLACE INTO meta VALUES (?, ?)", values.items())
        note_figures(self._db)

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
        scan = Scan(self._archive.root, known, began_ns=began, lost=self._tell_lost)
        for part, read in self._reading.all("suwafs", self._parts(scan)):
            self._take(part, *read)

    def _parts(self, scan: Scan) -> Iterator[Asked[_Part]]:
        for folder in scan:
            if isinstance(folder, GoneFolder):
                self._forget(folder)
            else:
                yield from self._parts_of(folder)

    def _tell_lost(self, link: Path) -> None:
        self._account.note(f"{link}: a link that leads nowhere")

    def _parts_of(self, folder: ChangedFolder) -> Iterator[Asked[_Part]]:
        number = self._folder(folder)
        known, there = self._known(number, folder.path), {*folder.suwafs}
        names = sorted(name for name, *_ in there - known)
        before = {name for name, *_ in known - there}  # whose papers are others, or gone
        self._remove(number, folder.path, before.difference(names))
        step = min(PART, self._batch)
        for start in range(0, len(names) or 1, step):
            some = names[start : start + step]
            is_last = start + step >= len(names)
            part = _Part(folder=folder, number=number, before=before, is_last=is_last)
            yield part, {"folder": folder.path, "names": some}, len(some)

    def _take(
        self, part: _Part, papers: list[PaperRow], gone: list[str], sentences: list[str]
    ) -> None:
        self._papers.take(part.number, papers)
        self._account.papers += len(papers)
        self._wrote(len(papers))
        self._remove(part.number, part.folder.path, part.before.intersection(gone))
        for sentence in sentences:
            self._account.note(sentence)
        if part.is_last:
            times = part.folder.times
            self._db.execute("UPDATE folder SET (mtime_ns, ino) = (?, ?) WHERE id = ?",
                             (times.mtime_ns, times.ino, part.number))  # fmt: skip

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
                self._wrote(1)

    def _wrote(self, count: int) -> None:
        self._waiting += count
        if self._waiting >= self._batch:
            self._step()


FIGURES = "figures"
"""A key of ``meta``: counts of the whole archive as JSON, so that nobody counts for each page."""


def note_figures(db: sqlite3.Connection) -> None:
    """Put the counts of the index *db* into ``meta``."""
    papers, with_fut, titled, size, futs = db.execute(
        "SELECT count(*), coalesce(sum(futs > 0), 0), count(title), coalesce(sum(warc_bytes), 0),"
        " coalesce(sum(futs), 0) FROM paper"
    ).fetchone()
    states = dict(db.execute("SELECT state, count(*) FROM futli GROUP BY state ORDER BY state"))
    by = (
        "SELECT {0}, count(*), sum(futs > 0) FROM paper WHERE {0} IS NOT NULL GROUP BY 1 ORDER BY 1"
    )
    figures = {
        "papers": papers,
        "papers_with_fut": with_fut,
        "papers_with_title": titled,
        "futlis": sum(states.values()),
        "futs": futs,
        "bytes": size,
        "runs": db.execute("SELECT count(*) FROM run").fetchone()[0],
        "states": states,
        "archives": db.execute(by.format("archive")).fetchall(),
        "years": db.execute(by.format("year")).fetchall(),
    }
    db.execute("REPLACE INTO meta VALUES (?, ?)", (FIGURES, json.dumps(figures)))


ROWS = {
    "meta": "SELECT key, value FROM meta WHERE key NOT IN ('as_of', 'lafka', 'figures')"
    " ORDER BY key",
    "folder": "SELECT path, ino FROM folder ORDER BY path",
    "run": "SELECT name, state, reason, started, finished, host, list, lines, requests, new, held,"
    " bytes, seconds, legacy, feed_offset, feed_tail, report_mtime_ns, report_size FROM run"
    " ORDER BY name",
    "host": "SELECT name FROM host ORDER BY name",
    "waits": "SELECT r.name, h.name, w.kind, w.times, w.longest, w.time, w.why FROM waits w"
    " JOIN run r ON r.id = w.run JOIN host h ON h.id = w.host ORDER BY 1, 2, 3",
    "paper": "SELECT pid, archive, series, p.year, f.path, p.path, p.mtime_ns, p.size, p.ino,"
    " warc_bytes, futs, first, last, problem FROM paper p LEFT JOIN folder f ON f.id = p.folder"
    " ORDER BY pid",
    "futli": "SELECT p.pid, l.url, h.name, l.open, l.state, l.outcome, l.asked, l.asks,"
    " l.requests, l.first_had, l.had, l.lost_since, l.lost_by, l.fails, l.fails_since,"
    " l.back_since, d.name,"
    " l.secure, l.reread"
    " FROM futli l JOIN paper p ON p.id = l.paper JOIN host h ON h.id = l.host"
    " LEFT JOIN host d ON d.id = l.final_host ORDER BY 1, 2",
    "fut": "SELECT p.pid, l.url, f.time, f.s, f.l, f.digest, f.url, f.found_by, f.label FROM fut f"
    " JOIN futli l ON l.id = f.futli JOIN paper p ON p.id = l.paper ORDER BY 1, 2, 3",
    "asked": "SELECT p.pid, l.url, a.time, r.name, a.outcome, a.times, a.until, e.name, a.requests,"
    " a.new, a.digests, a.found_by, a.landing, a.tried, a.first_right, a.capped, a.error,"
    " a.steps"
    " FROM asked a JOIN futli l ON l.id = a.futli JOIN paper p ON p.id = l.paper"
    " JOIN run r ON r.id = a.run JOIN run e ON e.id = a.last_run ORDER BY 1, 2, 3, 4",
    "event": "SELECT p.pid, l.url, e.time, e.kind, e.outcome, e.had FROM event e"
    " JOIN futli l ON l.id = e.futli JOIN paper p ON p.id = l.paper ORDER BY 1, 2, 3, 4",
    "daily": "SELECT d.day, r.name, h.name, d.archive, d.outcome, d.lines, d.held,"
    " d.requests, d.new, d.bytes FROM daily d JOIN run r ON r.id = d.run"
    " JOIN host h ON h.id = d.host ORDER BY 1, 2, 3, 4, 5",
    "words": "SELECT p.pid, w.pid, w.url FROM words w LEFT JOIN paper p ON p.id = w.rowid"
    " ORDER BY 1",
}
"""Each table's rows by names, not numbers, in a total order; titles apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A row that only one of two indexes has: ``index`` or ``anew``."""

    table: str
    side: str
    row: tuple[Any, ...]

    def as_json(self) -> dict[str, Any]:
        row = [value.hex() if isinstance(value, bytes) else value for value in self.row]
        return {"table": self.table, "only": self.side, "row": row}


def differences(one: sqlite3.Connection, other: sqlite3.Connection) -> Iterator[Difference]:
    """The rows in which two indexes differ; memory is that of the rows between two equal ones."""
    for table, question in ROWS.items():
        mine: dict[tuple[Any, ...], int] = {}
        for here, there in zip_longest(one.execute(question), other.execute(question)):
            if here == there and not mine:
                continue
            for row, step in ((here, 1), (there, -1)):
                if row is not None and not (count := mine.get(row, 0) + step):
                    del mine[row]
                elif row is not None:
                    mine[row] = count
        for row, count in sorted(mine.items(), key=repr):
            yield Difference(table=table, side="index" if count > 0 else "anew", row=row)


def check(archive: Archive, place: IndexFiles) -> Iterator[Difference]:
    """Yield the differences of the index at *place* from one made anew of *archive*.

    ``BadIndex`` where a page of it is damaged, ``ArchiveBusy``, ``StorageTrouble``.
    """
    with place.locked():
        try:
            yield from _compared(archive, place)
        finally:
            tables.remove(place.draft)


def _compared(archive: Archive, place: IndexFiles) -> Iterator[Difference]:
    account = IndexTally()
    with drafted(place) as anew:
        IndexBuilder(anew, archive, place, account=account, anew=True).run()
        index = tables.open_to_read(place.database)
        with tables.reraising(place.database):
            try:
                _sound(index, place.database)
                yield from differences(index, anew)
            finally:
                index.close()


def _sound(db: sqlite3.Connection, path: Path) -> None:
    state = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if state != "ok":
        raise BadIndex(path, state)
