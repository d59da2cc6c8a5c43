"""The report of a run: open, closed, killed, damaged, and on a disk that refuses."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lafka.errors import BadReport, StorageTrouble
from lafka.runs import reports as runs
from lafka.runs.reports import ListDigest, OpenReport, Report, Tally, close_killed, reports
from lafka.storage.folders import make_folders
from tests.faults.forks import in_child
from tests.faults.storecalls import Plan, Which


def opened(root: Path, run: str = "20261120T101112000000Z-host-1") -> OpenReport:
    return OpenReport(root / "runs", run, {"started": "2026-11-20T10:11:12Z"})


def killed(root: Path, run: str = "20261120T101112000000Z-host-1") -> Path:
    """The report that a process leaves that is killed."""

    def work() -> None:
        opened(root, run)
        os.kill(os.getpid(), signal.SIGKILL)

    assert in_child(work, root / "log", None).code == -signal.SIGKILL
    return root / "runs" / f"{run}.json"


def test_a_run_lives_until_its_report_is_closed(tmp_path: Path) -> None:
    report = opened(tmp_path)
    assert Report.load(report.path).state == "running"
    report.save(list={"lines": 3})
    assert Report.load(report.path).state == "running"
    report.save(reason="finished", done=True)
    report.close()
    found = Report.load(report.path)
    assert (found.run, found.state, found.done) == (
        "20261120T101112000000Z-host-1",
        "finished",
        True,
    )
    assert found.values["list"] == {"lines": 3}
    assert [path.name for path in report.path.parent.iterdir()] == [
        "20261120T101112000000Z-host-1.json"
    ]


@pytest.mark.parametrize(
    ("reason", "done", "state"),
    [
        ("finished", False, "incomplete"),
        ("shutdown", False, "shutdown"),
        ("killed", False, "killed"),
    ],
)
def test_what_is_not_done_is_never_finished(
    tmp_path: Path, reason: str, done: bool, state: str
) -> None:
    report = opened(tmp_path)
    report.save(reason=reason, done=done)
    report.close()
    assert Report.load(report.path).state == state


def test_a_killed_run_is_told_of_once(tmp_path: Path) -> None:
    path = killed(tmp_path)
    alive = opened(tmp_path, "20261120T101112000000Z-host-2")
    assert [report.state for report in reports(tmp_path)] == ["killed", "running"]
    assert [report.run for report in close_killed(tmp_path)] == ["20261120T101112000000Z-host-1"]
    assert close_killed(tmp_path) == []
    assert json.loads(path.read_bytes())["reason"] == "killed"
    assert [report.state for report in reports(tmp_path)] == ["killed", "running"]
    alive.close()


def test_drafts_of_killed_runs_go_and_those_of_others_stay(tmp_path: Path) -> None:
    report = opened(tmp_path)
    left = report.path.with_name(".draft-20261120T101112000000Z-host-0.json")
    left.write_bytes(b'{"format": 1')
    busy = report.path.with_name(".draft-20261120T101112000000Z-host-2.json")
    with busy.open("wb") as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        assert close_killed(tmp_path) == []
        assert sorted(path.name for path in left.parent.iterdir()) == [busy.name, report.path.name]
    report.close()


def test_a_draft_that_is_taken_for_a_dead_run_s_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = opened(tmp_path)
    flock, once = fcntl.flock, []

    def late(fd: int, how: int) -> None:
        if not once:
            once.append(fd)
            close_killed(tmp_path)  # another run, between this one's open and lock
        flock(fd, how)

    monkeypatch.setattr(fcntl, "flock", late)
    report.save(reason="finished", done=True)
    report.close()
    assert once
    assert Report.load(report.path).state == "finished"


def test_two_runs_do_not_both_tell_of_a_third(tmp_path: Path) -> None:
    path = killed(tmp_path)
    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert close_killed(tmp_path) == []
    assert len(close_killed(tmp_path)) == 1


def test_a_report_that_is_replaced_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = opened(tmp_path)
    read: Callable[[int, Path], dict[str, Any]] = runs._read
    once: list[int] = []

    def late(fd: int, path: Path) -> dict[str, Any]:
        values = read(fd, path)
        if not once:
            once.append(fd)
            report.save(reason="finished", done=True)
            report.close()
        return values

    monkeypatch.setattr(runs, "_read", late)
    assert Report.load(report.path).state == "finished"


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"\xff", b"null", b'{"format": 2}', b'{"format": 1}', b"[" * 100_000,
     b'{"format": 1, "done": false}', b'{"format": 1, "done": 0, "reason": null}',
     b'{"format": 1, "done": false, "reason": 7}', bytes(4096)],
)  # fmt: skip
def test_a_report_that_is_none_is_told_and_left(tmp_path: Path, data: bytes) -> None:
    report = opened(tmp_path)
    report.close()
    report.path.write_bytes(data)
    with pytest.raises(BadReport, match="20261120T101112000000Z-host-1"):
        Report.load(report.path)
    [found] = reports(tmp_path)
    assert isinstance(found, BadReport)
    assert close_killed(tmp_path) == []
    assert report.path.read_bytes() == data


CALLS = ("open", "fsync", "replace")


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EMFILE])
def test_a_disk_that_refuses_leaves_the_report_that_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    report = opened(tmp_path)
    before, fds = report.path.read_bytes(), os.listdir("/proc/self/fd")  # noqa: PTH208

    def refused(*args: Any, **more: Any) -> Any:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(os, name, refused)
        with pytest.raises(StorageTrouble, match=os.strerror(number)):
            report.save(reason="finished", done=True)
    assert report.path.read_bytes() == before
    assert [path.name for path in report.path.parent.iterdir()] == [report.path.name]
    assert os.listdir("/proc/self/fd") == fds  # noqa: PTH208
    assert Report.load(report.path).state == "running"
    report.close()
    assert Report.load(report.path).state == "killed"


PLACES = [("open", 1), ("flock", 1), ("ftruncate", 1), ("fsync", 1), ("rename", 1), ("fsync", 2)]


@pytest.mark.parametrize("opening", [True, False])
@pytest.mark.parametrize(("name", "number"), PLACES)
def test_a_kill_at_any_call_leaves_a_report_that_is_whole_or_none(
    tmp_path: Path, name: str, number: int, opening: bool
) -> None:
    make_folders(tmp_path / "runs")
    report = None if opening else opened(tmp_path)

    def work() -> None:
        if report is None:
            opened(tmp_path)
        else:
            report.save(reason="finished", done=True)

    path = r"\.draft" if name == "open" else ""
    plan = Plan(root=str(tmp_path), kill=Which(nth=number, kinds=(name,), path=path))
    assert in_child(work, tmp_path / "log", plan).code == -signal.SIGKILL
    if report:
        report.close()
    replaced = (name, number) == ("fsync", 2)
    if opening and not replaced:
        assert list(reports(tmp_path)) == []
    else:
        [found] = reports(tmp_path)
        assert isinstance(found, Report)
        assert found.state == ("finished" if replaced and not opening else "killed")
    close_killed(tmp_path)
    assert not list((tmp_path / "runs").glob(".draft*"))


def test_a_report_is_locked_and_synced_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = opened(tmp_path)
    seen: list[str] = []

    def told(module: Any, name: str) -> None:
        call = getattr(module, name)

        def tell(*args: Any, **more: Any) -> Any:
            seen.append(name)
            return call(*args, **more)

        monkeypatch.setattr(module, name, tell)

    for module, name in ((fcntl, "flock"), (os, "fsync"), (os, "replace")):
        told(module, name)
    report.save(reason="finished")
    report.close()
    assert seen == ["flock", "fsync", "replace", "fsync"]


def test_the_tally_of_lines() -> None:
    fut = {"url": "", "digest": "", "s": 1, "l": 7, "length": 7}
    labelled = [
        {**fut, "new": True, "label": "other"},
        {**fut, "new": False, "label": "supplement"},
    ]
    lines = [
        {"outcome": "fut", "requests": 3, "error": None, "futs": [{**fut, "new": True}] * 2},
        {"outcome": "fut", "requests": 2, "error": None, "futs": [{**fut, "new": False}]},
        {"outcome": "fut", "requests": 0, "error": None, "futs": []},
        {"outcome": "not-found", "requests": 1, "error": "HTTP status 404", "futs": labelled},
    ]
    tally = Tally()
    lines[3]["chain"] = "sha256:0"
    data = [json.dumps(line).encode() + b"\n" for line in lines]
    tally.add(data[0] + data[1])
    tally.add(b"".join(data[2:]) + b"pid,futli\n" + b'{"outcome": "fut"}\n')
    assert tally.as_json() == {
        "lines": 4,
        "chain": "sha256:0",
        "outcomes": {"fut": 3, "not-found": 1},
        "futs": {"new": 2, "held": 2, "bytes": 14, "labelled": 2},
        "requests": 6,
        "errors": 1,
    }


def test_foreign_text_in_a_report_is_escaped(tmp_path: Path) -> None:
    report = opened(tmp_path)
    report.save(list={"path": "\x1b]0;x\x07\u202e\udcff\x9b"})
    report.close()
    assert report.path.read_bytes().isascii()
    assert report.path.read_text().replace("\n", "").isprintable()
    assert Report.load(report.path).values["list"]["path"] == "\x1b]0;x\x07\u202e\udcff\x9b"


def test_what_was_seen_of_a_list() -> None:
    seen = ListDigest()
    seen.add(b"ab")
    seen.add(b"c")
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert seen.as_json() == {"bytes": 3, "sha256": digest}
