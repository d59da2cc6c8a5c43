"""The schema against its page, and what becomes of a database that is none of ours."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

from lafka.errors import StorageTrouble
from lafka.index import tables
from lafka.warc.errors import BadIndex
from tests.index.histories import History

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "index-tables.md").read_text("utf-8")


def told() -> dict[str, list[str]]:
    """The columns of each table that docs/index-tables.md explains."""
    sections = re.split(r"(?m)^### ", PAGE)[1:]
    found = {}
    for section in sections:
        cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
        found[section.splitlines()[0]] = re.findall(r"`(\w+)`", " ".join(cells))
    return found


def test_each_table_and_column_is_on_its_page(tmp_path: Path) -> None:
    db = tables.open_to_write(tmp_path / "archive.sqlite")
    names = [row[0] for row in db.execute("SELECT name FROM pragma_table_list WHERE schema = 'main'"
                                          " AND type IN ('table', 'virtual')")]  # fmt: skip
    own = {name: [row[1] for row in db.execute(f"PRAGMA table_info({name})")] for name in names
           if not name.startswith(("sqlite_", "words_"))}  # fmt: skip
    db.close()
    assert {table: sorted(columns) for table, columns in told().items()} == {
        table: sorted(columns) for table, columns in own.items()
    }


def test_the_file_says_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "archive.sqlite"
    tables.open_to_write(path).close()
    head = path.read_bytes()[:100]
    assert head[68:72] == b"LAFK"
    assert int.from_bytes(head[60:64]) == 3 == tables.VERSION


@pytest.fixture
def history(tmp_path: Path) -> History:
    made = History(tmp_path / "archive")
    made.suwaf(1, {0: [1.0]})
    made.index()
    return made


def test_an_index_of_another_version_is_told_and_made_anew(history: History) -> None:
    db = sqlite3.connect(history.place.database)
    db.execute("PRAGMA user_version = 2")
    db.close()
    with pytest.raises(BadIndex, match="an index of version 2, not of 3"):
        history.open()
    account = history.index()
    assert account.sentences == [
        f"{history.place.database}: an index of version 2, not of 3; it is made anew"
    ]
    assert history.differences() == []


@pytest.mark.parametrize("place", [0.0, 0.1, 0.5, 0.9])
def test_a_damaged_index_is_told_and_made_anew(history: History, place: float) -> None:
    for number in range(2, 60):
        history.suwaf(number, {0: [1.0], 1: [2.0]})
    history.index()
    path = history.place.database
    data = bytearray(path.read_bytes())
    start = int(len(data) * place) // 4096 * 4096 + 100 * (place == 0)
    data[start : start + 8192] = b"\xa5" * 8192
    path.write_bytes(data)
    history.suwaf(60, {0: [1.0]})
    history.later()
    account = history.index(anew=place > 0)  # which reads every page of it, or none
    assert place or len(account.sentences) == 1
    assert history.differences() == []


def test_a_damaged_page_that_is_reached_is_told_and_made_anew(history: History) -> None:
    for number in range(2, 200):
        history.suwaf(number, {0: [1.0]})
    history.index()
    path = history.place.database
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(data)
    history.suwaf(60, {0: [1.0]})
    history.later()
    (sentence,) = history.index().sentences
    assert sentence.endswith("; it is made anew")
    assert history.differences() == []


def test_what_was_never_an_index_is_kept(history: History) -> None:
    path = history.place.database
    path.write_bytes(b"\0" * 5000)
    (sentence,) = history.index().sentences
    kept = next(path.parent.glob("archive.sqlite.damaged-*"))
    assert kept.name in sentence
    assert kept.read_bytes() == b"\0" * 5000
    assert history.differences() == []


def test_a_database_of_something_else_is_left_alone(history: History) -> None:
    path = history.place.database
    tables.remove(path)
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE mine (x)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(BadIndex, match="a database of something else"):
        history.index()
    assert path.read_bytes() == before


def test_a_missing_index_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadIndex, match="no index is here; lafka index makes it"):
        tables.open_to_read(tmp_path / "archive.sqlite")


def fill(patch: pytest.MonkeyPatch, opener: str) -> None:
    """Let what `tables.<opener>` opens have 60 pages: SQLITE_FULL, as of a disk with no more."""
    own = getattr(tables, opener)

    def small(path: Path) -> sqlite3.Connection:
        db: sqlite3.Connection = own(path)
        db.execute("PRAGMA max_page_count = 60")
        return db

    patch.setattr(tables, opener, small)


def test_a_full_disk_is_one_sentence_and_the_next_run_goes_on(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2, 400):
        history.suwaf(number, {0: [1.0]})
    history.later()
    with monkeypatch.context() as patch:
        fill(patch, "open_to_write")
        with pytest.raises(StorageTrouble, match="No space left"):
            history.index()
    (before,) = history.rows("SELECT count(*) FROM paper")
    assert 0 < before[0] < 399
    history.index()
    assert history.rows("SELECT count(*) FROM paper") == [(399,)]
    assert history.differences() == []


def test_a_disk_that_is_full_while_an_index_is_made_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History(tmp_path / "archive")
    for number in range(150):
        history.suwaf(number, {0: [1.0]})
    with monkeypatch.context() as patch:
        fill(patch, "open_draft")
        with pytest.raises(StorageTrouble, match="No space left"):
            history.index()
    assert [path.name for path in history.place.folder.iterdir()] == ["lock"]
    history.index()
    assert history.rows("SELECT count(*) FROM paper") == [(150,)]
