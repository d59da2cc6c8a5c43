"""The end of a run told to people: what came of its list, who failed, what was lost, what next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lafka.capture.client.routes import AddressRefused
from lafka.papers import Group, Outcome
from lafka.papers.crawling.summaries import NOT_PUBLIC, FeedTally, RunSummary
from lafka.runs.reporting import FailingHost
from tests.sentences import sentences

PID = "RePEc:abc:wpaper:1"


def item(outcome: str, futli: str, pid: str = PID) -> dict[str, Any]:
    return {"pid": pid, "futli": futli, "outcome": outcome, "futs": [], "requests": 1}


def closing(**values: Any) -> dict[str, Any]:
    return {
        "run": "20261122T000000000000Z-h-2",
        "outcomes": {},
        "futs": {"new": 0, "held": 0, "bytes": 0, "labelled": 0},
        "requests": 0,
        "seconds": 1.5,
        "done": True,
        "list": {"path": "/list.tsv", "lines": 0},
        "arguments": {"input": "/list.tsv"},
        **values,
    }


def of(root: Path, heard: FeedTally | None = None, **values: Any) -> RunSummary:
    return RunSummary.of(closing(**values), heard or FeedTally(), root)


def test_lines_are_told_by_group_with_shares(tmp_path: Path) -> None:
    told = [*of(tmp_path, outcomes={"fut": 3, "dns": 1, "gone": 4}).summary_lines()]
    assert told[1:7] == [
        "  held              3  37.5%  fut 3",
        "  page only         0   0.0%",
        "  not there         5  62.5%  gone 4, dns 1",
        "  closed            0   0.0%",
        "  trouble           0   0.0%",
        "  ours              0   0.0%",
    ]


def test_one_is_no_plural(tmp_path: Path) -> None:
    one = {"path": "/list.tsv", "lines": 1}
    futs = {"new": 1, "held": 0, "bytes": 0, "labelled": 0}
    told = [*of(tmp_path, outcomes={"fut": 1}, list=one, futs=futs, requests=1).summary_lines()]
    assert told[0].startswith("1 of 1 line in ")
    assert any(line.startswith("1 new fut, 0 held before") for line in told)
    assert any(line.endswith("; 1 request, 1.0 a new fut") for line in told)


def test_the_groups_of_the_report_add_up_to_the_lines(tmp_path: Path) -> None:
    outcomes = {str(outcome): n for n, outcome in enumerate(Outcome, 1)}
    summary = of(tmp_path, outcomes=outcomes)
    groups = summary.as_json()["groups"]
    assert [*groups] == [str(group) for group in Group]
    assert sum(groups.values()) == summary.lines == sum(outcomes.values())


def test_the_five_hosts_with_most_failures_are_named_with_why(tmp_path: Path) -> None:
    heard = FeedTally()
    for host in range(7):
        for number in range(host + 1):
            word = "timeout" if number % 3 else "refused"
            heard.add(item(word, f"https://h{host}.example.org/{number}"))
    hosts = of(tmp_path, heard).hosts
    assert [host.name for host in hosts] == [f"h{n}.example.org" for n in (6, 5, 4, 3, 2)]
    assert hosts[0] == FailingHost(name="h6.example.org", why={"timeout": 4, "refused": 3})


@pytest.mark.parametrize("word", ["fut", "excluded", "bad-pid", "bad-url", "restricted"])
def test_what_was_not_asked_or_is_held_is_no_failure_of_a_host(word: str) -> None:
    heard = FeedTally()
    heard.add(item(word, "https://h.example.org/"))
    assert not heard.hosts


def before(root: Path, name: str, lines: list[dict[str, Any]], path: str = "/list.tsv") -> None:
    folder = root / "runs"
    folder.mkdir(exist_ok=True)
    report = {
        "format": 1, "run": name, "done": True, "reason": "finished",
        "started": "2026-11-20T00:00:00Z", "list": {"path": path},
    }  # fmt: skip
    (folder / f"{name}.json").write_text(json.dumps(report))
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (folder / f"{name}.jsonl").write_text(text)


def test_lost_is_what_the_last_run_of_this_list_had_and_this_one_not(tmp_path: Path) -> None:
    odd = 'https://h.example.org/"\\ä'
    before(tmp_path, "20261119T000000000000Z-h-1", [item("fut", "https://h.example.org/old")])
    before(tmp_path, "20261120T000000000000Z-h-1", [
        item("fut", odd), item("fut", "https://h.example.org/kept"),
        item("gone", "https://h.example.org/gone"),
    ])  # fmt: skip
    before(tmp_path, "20261121T000000000000Z-h-1", [item("fut", odd)], path="/other.tsv")
    heard = FeedTally()
    for futli in (odd, "https://h.example.org/gone", "https://h.example.org/old"):
        heard.add(item("not-found", futli))
    heard.add(item("fut", "https://h.example.org/kept"))
    found = of(tmp_path, heard).before
    assert found is not None
    assert (found.run, found.lost) == ("20261120T000000000000Z-h-1", 1)


def test_the_first_run_of_a_list_and_standard_input_have_nothing_before(tmp_path: Path) -> None:
    assert of(tmp_path).before is None
    before(tmp_path, "20261120T000000000000Z-h-1", [item("fut", "https://h.example.org/")], "-")
    assert of(tmp_path, list={"path": "-", "lines": 0}).before is None


def test_a_later_run_is_not_the_last_one_before(tmp_path: Path) -> None:
    before(tmp_path, "20261123T000000000000Z-h-1", [item("fut", "https://h.example.org/")])
    assert of(tmp_path).before is None


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"done": False}, "go on: the same command asks for what is left"),
        ({"outcomes": {"damaged": 2}}, "look at 2 damaged papers: lafka verify"),
        ({"outcomes": {"timeout": 2, "loop": 1}},
         "crawl the list again later: 3 lines had trouble on the way"),
        ({"outcomes": {"gone": 2, "bad-url": 3}}, "tell who made the list: 2 dead links"),
        ({"outcomes": {"gone": 2}, "arguments": {"legacy": "http://127.0.0.1:8732"}},
         "2 lines not held by http://127.0.0.1:8732: that is no link rot"),
        ({"outcomes": {"bad-pid": 1}},
         "mend the list: lafka check-list says what is wrong with its lines"),
        ({"outcomes": {"fut": 1}, "futs": {"new": 1, "held": 0, "bytes": 9}},
         "read them: lafka fut --all --into FOLDER"),
        ({"outcomes": {"fut": 1}, "futs": {"new": 0, "held": 1, "bytes": 0}},
         "nothing was new; -a refresh=180d asks again for what was had longer ago"),
    ],
)  # fmt: skip
def test_what_to_do_next(values: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    assert sentence in [*of(tmp_path, **values).next()]


def test_a_run_that_asked_again_is_not_told_to_ask_again(tmp_path: Path) -> None:
    values = {"outcomes": {"fut": 1}, "futs": {"new": 0, "held": 1, "bytes": 0}}
    summary = of(tmp_path, arguments={"refresh": "30d"}, **values)
    assert [*summary.next()] == ["read them: lafka fut --all --into FOLDER"]


def test_the_host_that_closed_most_is_to_be_written_to(tmp_path: Path) -> None:
    heard = FeedTally()
    for number, word in enumerate(["timeout"] * 5 + ["refused", "login"]):
        heard.add(item(word, f"https://a.example.org/{number}"))
    heard.add(item("refused", "https://b.example.org/"))
    assert "write to a.example.org, which closed 2 lines to us" in [*of(tmp_path, heard).next()]


def test_nobody_is_written_to_for_an_address_that_was_not_asked(tmp_path: Path) -> None:
    heard = FeedTally()
    told = AddressRefused(f"10.0.0.1 {NOT_PUBLIC}")
    heard.add(item("refused", "https://a.example.org/1") | {"error": f"robots.txt: {told}"})
    (sentence,) = of(tmp_path, heard).next()
    assert sentence.startswith(f"a.example.org {NOT_PUBLIC} and was not asked; -s LAFKA_ALLOWED")
    assert "AddressRefused: {}: {} " + NOT_PUBLIC in sentences("AddressRefused")


def test_a_run_without_a_fut_says_how_most_lines_ended(tmp_path: Path) -> None:
    summary = of(tmp_path, outcomes={"dns": 2, "timeout": 3})
    assert summary.warning == "Not one fut: 3 of 5 lines ended as timeout (trouble)"
    assert of(tmp_path, outcomes={"dns": 2, "fut": 1}).warning == of(tmp_path).warning == ""


def test_it_stays_within_some_twenty_lines_whatever_came(tmp_path: Path) -> None:
    heard = FeedTally()
    for number, outcome in enumerate(Outcome):
        heard.add(item(outcome, f"https://h{number}.example.org/"))
    before(tmp_path, "20261120T000000000000Z-h-1", [item("fut", "https://h.example.org/")])
    summary = of(tmp_path, heard, outcomes=dict.fromkeys(map(str, Outcome), 1), done=False)
    told = [*summary.summary_lines()]
    assert 15 <= len(told) <= 24
    assert not any("\n" in line for line in told)


def test_hosts_of_a_list_cannot_drive_a_terminal(tmp_path: Path) -> None:
    heard = FeedTally()
    heard.add(item("timeout", "https://h\x1b[2J.example.org/"))
    assert "\x1b" not in "".join(of(tmp_path, heard).summary_lines())


@pytest.mark.parametrize(
    ("seconds", "size", "words"),
    [
        (4.24, 999, ("in 4.2 s:", "999 bytes of")),
        (200, 1_234_567, ("in 3 min 20 s:", "1.2 MB of")),
        (7_500, 12_345_600_000, ("in 2 h 5 min:", "12.3 GB of")),
    ],
)
def test_times_and_sizes_read_well(
    seconds: float, size: int, words: tuple[str, str], tmp_path: Path
) -> None:
    futs = {"new": 1, "held": 0, "bytes": size}
    told = "\n".join(of(tmp_path, seconds=seconds, futs=futs).summary_lines())
    assert all(word in told for word in words)
