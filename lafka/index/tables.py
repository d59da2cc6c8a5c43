"""The schema of an index, and how its database is opened: the only place with CREATE.

docs/index-tables.md explains each table and column; a test compares it with what is made here.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from lafka.errors import ArchiveBusy, StorageTrouble
from lafka.storage.folders import make_folders
from lafka.storage.locks import lock_file
from lafka.warc.errors import BadIndex
from lafka.warc.indexes.sqlite import as_error

FOLDER = "index"
NAME = "archive.sqlite"
APPLICATION = 0x4C41464B  # "LAFK"
VERSION = 3
MAGIC = b"SQLite format 3\0"
_APPLICATION_AT = 68  # https://sqlite.org/fileformat2.html section 1.3
_BESIDE = ("", "-wal", "-shm", "-journal")
_CACHE = -32768  # KiB
_FAULTS = (sqlite3.Error, UnicodeDecodeError)

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE folder (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, mtime_ns INTEGER NOT NULL,
  ino INTEGER NOT NULL) STRICT;
CREATE TABLE run (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, state TEXT, reason TEXT,
  started TEXT, finished TEXT, host TEXT, list TEXT, lines INTEGER, requests INTEGER, new INTEGER,
  held INTEGER, bytes INTEGER, seconds REAL, legacy INTEGER NOT NULL DEFAULT 0,
  feed_offset INTEGER NOT NULL DEFAULT 0, feed_tail BLOB, report_mtime_ns INTEGER,
  report_size INTEGER) STRICT;
CREATE TABLE host (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE waits (run INTEGER NOT NULL REFERENCES run (id),
  host INTEGER NOT NULL REFERENCES host (id), kind TEXT NOT NULL,
  times INTEGER NOT NULL, longest REAL, time TEXT, why TEXT,
  PRIMARY KEY (run, host, kind)) STRICT, WITHOUT ROWID;
CREATE TABLE paper (id INTEGER PRIMARY KEY, pid TEXT NOT NULL UNIQUE, archive TEXT NOT NULL,
  series TEXT NOT NULL, year INTEGER, title TEXT, title_from TEXT, authors TEXT,
  folder INTEGER REFERENCES folder (id), path TEXT, mtime_ns INTEGER, size INTEGER, ino INTEGER,
  warc_bytes INTEGER, futs INTEGER NOT NULL DEFAULT 0, first TEXT, last TEXT, problem TEXT,
  captured INTEGER, titled INTEGER) STRICT;
CREATE TABLE futli (id INTEGER PRIMARY KEY, paper INTEGER NOT NULL REFERENCES paper (id),
  url TEXT NOT NULL, host INTEGER NOT NULL REFERENCES host (id), open INTEGER NOT NULL DEFAULT 0,
  state TEXT NOT NULL DEFAULT 'never', outcome TEXT, asked TEXT, asks INTEGER NOT NULL DEFAULT 0,
  requests INTEGER NOT NULL DEFAULT 0, first_had TEXT, had TEXT, lost_since TEXT, lost_by TEXT,
  fails INTEGER NOT NULL DEFAULT 0, fails_since TEXT, back_since TEXT,
  final_host INTEGER REFERENCES host (id), secure INTEGER,
  reread INTEGER NOT NULL DEFAULT 0, UNIQUE (paper, url)) STRICT;
CREATE TABLE fut (futli INTEGER NOT NULL REFERENCES futli (id), time TEXT NOT NULL,
  s INTEGER NOT NULL, l INTEGER NOT NULL, digest BLOB NOT NULL, url TEXT NOT NULL,
  found_by TEXT, label TEXT,
  PRIMARY KEY (futli, time)) STRICT, WITHOUT ROWID;
CREATE TABLE asked (futli INTEGER NOT NULL REFERENCES futli (id), time TEXT NOT NULL,
  run INTEGER NOT NULL REFERENCES run (id), outcome TEXT NOT NULL, times INTEGER NOT NULL,
  until TEXT NOT NULL, last_run INTEGER NOT NULL REFERENCES run (id), requests INTEGER NOT NULL,
  new INTEGER NOT NULL, digests INTEGER NOT NULL, found_by TEXT, landing TEXT, tried INTEGER,
  first_right INTEGER, capped INTEGER, error TEXT, steps TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (futli, time, run)) STRICT, WITHOUT ROWID;
CREATE TABLE event (futli INTEGER NOT NULL REFERENCES futli (id), time TEXT NOT NULL,
  kind TEXT NOT NULL, outcome TEXT NOT NULL, had TEXT NOT NULL,
  PRIMARY KEY (futli, time, kind)) STRICT, WITHOUT ROWID;
CREATE TABLE daily (day TEXT NOT NULL, run INTEGER NOT NULL REFERENCES run (id),
  host INTEGER NOT NULL REFERENCES host (id), archive TEXT NOT NULL, outcome TEXT NOT NULL,
  lines INTEGER NOT NULL, held INTEGER NOT NULL, requests INTEGER NOT NULL, new INTEGER NOT NULL,
  bytes INTEGER NOT NULL, PRIMARY KEY (day, run, host, archive, outcome)) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5 (pid, title, authors, url,
  tokenize = 'unicode61 remove_diacritics 2');
CREATE INDEX paper_folder ON paper (folder) WHERE folder IS NOT NULL;
CREATE INDEX futli_reread ON futli (reread) WHERE reread > 0;
"""
_INDEXES = """
CREATE INDEX IF NOT EXISTS paper_archive ON paper (archive, series);
CREATE INDEX IF NOT EXISTS paper_year ON paper (year) WHERE year IS NOT NULL;
CREATE INDEX IF NOT EXISTS paper_newest ON paper (coalesce(last, ''), id);
CREATE INDEX IF NOT EXISTS futli_host ON futli (host, paper, state);
CREATE INDEX IF NOT EXISTS futli_url ON futli (url, paper);
CREATE INDEX IF NOT EXISTS futli_state ON futli (state, paper)
  WHERE state NOT IN ('held', 'never');
CREATE INDEX IF NOT EXISTS futli_lost ON futli (lost_since) WHERE lost_since IS NOT NULL;
CREATE INDEX IF NOT EXISTS fut_digest ON fut (digest);
"""


