"""An index as an SQLite database: found in microseconds, and added to while it is read.

A URL's number is a hash of it, so that the captures of a URL are found without looking it up, and
lie together by time in the table itself.
"""

from __future__ import annotations

import errno
import hashlib
import heapq
import itertools
import os
import sqlite3
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..errors import BadIndex
from ..format.dates import WarcDate
from ..writing.names import put_in_place
from .base import FAR, Entry, Index, IndexBuilder, Query, bare_id, digest_key

MAGIC = b"SQLite format 3\0"
APPLICATION = 0x57415243  # "WARC"
VERSION = 1
_TABLES = """
CREATE TABLE volumes (id INTEGER PRIMARY KEY, name UNIQUE);
CREATE TABLE urls (id INTEGER PRIMARY KEY, url NOT NULL, key TEXT NOT NULL);
CREATE TABLE captures (
  url INTEGER, time INTEGER, volume INTEGER, offset INTEGER, inner INTEGER, date TEXT, type,
  record_id, id_hash INTEGER, mime, status INTEGER, digest, digest_hash INTEGER, length INTEGER,
  payload_offset INTEGER, payload_length INTEGER,
  PRIMARY KEY (url, time, volume, offset, inner)
) WITHOUT ROWID;
"""
_INDEXES = """
CREATE INDEX IF NOT EXISTS urls_key ON urls (key);
CREATE INDEX IF NOT EXISTS captures_time ON captures (time);
CREATE INDEX IF NOT EXISTS captures_id ON captures (id_hash) WHERE id_hash IS NOT NULL;
CREATE INDEX IF NOT EXISTS captures_digest ON captures (digest_hash) WHERE digest_hash IS NOT NULL;
"""
_CAPTURE = (
    "c.url, c.time, c.volume, c.offset, c.inner, c.date, c.type, c.record_id, c.mime, c.status,"
    " c.digest, c.length, c.payload_offset, c.payload_length"
)
_JOINED = f"SELECT {_CAPTURE}, u.url, u.key FROM captures c JOIN urls u ON u.id = c.url "  # noqa: S608
_ADDED = (
    "REPLACE INTO captures (url, time, volume, offset, inner, date, type, record_id, id_hash,"
    " mime, status, digest, digest_hash, length, payload_offset, payload_length)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_CACHE = -65536  # KiB
_KNOWN_MAX = 1000
_FAULTS = (sqlite3.Error, UnicodeDecodeError)  # names in a damaged schema are decoded, too
_OF_THE_DISK = {
    sqlite3.SQLITE_BUSY: errno.EBUSY,
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_READONLY: errno.EROFS,
}
Text = str | bytes
Row = tuple[Any, ...]


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


def hashed(text: str) -> int:
    """A number of 63 bits that hardly another text has; whoever finds by it compares the text."""
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest()) >> 1


def row_of(entry: Entry) -> Row:
    """Return the row of *entry*, behind its URL, its key and its volume, which get numbers.

    Numbers, texts, bytes and None alone.
    """
    # A capture whose place is unknown is told from others by where its payload is.
    offset = -1 - (entry.payload_offset or 0) if entry.offset is None else entry.offset
    record_id, digest = bare_id(entry.record_id), entry.digest
    return (
        entry.url, entry.key, entry.volume, entry.time, offset, entry.inner,
        entry.date.digits if entry.date else None, _stored(entry.type), _stored(record_id),
        hashed(record_id) if record_id else None, _stored(entry.mime), entry.status,
        _stored(digest), hashed(digest_key(digest)) if digest else None, entry.length,
        entry.payload_offset, entry.payload_length,
    )  # fmt: skip


