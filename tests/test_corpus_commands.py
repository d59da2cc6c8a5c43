"""``lafka fut PID...``, ``lafka futs`` and ``lafka outcomes``, in processes of their own."""

from __future__ import annotations

import csv
import io
import json
import os
import sqlite3
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path

import pytest
from scrapy.settings import Settings

from lafka.cli import tables
from lafka.runs.terminals import ERASE
from tests import starts
from tests.sites.made_pdfs import Leaf, Text, made
from tests.stores import FUTLI, PID, Store, pdf

ROOT = Path(__file__).parents[1]
OTHER = "RePEc:abc:wpaper:2"


def lafka(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "lafka", *args]
    return starts.run(
        line, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an archive of two papers."""
    store = Store(tmp_path / "archive")
    store.put(store.fut(pdf(1)))
    store.put(store.fut(pdf(2), pid=OTHER))
    line = {
        "pid": PID, "futli": FUTLI, "outcome": "fut", "time": "2026-11-20T10:11:12Z", "futs": [],
        "candidates": [], "capped": False, "requests": 0, "splap": None, "error": None,
        "as_written": "doi:10.1/x",
    }  # fmt: skip
    lost = line | {"futli": f"{FUTLI}/x", "outcome": "gone", "error": "410"}
    feed = tmp_path / "archive/runs/20261120T101112000000Z-h-1.jsonl"
    feed.write_text(json.dumps(line) + "\n" + json.dumps(lost) + "\n")
    return tmp_path


def test_all_papers_go_into_a_folder_by_names_that_people_can_use(folder: Path) -> None:
    done = lafka(folder, "fut", "--all", "--into", "pdfs")
    assert done.returncode == 0, done.stderr
    assert {p.name: p.read_bytes() for p in (folder / "pdfs").iterdir()} == {
        "RePEc_abc_wpaper_1.pdf": pdf(1), "RePEc_abc_wpaper_2.pdf": pdf(2),
    }  # fmt: skip
    assert done.stdout.splitlines()[0] == f"pdfs/RePEc_abc_wpaper_1.pdf\t{PID}\t{FUTLI}"
    assert done.stderr == "2 written, 0 there already, 0 failed\n"


def test_many_pids_cost_one_start_and_what_is_not_held_is_told(folder: Path) -> None:
    (folder / "pids").write_text(f"# two\n{PID}\tand more\nRePEc:abc:wpaper:3\n")
    done = lafka(folder, "fut", OTHER, "--list", "pids", "--into", "pdfs")
    assert done.returncode == 1
    assert len(list((folder / "pdfs").iterdir())) == 2
    assert done.stderr.splitlines() == [
        "RePEc:abc:wpaper:3: not in the archive at archive",
        "2 written, 0 there already, 1 failed",
    ]


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ([PID, OTHER], "say where to: --into FOLDER is missing"),
        (["--all"], "say where to: --into FOLDER is missing"),
        (["--into", "x"], "say which papers: pids, --list, or --all alone"),
        ([PID, "--all", "--into", "x"], "say which papers: pids, --list, or --all alone"),
        (
            [PID, "--into", "x", "-o", "y"],
            "--futli, --time and -o are for one paper, without --into",
        ),
        (["--all", "--into", "archive/lafka.json"], "--into archive/lafka.json: not a folder"),
        (["--list", "none", "--into", "x"], "none: no such file"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(
    folder: Path, args: list[str], sentence: str
) -> None:
    done = lafka(folder, "fut", *args)
    assert (done.returncode, done.stderr) == (2, f"lafka fut: {sentence}\n")


def test_futs_are_listed_where_they_lie(folder: Path) -> None:
    done = lafka(folder, "futs")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["pid"] for row in rows] == [PID, OTHER]
    with Path(rows[1]["warc"]).open("rb") as warc:
        warc.seek(rows[1]["s"])
        assert warc.read(rows[1]["l"]) == pdf(2)
    assert folder / "archive" / rows[1]["path"] == Path(rows[1]["warc"])
    assert (rows[1]["archive"], rows[1]["series"], rows[1]["title"]) == ("abc", "wpaper", None)


def test_futs_have_the_titles_and_years_of_an_index(folder: Path) -> None:
    assert lafka(folder, "index", "--quiet").returncode == 0
    with sqlite3.connect(folder / "archive/index/archive.sqlite") as index:
        index.execute("UPDATE paper SET title = 'Wages', year = 1998 WHERE pid = ?", (OTHER,))
    index.close()
    done = lafka(folder, "futs", "--csv")
    first, second = csv.DictReader(io.StringIO(done.stdout))
    assert (first["title"], second["title"], second["year"]) == ("", "Wages", "1998")


def test_futs_of_a_damaged_paper_are_left_out_and_told(folder: Path) -> None:
    (folder / "archive/suwaf/RePEc/abc/wpaper/1.json").write_text("{}")
    done = lafka(folder, "futs", "--csv")
    assert done.returncode == 1
    assert [row["pid"] for row in csv.DictReader(io.StringIO(done.stdout))] == [OTHER]
    assert "not a suwaf" in done.stderr


def test_outcomes_are_listed_by_group_with_futs_of_held_lines(folder: Path) -> None:
    done = lafka(folder, "outcomes")
    held, gone = map(json.loads, done.stdout.splitlines())
    assert (held["group"], held["futs"][0]["new"]) == ("held", False)
    assert (gone["group"], gone["futs"], gone["error"]) == ("not there", [], "410")
    done = lafka(folder, "outcomes", "--group", "not there", "--csv")
    (row,) = csv.DictReader(io.StringIO(done.stdout))
    assert (row["futli"], row["futs"]) == (f"{FUTLI}/x", "[]")
    done = lafka(folder, "outcomes", "--group", "lost")
    assert done.returncode == 2
    assert "'lost' is none of held, page only, not there, closed, trouble, ours" in done.stderr


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A folder with an archive of two papers that have text, and one that has none."""
    pytest.importorskip("pypdfium2")
    store = Store(tmp_path / "archive")
    for number, said in ((1, "Wages of copyists"), (2, "Slow glaciers")):
        data = made([Leaf(lines=(Text(said=said),))])
        store.put(store.fut(data, pid=f"RePEc:abc:wpaper:{number}"))
    store.put(store.fut(pdf(3), pid="RePEc:abc:wpaper:3"))
    return tmp_path


def test_texts_go_into_a_folder(texts: Path) -> None:
    done = lafka(texts, "text", "--all", "--into", "texts")
    assert done.returncode == 1
    assert (texts / "texts/RePEc_abc_wpaper_2.txt").read_text() == "Slow glaciers"
    assert done.stdout.splitlines()[0].startswith(
        "texts/RePEc_abc_wpaper_1.txt\tRePEc:abc:wpaper:1\t"
    )
    assert done.stderr.splitlines()[-1] == "3 read, 1 without text, 1 of these could not be read"
    again = lafka(texts, "text", "RePEc:abc:wpaper:2", "--into", "texts")
    assert (again.returncode, len(list((texts / "texts").iterdir()))) == (0, 3)


def test_texts_are_a_table_to_search(texts: Path) -> None:
    done = lafka(texts, "text", "--all", "--sqlite", "texts.sqlite")
    assert done.returncode == 1
    with sqlite3.connect(texts / "texts.sqlite") as database:
        asked = "SELECT pid FROM texts WHERE rowid IN (SELECT rowid FROM search('glaciers'))"
        assert database.execute(asked).fetchall() == [("RePEc:abc:wpaper:2",)]
    database.close()


@pytest.mark.parametrize("verb", ["futs", "text"])
def test_a_choice_that_nothing_is_of_is_told(texts: Path, verb: str) -> None:
    done = lafka(texts, verb, "--archive", "abd", "--host", "x.exmaple")
    assert (done.returncode, done.stdout) == (0, "")
    told = "nothing in the archive is of --archive abd, --host x.exmaple"
    assert done.stderr.splitlines()[0] == told
    assert "nothing" not in lafka(texts, verb, "--archive", "abc").stderr


@pytest.mark.parametrize("args", [("futs",), ("text", "--all", "--csv")])
def test_lines_without_a_title_are_told_until_there_is_an_index(
    texts: Path, args: tuple[str, ...]
) -> None:
    told = [
        f"without a title: {lines}; titles are in the index, which lafka index makes and brings"
        " up to date"
        for lines in ("3 lines", "1 line")
    ]
    assert told[0] in lafka(texts, *args).stderr.splitlines()
    assert lafka(texts, "index").returncode == 0
    assert "title" not in lafka(texts, *args).stderr
    store = Store(texts / "archive", run="2")
    store.put(store.fut(pdf(4), pid="RePEc:abc:wpaper:4"))
    assert told[1] in lafka(texts, *args).stderr.splitlines()


def test_texts_in_parquet_have_real_times(texts: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    lafka(texts, "text", "--series", "wpaper", "--parquet", "texts.parquet")
    first, *_ = parquet.read_table(texts / "texts.parquet").to_pylist()
    assert (first["text"], first["pages"], first["archive"]) == ("Wages of copyists", 1, "abc")
    assert first["time"].tzinfo is not None
    assert first["path"] == "warc/RePEc/abc/wpaper/1.warc"


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ([], "say which papers"),
        (["--all", "--into", "x", "--csv"], "--into makes files"),
        (["--host", "https://x.example/"], "--host 'https://x.example/': no host as www.example"),
        (["--since", "may"], "--since 'may': no time as YYYY-MM-DDThh:mm:ssZ"),
        (["--until", "may"], "--until 'may': no time as YYYY-MM-DDThh:mm:ssZ"),
        (["--archive", "ABC"], "--archive 'ABC': no code of 3 small letters or digits"),
        (["--series", "x"], "--series 'x': no code of 6 small letters or digits"),
    ],
)
def test_texts_of_what_cannot_be_are_refused(texts: Path, args: list[str], sentence: str) -> None:
    done = lafka(texts, "text", *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_how_many_texts_are_read_and_what_failed_above_it(
    texts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(texts)
    monkeypatch.setattr(sys, "stderr", Tty())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(tables, "INTERVAL", 0)
    command = tables.TextCommand()
    command.settings = Settings({"LAFKA_ARCHIVE": "archive", "LAFKA_INDEX": ""})
    parser = ArgumentParser()
    command.add_options(parser)
    command.act([], parser.parse_args(["--all", "--csv", "-o", "texts.csv"]))
    shown = sys.stderr.getvalue()
    assert f"{ERASE}1 texts read | " in shown
    assert f"{ERASE}3 texts read | finishing texts.csv" in shown
    *failed, end, last = [line.rpartition(ERASE)[2] for line in shown.split("\n")]
    assert [line.partition(":")[2][:7] for line in failed] == ["abc:wpa", " 3 line"]
    assert (end, last) == ("3 read, 1 without text, 1 of these could not be read", "")
    assert capsys.readouterr().out == ""
