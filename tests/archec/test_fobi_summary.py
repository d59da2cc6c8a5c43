"""The summary of a crawl of files: groups, hosts that fail, what to do next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lafka.archec.files.fobi_summary import FobiSummary, FobiTally


def summary(outcomes: dict[str, int], *, done: bool = True) -> FobiSummary:
    tally = FobiTally()
    for outcome, count in outcomes.items():
        item: dict[str, Any] = {"outcome": outcome, "fobi": f"http://{outcome}.example/1"}
        for _ in range(count):
            tally.add(item | {"length": 1000})
    values = {"outcomes": outcomes, "requests": 9, "seconds": 1.5, "done": done, "run": "r"}
    return FobiSummary.of(values, tally, Path("/store"))


def test_it_counts_by_group_outcome_and_host():
    found = summary({"appearance": 3, "change": 1, "visit": 4, "deletion": 1, "timeout": 1})
    assert (
        "\n".join(found.summary_lines())
        == """\
10 files in 1.5 s:
  stored            4  40.0%  appearance 3, change 1
  as before         4  40.0%  visit 4
  not there         1  10.0%  deletion 1
  trouble           1  10.0%  timeout 1
hosts with most failures:
  deletion.example: 1 (deletion 1)
  timeout.example: 1 (timeout 1)
4.0 kB stored; 9 requests
next:
  tell the maintainers: 1 file lost; lafka archec report --mail
  1 file had trouble: each is asked for again when it is due
  see what the store has: lafka archec report
each file and how it ended: /store/runs/r.jsonl"""
    )
    told = found.as_json()
    assert told["groups"] == {"stored": 4, "as before": 4, "not there": 1, "trouble": 1}
    assert (told["bytes"], told["hosts"][0]["why"]) == (4000, {"deletion": 1})


@pytest.mark.parametrize(
    ("outcomes", "warning"),
    [
        ({}, ""),
        ({"visit": 1, "dns": 9}, ""),
        ({"dns": 9, "timeout": 1}, "Not one file: 9 of 10 ended as dns"),
    ],
)
def test_a_crawl_without_a_file_is_warned_of(outcomes: dict[str, int], warning: str):
    assert summary(outcomes).warning == warning


def test_a_crawl_that_was_stopped_goes_on():
    first = next(summary({"visit": 1}, done=False).next())
    assert first == "go on: the same command asks for what is left"