class SqliteIndex(Index):
    """A database that :class:`SqliteBuilder` makes, read while it may be written.

    ``BadIndex`` where it is none, at once or when a damaged part is reached.
    """

    def __init__(self, path: Path, *, strict: bool = False) -> None:  # noqa: ARG002
        super().__init__(path)
        self._path = path
        self._db = connected(path)
        self._volumes: dict[int, str] = {}
        try:
            if self._value("PRAGMA application_id") != APPLICATION:
                raise BadIndex(path, "a database of something else")
            if self._value("PRAGMA user_version") != VERSION:
                raise BadIndex(path, f"an index of another version than {VERSION}")
        except BaseException:
            self.close()
            raise

    def _value(self, question: str) -> Any:
        return self._few(question)[0][0]

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def moment(self) -> Iterator[None]:
        """Keep what is found meanwhile to one state of the database, whoever writes to it."""
        self._few("BEGIN")
        self._volumes.clear()
        try:
            yield
        finally:
            self._few("ROLLBACK")

    def _few(self, question: str, values: Iterable[Any] = ()) -> list[Row]:
        try:
            return self._db.execute(question, tuple(values)).fetchall()
        except _FAULTS as error:
            raise as_error(error, self._path) from error

    def _rows(self, question: str, values: Iterable[Any] = ()) -> Iterator[Row]:
        try:
            # Not the cursor itself, which a generator left early would close behind its database.
            yield from iter(self._db.execute(question, tuple(values)).fetchone, None)
        except _FAULTS as error:
            raise as_error(error, self._path) from error

    def _volume(self, number: int) -> str:
        name = self._volumes.get(number)
        if name is None:
            name = _loaded(self._few("SELECT name FROM volumes WHERE id = ?", [number])[0][0])
            self._volumes[number] = name
        return name

    def _entry(self, row: Row) -> Entry:
        digits, offset = row[5], row[3]
        try:
            return Entry(
                key=row[15],
                url=_loaded(row[14]),
                date=WarcDate.parse(digits) if digits else None,
                type=_loaded(row[6]),
                record_id=_loaded(row[7]),
                mime=_loaded(row[8]),
                status=row[9],
                digest=_loaded(row[10]),
                volume=self._volume(row[2]),
                offset=offset if offset >= 0 else None,
                inner=row[4],
                length=row[11],
                payload_offset=row[12],
                payload_length=row[13],
            )
        except (IndexError, TypeError, ValueError) as error:
            raise BadIndex(self._path, f"a capture in it is none: {error}") from None

    def __iter__(self) -> Iterator[Entry]:
        return map(self._entry, self._rows(_JOINED + "ORDER BY u.key, c.time"))

    def volumes(self) -> frozenset[str]:
        return frozenset(_loaded(name) for (name,) in self._few("SELECT name FROM volumes"))

    def found(self, query: Query) -> Iterator[Entry]:
        if query.record_id is not None:
            return self._sorted(query, "WHERE c.id_hash = ?", hashed(query.record_id))
        if query.url is not None:
            return self._by_url(query, query.url)
        if query.digest is not None:
            return self._sorted(query, "WHERE c.digest_hash = ?", hashed(query.digest))
        if query.prefix is not None:
            return self._by_prefix(query, query.prefix.start)
        return self._by_time(query)

    def _sorted(self, query: Query, where: str, *values: Any) -> Iterator[Entry]:
        entries = map(self._entry, self._rows(_JOINED + where, values))
        yield from sorted(filter(query.matches, entries), key=query.rank)

    # By URL -----------------------------------------------------------------------------------

    def _by_url(self, query: Query, url: str) -> Iterator[Entry]:
        """The very URL first, then those that have its key."""
        number, stored = hashed(url), _stored(url)
        while (row := self._few("SELECT url FROM urls WHERE id = ?", [number])) and row != [
            (stored,)
        ]:
            number += 1
        yield from self._of_url(query, number)
        others = self._few("SELECT id FROM urls WHERE key = ? AND url <> ?", (query.key, stored))
        walks = [self._of_url(query, other) for (other,) in others]
        yield from heapq.merge(*walks, key=query.rank)

    def _of_url(self, query: Query, number: int) -> Iterator[Entry]:
        """The captures of one URL, nearest first."""
        return self._ties(
            query, self._both_ways(query, "c.url = ? AND ", (number, _beginning(query)))
        )

    def _both_ways(self, query: Query, where: str, values: tuple[int, ...]) -> Iterator[Row]:
        """The captures on from a time and back from it, nearest first."""
        on = self._rows(f"{_JOINED}WHERE {where}c.time >= ? ORDER BY c.time", values)
        back = self._rows(f"{_JOINED}WHERE {where}c.time < ? ORDER BY c.time DESC", values)
        return heapq.merge(on, back, key=lambda row: query.distance(row[1]))

    def _ties(self, query: Query, rows: Iterable[Row]) -> Iterator[Entry]:
        """The entries of *rows*, nearest first, those at one distance by the rest of their rank."""
        for _, group in itertools.groupby(rows, key=lambda row: query.distance(row[1])):
            entries = list(filter(query.matches, map(self._entry, group)))
            yield from sorted(entries, key=query.rank) if entries[1:] else entries

    # By anything else -------------------------------------------------------------------------

    def _by_time(self, query: Query) -> Iterator[Entry]:
        return self._ties(query, self._both_ways(query, "", (_beginning(query),)))

    def _by_prefix(self, query: Query, start: str) -> Iterator[Entry]:
        between = (start, start + "\x7f")  # keys are printable ASCII
        if query.when is None:
            keys = self._rows(
                "SELECT DISTINCT key FROM urls WHERE key >= ? AND key < ? ORDER BY key", between
            )
            for (key,) in keys:
                yield from self._sorted(query, "WHERE u.key = ?", key)
            return
        where = "WHERE u.key >= ? AND u.key < ? ORDER BY max(? - c.time, c.time - ?, 0)"
        yield from self._ties(query, self._rows(_JOINED + where, (*between, *query.when)))


