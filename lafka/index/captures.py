"""The records of paper WARCs -> captures.sqlite, the WARC library's own SQLite index.

What Memento and CDX need: every capture by URL and time, with volume and offset. Of each WARC what
its suwaf has as known good is read, from where the last reading ended, since committed bytes never
change; volumes are named by the way from the index to the WARC.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from lafka.index import tables
from lafka.index.papers import IndexTally
from lafka.index.tables import IndexFiles
from lafka.papers import Archive
from lafka.warc.errors import BadIndex, BadWarc
from lafka.warc.indexes.base import Entry
from lafka.warc.indexes.sqlite import SqliteBuilder, SqliteIndex, row_of
from lafka.warc.reading.volumes import WarcVolume


def rows_of(
    archive: Archive, name: str, way: str, part: tuple[int, int], rows: list[tuple[Any, ...]]
) -> str:
    """Put the records in *part* of the WARC of this *name* into *rows*; why not all, or nothing.

    *part*: the first byte, and the one behind the last. *way*: from the index to the archive.
    """
    place, volume = archive.root / f"warc/{name}.warc", f"{way}warc/{name}.warc"
    start, end = part
    if start >= end:
        return ""
    try:
        _check_length(place, end)
        with WarcVolume(place, strict=True) as warc:
            for record in warc.records(start=start):
                if record.offset >= end:
                    break
                rows.append(row_of(Entry.of(record, volume)))
                if warc.is_plain and record.end >= end:  # what is behind is not known to be good
                    break
    except (BadWarc, OSError) as error:
        return str(error)
    return ""


def _check_length(place: Path, end: int) -> None:
    size = place.stat().st_size
    if size < end:
        raise BadWarc(place, f"{size} bytes long, but its suwaf knows {end} bytes")


BATCH = 1_000
"""WARCs in one transaction."""
_LEADS = len("suwaf/")
_ENDS = _LEADS + len(".json") - 1
_NAME = f"? || 'warc/' || substr(path, {_LEADS + 1}, length(path) - {_ENDS + 1}) || '.warc'"
_CHANGED = (
    "SELECT id, substr(path, ?1, length(path) - ?2), warc_bytes, captured FROM paper"
    " WHERE warc_bytes > 0 AND captured IS NOT warc_bytes LIMIT ?3"
)


def index_captures(
    db: sqlite3.Connection,
    account: IndexTally,
    archive: Archive,
    place: IndexFiles,
    *,
    anew: bool = False,
) -> None:
    """Bring captures.sqlite up to date with the papers of the index *db*; *anew*: from nothing.

    A WARC that is shorter than its suwaf says, or no WARC, is noted and tried again the next time.
    ``BadIndex`` where a database of something else is in its place, ``StorageTrouble``.
    """
    CaptureRows(db, account, archive, place).run(anew=anew)


@contextmanager
def _committed(db: sqlite3.Connection) -> Iterator[None]:
    """Commit what is done to *db* meanwhile, or take it back where something is raised."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _put_rows(draft: Path, path: Path) -> None:
    """Put all of *draft* in the place of what the database at *path* has, in one step for readers.

    The file stays: a server has it open, with its log beside it, and would take the log of another
    file under this name for its own.
    """
    with closing(sqlite3.connect(draft)) as source, closing(sqlite3.connect(path)) as target:
        target.execute("PRAGMA busy_timeout = 60000")
        target.execute("PRAGMA journal_mode = WAL")
        source.backup(target)
        target.execute("PRAGMA busy_timeout = 0")  # a reader in the middle is not waited for
        target.execute("PRAGMA wal_checkpoint(TRUNCATE)")


class CaptureRows:
    """One bringing up to date."""

    def __init__(
        self, db: sqlite3.Connection, account: IndexTally, archive: Archive, place: IndexFiles
    ) -> None:
        self._db = db
        self._account = account
        self._archive = archive
        self._path = place.captures
        way = os.path.relpath(os.path.realpath(archive.root), os.path.realpath(place.folder))
        self._way = "" if way == "." else f"{Path(way).as_posix()}/"
        self._passed: set[int] = set()

    def run(self, *, anew: bool) -> None:
        with tables.reraising(self._path):
            for killed in self._path.parent.glob(f".draft-*{self._path.name}*"):
                killed.unlink()
            try:
                self._refresh(anew=anew or not self._path.exists())
            except BadIndex as error:
                if "something else" in error.message:
                    raise
                self._account.sentences.append(f"{error}; it is made anew")
                tables.remove(self._path)
                self._refresh(anew=True)

    def _refresh(self, *, anew: bool) -> None:
        if anew:
            self._replace()
            return
        with SqliteBuilder(self._path, indexes_last=True) as builder:
            self._drop_gone(builder)
            self._fill(builder, together=builder.together, committed=partial(_committed, self._db))

    def _replace(self) -> None:
        """Make it anew beside the old one, which readers see until all of the new is in its place.

        What the papers say was read goes with it: of a kill nothing is left.
        """
        is_there = self._path.exists()
        if is_there:
            SqliteIndex(self._path).close()  # ``BadIndex`` where it is none of ours
        draft = self._path.with_name(f".draft-{self._path.name}") if is_there else self._path
        with _committed(self._db):
            self._db.execute("UPDATE paper SET captured = NULL WHERE captured IS NOT NULL")
            with SqliteBuilder(draft, fresh=True) as builder:
                self._fill(builder, together=nullcontext, committed=nullcontext)
            if is_there:
                _put_rows(draft, self._path)
        if is_there:
            tables.remove(draft)

    def _fill(
        self,
        builder: SqliteBuilder,
        *,
        together: Callable[[], AbstractContextManager[None]],
        committed: Callable[[], AbstractContextManager[None]],
    ) -> None:
        while batch := self._batch():
            with together():
                read = [*self._add(builder, batch)]
            with committed():
                self._db.executemany("UPDATE paper SET captured = ? WHERE id = ?", read)

    def _batch(self) -> list[tuple[int, str, int, int | None]]:
        most = BATCH + len(self._passed)
        rows = self._db.execute(_CHANGED, (_LEADS + 1, _ENDS + 1, most)).fetchall()
        return [row for row in rows if row[0] not in self._passed]

    def _add(
        self, builder: SqliteBuilder, batch: list[tuple[int, str, int, int | None]]
    ) -> Iterator[tuple[int, int]]:
        """Add the records of WARCs; yield how far each was read, and the number of its paper."""
        for number, name, end, captured in batch:
            start = captured or 0
            if start > end:  # it is another one
                builder.drop([f"{self._way}warc/{name}.warc"])
                start = 0
            rows: list[tuple[Any, ...]] = []
            sentence = rows_of(self._archive, name, self._way, (start, end), rows)
            for row in rows:
                builder.add_row(row)
            self._account.captures += len(rows)
            if sentence:
                self._account.note(sentence)
                self._passed.add(number)
            else:
                yield end, number

    def _drop_gone(self, builder: SqliteBuilder) -> None:
        """Forget WARCs of papers that are no more in the index."""
        self._db.execute("DROP TABLE IF EXISTS temp.there")
        self._db.execute("CREATE TEMP TABLE there (name TEXT PRIMARY KEY) WITHOUT ROWID")
        self._db.execute(
            f"INSERT INTO there SELECT {_NAME} FROM paper WHERE captured IS NOT NULL",  # noqa: S608
            (self._way,),
        )
        gone = [
            name for name in builder.volumes()
            if not self._db.execute("SELECT 1 FROM there WHERE name = ?", (name,)).fetchone()
        ]  # fmt: skip
        builder.drop(gone)
        self._db.execute("DROP TABLE temp.there")
