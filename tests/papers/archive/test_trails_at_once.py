"""Many trails of one paper stored by one commit: what each would have made alone, in its order."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lafka.errors import BadWarc, StorageTrouble
from lafka.papers.archive.archives import Archive
from lafka.papers.archive.paperwarc import PaperWarc, Stored, TrailRecord
from lafka.papers.archive.recovery import recover
from lafka.papers.walk import Capture
from lafka.storage.steps import done
from tests.stores import FUTLI, KINDS, PID, START, Store, cuts, files, page, pdf, problems


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The suwafs that were replaced."""
    found, committing = list[Path](), PaperWarc.committing
    monkeypatch.setattr(
        PaperWarc, "committing", lambda paper: found.append(paper.summary_path) or committing(paper)
    )
    return found


def futs(store: Store, count: int) -> list[Capture]:
    return [store.fut(pdf(n), futli=f"{FUTLI}?{n}") for n in range(count)]


def stored(archive: Archive, trails: Sequence[TrailRecord]) -> list[Stored]:
    return done(archive.storing(archive.pid(PID), trails))


def test_all_are_there_after_one_commit(store: Store, saved: list[Path]) -> None:
    captures = futs(store, 20)
    found = stored(store.archive, [TrailRecord(captures=[capture]) for capture in captures])
    assert [[one.capture for one in trail] for trail in found] == [[c] for c in captures]
    assert all(one.new for trail in found for one in trail)
    assert set(cuts(store.archive).values()) == {pdf(n) for n in range(20)}
    assert saved == [store.suwaf()]
    assert problems(store.root, "raw-left") == []


ONE = st.tuples(
    st.sampled_from((*KINDS, "splap", "found", "other", "closes")),
    st.integers(0, 2),  # which bytes
    st.integers(0, 2),  # which futli
    st.integers(0, 3),  # which second
    st.booleans(),  # opened
)


def left(store: Store, what: tuple[str, int, int, int, bool]) -> TrailRecord:
    kind, body, number, second, opened = what
    where: dict[str, Any] = {
        "futli": f"{FUTLI}?{number}",
        "at": START + timedelta(seconds=second // 2, milliseconds=second),
    }
    if kind == "closes":
        return TrailRecord(closes=where["futli"])
    if kind in KINDS:
        return TrailRecord(captures=[store.fut(pdf(body), kind, **where)], opened=opened)
    splap = store.splap(page(body) if kind != "other" else b"PK\x03\x04", **where)
    if kind != "found":
        return TrailRecord(captures=[splap], opened=opened)
    fut = store.found(splap, "http://x.example/1.pdf", pdf(body), KINDS[second])
    return TrailRecord(captures=[splap, fut], opened=opened)


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@example([("splap", 0, number, 0, True) for number in (0, 1, 0)])
@example(
    [
        ("splap", 0, 0, 0, True),
        ("splap", 0, 1, 0, True),
        ("closes", 0, 0, 0, True),
        ("splap", 0, 0, 0, True),
    ]
)
@given(whats=st.lists(ONE, min_size=1, max_size=8))
def test_they_make_what_they_make_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, whats: list[tuple[str, int, int, int, bool]]
) -> None:
    root = tmp_path_factory.mktemp("trails")
    store, other = Store(root / "archive"), Archive.create(root / "other")
    trails = [left(store, what) for what in whats]
    at_once = stored(store.archive, trails)
    one_by_one = [found for trail in trails for found in stored(other, [trail])]
    assert at_once == one_by_one
    for folder in ("warc", "suwaf"):
        assert files(store.root / folder) == files(other.root / folder)
    store.die()
    shutil.rmtree(root)


def test_what_cannot_be_copied_keeps_no_other_from_it(store: Store, tmp_path: Path) -> None:
    captures = futs(store, 5)
    bad = captures[2].exchanges[0]
    assert bad.response is not None
    torn = tmp_path / "torn.warc"
    raw = Path(bad.response.path).read_bytes()
    torn.write_bytes(raw[: bad.response.offset + bad.response.length - 100])
    response = replace(bad.response, path=str(torn))
    captures[2] = replace(captures[2], exchanges=(replace(bad, response=response),))
    found = stored(store.archive, [TrailRecord(captures=[capture]) for capture in captures])
    assert [isinstance(one, BadWarc) for one in found] == [n == 2 for n in range(5)]
    assert set(cuts(store.archive).values()) == {pdf(n) for n in range(5) if n != 2}
    assert problems(store.root, "raw-left") == []


def test_a_disk_that_refuses_rolls_all_of_them_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(store.fut(pdf("old")))
    before = files(store.root / "warc") | files(store.root / "suwaf")
    trails = [TrailRecord(captures=[capture]) for capture in futs(store, 4)]
    with monkeypatch.context() as patch:
        patch.setattr("lafka.storage.steps.os.fdatasync", _refused)
        with pytest.raises(StorageTrouble):
            stored(store.archive, trails)
    assert files(store.root / "warc") | files(store.root / "suwaf") == before
    assert len(stored(store.archive, trails)) == 4
    assert len(cuts(store.archive)) == 5


def _refused(_: int) -> None:
    raise OSError(28, "No space left on device")


def test_recovery_stores_those_of_one_pid_at_once(store: Store, saved: list[Path]) -> None:
    for capture in futs(store, 30):
        store.end([capture])
        store.number += 1
    store.die()
    [found] = recover(store.archive)
    assert (found.trails, found.opened, found.problems) == (30, 0, ())
    assert set(cuts(store.archive).values()) == {pdf(n) for n in range(30)}
    assert saved == [store.suwaf()]
    assert problems(store.root) == []


def test_recovery_stops_at_trouble_of_the_disk_and_goes_on_afterwards(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        store.end([store.fut(pdf(number), pid=f"RePEc:abc:wpaper:{number}")])
        store.number += 1
    store.die()
    with monkeypatch.context() as patch:
        patch.setattr("lafka.storage.steps.os.fdatasync", _refused)
        with pytest.raises(StorageTrouble):
            list(recover(store.archive))
    assert not list(store.archive.warcs())
    [found] = recover(store.archive)
    assert found.trails == 20
    assert problems(store.root) == []
