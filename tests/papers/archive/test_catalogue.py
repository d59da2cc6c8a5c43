"""All that an archive holds: papers and futs in constant memory; how its lines ended at last."""

from __future__ import annotations

import json
import tracemalloc
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lafka.errors import BadPid, BadSuwaf, CallerError, NotHeld
from lafka.papers import Archive, Outcome
from lafka.papers.archive.suwafs import Fut, Suwaf
from tests.stores import FUTLI, PID, START, Store, pdf

LATER = START + timedelta(days=1)
OTHER = "https://other.example/2"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two papers; the first has two futlis, one of which had two futs, and a supplement."""
    store = Store(tmp_path / "archive")
    store.put(store.fut(pdf(1)))
    store.put(store.fut(pdf(2), at=LATER))
    store.put(store.fut(pdf(3), futli=OTHER))
    splap = store.splap(b"<!DOCTYPE html><html></html>", futli=OTHER, at=LATER)
    store.put(splap, store.found(splap, f"{OTHER}/s.pdf", pdf(4), label="supplement"))
    store.put(store.fut(pdf(5), pid="RePEc:abc:wpaper:0"))
    return store


def test_each_fut_is_given_once_the_latest_of_each_futli(store: Store) -> None:
    found = [(str(fut.pid), fut.futli, fut.read()) for fut in store.archive.futs()]
    assert found == [
        ("RePEc:abc:wpaper:0", FUTLI, pdf(5)),
        (PID, FUTLI, pdf(2)),
        (PID, OTHER, pdf(3)),
    ]


def test_a_fut_is_what_a_single_read_gives(store: Store) -> None:
    (one,) = store.archive.futs([PID], host="x.example")
    assert one == store.archive.fut(PID, FUTLI)


@pytest.mark.parametrize(
    ("asked", "bodies"),
    [
        ({"latest": False}, [5, 1, 2, 3]),
        ({"label": "supplement"}, [4]),
        ({"label": "any"}, [5, 2, 4]),
        ({"label": None, "latest": False}, [5, 1, 2, 3, 4]),
        ({"host": "OTHER.example"}, [3]),
        ({"host": "none.example"}, []),
        ({"since": LATER}, [2]),
        ({"until": "2026-11-20"}, [5, 1, 3]),
        ({"until": START, "latest": False}, [5, 1, 3]),
        ({"since": "2026-11-21", "until": "2026-11-20"}, []),
        ({"archive": "abc", "series": "wpaper"}, [5, 2, 3]),
        ({"archive": "abd"}, []),
        ({"since": "2026-11-21"}, [2]),
        ({"since": "2026-11-20T10:11:12Z", "latest": False}, [5, 1, 2, 3]),
        ({"pids": [PID, "RePEc:abc:wpaper:0"]}, [2, 3, 5]),
        ({"pids": []}, []),
    ],
)
def test_those_that_are_asked_for(store: Store, asked: dict[str, Any], bodies: list[int]) -> None:
    assert [fut.read() for fut in store.archive.futs(**asked)] == [pdf(body) for body in bodies]


@pytest.mark.parametrize(
    "asked",
    [
        {"host": "other.example:80"}, {"host": "https://other.example"}, {"host": "a.example/x"},
        {"archive": "ABC"}, {"series": "working"}, {"until": "tomorrow"},
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(store: Store, asked: dict[str, Any]) -> None:
    with pytest.raises(CallerError):
        next(store.archive.futs(**asked))


def test_an_archive_contains_what_it_holds(store: Store) -> None:
    archive = store.archive
    assert all(paper in archive and paper.pid in archive for paper in archive)
    assert PID in archive
    assert "RePEc:abc:wpaper:none" not in archive
    assert "no pid" not in archive
    assert None not in archive  # type: ignore[operator]


@pytest.mark.parametrize("since", ["yesterday", datetime(2026, 11, 20)])
def test_a_time_that_is_none_is_refused(store: Store, since: Any) -> None:
    with pytest.raises(CallerError):
        next(store.archive.futs(since=since))


def test_an_archive_is_its_papers(store: Store) -> None:
    assert [str(paper.pid) for paper in store.archive] == ["RePEc:abc:wpaper:0", PID]
    paper = next(iter(store.archive.papers([PID])))
    assert paper.suwaf == store.archive.suwaf(PID)
    assert paper.warc == store.warc()


def damaged(store: Store) -> None:
    store.suwaf("RePEc:abc:wpaper:0").write_text("{}")


def test_a_suwaf_that_is_none_is_raised_or_told_and_the_next_paper_comes(store: Store) -> None:
    damaged(store)
    with pytest.raises(BadSuwaf, match="wpaper/0"):
        [*store.archive.papers()]
    told: list[Exception] = []
    assert [str(paper.pid) for paper in store.archive.papers(problem=told.append)] == [PID]
    assert [type(error) for error in told] == [BadSuwaf]


def test_a_suwaf_of_another_paper_is_none(store: Store) -> None:
    store.suwaf("RePEc:abc:wpaper:0").write_bytes(store.suwaf().read_bytes())
    with pytest.raises(BadSuwaf, match="which has another path"):
        list(store.archive)


def test_pids_that_are_not_held_or_none_are_raised_or_told(store: Store) -> None:
    pids = ["RePEc:abc:wpaper:7", "RePEc:abc", PID]
    with pytest.raises(NotHeld):
        [*store.archive.papers(pids)]
    told: list[Exception] = []
    assert [str(p.pid) for p in store.archive.papers(pids, problem=told.append)] == [PID]
    assert [type(error) for error in told] == [NotHeld, BadPid]


def test_drafts_and_strangers_are_no_papers(store: Store) -> None:
    (store.suwaf().parent / ".draft-2.json").write_text("{}")
    (store.suwaf().parent / "notes.txt").write_text("{}")
    assert len([*store.archive]) == 2


def test_memory_stays_flat(tmp_path: Path) -> None:
    archive = Archive.create(tmp_path / "archive")

    def fill(begin: int, end: int) -> None:
        for number in range(begin, end):
            pid = archive.scheme.pid(f"RePEc:abc:s{number // 100}:{number}")
            fut = Fut(s=1, l=2, url=FUTLI, digest="")
            suwaf = Suwaf(pid=pid, futlis={FUTLI: {"2026-11-20T10:11:12Z": fut}})
            path = archive.suwaf_path(pid)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(suwaf.to_bytes())

    def peak() -> int:
        tracemalloc.start()
        count = sum(1 for _ in archive.futs())
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert count
        return most

    fill(0, 200)
    peak()
    few = peak()
    fill(200, 3000)
    assert peak() < few + 100_000


def line(outcome: str, futli: str = FUTLI, pid: str = PID, **more: Any) -> dict[str, Any]:
    return {
        "pid": pid, "futli": futli, "outcome": outcome, "time": "2026-11-20T10:11:12Z", "futs": [],
        "splap": None, "candidates": [], "capped": False, "requests": 0, "error": None, **more,
    }  # fmt: skip


def feed(root: Path, day: int, *lines: dict[str, Any], tail: str = "") -> None:
    text = "".join(json.dumps(one) + "\n" for one in lines)
    (root / "runs" / f"202611{day}T000000000000Z-h-1.jsonl").write_text(text + tail)


def test_outcomes_are_the_last_line_of_each_pid_and_futli(store: Store) -> None:
    feed(store.root, 20, line("timeout"), line("gone", OTHER), line("bad-pid", pid="x"))
    feed(store.root, 21, line("dns"), line("not-found"), line("timeout", OTHER, "RePEc:a:b:c"))
    found = [(o.run[:8], o.pid, o.futli, o.outcome) for o in store.archive.outcomes()]
    assert found == [
        ("20261120", PID, OTHER, Outcome.GONE),
        ("20261120", "x", FUTLI, Outcome.BAD_PID),
        ("20261121", PID, FUTLI, Outcome.NOT_FOUND),
        ("20261121", "RePEc:a:b:c", OTHER, Outcome.TIMEOUT),
    ]


def test_a_held_line_names_its_fut(store: Store) -> None:
    feed(store.root, 20, line("fut"))
    (found,) = store.archive.outcomes()
    (fut,) = found.futs
    held = store.archive.fut(PID, FUTLI)
    assert (fut.url, fut.digest, fut.start, fut.length) == (
        held.url, held.digest, held.start, held.length,
    )  # fmt: skip
    assert not fut.new


def test_a_held_line_whose_paper_cannot_be_read_is_told_of(store: Store) -> None:
    damaged(store)
    feed(store.root, 20, line("fut", pid="RePEc:abc:wpaper:0"))
    told: list[Exception] = []
    (found,) = store.archive.outcomes(problem=told.append)
    assert (found.futs, len(told)) == ((), 1)


def test_what_is_no_line_of_a_feed_is_passed_over(store: Store) -> None:
    torn = json.dumps(line("gone"))
    feed(store.root, 20, line("timeout"), {"outcome": "unheard"}, tail=f"[]\nno JSON\n{torn}")
    assert [o.outcome for o in store.archive.outcomes()] == [Outcome.TIMEOUT]


def test_a_folder_named_like_a_feed_has_no_outcomes(store: Store) -> None:
    (store.root / "runs" / "20261119T000000000000Z-h-1.jsonl").mkdir()
    feed(store.root, 20, line("gone"))
    assert [o.outcome for o in store.archive.outcomes()] == [Outcome.GONE]


def test_an_archive_without_runs_has_no_outcomes(store: Store) -> None:
    assert [*store.archive.outcomes()] == []


def test_times_are_compared_as_utc(store: Store) -> None:
    from datetime import timezone

    zone = timezone(timedelta(hours=2))
    since = LATER.astimezone(zone).replace(microsecond=0)
    assert [fut.read() for fut in store.archive.futs(since=since)] == [pdf(2)]
    assert LATER.tzinfo is UTC
