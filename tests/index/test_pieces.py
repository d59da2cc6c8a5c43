"""A first index is made of pieces of feeds and of folders, each read once."""

from __future__ import annotations

from contextlib import closing
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.index import anew, build
from lafka.index.check import differences
from lafka.index.lines import lines_between
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
    """An archive of which all pieces are small."""
    monkeypatch.setattr(anew, "_PIECE", 700)
    monkeypatch.setattr(build, "_TOGETHER", 2)
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


def _equals(history: History) -> None:
    with closing(history.anew()) as one, closing(history.row_by_row()) as other:
        assert list(differences(one, other)) == []
        assert one.execute("SELECT count(*) FROM paper").fetchone() == (14,)


def test_an_index_made_in_pieces_equals_one_that_is_brought_up_to_date(history: History) -> None:
    _equals(history)
    account = history.index()
    assert len(account.told) == 4


def test_folders_that_changed_are_read_again(history: History) -> None:
    for number in range(30):
        history.suwaf(number, {0: [1.0]}, series=f"s{number % 15:02}")
    history.index()
    history.later()
    for number in range(0, 30, 2):  # in every folder one of two
        history.suwaf(number, {0: [1.0, 2.0]}, series=f"s{number % 15:02}")
    history.suwaf(31, {0: [1.0]}, series="s00!")  # new, and between others
    history.remove(history.root / "suwaf/RePEc/abc/s07")
    account = history.index()
    assert (account.papers, account.gone) == (15, 2)
    assert history.differences() == []
    history.later()
    history.index()  # once more, since the folders had just changed
    assert history.index().changed == 0