@contextmanager
def reraising(path: Path) -> Iterator[None]:
    """Raise what SQLite raises as ``BadIndex`` of *path*, or as ``StorageTrouble``."""
    try:
        yield
    except _FAULTS as error:
        known = as_error(error, path)
        if isinstance(known, OSError):
            raise StorageTrouble(path, known) from error
        raise known from error
    except OSError as error:
        raise StorageTrouble(error.filename or path, error) from error


def open_to_read(path: Path) -> sqlite3.Connection:
    """The index at *path*, read only; each question sees one moment, while it may be written.

    Rows are tuples; the connection may be used by one thread at a time, any thread. ``BadIndex``
    where it is none or of another version, ``StorageTrouble`` where it is missing or not readable.
    """
    if not path.is_file():
        raise BadIndex(path, "no index is here; lafka index makes it")
    with reraising(path):
        db = _readable(path)
        try:
            _check(db, path)
        except BaseException:
            db.close()
            raise
        return db


def _readable(path: Path) -> sqlite3.Connection:
    """Open to read; as frozen where even reading would write beside the file (WAL) and cannot."""
    where = f"file:{quote(os.fspath(path.absolute()))}?mode=ro"
    for more in ("", "&immutable=1"):
        db = sqlite3.connect(
            where + more, uri=True, isolation_level=None, check_same_thread=False, timeout=60
        )
        try:
            db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        except sqlite3.OperationalError:
            db.close()
            if more:
                raise
            continue
        db.execute(f"PRAGMA cache_size = {_CACHE}")
        break
    return db


def _check(db: sqlite3.Connection, path: Path) -> None:
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise BadIndex(path, "a database of something else")
    if (version := db.execute("PRAGMA user_version").fetchone()[0]) != VERSION:
        raise BadIndex(path, f"an index of version {version}, not of {VERSION}")


