"""The tables of ingest results on a PostgreSQL server, by psycopg 3.

Passwords come from where libpq looks for them (``PGPASSFILE``, ``~/.pgpass``) and are never told.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Self

from lafka.errors import BadArgument
from lafka.jobs.database import TABLES, BadDatabase, DatabaseAway, Row, RowRefused, Table, Tables

if TYPE_CHECKING:
    import psycopg

_CONNECT = 10  # seconds
_PING = 2  # seconds
_SCHEMA = "schema.postgresql.sql"
_KINDS = {
    "hit": "boolean", "total_size": "bigint", "file_count": "int", "size_bytes": "bigint",
    "terminal_status_code": "int", "warc_csize": "bigint", "warc_offset": "bigint",
    "request": "jsonb", "manifest": "jsonb",
}  # fmt: skip
"""Types of the columns that are no text."""
_TOGETHER = 16 << 20
"""Characters of a statement's rows; a parameter has at most 1 GiB, and a result may have 32 MiB."""
_QUICK = (
    "SELECT set_config(name, 'lz4', false) FROM pg_settings"
    " WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)"
)
"""Manifests are compressed by LZ4 where the server has it: its own way takes it longer."""
_ACCOUNT = re.compile(r'\b(user|role) "[^"]*"')
_PASSWORD = re.compile(r"(://[^:@/]*):[^@/]*@|\b(password=)[^&\s]*")


def shown(url: str) -> str:
    """*url* without its password."""
    return _PASSWORD.sub(lambda m: f"{m[1]}:...@" if m[1] else f"{m[2]}...", url)


class PostgresDatabase:
    """The database at *url*, connected when it is first used, and again after it was away.

    ``BadArgument`` where psycopg is missing.
    """

    def __init__(self, url: str) -> None:
        self._psycopg = _library()
        self._url = url
        self._inserts = [(table, table.insert(_source(table), "now()")) for table in TABLES]
        self._open: psycopg.Connection[Any] | None = None

    def _connection(self) -> psycopg.Connection[Any]:
        if self._open is None or self._open.closed:
            self._open = self._psycopg.connect(
                self._url, connect_timeout=_CONNECT, application_name="lafka"
            )
            self._open.execute(_QUICK)
            self._open.commit()
        return self._open

    def create(self) -> None:
        script = files("lafka.jobs.database").joinpath(_SCHEMA).read_text("utf-8")
        try:
            with self._connection() as connection:
                connection.execute(script)
        except self._psycopg.Error as error:
            raise self._meaning(error) from error
        finally:
            self.close()

    def write(self, batch: Sequence[Tables]) -> None:
        try:
            connection = self._connection()
            with connection.transaction(), connection.cursor() as cursor:
                for table, insert in self._inserts:
                    rows = (row for tables in batch for row in tables.get(table.name, ()))
                    for part in _parts(table, rows):
                        cursor.execute(insert, part)
        except self._psycopg.Error as error:
            raise self._meaning(error) from error

    def _meaning(self, error: psycopg.Error) -> Exception:
        """Return what *error* means; the connection goes where it may be broken."""
        kinds = self._psycopg.errors
        sentence = " ".join(str(error).split())
        if isinstance(error, self._psycopg.IntegrityError | self._psycopg.DataError):
            return RowRefused(sentence)
        self.close()
        place = shown(self._url)
        if isinstance(error, kinds.UndefinedTable):
            return BadDatabase(
                f"{place}: its tables are missing: lafka persist --create makes them"
            )
        if isinstance(error, kinds.UndefinedColumn | kinds.InvalidColumnReference):
            return BadDatabase(f"{place}: its tables are others: {sentence}")
        if isinstance(error, self._psycopg.OperationalError | self._psycopg.InterfaceError):
            return DatabaseAway(f"{place}: {shown(sentence)}")
        return BadDatabase(f"{place}: {shown(sentence)}")

    def close(self) -> None:
        if self._open is not None:
            with suppress(self._psycopg.Error):
                self._open.close()
            self._open = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Server:
    """The server at *url* as one connects to it; no sentence has its user or password.

    ``BadArgument`` where psycopg is missing, or *url* is none of PostgreSQL's.
    """

    def __init__(self, url: str) -> None:
        self._psycopg = _library()
        self._url = url
        self.error: type[Exception] = self._psycopg.Error
        try:
            said = self._psycopg.conninfo.conninfo_to_dict(url)
        except self._psycopg.Error:  # its sentence may have the password
            raise BadArgument("no URL that PostgreSQL's library can read") from None
        names = "user", "password", "sslpassword"
        self._secrets = [str(said[name]) for name in names if said.get(name)]
        port = f":{said['port']}" if said.get("port") else ""
        self._name = f"postgresql://{said.get('host') or ''}{port}/{said.get('dbname') or ''}"

    def connect(self) -> psycopg.Connection[Any]:
        """A connection on which each statement is a transaction; raises ``error``."""
        connection: psycopg.Connection[Any] = self._psycopg.connect(
            self._url, connect_timeout=_CONNECT, application_name="lafka", autocommit=True
        )
        return connection

    def is_starting(self) -> bool:
        """Return whether the server answers that it takes nobody yet, for it starts or recovers."""
        how = self._psycopg.conninfo.make_conninfo(self._url, connect_timeout=_PING)
        pq = self._psycopg.pq
        return bool(pq.PGconn.ping(how.encode()) == pq.Ping.REJECT)

    def sentence(self, error: Exception) -> str:
        """*error* in a sentence that names the server."""
        text = _ACCOUNT.sub(r'\1 "..."', " ".join(str(error).split()))
        for secret in self._secrets:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "...", text)
        return f"{self._name}: {text}"


def _library() -> Any:
    try:
        import psycopg  # noqa: PLC0415
    except ImportError:
        raise BadArgument("PostgreSQL needs psycopg: pip install 'lafka[postgresql]'") from None
    return psycopg


def _source(table: Table) -> str:
    """Return what gives a statement its rows: an array of texts a column, each cast to its type.

    One statement for many rows costs the server and us a fraction of one a row.
    """
    names = ", ".join(table.columns)
    arrays = ", ".join(["%b::text[]"] * len(table.columns))
    cast = (f"{name}::{_KINDS.get(name, 'text')}" for name in table.columns)
    return f"SELECT {', '.join(cast)} FROM unnest({arrays}) AS given({names})"  # noqa: S608  ours


def _parts(table: Table, rows: Iterable[Row]) -> Iterator[list[list[str | None]]]:
    """*rows* as the columns of one statement after the other.

    No statement may write a key twice: the row that has one for the n-th time is in the n-th turn.
    """
    turns: list[list[list[str | None]]] = []
    seen: Counter[tuple[str | None, ...]] = Counter()
    for row in rows:
        values = [value if value is None else str(value) for value in table.values(row)]
        key = tuple(values[: len(table.key)])
        if seen[key] == len(turns):
            turns.append([])
        turns[seen[key]].append(values)
        seen[key] += 1
    for turn in turns:
        yield from _statements(turn)


def _statements(rows: Iterable[list[str | None]]) -> Iterator[list[list[str | None]]]:
    """The columns of *rows*, as many rows at once as a statement may have."""
    held: list[list[str | None]] = []
    size = 0
    for row in rows:
        own = sum(len(value) for value in row if value)
        if held and size + own > _TOGETHER:
            yield list(map(list, zip(*held, strict=True)))
            held, size = [], 0
        held.append(row)
        size += own
    yield list(map(list, zip(*held, strict=True)))
