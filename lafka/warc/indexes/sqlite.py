"""An index as an SQLite database: found in microseconds, and added to while it is read.

URLs and volumes stand in tables of their own, so that a capture costs some 200 bytes.
"""

from __future__ import annotations

import heapq
import os
import sqlite3
import uuid
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lafka.warc.dates import WarcDate
from lafka.warc.errors import BadIndex, BadValue
from lafka.warc.indexes.base import (
    FAR,
    Entry,
    Index,
    IndexBuilder,
    Query,
    bare_id,
    digest_key,
)
from lafka.warc.indexes.lines import sync_folder

MAGIC = b"SQLite format 3\0"
APPLICATION = 0x57415243  # "WARC"
VERSION = 1
_TABLES = """
CREATE TABLE volumes (id INTEGER PRIMARY KEY, name UNIQUE);
CREATE TABLE urls (id INTEGER PRIMARY KEY, url UNIQUE, key TEXT);
CREATE TABLE captures (
  id INTEGER PRIMARY KEY, url INTEGER NOT NULL, time INTEGER NOT NULL, date TEXT, type, record_id,
  mime, status INTEGER, digest, digest_key, volume INTEGER NOT NULL, offset INTEGER, inner INTEGER,
  length INTEGER, payload_offset INTEGER, payload_length INTEGER
);
"""
_INDEXES = """
CREATE INDEX urls_key ON urls (key);
CREATE INDEX captures_url ON captures (url, time);
CREATE INDEX captures_time ON captures (time);
CREATE INDEX captures_id ON captures (record_id) WHERE record_id <> '';
CREATE INDEX captures_digest ON captures (digest_key) WHERE digest_key <> '';
"""
# Apart, as what is added twice is told by it while a database is filled.
_PLACES = (
    "CREATE UNIQUE INDEX captures_place"
    " ON captures (volume, ifnull(offset, -1 - payload_offset), inner)"
)
_COLUMNS = (
    "u.key, u.url, c.date, c.type, c.record_id, c.mime, c.status, c.digest, v.name, c.offset,"
    " c.inner, c.length, c.payload_offset, c.payload_length, c.time"
)
_ENTRIES = (
    f"SELECT {_COLUMNS} FROM captures c JOIN urls u ON u.id = c.url JOIN volumes v ON"  # noqa: S608
    " v.id = c.volume "
)
_REPLACE = (
    "REPLACE INTO captures (url, time, date, type, record_id, mime, status, digest, digest_key,"
    " volume, offset, inner, length, payload_offset, payload_length)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
Text = str | bytes
_FETCHED = 256


def _stored(text: str) -> Text:
    """*text* as a database takes it: what is no UTF-8 as bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def _loaded(text: Text | None) -> str:
    if text is None:
        return ""
    return text.decode("utf-8", "surrogatepass") if isinstance(text, bytes) else text


def _entry(row: tuple[Any, ...]) -> Entry:
    date = row[2]
    return Entry(
        key=row[0],
        url=_loaded(row[1]),
        date=WarcDate.parse(date) if date else None,
        type=_loaded(row[3]),
        record_id=_loaded(row[4]),
        mime=_loaded(row[5]),
        status=row[6],
        digest=_loaded(row[7]),
        volume=_loaded(row[8]),
        offset=row[9],
        inner=row[10],
        length=row[11],
        payload_offset=row[12],
        payload_length=row[13],
    )


class SqliteIndex(Index):
    """A database that :class:`SqliteBuilder` makes, read while it may be written.

    ``BadIndex`` where it is none, at once or when a damaged part is reached.
    """

    def __init__(self, path: Path, *, strict: bool = False) -> None:  # noqa: ARG002
        super().__init__(path)
        self._path = path
        self._db = _connected(path)
        try:
            if self._value("PRAGMA application_id") != APPLICATION:
                raise BadIndex(path, "a database of something else")
            if self._value("PRAGMA user_version") != VERSION:
                raise BadIndex(path, f"an index of another version than {VERSION}")
        except BaseException:
            self.close()
            raise

    def _value(self, question: str) -> Any:
        return next(self._rows(question))[0]

    def close(self) -> None:
        self._db.close()

    def _rows(self, question: str, values: Iterable[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows, some at a time: a reader that stops early leaves nothing open for long."""
        try:
            with closing(self._db.execute(question, tuple(values))) as cursor:
                yield from cursor
        except sqlite3.DatabaseError as error:
            raise BadIndex(self._path, str(error)) from error

    def _entries(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[Entry]:
        for row in rows:
            try:
                yield _entry(row)
            except (BadValue, TypeError, UnicodeDecodeError) as error:
                raise BadIndex(self._path, f"a capture in it is none: {error}") from None

    def __iter__(self) -> Iterator[Entry]:
        return self._entries(self._rows(_ENTRIES + "ORDER BY c.volume, c.offset, c.inner"))

    def volumes(self) -> frozenset[str]:
        return frozenset(_loaded(name) for (name,) in self._rows("SELECT name FROM volumes"))

    def found(self, query: Query) -> Iterator[Entry]:
        if query.record_id is not None:
            return self._sorted(query, "WHERE c.record_id = ?", query.record_id)
        if query.url is not None:
            return self._by_url(query, query.url)
        if query.digest is not None:
            return self._sorted(query, "WHERE c.digest_key = ?", query.digest)
        if query.prefix is not None:
            return self._by_prefix(query, query.prefix.start)
        return self._near(query, "", ())

    def _sorted(self, query: Query, where: str, value: str) -> Iterator[Entry]:
        entries = self._entries(self._rows(_ENTRIES + where, [_stored(value)]))
        yield from sorted(filter(query.matches, entries), key=query.rank)

    def _by_url(self, query: Query, url: str) -> Iterator[Entry]:
        """The very URL first, by itself: its key need not be known for that."""
        same = "c.url = (SELECT id FROM urls WHERE url = ?) AND "
        yield from self._near(query, same, (_stored(url),))
        others = self._rows(
            "SELECT id FROM urls WHERE key = ? AND url <> ?", [query.key, _stored(url)]
        )
        walks = [self._near(query, "c.url = ? AND ", row) for row in others]
        yield from heapq.merge(*walks, key=query.rank)

    def _by_prefix(self, query: Query, start: str) -> Iterator[Entry]:
        between = (start, start + "\x7f")  # keys are printable ASCII
        if query.when is None:
            keys = self._rows(
                "SELECT DISTINCT key FROM urls WHERE key >= ? AND key < ? ORDER BY key", between
            )
            for (key,) in list(keys):
                yield from self._sorted(query, "WHERE u.key = ?", key)
            return
        first, last = query.when
        rows = self._rows(
            f"{_ENTRIES} WHERE u.key >= ? AND u.key < ? ORDER BY max(? - c.time, c.time - ?, 0)",
            (*between, first, last),
        )
        yield from self._ties(query, rows)

    def _near(self, query: Query, where: str, values: tuple[Any, ...]) -> Iterator[Entry]:
        """From the time on and back from it, whichever is nearer next; else the newest first."""
        back = f"{_ENTRIES} WHERE {where}c.time < ? ORDER BY c.time DESC"
        if query.when is None:
            yield from self._ties(query, self._rows(back, (*values, FAR)))
            undated = self._rows(f"{_ENTRIES} WHERE {where}c.time = ?", (*values, FAR))
            yield from self._ties(query, undated)
            return
        on = f"{_ENTRIES} WHERE {where}c.time >= ? ORDER BY c.time"
        first = query.when[0]
        rows = heapq.merge(
            self._rows(on, (*values, first)),
            self._rows(back, (*values, first)),
            key=lambda row: query.distance(row[-1]),
        )
        yield from self._ties(query, rows)

    def _ties(self, query: Query, rows: Iterator[tuple[Any, ...]]) -> Iterator[Entry]:
        """*rows*, nearest first, those at one distance by the other parts of their rank."""
        waiting: list[Entry] = []
        distance: int | None = None
        for row in rows:
            here = query.distance(row[-1])
            if here != distance:
                yield from sorted(waiting, key=query.rank)
                waiting, distance = [], here
            waiting.extend(filter(query.matches, self._entries([row])))
        yield from sorted(waiting, key=query.rank)


def _connected(path: Path) -> sqlite3.Connection:
    """A connection that only reads; where even that would write beside the file, it is frozen."""
    where = f"file:{quote(os.fspath(path.absolute()))}?mode=ro"
    error: sqlite3.Error | None = None
    for more in ("", "&immutable=1"):
        try:
            db = sqlite3.connect(where + more, uri=True, check_same_thread=False, timeout=60)
            db.execute("SELECT count(*) FROM sqlite_schema")
        except sqlite3.Error as found:
            error = found
        else:
            return db
    if not path.exists():
        raise FileNotFoundError(2, "No such file or directory", str(path))
    raise BadIndex(path, str(error))


class SqliteBuilder(IndexBuilder):
    """Fills a database; every record is in it, not captures alone.

    *fresh*: what is at *path* is replaced when it is closed, and only then. Else what is there is
    added to, and each record can be found at once by those who have the index open. A record that
    is there already, by volume and offset, is replaced.
    """

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        super().__init__(path)
        self._fresh = fresh
        draft = path.with_name(f".draft-{uuid.uuid4().hex}-{path.name}")
        self._file = draft if fresh else path
        try:
            self._db = sqlite3.connect(
                self._file, isolation_level=None, check_same_thread=False, timeout=60
            )
            self._prepare()
        except sqlite3.DatabaseError as error:
            raise BadIndex(path, str(error)) from error
        self._ids: dict[tuple[str, Text], int] = {}

    def _prepare(self) -> None:
        run = self._db.execute
        application = run("PRAGMA application_id").fetchone()[0]
        empty = not run("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if not empty and application != APPLICATION:
            raise BadIndex(self.path, "a database of something else")
        # A draft may be lost at a crash; an index that is read meanwhile may not be torn.
        run(f"PRAGMA journal_mode = {'OFF' if self._fresh else 'WAL'}")
        run(f"PRAGMA synchronous = {'OFF' if self._fresh else 'NORMAL'}")
        if empty:
            run("BEGIN IMMEDIATE")
            for statement in (_TABLES + _PLACES).split(";"):
                run(statement)
            run(f"PRAGMA application_id = {APPLICATION}")
            run(f"PRAGMA user_version = {VERSION}")
            if not self._fresh:
                self._make_indexes()
            run("COMMIT")
        if self._fresh:
            run("BEGIN")

    def _make_indexes(self) -> None:
        for statement in _INDEXES.split(";"):
            self._db.execute(statement)

    def add_entry(self, entry: Entry) -> None:
        values = (
            self._id("urls", entry.url, entry.key),
            entry.time,
            entry.date.text if entry.date else None,
            _stored(entry.type),
            _stored(bare_id(entry.record_id)),
            _stored(entry.mime),
            entry.status,
            _stored(entry.digest),
            _stored(digest_key(entry.digest)) if entry.digest else "",
            self._id("volumes", entry.volume),
            entry.offset,
            entry.inner,
            entry.length,
            entry.payload_offset,
            entry.payload_length,
        )
        self._db.execute(_REPLACE, values)

    def _id(self, table: str, name: str, key: str | None = None) -> int:
        """The row of a URL or a volume, made where there is none."""
        stored = _stored(name)
        known = self._ids.get((table, stored))
        if known is not None:
            return known
        column = "url" if table == "urls" else "name"
        question = f"SELECT id FROM {table} WHERE {column} = ?"  # noqa: S608  two names of ours
        row = self._db.execute(question, (stored,)).fetchone()
        if row is None:
            columns, values = (column, [stored]) if key is None else ("url, key", [stored, key])
            marks = ", ".join("?" * len(values))
            insert = f"INSERT INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608
            found = self._db.execute(insert, values).lastrowid
        else:
            found = row[0]
        assert found is not None
        if len(self._ids) >= _FETCHED:
            self._ids.clear()
        self._ids[table, stored] = found
        return int(found)

    def close(self) -> None:
        if not self._fresh:
            with suppress(sqlite3.OperationalError):  # someone reads it
                self._db.execute("PRAGMA journal_mode = DELETE")
            self._db.close()
            return
        try:
            self._make_indexes()
            self._db.execute("COMMIT")
            self._db.execute("PRAGMA optimize")
            self._db.close()
            with self._file.open("rb") as file:
                os.fsync(file.fileno())
            self._file.replace(self.path)
            sync_folder(self.path.parent)
        finally:
            self.abort()

    def abort(self) -> None:
        self._db.close()
        if self._fresh:
            with suppress(FileNotFoundError):
                self._file.unlink()


def fresh(path: Path) -> SqliteBuilder:
    """A builder that replaces what is at *path*."""
    return SqliteBuilder(path, fresh=True)
