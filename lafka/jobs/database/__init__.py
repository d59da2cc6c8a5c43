"""The tables of ingest results: the proposal's, in SQLite or PostgreSQL.

``sqlite``      a file of the archive, made when it is first written
``postgresql``  a server; its tables are made on request alone

A table has one statement, in words that both share; only the rows are given to it differently. A
result that says ``success-existing`` tells nothing new of what was archived: over a row that is a
hit it leaves how and where that was, and moves ``updated`` alone.

>>> with opened("ingest.sqlite") as database:  # doctest: +SKIP
...     database.write([{"ingest_file_result": [row]}])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from lafka.errors import BadArgument, LafkaError, OperatorError

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]
"""Rows by the name of their table, in the order in which they are to be written."""


class BadDatabase(OperatorError):
    """A database that cannot be used as it is: tables are missing, or it cannot be opened."""


class DatabaseAway(LafkaError):
    """The database does not answer just now; what was begun is undone, and may be tried again."""


class RowRefused(LafkaError):
    """A check or a key of the database refuses a row; nothing of the batch was written."""


class Database(Protocol):
    """One connection. Not for several threads at once."""

    def create(self) -> None:
        """Make the tables that are missing; ``BadDatabase``, ``DatabaseAway``."""

    def write(self, batch: Sequence[Tables]) -> None:
        """Write *batch* in one transaction, durable when it returns.

        The last row of a key wins. ``RowRefused``, ``DatabaseAway``, ``BadDatabase``; then nothing
        of it was written.
        """

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...


SCHEMES = ("postgresql://", "postgres://")


def opened(place: str | Path) -> Database:
    """The database at *place*: a ``postgresql://`` URL, or the path of an SQLite file.

    An SQLite file is made, with its tables, where there is none; nothing is made on a server.
    ``BadDatabase``; ``BadArgument`` for another kind of URL.
    """
    text = str(place)
    if text.startswith(SCHEMES):
        from lafka.jobs.database.postgresql import PostgresDatabase  # noqa: PLC0415

        return PostgresDatabase(text)
    if "://" in text:
        raise BadArgument("a database is a path or begins with postgresql://")
    from lafka.jobs.database.sqlite import SqliteDatabase  # noqa: PLC0415

    return SqliteDatabase(Path(text))


EXISTING = "success-existing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Columns that are written, those that are its key, and what a row of a known key does.

    ``last_wins``: columns that it replaces; ``kept``: those of them that a ``success-existing``
    leaves over a hit; ``filled``: columns that it fills where they were empty. ``updated``: whether
    the table has such a column, which moves.
    """

    name: str
    key: tuple[str, ...]
    last_wins: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    filled: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    updated: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.key, *self.last_wins, *self.filled, *self.plain)

    def insert(self, source: str, now: str) -> str:
        """The statement that writes the rows of *source*; *now* is what ``updated`` becomes.

        *source* gives the columns in their order: ``VALUES (...)``, or a SELECT of many rows.
        """
        names = ", ".join(self.columns)
        return (
            f"INSERT INTO {self.name} ({names}) {source}"
            f" ON CONFLICT ({', '.join(self.key)}) DO {self._conflict(now)}"
        )

    def values(self, row: Mapping[str, Any]) -> list[Any]:
        """The values of *row* in the order of the columns, None for those that it has not."""
        return list(map(row.get, self.columns))

    def _conflict(self, now: str) -> str:
        sets = [f"{name} = {self._value(name)}" for name in self.last_wins]
        sets += [f"{name} = COALESCE({self.name}.{name}, excluded.{name})" for name in self.filled]
        if self.updated:
            sets.append(f"updated = {now}")
        return f"UPDATE SET {', '.join(sets)}" if sets else "NOTHING"

    def _value(self, name: str) -> str:
        if name not in self.kept:
            return f"excluded.{name}"
        is_old = f"excluded.status = '{EXISTING}' AND {self.name}.hit"
        return f"CASE WHEN {is_old} THEN {self.name}.{name} ELSE excluded.{name} END"


_KEY = ("ingest_type", "base_url")
_BUNDLE = ("archiveorg_item_bundle_path", "web_bundle_url", "web_bundle_dt")

TABLES = (
    Table(
        name="ingest_request",
        key=("link_source", "link_source_id", *_KEY),
        plain=("ingest_request_source", "release_stage", "request"),
    ),
    Table(
        name="ingest_file_result",
        key=_KEY,
        last_wins=(
            "hit", "status", "terminal_url", "terminal_dt", "terminal_status_code",
            "terminal_sha1hex",
        ),
        kept=("status",),
        updated=True,
    ),
    Table(
        name="ingest_fileset_platform",
        key=_KEY,
        last_wins=(
            "hit", "status", "platform_name", "platform_domain", "platform_id", "ingest_strategy",
            "total_size", "file_count", "archiveorg_item_name", *_BUNDLE, "manifest",
        ),
        kept=("status", "ingest_strategy", *_BUNDLE),
        updated=True,
    ),
    Table(
        name="file_meta",
        key=("sha1hex",),
        filled=("sha256hex", "md5hex", "size_bytes", "mimetype"),
    ),
    Table(
        name="cdx",
        key=("url", "datetime"),
        plain=("sha1hex", "mimetype", "warc_path", "warc_csize", "warc_offset"),
    ),
)  # fmt: skip
"""In the order in which a batch is written."""
