"""``lafka persist`` as an operator gives it."""

from __future__ import annotations

import base64
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import starts
from tests.filesets.test_persisting import result
from tests.services.postgresqls import Postgres, started

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    server = started()
    yield server
    server.end()


def persist(
    root: Path, *args: str | Path, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "lafka", "persist", *map(str, args)]
    archive = ["-s", f"LAFKA_ARCHIVE={root}"]
    return starts.run([*command, *archive], cwd=ROOT, input=stdin, capture_output=True, check=False)


def urls(place: Path) -> list[str]:
    with sqlite3.connect(place) as base:
        return [row[0] for row in base.execute("SELECT base_url FROM ingest_file_result")]


def test_results_of_a_file_go_into_the_archives_database(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_bytes(b"\n".join(result(n) for n in range(3)))
    for _ in range(2):
        done = persist(tmp_path, tmp_path / "results.jsonl")
        assert done.returncode == 0, done.stderr.decode()
        assert b"3 results written, 0 refused" in done.stderr
        assert sorted(urls(tmp_path / "ingest.sqlite")) == [
            f"https://x.example/{n}" for n in range(3)
        ]


def test_what_is_refused_is_kept_with_its_line(tmp_path: Path) -> None:
    done = persist(tmp_path, "-", stdin=result("a") + b"\nnot JSON\n" + result("b"))
    assert done.returncode == 1
    assert b"2 results written, 1 refused" in done.stderr
    (line,) = (tmp_path / "ingest.dead.jsonl").read_text("utf-8").splitlines()
    told = json.loads(line)
    assert (told["place"], told["reason"]) == ("standard input:2", "not JSON")
    assert base64.b64decode(told["data"]) == b"not JSON"


def test_without_an_archive_what_is_refused_is_kept_here(tmp_path: Path) -> None:
    lines = result("a") + b"\nnot JSON\n" + result("b")
    command = [sys.executable, "-m", "lafka", "persist", "-", "--db", "some.sqlite"]
    done = starts.run(
        [*command, "-s", "LAFKA_ARCHIVE=none"], cwd=tmp_path, input=lines, capture_output=True
    )
    assert b"2 results written, 1 refused" in done.stderr
    assert sorted(urls(tmp_path / "some.sqlite")) == ["https://x.example/a", "https://x.example/b"]
    assert (tmp_path / "ingest.dead.jsonl").is_file()


def test_a_server_gets_its_tables_on_request_alone(tmp_path: Path, postgres: Postgres) -> None:
    place = postgres.url()
    done = persist(tmp_path, "-", "--db", place, stdin=result("a"))
    assert done.returncode == 2
    assert b"lafka persist --create makes them" in done.stderr
    assert persist(tmp_path, "--db", place, "--create").returncode == 0
    done = persist(tmp_path, "-", "--db", place, stdin=result("a"))
    assert done.returncode == 0, done.stderr.decode()
    assert not (tmp_path / "ingest.sqlite").exists()


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ((), "say what to persist"),
        (("none.jsonl",), "none.jsonl: No such file or directory"),
        (("-", "--db", "mysql://h/x"), "begins with postgresql://"),
        (("-", "--db", "/nowhere/x.sqlite"), "unable to open database file"),
        (("tests",), "a folder, not a file of results"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    tmp_path: Path, args: tuple[str, ...], told: str
) -> None:
    done = persist(tmp_path, *args)
    assert done.returncode == 2
    assert told in done.stderr.decode()
    assert b"Traceback" not in done.stderr
