"""The outcome feed's file, and its place among the user's feeds."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy.settings import Settings

from lafka.errors import StorageTrouble
from lafka.runs import feed
from lafka.runs.feed import OPTIONS, URI, OutcomeFeedStorage, SyncedLines, add_outcome_feed
from tests.waiting import LIMIT


def unexpected(error: StorageTrouble) -> None:
    raise error


def test_lines_are_there_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "run.jsonl"
    lines = SyncedLines(path, unexpected)
    for number in range(1000):
        lines.write(b"%d\n" % number)
    lines.close()
    lines.close()
    assert path.read_bytes().split() == [b"%d" % n for n in range(1000)]


def test_a_line_is_one_for_every_reader_and_drives_no_terminal(tmp_path: Path) -> None:
    text = "a\x85b\x9bc\u2028d\u202ee\u200bf\x7f größe \U0001f600"
    with SyncedLines(tmp_path / "run.jsonl", unexpected) as lines:
        lines.write(json.dumps({"pid": text}, ensure_ascii=False).encode() + b"\n")
    (line,) = (tmp_path / "run.jsonl").read_text("utf-8").splitlines()
    assert line.isprintable()
    assert "größe \U0001f600" in line
    assert json.loads(line) == {"pid": text}


def test_lines_are_appended(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    for line in (b"one\n", b"two\n"):
        with SyncedLines(path, unexpected) as lines:
            assert lines.writable()
            lines.write(line)
    assert path.read_bytes() == b"one\ntwo\n"
    with SyncedLines(path, unexpected) as lines:
        assert lines.tell() == 0
        lines.write(b"three\n")
        assert lines.tell() == 6


def test_a_disk_that_refuses_is_told_once_and_nothing_follows(tmp_path: Path) -> None:
    (tmp_path / "full.jsonl").symlink_to("/dev/full")
    told: list[StorageTrouble] = []
    first = threading.Event()

    def refused(error: StorageTrouble) -> None:
        told.append(error)
        first.set()

    with SyncedLines(tmp_path / "full.jsonl", refused) as lines:
        lines.write(b"one\n")
        assert first.wait(LIMIT)
        lines.write(b"two\n")
    (error,) = told
    assert str(error) == f"{tmp_path / 'full.jsonl'}: No space left on device"


@pytest.mark.parametrize("call", ["write", "fdatasync"])
def test_a_feed_ends_with_what_was_acknowledged_where_the_disk_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    feed_, acknowledged, told = tmp_path / "run.jsonl", threading.Event(), threading.Event()
    write = os.write

    def refuse(fd: int, data: bytes = b"") -> int:
        if data:
            write(fd, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "full")

    with SyncedLines(
        feed_, lambda _: told.set(), lambda _: acknowledged.set(), chained=True
    ) as lines:
        lines.append('{"pid": "RePEc:abc:wpaper:1"}\n')
        assert acknowledged.wait(LIMIT)
        before = feed_.read_bytes()
        monkeypatch.setattr(os, call, refuse)
        lines.append('{"pid": "RePEc:abc:wpaper:2"}\n')
        assert told.wait(LIMIT)
        monkeypatch.undo()
    assert feed_.read_bytes() == before


def test_a_line_that_is_appended_is_as_one_that_is_written(tmp_path: Path) -> None:
    text = '{"pid": "a\x85b\x7fc\u202e größe \U0001f600"}\n'
    for name in ("written", "appended"):
        with SyncedLines(tmp_path / name, unexpected, chained=True) as lines:
            (lines.append if name == "appended" else lambda t: lines.write(t.encode()))(text)
    assert (tmp_path / "written").read_bytes() == (tmp_path / "appended").read_bytes()


def test_who_appends_more_than_the_disk_takes_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "WAITING_MAX", 10)
    monkeypatch.setattr(feed, "GATHERING", 0.001)
    most = 0

    def synced(data: bytes) -> None:
        nonlocal most
        most = max(most, lines._waiting.qsize())

    with SyncedLines(tmp_path / "run.jsonl", unexpected, synced) as lines:
        for number in range(2_000):
            lines.append(f"{number}\n")
    assert (tmp_path / "run.jsonl").read_text().split() == [f"{n}" for n in range(2_000)]
    assert most <= 12


def test_nobody_waits_for_a_disk_that_has_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "WAITING_MAX", 10)
    (tmp_path / "full.jsonl").symlink_to("/dev/full")
    told: list[StorageTrouble] = []
    with SyncedLines(tmp_path / "full.jsonl", told.append) as lines:
        for number in range(100):
            lines.append(f"{number}\n")
    assert len(told) == 1


@pytest.mark.parametrize("path", ["file/run.jsonl", "folder"])
def test_a_file_that_cannot_be_made_is_storage_trouble(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    told: list[StorageTrouble] = []
    with SyncedLines(tmp_path / path, told.append) as lines:
        lines.write(b"one\n")
    assert len(told) == 1


@pytest.mark.parametrize("priority", ["default", "project", "spider", "cmdline"])
def test_the_users_feeds_stay(priority: str) -> None:
    given = Settings({"FEEDS": {"own.csv": {"format": "csv"}}}, priority)
    settings = given.copy()
    add_outcome_feed(settings)
    settings.update(given)  # as Scrapy does once more
    assert settings.getdict("FEEDS") == {"own.csv": {"format": "csv"}, URI: OPTIONS}


def test_a_feed_of_ours_that_the_user_sets_is_kept() -> None:
    settings = Settings({"FEEDS": {URI: {"format": "csv"}}})
    add_outcome_feed(settings)
    assert settings.getdict("FEEDS") == {URI: {"format": "csv"}}


OUTCOME = b'{"pid": "RePEc:abc:wpaper:%d", "futs": [], "error": null}'


def write_feed(path: Path, *numbers: int) -> None:
    with SyncedLines(path, unexpected, chained=True) as lines:
        for number in numbers:
            lines.write(OUTCOME % number + b"\n")


def test_each_line_carries_the_chain_of_all_before(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    told: list[bytes] = []
    with SyncedLines(path, unexpected, told.append, chained=True) as lines:
        for number in range(50):
            lines.write(OUTCOME % number + b"\n")
    assert b"".join(told) == path.read_bytes()
    chain = bytes(32)
    for number, line in enumerate(path.read_bytes().splitlines()):
        bare = OUTCOME % number
        chain = hashlib.sha256(chain + bare).digest()
        assert line == bare[:-1] + b', "chain": "sha256:' + chain.hex().encode() + b'"}'
        assert list(json.loads(line)) == ["pid", "futs", "error", "chain"]


def test_the_chain_of_a_feed_goes_on(tmp_path: Path) -> None:
    write_feed(tmp_path / "whole.jsonl", 1, 2, 3)
    write_feed(tmp_path / "parts.jsonl", 1, 2)
    write_feed(tmp_path / "parts.jsonl", 3)
    assert (tmp_path / "parts.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    older = OUTCOME % 7 + b"\n"
    (tmp_path / "older.jsonl").write_bytes(older)
    write_feed(tmp_path / "older.jsonl", 1, 2, 3)
    both = older + (tmp_path / "whole.jsonl").read_bytes()
    assert (tmp_path / "older.jsonl").read_bytes() == both


@pytest.mark.parametrize(
    ("format_", "chained"), [("jsonlines", True), ("jl", True), ("csv", False)]
)
def test_lines_of_json_alone_are_chained(format_: str, chained: bool) -> None:
    storage = OutcomeFeedStorage.from_crawler(None, URI, feed_options={"format": format_})
    assert storage._chained is chained


@pytest.mark.parametrize(
    ("changed", "taken"),
    [({}, True), ({"format": "csv"}, False), ({"fields": ["pid"]}, False), ({"indent": 1}, False),
     ({"item_filter": object}, False), ({"postprocessing": ["x"]}, False)],
)  # fmt: skip
def test_a_spider_may_write_in_a_feed_that_is_as_ours_alone(
    changed: dict[str, object], taken: bool
) -> None:
    makers: list[object] = []
    crawler: Any = SimpleNamespace(spider=SimpleNamespace(take_feed=makers.append))
    storage = OutcomeFeedStorage.from_crawler(crawler, URI, feed_options=OPTIONS | changed)
    assert makers == ([storage.lines] if taken else [])
    crawler.spider = object()  # one that asks for nothing
    OutcomeFeedStorage.from_crawler(crawler, URI, feed_options=OPTIONS)
