"""The tables of ingest results in an SQLite file: WAL, each batch synced when it is written."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.resources import files
from itertools import chain, islice
from pathlib import Path
from typing import Self

from lafka.errors import StorageTrouble
from lafka.jobs.database import TABLES, BadDatabase, DatabaseAway, RowRefused, Table, Tables

NOW = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
_TOGETHER = 100
"""Rows of a statement: each lets other threads run once, and is held up by them once."""
_WAIT = 30  # seconds for another writer's transaction
_SCHEMA = "schema.sqlite.sql"
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_DISK = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY})


class SqliteDatabase:
    """The file at *path*, made with its tables where there is none. ``BadDatabase``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._connection = sqlite3.connect(
                path, timeout=_WAIT, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise BadDatabase(f"{path}: {error}") from error
        try:
            self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        try:
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
        except sqlite3.Error as error:
            raise self._meaning(error) from error
        self.create()

    def create(self) -> None:
        script = files("lafka.jobs.database").joinpath(_SCHEMA).read_text("utf-8")
        try:
            self._connection.executescript(script)
        except sqlite3.Error as error:
            raise self._meaning(error) from error

    def write(self, batch: Sequence[Tables]) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for table in TABLES:
                rows = (row for tables in batch for row in tables.get(table.name, ()))
                while some := list(islice(rows, _TOGETHER)):
                    values = chain.from_iterable(map(table.values, some))
                    self._connection.execute(_insert(table, len(some)), list(values))
            self._connection.execute("COMMIT")
        except BaseException as error:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise self._meaning(error) from error
            raise

    def _meaning(self, error: sqlite3.Error) -> Exception:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        sentence = f"{self.path}: {error}"
        if isinstance(error, sqlite3.IntegrityError | sqlite3.DataError | sqlite3.InterfaceError):
            return RowRefused(str(error))
        if code in _BUSY:
            return DatabaseAway(sentence)
        if code in _DISK:
            return StorageTrouble(self.path, OSError(0, str(error)))
        return BadDatabase(sentence)

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@cache
def _insert(table: Table, rows: int) -> str:
    """The statement that writes so many *rows* of *table*."""
    marks = f"({', '.join('?' * len(table.columns))})"
    return table.insert(f"VALUES {', '.join([marks] * rows)}", NOW)
