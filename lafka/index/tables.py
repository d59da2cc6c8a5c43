"""How the database of an index is opened, and made: by ``tables.sql`` and ``indexes.sql``.

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

from lafka.errors import ArchiveBusy, StorageTrouble
from lafka.storage.folders import make_folders
from lafka.storage.locks import lock_file
from lafka.warc.errors import BadIndex
from lafka.warc.indexes.sqlite import as_error, connected

FOLDER = "index"
NAME = "archive.sqlite"
APPLICATION = 0x4C41464B  # "LAFK"
VERSION = 3
MAGIC = b"SQLite format 3\0"
_APPLICATION_AT = 68  # https://sqlite.org/fileformat2.html section 1.3
_BESIDE = ("", "-wal", "-shm", "-journal")
_CACHE = -32768  # KiB
_FAULTS = (sqlite3.Error, UnicodeDecodeError)

TABLES = Path(__file__).with_name("tables.sql").read_text("utf-8")
_INDEXES = Path(__file__).with_name("indexes.sql").read_text("utf-8")


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
        db = connected(path, _CACHE)
        try:
            _check(db, path)
        except BaseException:
            db.close()
            raise
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
    return text if text is None or text.isascii() else _RUNNING.sub(JOINER, text)


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
