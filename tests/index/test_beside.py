"""A second process reads beside the one that writes: the same comes of it, whatever happens."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.index import anew, beside, build
from lafka.index.beside import Beside
from lafka.index.check import differences
from lafka.index.lines import lines_between
from lafka.storage import children
from tests.index.histories import History, futli_of, line

OUTCOMES = ("fut", "gone", "timeout", "bad-pid", "splap-only")


@given(st.lists(st.sampled_from([b"", b"a", b"bc\r", b"d" * 9])), st.binary(), st.integers(1, 12))
def test_a_feed_that_is_shared_out_has_each_whole_line_once(
    told: list[bytes], torn: bytes, piece: int
) -> None:
    whole = b"".join(one + b"\n" for one in told)
    data = whole + torn.replace(b"\n", b"")
    feed, lines, end = BytesIO(data), [], 0
    for start in range(0, len(data), piece):
        some, ends = lines_between(feed, start, min(len(data), start + piece))
        lines += some
        end = max(end, ends)
    assert lines == [one + b"\n" for one in told]
    assert end == len(whole)


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    """An archive of which all pieces but the first are small, and read apart."""
    monkeypatch.setattr(anew, "_PIECE", 700)
    monkeypatch.setattr(build, "_TOGETHER", 2)
    monkeypatch.setattr(beside, "ALONE", 0)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    history = History(tmp_path / "archive")
    for number in range(12):
        history.suwaf(number, {0: [1.0, 2.0], 1: []}, opened=(futli_of(number, 1),))
    history.put(history.root / "suwaf/RePEc/abc/wpaper/90.json", b"no suwaf")
    history.put(history.root / "suwaf/RePEc/readme.json", b"{}")
    for run in range(3):
        told = (
            line(number, 10.0 * run + number / 10, OUTCOMES[number % 5]) for number in range(14)
        )
        history.feed(run, *told, b"[1]\n")
    history.feed(2, b'{"pid": "torn')
    return history


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    """The second processes that were begun."""
    own, made = children.started, list[subprocess.Popen[bytes]]()

    def started(module: str) -> subprocess.Popen[bytes]:
        made.append(own(module))
        return made[-1]

    monkeypatch.setattr(children, "started", started)
    yield made
    assert all(process.returncode is not None for process in made)


def _equals(history: History) -> None:
    with closing(history.anew()) as one, closing(history.row_by_row()) as other:
        assert list(differences(one, other)) == []
        assert one.execute("SELECT count(*) FROM paper").fetchone() == (14,)


def test_an_index_read_by_two_equals_one_that_is_brought_up_to_date(
    history: History, begun: list[subprocess.Popen[bytes]]
) -> None:
    _equals(history)
    assert [process.returncode for process in begun] == [0]
    account = history.index()
    assert len(account.told) == 4


def test_where_the_second_process_dies_the_first_does_its_work(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = children.started

    def dead(module: str) -> subprocess.Popen[bytes]:
        process = own(module)
        process.kill()
        return process

    monkeypatch.setattr(children, "started", dead)
    _equals(history)


def test_what_the_disk_refuses_there_is_told_here(
    history: History, begun: list[subprocess.Popen[bytes]]
) -> None:
    (history.root / "suwaf/RePEc/abc/wpaper/8.json").unlink()
    (history.root / "suwaf/RePEc/abc/wpaper/8.json").mkdir()
    tasks: list[Any] = [("papers", 1, "suwaf/RePEc/abc/wpaper", [f"{n}.json"]) for n in range(10)]
    with closing(Beside(history.archive)) as both, pytest.raises(Exception, match=r"8\.json"):
        list(both.results(tasks))
    assert len(begun) == 1


KILLED = """
import os, signal, sys
from pathlib import Path
from lafka.index import beside
from lafka.papers import Archive
beside.ALONE, os.sched_getaffinity = 0, lambda _: {0, 1}
both = beside.Beside(Archive(Path(sys.argv[1])))
folder = "suwaf/RePEc/abc/wpaper"
next(both.results(("papers", 1, folder, ["1.json"]) for _ in range(100)))
print(both._process.poll(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_kill_leaves_no_second_process(history: History) -> None:
    process = subprocess.run(
        [sys.executable, "-c", KILLED, str(history.root)],
        capture_output=True,
        timeout=120,
        check=False,
    )  # its errors are the second one's too: they end when both have
    assert (process.returncode, process.stdout) == (-9, b"None\n")


def test_folders_that_changed_are_looked_into_by_two(
    history: History, begun: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "_LOOKS", 2)
    monkeypatch.setattr(build, "_LOOKED_ALONE", 0)
    for number in range(30):
        history.suwaf(number, {0: [1.0]}, series=f"s{number % 15:02}")
    history.index()
    begun.clear()
    history.later()
    for number in range(0, 30, 2):  # in every folder one of two
        history.suwaf(number, {0: [1.0, 2.0]}, series=f"s{number % 15:02}")
    history.suwaf(31, {0: [1.0]}, series="s00!")  # new, and between others
    history.remove(history.root / "suwaf/RePEc/abc/s07")
    account = history.index()
    assert (account.papers, account.gone) == (15, 2)
    assert [process.returncode for process in begun] == [0]
    assert history.differences() == []
    history.later()
    history.index()  # once more, since the folders had just changed
    begun.clear()
    assert history.index().changed == 0
    assert begun == []
