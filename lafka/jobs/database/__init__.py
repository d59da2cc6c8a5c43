"""The tables of ingest results: the proposal's, in SQLite or PostgreSQL.

``statements``  one INSERT a table, which both databases understand
``sqlite``      a file of the archive, made when it is first written
``postgresql``  a server; its tables are made on request alone

>>> with opened("ingest.sqlite") as database:  # doctest: +SKIP
...     database.write([{"ingest_file_result": [row]}])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from lafka.errors import BadArgument, LafkaError, OperatorError

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]
"""Rows by the name of their table, in the order in which they are to be written."""


class BadDatabase(OperatorError):
    """A database that cannot be used as it is: tables are missing, or it cannot be opened."""


class Away(LafkaError):
    """The database does not answer just now; what was begun is undone, and may be tried again."""


class Refused(LafkaError):
    """A check or a key of the database refuses a row; nothing of the batch was written."""


class Database(Protocol):
    """One connection. Not for several threads at once."""

    def create(self) -> None:
        """Make the tables that are missing; ``BadDatabase``, ``Away``."""

    def write(self, batch: Sequence[Tables]) -> None:
        """Write *batch* in one transaction, durable when it returns.

        The last row of a key wins. ``Refused``, ``Away``, ``BadDatabase``; then nothing of it
        was written.
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