def _beginning(query: Query) -> int:
    """From where on a search goes forth and back; without a time, back from the newest."""
    return query.when[0] if query.when else FAR


def connected(path: Path, cache: int = _CACHE) -> sqlite3.Connection:
    """A connection that only reads; where even that would write beside the file, it is frozen.

    *cache* is SQLite's ``cache_size``. ``BadIndex``, ``OSError``.
    """
    where = f"file:{quote(os.fspath(path.absolute()))}?mode=ro"
    fault: Exception | None = None
    for more in ("", "&immutable=1"):
        try:
            db = sqlite3.connect(
                where + more, uri=True, isolation_level=None, check_same_thread=False, timeout=60
            )
            db.execute("SELECT count(*) FROM sqlite_schema")
            db.execute(f"PRAGMA cache_size = {cache}")
        except _FAULTS as error:
            fault = error
        else:
            return db
    assert fault is not None
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    raise as_error(fault, path)


def write_ahead(db: sqlite3.Connection) -> None:
    """Give *db* a write-ahead log, which lets others read while one writes.

    Where it changes the journal SQLite does not wait for another writer, whatever time-out is set,
    and two that open one database may meet there: it is asked again, for a minute.
    ``sqlite3.Error``.
    """
    deadline = time.monotonic() + 60
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > deadline:
                raise
        else:
            return
        time.sleep(0.01)


def as_error(error: Exception, path: Path) -> Exception:
    """Return the error to raise for SQLite's *error*: an ``OSError`` for what the disk says."""
    number = _OF_THE_DISK.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
    if number is None:
        return BadIndex(path, str(error))
    return OSError(number, os.strerror(number), str(path))