def open_to_write(path: Path) -> sqlite3.Connection:
    """The index at *path*, made where there is none; by the one process that has its lock.

    ``BadIndex`` where it is damaged, of another version or of something else; ``StorageTrouble``.
    """
    with reraising(path):
        fresh = not path.exists() or not path.stat().st_size
        db = sqlite3.connect(path, isolation_level=None, timeout=60)
        try:
            if not fresh:
                _check(db, path)
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute(f"PRAGMA cache_size = {_CACHE}")
            db.execute("PRAGMA wal_autocheckpoint = 4000")
            if fresh:
                make_tables(db)
        except BaseException:
            db.close()
            raise
        return db


def open_draft(path: Path) -> sqlite3.Connection:
    """A new index at *path* that nobody reads: a kill or a power cut leaves nothing of use.

    Raises what SQLite and the disk do.
    """
    db = sqlite3.connect(path, isolation_level=None)
    try:
        db.execute("PRAGMA journal_mode = MEMORY")  # of the few pages that were there before
        db.execute("PRAGMA synchronous = OFF")
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute(f"PRAGMA cache_size = {_CACHE}")
        make_tables(db)
    except BaseException:
        db.close()
        raise
    return db


_RUNNING = re.compile(
    "(?<=[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])"
    "|(?=[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])"
)
JOINER = "\u2060"
"""Between the characters of scripts that have no spaces, so that each is a word of the table."""


def spaced(text: str | None) -> str | None:
    """*text* as ``words`` has it: Chinese, Japanese, Thai, ... are found by any part (ADR 41)."""
    return None if text is None else _RUNNING.sub(JOINER, text)


def make_tables(db: sqlite3.Connection) -> None:
    """All tables, empty, in one step; the indexes come with :func:`make_indexes`."""
    db.execute("BEGIN IMMEDIATE")
    for statement in TABLES.split(";\n"):
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {VERSION}")
    db.execute("COMMIT")


def make_indexes(db: sqlite3.Connection) -> None:
    """The indexes of searches, where missing: all rows at once are sorted quicker than each."""
    for statement in _INDEXES.split(";\n"):
        db.execute(statement)


def discard(path: Path) -> Path | None:
    """Take away the index at *path*, which is damaged or of another version, to make it anew.

    What has the first bytes of an index of ours is deleted. What has not even these is kept, under
    the name that is given back: it may be somebody's. ``BadIndex`` for another's database.
    """
    with path.open("rb") as file:
        head = file.read(100)
    application = int.from_bytes(head[_APPLICATION_AT : _APPLICATION_AT + 4])
    if head.startswith(MAGIC) and application != APPLICATION:
        raise BadIndex(path, "a database of something else")
    kept = None
    if head and not head.startswith(MAGIC):
        kept = path.with_name(f"{path.name}.damaged-{path.stat().st_mtime_ns}")
        path.rename(kept)
    remove(path)
    return kept


def remove(path: Path) -> None:
    """Delete the index at *path* and what SQLite keeps beside it."""
    for suffix in _BESIDE:
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).unlink()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFiles:
    """The files of an archive's index, in ``index/`` of its root or a folder of its own."""

    folder: Path

    @classmethod
    def of(cls, root: Path, setting: str | Path | None = None) -> IndexFiles:
        """*setting* is ``LAFKA_INDEX``."""
        return cls(folder=Path(setting) if setting else root / FOLDER)

    @property
    def database(self) -> Path:
        return self.folder / NAME

    @property
    def captures(self) -> Path:
        return self.folder / "captures.sqlite"

    @property
    def draft(self) -> Path:
        """An index that is made anew to be compared, or to take the other's place."""
        return self.folder / f".draft-{NAME}"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The right to write to it; ``ArchiveBusy`` where another process has it."""
        make_folders(self.folder)
        lock = self.folder / "lock"
        with reraising(lock):
            fd = lock_file(lock, os.O_RDWR | os.O_CREAT, wait=False)
        if fd is None:
            raise ArchiveBusy(f"{self.folder}: another process brings this index up to date")
        try:
            yield
        finally:
            os.close(fd)
