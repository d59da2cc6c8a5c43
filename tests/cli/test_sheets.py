"""Rows given out: the same in JSON lines, CSV, SQLite and Parquet."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import pytest

from lafka.cli import sheets
from lafka.errors import BadArgument, StorageTrouble

COLUMNS: dict[str, type] = {"pid": str, "n": int, "on": bool, "parts": list, "none": str}
ROWS: list[dict[str, Any]] = [
    {"pid": "a", "n": 1, "on": True, "parts": [{"x": "ä"}], "none": None, "extra": "left out"},
    {"pid": 'b "quoted", \n', "n": 2**40, "on": False, "parts": [], "none": None},
]


def written(*args: str) -> None:
    parser = ArgumentParser()
    sheets.add_options(parser)
    sheets.write("things", COLUMNS, iter(ROWS), parser.parse_args(args))


def flat(row: dict[str, Any]) -> list[Any]:
    return [row["pid"], row["n"], row["on"], json.dumps(row["parts"], ensure_ascii=False), None]


def test_json_lines_hold_the_columns_in_their_order(tmp_path: Path) -> None:
    written("-o", str(tmp_path / "x"))
    lines = [json.loads(line) for line in (tmp_path / "x").read_text("utf-8").splitlines()]
    assert lines == [{name: row[name] for name in COLUMNS} for row in ROWS]
    assert [*lines[0]] == [*COLUMNS]


def test_csv_has_a_head_and_lists_as_json(tmp_path: Path) -> None:
    written("--csv", "-o", str(tmp_path / "x"))
    text = (tmp_path / "x").read_bytes().decode()
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    assert head == [*COLUMNS]
    assert rows == [["" if v is None else str(v) for v in flat(row)] for row in ROWS]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx", "\rx"])
def test_no_cell_of_csv_is_run_by_a_spreadsheet(text: str) -> None:
    (_, row) = b"".join(sheets.csv_of({"x": str}, [{"x": text}])).decode().split("\r\n", 1)
    assert next(csv.reader(io.StringIO(row, newline=""))) == [f"'{text}"]


def test_sqlite_has_one_table_and_replaces_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    for _ in range(2):
        written("--sqlite", str(path))
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT * FROM things").fetchall()
    database.close()
    assert [list(row) for row in rows] == [
        [int(v) if v is True or v is False else v for v in flat(r)] for r in ROWS
    ]
    assert [p.name for p in tmp_path.iterdir()] == ["x.sqlite"]


def test_parquet_has_the_columns_with_their_types(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    written("--parquet", str(tmp_path / "x"))
    table = parquet.read_table(tmp_path / "x")
    assert table.column_names == [*COLUMNS]
    assert [[*row.values()] for row in table.to_pylist()] == [flat(row) for row in ROWS]


def test_parquet_without_its_package_is_refused_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(BadArgument, match=r"lafka\[parquet\]"):
        written("--parquet", str(tmp_path / "x"))
    assert not (tmp_path / "x").exists()


def test_a_folder_that_is_not_there_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(StorageTrouble):
        written("--sqlite", str(tmp_path / "none" / "x"))


def test_a_file_named_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadArgument):
        written("--sqlite", str(tmp_path / "x"), "-o", "y")
