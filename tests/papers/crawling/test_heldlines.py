"""Held lines past the engine: what is told of them is what their items would say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from itemadapter import ItemAdapter
from scrapy.utils.serialize import ScrapyJSONEncoder

from lafka.errors import BadList, StorageTrouble
from lafka.items import TrailItem, held_entry
from lafka.papers.archive.archives import Archive
from lafka.papers.archive.suwafs import Fut
from lafka.papers.crawling.heldlines import COUNTED_AFTER, HeldLines, feed_line
from lafka.papers.lists.futlis import Futli, Line
from lafka.papers.lists.listfiles import Excludes, read
from lafka.pids import SCHEMES, Pid
from lafka.runs.reports import Tally
from lafka.storage.drafts import NO_CHAIN, chained_lines
from tests.stores import FUTLI, PID, START, Store, page, pdf

NOW = "2026-11-22T10:11:12Z"
TEXT = st.text(st.characters(codec="utf-8"), max_size=20)


@given(st.builds(Fut, s=st.integers(0), l=st.integers(0), url=TEXT, digest=TEXT), TEXT, TEXT)
def test_a_line_is_that_of_its_item(fut: Fut, pid: str, url: str) -> None:
    futli = Futli(pid=Pid(text=pid, path=""), url=url)
    item = TrailItem(pid=pid, futli=url, outcome="fut", time=NOW, futs=[held_entry(fut)])
    item.as_written = url
    line = feed_line(futli, fut, NOW)
    assert line == ScrapyJSONEncoder(ensure_ascii=False).encode(ItemAdapter(item).asdict()) + "\n"
    lines, _ = chained_lines(line.encode(), NO_CHAIN)
    quick, plain = Tally(), Tally()
    quick.add(lines)
    plain._add(json.loads(lines))
    assert quick == plain
    assert (quick.held, quick.outcomes["fut"]) == (1, 1)


class Told:
    """A feed that keeps its lines, and how many were told of."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.counts: list[int] = []

    def append(self, line: str) -> None:
        self.lines.append(json.loads(line))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "archive")
    yield store
    store.raw.close()


def line(number: int, pid: str = PID, url: str = FUTLI, **more: Any) -> Line:
    futli = Futli(pid=SCHEMES["RePEc"].pid(pid), url=url)
    return Line(number=number, pid_text=pid, url_text=url, futli=futli, **more)


def left(store: Store, *lines: Line, told: Told | None = None, **options: Any) -> list[int]:
    """The numbers of those of *lines* that are left."""
    told = told or Told()
    held = HeldLines(store.archive, told, on_count=told.counts.append, **options)
    found = [each.number for each in held.left(lines)]
    assert len(found) + len(told.lines) == len(lines)
    assert sum(told.counts) == len(told.lines)
    return found


def test_what_is_held_is_told_and_all_else_is_left(store: Store) -> None:
    store.put(store.fut(pdf()))
    told = Told()
    lines = [
        line(1),
        line(2, url="http://x.example/abs/2"),
        line(3, "RePEc:abc:wpaper:2"),
        line(4, outcome="restricted"),
        Line(number=5, pid_text="", url_text="", outcome="bad-pid"),
        line(6),
    ]
    assert left(store, *lines, told=told) == [2, 3, 4, 5]
    fut = store.archive.fut(PID)
    for found in told.lines:
        assert (found["pid"], found["futli"], found["outcome"]) == (PID, FUTLI, "fut")
        assert found["futs"] == [
            {"url": fut.url, "digest": fut.digest, "length": fut.length, "s": fut.start,
             "l": fut.length, "new": False}
        ]  # fmt: skip


def test_of_many_futs_that_of_the_futli_is_told(store: Store) -> None:
    other = "http://x.example/abs/2"
    store.put(store.fut(pdf(1)))
    store.put(store.fut(pdf(2), at=START + timedelta(days=1)))
    store.put(store.fut(pdf(3), futli=other))
    told = Told()
    assert left(store, line(1), line(2, url=other), told=told) == []
    digests = [store.archive.fut(PID, futli).digest for futli in (FUTLI, other)]
    assert [each["futs"][0]["digest"] for each in told.lines] == digests


