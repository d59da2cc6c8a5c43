"""Journals that are damaged, gone or another's: told by file, line and byte; nothing is written."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lafka.archec.gather.mending import derive
from lafka.archec.records.opening import anew, catch_up, check_owner, open_records
from lafka.archec.records.sqlite import NAME
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.journals import read
from lafka.errors import BadArgument, BadJournal, BadStore, TornJournal
from tests.archec.stores import DAY, START, Home, template
from tests.archec.test_commands import Operator

OBI = "RePEc:abc:wpaper:{}"
LINE = 5


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Two states of data, of which the second changed, lost and got one template each."""
    home = Home(tmp_path / "archec")
    home.put({f"abc/wpaper/{n}.rdf": template(n) for n in range(9)})
    home.tobi()
    home.put({"abc/wpaper/0.rdf": template(0, title="B"), "abc/wpaper/9.rdf": template(9)})
    (home.data / "abc/wpaper/1.rdf").unlink()
    home.tobi()
    return home


def spoil(home: Home, change: Callable[[bytes], bytes], number: int = LINE) -> int:
    """Change a line of the first journal; the byte at which it begins."""
    lines = home.journal_path().read_bytes().splitlines(keepends=True)
    lines[number - 1] = change(lines[number - 1])
    home.journal_path().write_bytes(b"".join(lines))
    return sum(map(len, lines[: number - 1]))


def everything(root: Path) -> dict[str, bytes]:
    """All files but what SQLite and a lock leave beside them."""
    found = [path for path in root.rglob("*") if path.is_file() and path.suffix != ".lock"]
    found = [path for path in found if not path.name.endswith(("-wal", "-shm"))]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def rebuild(home: Home) -> None:
    store = ObiStore(home.archive)
    with anew(store) as records:
        catch_up(store, records)


def rebuild_from_files(home: Home) -> None:
    store = ObiStore(home.archive)
    with anew(store, derives=True) as records:
        list(derive(store, records))


FOLDS = (Home.tobi, rebuild, rebuild_from_files)


@pytest.mark.parametrize("fold", FOLDS)
def test_a_byte_in_a_journal_stops_each_fold_and_nothing_is_written(home, fold):
    place = spoil(home, lambda line: line[:-2] + b"|\n")
    (home.archive / NAME).unlink()
    before = everything(home.archive)
    told = rf"{START}\.jsonl at byte {place}: line {LINE}: a line that is not JSON; put this"
    with pytest.raises(BadJournal, match=told):
        fold(home)
    assert everything(home.archive) == before


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "line end": lambda line: line[:-1] + b"|",
    "first byte": lambda line: b"|" + line[1:],
    "event": lambda line: line.replace(b'"appearance"', b'"appearancE"'),
    "no UTF-8": lambda line: line[:9] + b"\xff" + line[10:],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_of_a_journal_with_an_end_no_line_is_left_out(home, change):
    spoil(home, change)
    (home.archive / NAME).unlink()
    with pytest.raises(BadJournal, match=f"line {LINE}: "):
        home.tobi()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda line: line[:-1] + b"|", "a line without its end"),
        (lambda line: line + b'{"e": "vi', "bytes behind its end"),
        (lambda line: line + b'{"e": "visit", "id": "x"}\n', "bytes behind its end"),
    ],
)  # fmt: skip
def test_the_end_of_a_journal_is_not_taken_for_a_torn_line(home, change, told):
    spoil(home, change, number=11)
    (home.archive / NAME).unlink()
    with pytest.raises(BadJournal, match=told):
        home.tobi()


def test_an_empty_journal_and_that_of_another_gathering_are_damage(home):
    (home.archive / NAME).unlink()
    shutil.copyfile(home.journal_path(START + DAY), home.journal_path())
    with pytest.raises(BadJournal, match="line 1: the first line of another gathering"):
        home.tobi()
    home.journal_path().write_bytes(b"")
    with pytest.raises(BadJournal, match="an empty journal; put this journal back from a copy"):
        home.tobi()


def test_a_torn_line_without_anything_behind_it_is_a_kills_and_cut_off(home):
    lines = home.journal_path(START + DAY).read_bytes().splitlines(keepends=True)
    home.journal_path(START + DAY).write_bytes(b"".join(lines[:2]) + lines[2][:30])
    with pytest.raises(TornJournal, match="line 3: a torn line"):
        list(read(home.journal_path(START + DAY)))
    (home.archive / NAME).unlink()
    report = home.tobi()
    assert [one.torn for one in report.recovered] == [30]


