"""Rows that a command gives out: JSON lines, CSV, Parquet or SQLite, in constant memory.

Values are texts, whole numbers, yes or no, nothing, times, which Parquet has as such and the others
as text, and lists, which CSV, Parquet and SQLite have as JSON.
"""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lafka.errors import BadArgument, StorageTrouble
from lafka.storage import drafts
from lafka.storage.folders import DRAFT
from lafka.storage.outputs import STDOUT, csv_cell, escaped, file_at, new_draft, write_output

Columns = Mapping[str, type]
"""Names in their order, and ``str``, ``int``, ``bool``, ``datetime`` for a text like
``2026-11-20T10:11:12Z``, or ``list`` for what is JSON in a cell.
"""
Row = Mapping[str, Any]

_BATCH = 10_000
_BATCH_OF_TEXTS = 100
_SQL = {str: "TEXT", int: "INTEGER", bool: "INTEGER", list: "TEXT", datetime: "TEXT"}


def add_options(parser: ArgumentParser) -> None:
    """The forms, one of which may be asked for."""
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--jsonl", action="store_true", help="JSON lines, as without any of these")
    forms.add_argument("--csv", action="store_true", help="CSV; lists are JSON in a cell")
    forms.add_argument("--parquet", metavar="FILE", help="a Parquet file; needs lafka[parquet]")
    forms.add_argument("--sqlite", metavar="FILE", help="a SQLite database with one table")
    parser.add_argument("-o", "--output", metavar="FILE", help="JSON lines or CSV to FILE")


def write(table: str, columns: Columns, rows: Iterable[Row], opts: Namespace) -> None:
    """Write *rows* in the form that *opts* asks for; ``BadArgument``, ``StorageTrouble``.

    A file is put in place when it is whole, for whatever is there.
    """
    if opts.output and (opts.parquet or opts.sqlite):
        raise BadArgument("-o is for JSON lines and CSV; --parquet and --sqlite name their file")
    if opts.parquet:
        _by_file(opts.parquet, lambda path: _parquet(path, columns, rows))
    elif opts.sqlite:
        _by_file(opts.sqlite, lambda path: _sqlite(path, table, columns, rows))
    else:
        pieces = csv_of(columns, rows) if opts.csv else jsonl_of(columns, rows)
        write_output(opts.output or STDOUT, pieces)


def jsonl_of(columns: Columns, rows: Iterable[Row]) -> Iterator[bytes]:
    """A line a row."""
    for row in rows:
        text = json.dumps({name: row[name] for name in columns}, ensure_ascii=False)
        yield _encoded(text) + b"\n"


def csv_of(columns: Columns, rows: Iterable[Row]) -> Iterator[bytes]:
    """RFC 4180 in UTF-8, with a head."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([csv_cell(row[name]) for name in columns])
        if buffer.tell() > 1 << 16:
            yield _drain(buffer)
    yield _drain(buffer)


def _drain(buffer: io.StringIO) -> bytes:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return _encoded(text)


def _encoded(text: str) -> bytes:
    """UTF-8, with what is no letter of it, and what would hide or end a line, as escapes."""
    return escaped(text).encode("utf-8", "backslashreplace")


def _flat(value: Any) -> Any:
    """*value* as a cell has it: lists as JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value


def _by_file(name: str, make: Callable[[Path], object]) -> None:
    """Put what *make* makes, in a folder beside it, at *name*."""
    target = file_at(name, never_gzipped="a database or Parquet file")
    if target is None:
        raise BadArgument(f"{name}: not a file; --parquet and --sqlite make one")
    with (
        StorageTrouble.at(target),
        TemporaryDirectory(prefix=DRAFT, dir=target.parent) as folder,
    ):
        made = Path(folder) / "made"
        made.touch()
        make(made)
        with made.open("rb") as file:
            drafts.replace(target, iter(lambda: file.read(1 << 20), b""), draft=new_draft(target))


def _batches(columns: Columns, rows: Iterable[Row]) -> Iterator[list[tuple[Any, ...]]]:
    flat = (tuple(_flat(row[name]) for name in columns) for row in rows)
    while batch := list(islice(flat, _BATCH_OF_TEXTS if "text" in columns else _BATCH)):
        yield batch


def _sqlite(path: Path, table: str, columns: Columns, rows: Iterable[Row]) -> None:
    declared = ", ".join(f'"{name}" {_SQL[kind]}' for name, kind in columns.items())
    places = ", ".join("?" * len(columns))
    database = sqlite3.connect(path, isolation_level=None)
    try:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")  # it is copied, and the copy synced
        database.execute(f'CREATE TABLE "{table}" ({declared}) STRICT')
        for batch in _batches(columns, rows):
            database.execute("BEGIN")
            database.executemany(f'INSERT INTO "{table}" VALUES ({places})', batch)  # noqa: S608  our own names
            database.execute("COMMIT")
        if "pid" in columns:
            database.execute(f'CREATE INDEX by_pid ON "{table}" (pid)')
        if "text" in columns:
            database.execute(f'CREATE VIRTUAL TABLE search USING fts5(text, content="{table}")')
            database.execute("INSERT INTO search(search) VALUES ('rebuild')")
    except sqlite3.OperationalError as error:
        raise StorageTrouble(path, OSError(str(error))) from error
    finally:
        database.close()


def _parquet(path: Path, columns: Columns, rows: Iterable[Row]) -> None:
    try:
        import pyarrow.parquet  # noqa: PLC0415  it is an extra
    except ImportError:
        raise BadArgument("--parquet needs pyarrow: pip install 'lafka[parquet]'") from None
    pa, parquet = pyarrow, pyarrow.parquet
    kinds = {str: pa.string(), int: pa.int64(), bool: pa.bool_(), list: pa.string()}
    kinds[datetime] = pa.timestamp("s", tz="UTC")
    schema = pa.schema([(name, kinds[kind]) for name, kind in columns.items()])
    with path.open("wb") as file, parquet.ParquetWriter(file, schema) as writer:
        for batch in _batches(columns, rows):
            values = zip(*batch, strict=True)
            kind = columns.values()
            arrays = [
                pa.array(map(datetime.fromisoformat, cells) if k is datetime else cells, kinds[k])
                for cells, k in zip(values, kind, strict=True)
            ]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
