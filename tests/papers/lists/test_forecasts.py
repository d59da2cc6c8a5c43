from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.papers.lists.forecasts import DAY, CrawlSpeed, Forecast, HostCounts, crawl_plan
from lafka.papers.lists.listfiles import read
from lafka.pids import SCHEMES

PLAIN = CrawlSpeed(rate=1, requests=1, per_worker=1000)


def stepped(sizes: list[int], speed: CrawlSpeed, workers: int, step: float) -> list[float]:
    """The model by small steps of time: days to 50 and 100 %."""
    left = [float(size) for size in sizes]
    total, seconds, half = sum(sizes), 0.0, 0.0
    while any(left):
        asked = sum(size > 0 for size in left)
        flow = min(speed.lines_of_host, workers * speed.per_worker / asked)
        left = [max(0.0, size - flow * step) for size in left]
        seconds += step
        if not half and total - sum(left) >= total / 2:
            half = seconds
    return [half / DAY, seconds / DAY]


@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=30),
    st.sampled_from([1, 2, 5]),
    st.sampled_from([0.5, 1.0, 4.0]),
)
def test_a_forecast_is_what_small_steps_give(
    sizes: list[int], workers: int, per_worker: float
) -> None:
    speed = CrawlSpeed(rate=1, requests=2, per_worker=per_worker)
    half, *_, whole = Forecast(sizes, speed).days(workers)
    step = 0.02
    expected = stepped(sizes, speed, workers, step)
    assert [half, whole] == pytest.approx(expected, rel=0.02, abs=3 * step / DAY)


def test_the_largest_host_decides_how_long_a_list_takes() -> None:
    sizes = [1000, 10, 10, 10]
    assert Forecast(sizes, PLAIN).days(1)[-1] * DAY == pytest.approx(1000)
    assert Forecast(sizes, PLAIN).days(16)[-1] * DAY == pytest.approx(1000)
    assert Forecast(sizes, PLAIN).days(1, agreed=1)[-1] * DAY == pytest.approx(250)


def test_workers_decide_where_hosts_are_many() -> None:
    sizes = [1] * 100_000
    one, two = (Forecast(sizes, PLAIN).days(n)[-1] * DAY for n in (1, 2))
    assert (one, two) == (pytest.approx(100), pytest.approx(50))


def test_a_list_with_nothing_to_ask_for_takes_no_time() -> None:
    assert Forecast([], PLAIN).days(1) == [0, 0, 0, 0]


def test_a_plan_counts_a_list(tmp_path) -> None:
    lines = [f"RePEc:abc:wpaper:{n}\thttps://h{n % 3}.example/{n}.pdf" for n in range(30)]
    lines += [f"RePEc:abc:wpaper:{n}\thttps://big.example/{n}.pdf" for n in range(30, 100)]
    lines += ["RePEc:abc:wpaper:d\tdoi:10.1000/182", "broken", "RePEc:abc:wpaper:x\tno url"]
    path = tmp_path / "list.tsv"
    path.write_text("\n".join(lines) + "\n")
    counts = HostCounts.count(read(path, SCHEMES["RePEc"]), 4)
    largest = counts.largest(read(path, SCHEMES["RePEc"]))
    plan = crawl_plan(counts, largest, PLAIN, (1, 4))
    assert (plan["lines"], plan["asked"], plan["hosts"]) == (103, 101, 5)
    assert plan["largest"][0] == {"host": "big.example", "lines": 70}
    assert [host["lines"] for host in plan["largest"]] == [70, 10, 10, 10, 1]
    assert plan["resolvers"] == [{"host": "doi.org", "lines": 1}]
    assert [row["workers"] for row in plan["days"]] == [1, 4]
    assert plan["days"][0]["100"] == pytest.approx(70 / DAY, abs=1e-6)
    assert (plan["bytes"], plan["files"]) == (101 * 1_300_000, 202)
    assert plan["saves"]["second_worker"] == 0
    assert plan["saves"]["twelve_hosts_at_four"] == pytest.approx(52.5 / DAY, abs=1e-6)
    assert plan["fullest"]["lines"] == max(counts.shards)
    assert sum(counts.shards) == 101
    json.dumps(plan)