def test_a_fut_that_is_old_or_labelled_or_excluded_is_left(store: Store, tmp_path: Path) -> None:
    store.put(store.fut(pdf()))
    assert left(store, line(1), since=START - timedelta(days=1)) == []
    assert left(store, line(1), since=START + timedelta(days=1)) == [1]
    (tmp_path / "excluded").write_text(f"{PID}\n")
    excludes = Excludes.load(tmp_path / "excluded", SCHEMES["RePEc"])
    assert left(store, line(1), excludes=excludes) == [1]
    assert left(store, line(1), stops=lambda: True) == [1]
    ask = store.ask(pid="RePEc:abc:wpaper:3")
    splap = store.splap(page(), pid="RePEc:abc:wpaper:3")
    store.put(splap, store.found(splap, "http://x.example/3.pdf", pdf(3), label="other"))
    assert left(store, line(1, str(ask.futli.pid))) == [1]


def test_a_paper_that_is_damaged_is_left_to_who_tells(store: Store) -> None:
    store.put(store.fut(pdf()))
    pid = store.archive.pid(PID)
    warc, suwaf = store.archive.warc_path(pid), store.archive.suwaf_path(pid)
    data, summary = warc.read_bytes(), suwaf.read_bytes()
    warc.write_bytes(data[:-1])
    assert left(store, line(1)) == [1]
    warc.unlink()
    assert left(store, line(1)) == [1]
    warc.write_bytes(data)
    for broken in (b"", b"\xff", summary[:-3], summary.replace(b"wpaper", b"wpeper")):
        suwaf.write_bytes(broken)
        assert left(store, line(1)) == [1]
    suwaf.write_bytes(summary)
    assert left(store, line(1)) == []


def test_a_disk_that_fails_is_trouble(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise StorageTrouble(store.root, OSError(5, "Input/output error"))

    store.put(store.fut(pdf(1)), store.fut(pdf(2), at=START + timedelta(days=1)))
    store.archive = Archive(store.root)  # one that knows of no paper yet
    monkeypatch.setattr("lafka.papers.archive.suwafs.Suwaf.load_with_stat", fails)
    with pytest.raises(StorageTrouble):
        left(store, line(1))


def test_a_futli_that_was_left_open_is_left(store: Store) -> None:
    store.put(store.fut(pdf()))
    pid = store.archive.pid(PID)
    path = store.archive.suwaf_path(pid)
    suwaf = store.archive.suwaf(PID)
    suwaf.open = (FUTLI,)
    path.write_bytes(suwaf.to_bytes())
    assert left(store, line(1)) == [1]
    suwaf.open = ("http://x.example/other",)
    path.write_bytes(suwaf.to_bytes())
    assert left(store, line(1)) == []


def test_it_is_told_how_many_they_are_up_to_what_ends_the_list(store: Store) -> None:
    store.put(store.fut(pdf()))
    told = Told()
    assert left(store, *map(line, range(2 * COUNTED_AFTER + 7)), told=told) == []
    assert len(told.counts) >= 3

    def cut() -> Iterator[Line]:
        yield line(1)
        raise BadList("cut")

    told = Told()
    held = HeldLines(store.archive, told, on_count=told.counts.append)
    with pytest.raises(BadList):
        list(held.left(cut()))
    assert (sum(told.counts), len(told.lines)) == (1, 1)


def test_the_answer_is_the_archives(store: Store, tmp_path: Path) -> None:
    """For every line of a list, over papers of every kind."""
    for number, more in enumerate(({}, {"found_by": "anchor"}, {"label": "other"})):
        store.put(store.fut(pdf(number), pid=f"RePEc:abc:wpaper:{number}", **more))
    (tmp_path / "list.tsv").write_text(
        "".join(f"RePEc:abc:wpaper:{number % 4}\t{FUTLI}\n" for number in range(8))
    )
    lines = list(read(tmp_path / "list.tsv", store.archive.scheme))
    told = Told()
    held = HeldLines(store.archive, told, since=datetime(2026, 1, 1, tzinfo=UTC))
    not_held = list(held.left(lines))
    assert not_held == [each for each in lines if store.archive.held(each.futli) is None]
    for each in lines:
        if fut := store.archive.held(each.futli):
            assert json.loads(feed_line(each.futli, fut, NOW))["futs"] == [held_entry(fut)]
    assert len(told.lines) + len(not_held) == len(lines)
