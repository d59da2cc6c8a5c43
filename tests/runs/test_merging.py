from __future__ import annotations

import json
from pathlib import Path

import pytest

from lafka.runs.reports import merge_runs

RUN = "20261120T101112000000Z-a-1"
LINES = [b'{"pid": "%d"}\n' % n for n in range(5)]


@pytest.fixture
def roots(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("source", "target"):
        (tmp_path / name / "runs").mkdir(parents=True)
    return tmp_path / "source", tmp_path / "target"


def feed(root: Path) -> Path:
    return root / "runs" / f"{RUN}.jsonl"


def report(root: Path, reason: str | None = None, **more: object) -> Path:
    path = root / "runs" / f"{RUN}.json"
    if reason is not None or more:
        values = {"format": 1, "run": RUN, "done": False, "reason": reason} | more
        path.write_text(json.dumps(values))
    return path


@pytest.mark.parametrize(
    ("theirs", "ours", "merged"),
    [
        (5, None, 5), (5, 3, 5), (3, 5, 5), (5, 5, 5), (0, 2, 2), (0, None, None),
    ],
)  # fmt: skip
def test_a_feed_is_taken_as_far_as_it_goes_on(
    roots: tuple[Path, Path], theirs: int, ours: int | None, merged: int | None
) -> None:
    source, target = roots
    feed(source).write_bytes(b"".join(LINES[:theirs]) + b'{"pid": "half')
    if ours is not None:
        feed(target).write_bytes(b"".join(LINES[:ours]))
    assert [*merge_runs(source, target)] == []
    if merged is None:
        assert not feed(target).exists()
    else:
        assert feed(target).read_bytes() == b"".join(LINES[:merged])


def test_feeds_that_differ_are_left_and_told(roots: tuple[Path, Path]) -> None:
    source, target = roots
    feed(source).write_bytes(LINES[0] + LINES[1])
    feed(target).write_bytes(LINES[0] + LINES[2] + LINES[3])
    before = feed(target).read_bytes()
    assert [*merge_runs(source, target)] == [
        f"{feed(target)} and {feed(source)} are feeds of one run, and differ"
    ]
    assert feed(target).read_bytes() == before


@pytest.mark.parametrize(
    ("theirs", "ours", "merged"),
    [
        ("finished", None, "finished"),
        ("finished", "killed", "finished"),
        ("killed", None, None),
        (None, None, None),
        ("killed", "finished", "finished"),
        ("finished", "finished", "finished"),
    ],
)
def test_a_closed_report_is_taken_and_no_other(
    roots: tuple[Path, Path], theirs: str | None, ours: str | None, merged: str | None
) -> None:
    source, target = roots
    report(source, theirs, host="x")
    if ours:
        report(target, ours, host="x")
    assert [*merge_runs(source, target)] == []
    assert report(target).exists() == (merged is not None)
    if merged:
        assert json.loads(report(target).read_bytes())["reason"] == merged


def test_reports_that_differ_and_what_is_no_report_are_told(roots: tuple[Path, Path]) -> None:
    source, target = roots
    report(source, "finished", host="x")
    report(target, "finished", host="y")
    (source / "runs" / "other.json").write_text("[]")
    told = [*merge_runs(source, target)]
    assert "are reports of one run, and differ" in told[0]
    assert "no report of a run" in told[1]
    assert json.loads(report(target).read_bytes())["host"] == "y"


def test_what_is_no_report_here_is_left(roots: tuple[Path, Path]) -> None:
    source, target = roots
    report(source, "finished", host="x")
    report(target, "finished", host="x").write_text("somebody's")
    [told] = merge_runs(source, target)
    assert "no report of a run" in told
    assert report(target).read_text() == "somebody's"


def test_a_rehearsal_writes_nothing(roots: tuple[Path, Path]) -> None:
    source, target = roots
    feed(source).write_bytes(LINES[0])
    report(source, "finished")
    assert [*merge_runs(source, target, dry=True)] == []
    assert [*(target / "runs").iterdir()] == []
