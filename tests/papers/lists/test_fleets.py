"""Messages of a fleet's topics: keys and values of lines, and the join of lines and outcomes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.errors import BadList
from lafka.papers.lists import fleets
from lafka.papers.lists.fleets import OutcomeTimes
from lafka.papers.lists.futlis import Feeder, shard_of_line
from lafka.papers.lists.rows import ListRow, verdict
from lafka.pids import SCHEMES

SCHEME = SCHEMES["RePEc"]
COUNT = 8
SINCE = "2026-11-24T10:00:00Z"


@given(
    pid=st.sampled_from(["RePEc:a:b:1", "repec:a:b:2", "no pid", "a\tb", ""]) | st.text(),
    url=st.sampled_from(["http://h.example/1", "doi:10.1000/182", "no url"]) | st.text(),
    restriction=st.sampled_from(["", "closed"]),
    title=st.sampled_from(["", "A title"]),
    broken=st.sampled_from(["", "more columns than a pid and a URL"]),
    since=st.sampled_from(["", SINCE]),
)
def test_a_line_comes_back_from_its_message(
    pid: str, url: str, restriction: str, title: str, broken: str, since: str
) -> None:
    row = ListRow(pid, url, restriction, broken_url=broken, title=title)
    line = verdict(1, row, SCHEME)
    number = fleets.number_of(shard_of_line(line, COUNT), 7)
    key, value = fleets.key_of(line), fleets.value_of(line, SCHEME, since)
    back = fleets.line_of(key, value, number, COUNT, SCHEME)
    assert (back.number, bool(back.since)) == (number, bool(since))
    for name in ("pid_text", "url_text", "futli", "outcome", "problem"):
        assert getattr(back, name) == getattr(line, name)
    if line.futli and back.futli:
        assert back.futli.title == line.futli.title


@pytest.mark.parametrize(
    ("key", "value", "partition"),
    [
        (b"RePEc:a:b:1", b"{}", 0),
        (b"\xff\t1", b"{}", 0),
        (b"RePEc:a:b:1\thttp://h.example/1", b"no JSON", 0),
        (b"RePEc:a:b:1\thttp://h.example/1", b"[]", 0),
        (b"RePEc:a:b:1\thttp://h.example/1", b'{"since": "2026-01-01"}', 0),
        (b"RePEc:a:b:1\t http://h.example/1", b"{}", 0),
        (b"RePEc:a:b:1\thttp://h.example/1", b"{}", 1),
    ],
)
def test_what_is_no_line_or_another_hosts_is_refused(
    key: bytes, value: bytes, partition: int
) -> None:
    line = verdict(1, ListRow("RePEc:a:b:1", "http://h.example/1"), SCHEME)
    own = (shard_of_line(line, COUNT) + partition) % COUNT
    with pytest.raises(BadList):
        fleets.line_of(key, value, fleets.number_of(own, 0), COUNT, SCHEME)


def test_a_line_is_open_without_outcome_and_again_for_a_later_since() -> None:
    times = OutcomeTimes()
    ended = b'{"pid": "p", "time": "2026-11-24T09:59:59Z"}'
    assert times.is_open(b"k", b"{}")
    times.add(b"k", ended)
    assert not times.is_open(b"k", b"{}")
    assert times.is_open(b"k", b'{"since": "2026-11-24T10:00:00Z"}')
    times.give(b"k")
    assert not times.is_open(b"k", b'{"since": "2026-11-24T10:00:00Z"}')
    times.add(b"k", None)
    assert times.is_open(b"k", b"{}")


def test_lines_of_a_partition_leave_the_feeder_and_hosts_keep_their_turns(tmp_path: Path) -> None:
    feeder = Feeder(tmp_path / "list.sqlite")
    since = datetime(2026, 11, 24, tzinfo=UTC)
    rows = [("one", 0), ("two", 1), ("one", 1), ("two", 1), ("three", 2), ("", 1)]
    lines = [
        fleets.line_of(
            f"RePEc:a:b:{n}\thttp://{host}.example/{n}".encode() if host else b"bad\tbad",
            f'{{"since": "{since.isoformat()}"}}'.encode(),
            fleets.number_of(0, n), 1, SCHEME,
        )
        for n, (host, _) in enumerate(rows)
    ]  # fmt: skip
    moved = [
        replace(line, number=fleets.number_of(partition, n))
        for n, (line, (_, partition)) in enumerate(zip(lines, rows, strict=True))
    ]
    feeder.load(moved)
    assert feeder.holds(fleets.numbers_of(1))
    assert feeder.drop(fleets.numbers_of(1)) == 4
    assert not feeder.holds(fleets.numbers_of(1))
    assert feeder.drop(fleets.numbers_of(1)) == 0
    assert (feeder.waiting_lines, feeder.waiting_hosts) == (2, 2)
    taken = feeder.take(10)
    assert {line.number for line in taken} == {moved[0].number, moved[4].number}
    assert {line.since for line in taken} == {since}
    assert feeder.exhausted
