"""PDFs that came as they were sent, and have no end: kept, no futs, asked for again."""

from __future__ import annotations

from pathlib import Path

import pytest

from lafka import payloads
from lafka.papers.archive.recovery import recover
from lafka.papers.outcomes import Outcome
from tests.stores import KINDS, PID, START, Store, answer, cuts, pdf, problems, warcio_faults

HALF = pdf("half", 3000)[:1500]
OPEN = ("raw-left",)
FRAMED = [kind for kind in KINDS if kind != "until-close"]


@pytest.mark.parametrize("kind", FRAMED)
def test_its_bytes_are_kept_and_it_is_no_fut(tmp_path: Path, kind: str) -> None:
    store = Store(tmp_path / "a")
    half = store.fut(HALF, kind)
    assert half.outcome is Outcome.TRUNCATED
    assert store.put(half) == []
    kept = store.warc().read_bytes()
    assert answer(HALF, kind) in kept
    assert kept.count(b"Lafka-Truncated: payload\r\n") == 1
    assert b"WARC-Truncated" not in kept
    assert cuts(store.archive) == {}
    assert not store.archive.has_fut(half.ask.futli)
    assert problems(tmp_path / "a", *OPEN) == []
    assert warcio_faults(store.warc()) == []


@pytest.mark.parametrize("kind", FRAMED)
def test_it_is_not_stored_again_and_a_rebuild_says_the_same(tmp_path: Path, kind: str) -> None:
    store = Store(tmp_path / "a")
    store.put(store.fut(HALF, kind))
    kept, suwaf = store.warc().read_bytes(), store.suwaf().read_bytes()
    store.put(store.fut(HALF, kind, at=START.replace(year=2027)))
    assert store.warc().read_bytes() == kept
    store.archive.rebuild(store.archive.pid(PID))
    assert store.suwaf().read_bytes() == suwaf
    whole = pdf("half", 3000)
    [added] = store.put(store.fut(whole, kind, at=START.replace(year=2028)))
    assert added.new
    assert list(cuts(store.archive).values()) == [whole]
    store.archive.rebuild(store.archive.pid(PID))
    assert list(cuts(store.archive).values()) == [whole]
    assert problems(tmp_path / "a", *OPEN) == []


def test_one_that_was_stored_as_a_fut_before_stays_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Archives of before have it in the suwaf, and nothing on its record."""
    store = Store(tmp_path / "a")
    with monkeypatch.context() as before:
        before.setattr(payloads, "has_end", lambda _tail: True)
        store.put(store.fut(HALF))
    for _ in range(2):
        assert list(cuts(store.archive).values()) == [HALF]
        assert store.archive.has_fut(store.ask().futli)
        assert problems(tmp_path / "a", *OPEN) == []
        store.archive.rebuild(store.archive.pid(PID))
    kept = store.warc().read_bytes()
    assert b"Lafka-Truncated" not in kept
    store.put(store.fut(HALF, at=START.replace(year=2027)))
    assert store.warc().read_bytes() == kept


@pytest.mark.parametrize("ended", [True, False])
def test_what_a_killed_run_left_of_it_is_kept_too(tmp_path: Path, ended: bool) -> None:
    store = Store(tmp_path / "a")
    half = store.fut(HALF)
    if ended:
        store.end([half])
    store.die()
    [found] = recover(store.archive)
    assert (found.trails, found.problems) == (1, ())
    assert answer(HALF) in store.warc().read_bytes()
    assert cuts(store.archive) == {}
    assert problems(tmp_path / "a") == []
