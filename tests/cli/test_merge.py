"""``lafka merge`` as it is called."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lafka.papers.archive.archives import Archive
from tests.cli.test_check_list import called
from tests.stores import Store, files, pdf, problems


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("one", "two"):
        store = Store(tmp_path / name)
        for number in range(3):
            store.put(store.fut(pdf(number), pid=f"RePEc:{name}:wpaper:{number}"))
        store.raw.close()
    return tmp_path


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_archives_become_one(folder: Path, jobs: str) -> None:
    done = called("merge", "one", "two", "--jobs", jobs, folder=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"{name}: 3 papers are new, 0 have more captures, 0 bring nothing, 0 are left"
        for name in ("one", "two")
    ]
    assert "archive" in done.stderr
    merged = folder / "archive"
    assert not problems(merged)
    assert len([*Archive(merged)]) == 6
    (folder / "two" / "runs" / "two.jsonl").write_text("{}\n")
    again = called("merge", "two", "one", folder=folder)
    assert "two: 0 papers are new, 0 have more captures, 3 bring nothing" in again.stdout
    assert (merged / "runs" / "two.jsonl").read_text() == "{}\n"


def test_a_dry_run_makes_nothing(folder: Path) -> None:
    done = called("merge", "one", "--dry-run", folder=folder)
    assert done.stdout.startswith("one: 3 papers would be new,")
    assert not (folder / "archive").exists()
    next((folder / "one" / "suwaf").rglob("*.json")).rename(folder / "away.json")
    damaged = called("merge", "one", "--dry-run", folder=folder)
    assert damaged.returncode == 1
    assert damaged.stdout.startswith("one: 2 papers would be new,")
    assert "it has no suwaf" in damaged.stderr
    called("merge", "one", folder=folder)
    before = files(folder / "archive")
    assert called("merge", "two", "--dry-run", folder=folder).returncode == 0
    assert files(folder / "archive") == before


def test_a_damaged_paper_is_named_and_the_exit_code_is_1(folder: Path) -> None:
    warc = next(Archive(folder / "one").warcs())
    data = bytearray(warc.read_bytes())
    data[data.index(b"%PDF-") + 20] ^= 1
    warc.write_bytes(data)
    done = called("merge", "one", folder=folder)
    assert done.returncode == 1
    assert "2 papers are new, 0 have more captures, 0 bring nothing, 1 are left" in done.stdout
    assert "merge: RePEc:" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_cannot_be_merged_is_refused_before_anything_is_written(folder: Path) -> None:
    shutil.copytree(folder / "one", folder / "one" / "inner")
    (folder / "none").mkdir()
    Archive.create(folder / "socionet", "Socionet")
    for args, sentence in (
        ((), "say which archives to merge"),
        (("none",), "none: no archive is here"),
        (("one", "socionet"), "collection"),
        (("one", "--jobs", "0"), "--jobs '0'"),
    ):
        done = called("merge", *args, folder=folder)
        assert (done.returncode, done.stdout) == (2, "")
        assert sentence in done.stderr
        assert "Traceback" not in done.stderr
        assert not (folder / "archive").exists()
    shutil.copytree(folder / "two", folder / "archive")
    before = files(folder / "archive")
    (folder / "link").symlink_to("archive")
    for args, sentence in (
        (("archive",), "is the archive that is merged into"),
        (("link",), "is the archive that is merged into"),
        (("socionet",), "not of RePEc"),
    ):
        done = called("merge", *args, folder=folder)
        assert (done.returncode, done.stdout) == (2, "")
        assert sentence in done.stderr
    assert files(folder / "archive") == before