def test_recovery_cuts_off_no_more_than_a_torn_line(home):
    """A journal without an end that has whole lines behind a broken one was not left by a kill."""
    lines = home.journal_path(START + DAY).read_bytes().splitlines(keepends=True)
    home.journal_path(START + DAY).write_bytes(lines[0] + b"|" + lines[1][1:] + lines[2])
    (home.archive / NAME).unlink()
    before = everything(home.archive)
    with pytest.raises(BadJournal, match="line 2: "):
        home.tobi()
    assert everything(home.archive) == before


LENGTHS: dict[str, Callable[[bytes], bytes]] = {
    "shorter": lambda line: line.replace(b": ", b":", 1),
    "longer": lambda line: line.replace(b": ", b":  ", 1),
    "gone": lambda _: b"",
}


@pytest.mark.parametrize("change", LENGTHS.values(), ids=LENGTHS)
@pytest.mark.parametrize("read_only", [False, True])
def test_a_journal_of_another_length_is_named_and_nothing_is_made_again(home, change, read_only):
    spoil(home, change)
    before = everything(home.archive)
    for _ in range(2):
        with pytest.raises(BadJournal, match=rf"{START}\.jsonl: .*put this journal back") as told:
            open_records(ObiStore(home.archive), read_only=read_only)
        assert "rebuild" not in str(told.value)
        with pytest.raises(BadJournal, match="put this journal back"):
            rebuild(home)
    assert everything(home.archive) == before


def test_a_journal_that_is_gone_is_named_and_put_back(home, tmp_path):
    home.journal_path().rename(tmp_path / "kept")
    for fold in (Home.tobi, rebuild):
        with pytest.raises(BadJournal, match=rf"{START}\.jsonl: missing, and the database knows"):
            fold(home)
    (tmp_path / "kept").rename(home.journal_path())
    rebuild(home)


def test_readers_do_not_believe_a_database_that_has_nothing_of_the_journals(home):
    (home.archive / NAME).unlink()
    store = ObiStore(home.archive)
    open_records(store).close()
    with pytest.raises(BadStore, match="nothing of the journals"):
        open_records(store, read_only=True)


def test_journals_are_written_from_files_where_their_folder_is_gone(home):
    versions = [obi["versions"] for obi in home.walk() if obi["kind"] == "tobi"]
    shutil.rmtree(home.archive / "journal")
    rebuild_from_files(home)
    assert [obi["versions"] for obi in home.walk() if obi["kind"] == "tobi"] == versions
    rebuild_from_files(home)


# Whose database it is


@pytest.fixture
def other(tmp_path: Path) -> Home:
    other = Home(tmp_path / "other", now=START + 5)
    other.put({"xyz/wpaper/1.rdf": template(1, "xyz")})
    other.tobi()
    return other


def test_a_database_of_another_store_lies_where_it_lay(home, other):
    shutil.copyfile(other.archive / NAME, home.archive / NAME)
    before = everything(home.archive)
    for fold in FOLDS:
        with pytest.raises(BadStore, match="of another store"):
            fold(home)
    assert everything(home.archive) == before


def test_the_same_tist_of_another_run_is_another_stores(home, tmp_path):
    twin = Home(tmp_path / "twin")
    twin.put({"xyz/wpaper/1.rdf": template(1, "xyz")})
    twin.tobi()
    with twin.records() as records:
        known = records.gatherings()
    known[0].run = "another"
    with pytest.raises(BadStore, match="of another store"):
        check_owner(ObiStore(home.archive), known, is_replaced=True, derives=True)


def test_without_pymongo_a_rebuild_is_refused_as_all_else(home, monkeypatch):
    monkeypatch.setitem(sys.modules, "lafka.archec.records.mongo", None)
    store, place = ObiStore(home.archive), "mongodb://127.0.0.1:1/x"
    with pytest.raises(BadArgument, match="needs the package pymongo"), anew(store, place):
        raise AssertionError
    with pytest.raises(BadArgument, match="needs the package pymongo"):
        open_records(store, place)


# As an operator sees it


def test_each_command_refuses_in_one_sentence(home):
    operator = Operator(home)
    place = spoil(home, lambda line: line[:-2] + b"|\n")
    told = f"{START}.jsonl at byte {place}: line {LINE}: a line that is not JSON; put this journal"
    for command in (("obi", OBI.format(8), "--versions"), ("archec", "list", "--noted",
                     "2012-11-01", "2012-11-12")):  # fmt: skip
        assert told in operator.gives(*command).stderr
        assert operator.gives(*command).returncode == 1
    (home.archive / NAME).unlink()
    for command in (("tobi",), ("archec", "rebuild"), ("archec", "recover")):
        assert told in operator.refusal(*command, code=1)
    for command in (("obi", OBI.format(0)), ("archec", "serve", "--port", "0")):
        assert "no database" in operator.refusal(*command)
