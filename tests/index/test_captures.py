"""Every record of the paper WARCs is found; WARCs that grow, are cut, gone or damaged."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from lafka.index.build import refresh
from lafka.index.captures import index_captures
from lafka.index.papers import IndexTally
from lafka.index.tables import IndexFiles
from lafka.warc.errors import BadIndex
from lafka.warc.indexes import attach
from lafka.warc.indexes.sqlite import SqliteBuilder, SqliteIndex
from lafka.warc.reading.volumes import WarcVolume
from tests.stores import FUTLI, START, Store, pdf


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "archive")
    store.put(store.fut(pdf(1)))
    return store


def index(store: Store, place: IndexFiles | None = None, *, anew: bool = False) -> IndexTally:
    place = place or IndexFiles.of(store.archive.root)
    more = [partial(index_captures, anew=anew)]
    return refresh(store.archive, place, anew=anew, more=more)


def entries(store: Store, place: IndexFiles | None = None) -> set[tuple[str, int, str]]:
    with attach((place or IndexFiles.of(store.archive.root)).captures) as found:
        return {(entry.volume, entry.offset or 0, entry.type) for entry in found}


def records(store: Store) -> set[tuple[str, int, str]]:
    """What is in the WARCs themselves."""
    found = set()
    for path in store.archive.warcs():
        with WarcVolume(path) as volume:
            name = f"../{path.relative_to(store.archive.root).as_posix()}"
            found |= {(name, record.offset, record.type) for record in volume}
    return found


OTHER = "RePEc:abc:wpaper:2"


def test_every_record_is_found_and_only_once(store: Store) -> None:
    store.put(store.fut(pdf(2), pid=OTHER, hops=2))
    assert index(store).captures == len(records(store))
    assert entries(store) == records(store)
    assert index(store).captures == 0
    with attach(IndexFiles.of(store.archive.root).captures) as found:
        entry = next(found.search(url=FUTLI))
    assert entry.volume == "../warc/RePEc/abc/wpaper/1.warc"
    assert (store.archive.root / "index" / entry.volume).is_file()


def test_a_warc_that_grew_is_read_from_where_it_ended(store: Store) -> None:
    before = index(store).captures
    store.put(store.fut(pdf(2), at=START.replace(day=21)))
    assert index(store).captures == len(records(store)) - before > 0
    assert entries(store) == records(store)


@pytest.mark.parametrize("behind", [None, b"WARC/1.1\r\nWARC-Type: resp", b"junk"])
def test_bytes_behind_the_known_end_are_not_told(store: Store, behind: bytes | None) -> None:
    known = records(store)
    with store.warc().open("ab") as file:
        file.write(store.warc().read_bytes() if behind is None else behind)
    assert index(store).sentences == []
    assert entries(store) == known


def test_a_paper_that_is_gone_is_forgotten(store: Store) -> None:
    store.put(store.fut(pdf(2), pid=OTHER))
    index(store)
    store.suwaf(OTHER).unlink()
    store.warc(OTHER).unlink()
    index(store)
    assert entries(store) == records(store)
    assert {volume for volume, _, _ in entries(store)} == {"../warc/RePEc/abc/wpaper/1.warc"}


def test_a_warc_that_is_too_short_or_none_is_told_and_tried_again(store: Store) -> None:
    store.put(store.fut(pdf(2), pid=OTHER))
    whole, path = store.warc(OTHER).read_bytes(), store.warc(OTHER)
    for data, sentence in ((whole[:-9], "but its suwaf knows"), (b"x" * len(whole), "no WARC")):
        path.write_bytes(data)
        assert sentence in index(store).sentences[0]
        assert {volume for volume, _, _ in entries(store)} == {"../warc/RePEc/abc/wpaper/1.warc"}
    path.write_bytes(whole)
    assert index(store).sentences == []
    assert entries(store) == records(store)


@pytest.mark.parametrize("damage", [b"", b"SQLite format 3\0" + b"\xa5" * 5000])
def test_captures_that_are_gone_or_damaged_are_made_again(store: Store, damage: bytes) -> None:
    index(store)
    path = IndexFiles.of(store.archive.root).captures
    path.unlink()
    if damage:
        path.write_bytes(damage[:60] + (1).to_bytes(4) + b"\0\0\0\0WARC" + damage[72:])
    account = index(store)
    assert len(account.sentences) == bool(damage)
    assert entries(store) == records(store)


INDEXES = {"urls_key", "captures_time", "captures_id", "captures_digest"}


def indexes(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as db:
        rows = db.execute("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql NOT NULL")
        return {name for (name,) in rows}


@pytest.mark.parametrize("is_there", [False, True])
def test_a_kill_leaves_what_was_there_and_the_next_run_makes_all(
    store: Store, monkeypatch: pytest.MonkeyPatch, *, is_there: bool
) -> None:
    """Of the first making nothing is seen before its end, and of another the old one alone."""
    path = IndexFiles.of(store.archive.root).captures
    before = records(store)
    if is_there:
        index(store)
        store.put(store.fut(pdf(2), pid=OTHER))

    def killed(self: SqliteBuilder) -> None:
        self._db.close()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SqliteBuilder, "close", killed)
        with pytest.raises(KeyboardInterrupt):
            index(store, anew=is_there)
    assert path.exists() is is_there
    assert not is_there or entries(store) == before
    index(store)
    assert entries(store) == records(store)
    assert indexes(path) == INDEXES
    assert [one.name for one in path.parent.glob(".draft-*")] == []


def test_an_index_that_is_open_is_made_anew_in_one_step(store: Store) -> None:
    """Who has it open finds the old, then the new, the right volume under each number."""
    store.put(store.fut(pdf(2), pid=OTHER, futli="http://x.example/abs/2"))
    index(store)
    path = IndexFiles.of(store.archive.root).captures
    with closing(SqliteIndex(path)) as open_index:
        volumes = set()
        for pid in ("RePEc:aaa:wpaper:1", "RePEc:aab:wpaper:1"):
            store.put(store.fut(pdf(pid), pid=pid, futli=f"http://x.example/{pid}"))
            index(store, anew=True)
            with open_index.moment():
                found = next(open_index.search(url="http://x.example/abs/2"))
            volumes.add(found.volume)
    assert volumes == {"../warc/RePEc/abc/wpaper/2.warc"}


def test_another_programs_database_is_not_overwritten(store: Store) -> None:
    path = IndexFiles.of(store.archive.root).captures
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE mine (x)")
    for anew in (False, True):
        with pytest.raises(BadIndex, match="something else"):
            index(store, anew=anew)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM mine").fetchone() == (0,)


def test_volumes_are_named_by_the_way_from_another_folder(store: Store, tmp_path: Path) -> None:
    place = IndexFiles(folder=tmp_path / "fast" / "disk")
    index(store, place)
    assert {volume for volume, _, _ in entries(store, place)} == {
        "../../archive/warc/RePEc/abc/wpaper/1.warc"
    }