class SqliteBuilder(IndexBuilder):
    """Fills a database; every record is in it, not captures alone.

    *fresh*: what is at *path* is replaced when it is closed, and only then. Else what is there is
    added to, and each record can be found at once by those who have the index open. A record that
    is there already, by volume and offset, is replaced. *indexes_last*: a new database gets its
    indexes when it is closed, which is quicker for very many records; till then it is slow to ask
    by anything but a URL.
    """

    def __init__(self, path: Path, *, fresh: bool = False, indexes_last: bool = False) -> None:
        super().__init__(path)
        self._fresh = fresh
        self._indexes_last = fresh or indexes_last
        draft = path.with_name(f".draft-{uuid.uuid4().hex}-{path.name}")
        self._file = draft if fresh else path
        try:
            self._db = sqlite3.connect(
                self._file, isolation_level=None, check_same_thread=False, timeout=60
            )
            self._prepare()
        except _FAULTS as error:
            raise as_error(error, path) from error
        self._last: tuple[str | None, int] = (None, 0)
        self._volumes: dict[str, int] = {}

    def _prepare(self) -> None:
        run = self._db.execute
        application = run("PRAGMA application_id").fetchone()[0]
        empty = not run("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if not empty and application != APPLICATION:
            raise BadIndex(self.path, "a database of something else")
        # A draft may be lost at a crash; an index that is read meanwhile may not be torn.
        if self._fresh:
            run("PRAGMA journal_mode = OFF")
        else:
            write_ahead(self._db)
        run(f"PRAGMA synchronous = {'OFF' if self._fresh else 'NORMAL'}")
        run(f"PRAGMA cache_size = {_CACHE}")
        if empty:
            run("BEGIN IMMEDIATE")
            self._run_all(_TABLES)
            run(f"PRAGMA application_id = {APPLICATION}")
            run(f"PRAGMA user_version = {VERSION}")
            if not self._indexes_last:
                self._run_all(_INDEXES)
            run("COMMIT")
        if self._fresh:
            run("BEGIN")

    def _run_all(self, statements: str) -> None:
        for statement in statements.split(";"):
            self._run(statement)

    def add_entry(self, entry: Entry) -> None:
        self.add_row(row_of(entry))

    def add_row(self, row: Row) -> None:
        """Take the row that :func:`row_of` made of an entry, in another process say."""
        url, key, volume, time, *rest = row
        self._run(_ADDED, (self._url(url, key), time, self._volume(volume), *rest))

    @contextmanager
    def together(self) -> Iterator[None]:
        """Add all that is added within at once, or none of it where something is raised."""
        self._run("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._last, self._volumes = (None, 0), {}
            self._run("ROLLBACK")
            raise
        self._run("COMMIT")

    def volumes(self) -> list[str]:
        """The names of all volumes that were ever added and not dropped."""
        return [_loaded(name) for (name,) in self._run("SELECT name FROM volumes")]

    def drop(self, names: Iterable[str]) -> None:
        """Forget the records of the volumes of these *names*; it looks at every record there is."""
        stored = [(_stored(name),) for name in names]
        if not stored:
            return
        number = "SELECT id FROM volumes WHERE name IN (SELECT name FROM temp.dropped)"
        self._run("CREATE TEMP TABLE dropped (name)")
        try:
            self._db.executemany("INSERT INTO temp.dropped VALUES (?)", stored)
            self._run(f"DELETE FROM captures WHERE volume IN ({number})")  # noqa: S608
            self._run("DELETE FROM urls WHERE id NOT IN (SELECT url FROM captures)")
            self._run("DELETE FROM volumes WHERE name IN (SELECT name FROM temp.dropped)")
        finally:
            self._run("DROP TABLE temp.dropped")
        self._last, self._volumes = (None, 0), {}

    def _url(self, url: str, key: str) -> int:
        """The number of *url*: its hash, or the first free one behind it."""
        if url == self._last[0]:  # as a response's is after its request
            return self._last[1]
        number, stored = hashed(url), _stored(url)
        add = "INSERT OR IGNORE INTO urls VALUES (?, ?, ?)"  # most are new
        while not self._run(add, (number, stored, key)).rowcount:
            row = self._row("SELECT url FROM urls WHERE id = ?", number)
            if row == (stored,):
                break
            number += row is not None  # else someone has just dropped it
        self._last = url, number
        return number

    def _volume(self, name: str) -> int:
        number = self._volumes.get(name)
        if number is None:
            stored = _stored(name)
            row: Row | None = None
            while row is None:  # someone else may be as quick, or drop it
                done = self._run("INSERT OR IGNORE INTO volumes (name) VALUES (?)", (stored,))
                row = (
                    (done.lastrowid,)
                    if done.rowcount
                    else self._row("SELECT id FROM volumes WHERE name = ?", stored)
                )
            number = int(row[0])
            if len(self._volumes) >= _KNOWN_MAX:
                self._volumes.clear()
            self._volumes[name] = number
        return number

    def _run(self, statement: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        try:
            return self._db.execute(statement, values)
        except _FAULTS as error:
            raise as_error(error, self.path) from error

    def _row(self, question: str, value: Text | int) -> Row | None:
        row: Row | None = self._run(question, (value,)).fetchone()
        return row

    def close(self) -> None:
        if not self._fresh:
            self._close()
            return
        try:
            self._run_all(_INDEXES)
            self._run("COMMIT")
            self._run("PRAGMA optimize")
            self._db.close()
            with self._file.open("rb") as file:
                os.fsync(file.fileno())
            put_in_place(self._file, self.path)
        finally:
            self.abort()

    def _close(self) -> None:
        try:
            if self._indexes_last:
                self._run_all(_INDEXES)
            with suppress(sqlite3.OperationalError):  # someone reads it
                self._db.execute("PRAGMA journal_mode = DELETE")
        finally:
            self._db.close()

    def abort(self) -> None:
        self._db.close()
        if self._fresh:
            with suppress(FileNotFoundError):
                self._file.unlink()


def fresh(path: Path) -> SqliteBuilder:
    """A builder that replaces what is at *path*."""
    return SqliteBuilder(path, fresh=True)
