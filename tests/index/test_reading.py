"""Suwafs and lines that children read for a new index: the rows are the same, whatever befalls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lafka.errors import MachineTrouble, StorageTrouble
from lafka.index import build, scan
from lafka.index.scan import Reading
from lafka.papers import Archive
from lafka.storage.children import ChildDied, Children
from tests.index.histories import History, at, futli_of, line, pid_of


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    """Papers and lines of each shape, read alone; what is read later is read by two children."""
    history = History(tmp_path / "archive ü")
    for number in range(9):
        history.suwaf(number, {0: [1.0, 2.5], 1: [3.0]}, opened=(futli_of(number, 1),))
    history.suwaf(20, {0: [1.0]}, label="supplement", series="journl")
    history.put(history.suwaf(21, {0: [1.0]}), b"{")
    history.put(history.root / "suwaf/RePEc/abc/wpaper/%zz.json", b"{}")
    odd = line(3, 5, "gone") | {"futli": "http://пример.example/\ud800\0", "error": "\ud800"}
    history.feed(1, line(1, 4), b"[1]\n", odd, line(1, 5, "gone"), line(7, 6, "timeout"))
    history.feed(2, line(1, 3, "gone"), line(1, 4.5, "dns"), line(50, 1), b'{"torn')
    history.index()
    monkeypatch.setattr(scan, "CHILDREN", 2)
    monkeypatch.setattr(scan, "ALONE", 0)
    return history


def test_what_children_read_is_the_same_in_each_row(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    ask = Children.ask

    def asking(self: Children, name: str, question: Any, data: bytes = b"", **more: Any) -> Any:
        asked.append(name)
        return ask(self, name, question, data, **more)

    monkeypatch.setattr(Children, "ask", asking)
    monkeypatch.setattr(build, "PART", 2)
    before = history.rows("SELECT * FROM run")
    account = history.index(anew=True)
    assert history.differences() == []
    assert history.rows("SELECT * FROM run") == before
    assert {*asked} == {"suwafs", "lines"}
    assert (account.papers, account.lines, len(account.sentences)) == (11, 8, 2)
    assert history.rows("SELECT problem IS NULL, count(*) FROM paper GROUP BY 1") == [
        (0, 1), (1, 11)
    ]  # fmt: skip


DIED = ChildDied("more than 60 seconds of work")
NONE = MachineTrouble("a child process", OSError(11, "no more"))


@pytest.mark.parametrize("error", [DIED, NONE], ids=["died", "none"])
def test_what_a_child_does_not_tell_is_read_without_it(
    history: History, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def dying(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(Children, "ask", dying)
    account = history.index(anew=True)
    assert (account.papers, account.lines) == (11, 8)
    monkeypatch.undo()
    assert history.differences() == []


def test_a_disk_that_does_not_read_is_told_by_its_own_error(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise StorageTrouble("suwaf", OSError(5, "Input/output error"))

    assert scan._tried(broken, {"root": str(history.root), "collection": "RePEc"}, b"") is None
    monkeypatch.setattr(Children, "ask", lambda *_, **__: None)
    monkeypatch.setattr(scan, "read_paper", broken)
    with pytest.raises(StorageTrouble, match="Input/output error"):
        history.index(anew=True)
    assert not history.place.draft.exists()


def test_no_question_is_taken_ahead_where_an_index_is_brought_up_to_date(
    history: History,
) -> None:
    told = Reading(Archive(history.root), is_anew=False)
    taken = []

    def asked() -> Any:
        for name in ("0.json", "1.json"):
            taken.append(name)
            yield name, {"folder": "suwaf/RePEc/abc/wpaper", "names": [name]}, 1

    answers = told.all("suwafs", asked())
    name, (papers, *_) = next(answers)
    assert (name, taken, papers[0][0][-1]) == ("0.json", ["0.json"], pid_of(0))
    told.close()


@pytest.mark.parametrize("copies", [1, 2])
def test_a_paper_that_has_two_suwafs_is_one_row_of_a_new_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copies: int
) -> None:
    """In one part, or in two: as where a cut path and a whole one name the same paper."""
    history = History(tmp_path / "archive", batch=1)
    history.suwaf(1, {0: [1.0]})
    history.suwaf(2, {0: [2.0]})
    papers, *rest = scan.read_papers(history.archive, "suwaf/RePEc/abc/wpaper", ["1.json"])
    twice = (papers * copies, *rest)
    monkeypatch.setattr(scan, "read_papers", lambda *_: twice)
    history.index()
    assert history.rows("SELECT pid, futs FROM paper") == [(pid_of(1), 1)]
    assert history.rows("SELECT time FROM fut") == [(at(1),)]
