"""What a run says of itself: a run that was killed is never taken for finished."""

from __future__ import annotations

import gzip
import hashlib
import json
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lafka
from lafka.runs.exits import STOPPED
from lafka.runs.reports import Report
from tests import starts
from tests.crawls.running import Crawl, crawl, outcomes
from tests.sites.papers import MAIN, OTHER, SmallSite, as_pdf, pdf
from tests.sites.server import reply
from tests.stores import Store
from tests.waiting import LIMIT


@pytest.fixture
def site() -> Iterator[SmallSite]:
    with SmallSite((MAIN, OTHER), 8) as site:
        yield site


@pytest.fixture
def list_(site: SmallSite, tmp_path: Path) -> Path:
    path = tmp_path / "list.tsv"
    path.write_text("# a comment\n" + site.list() + "no pid\n\n")
    return path


def report(archive: Path, place: int = -1) -> Report:
    return Report.load(_path(archive, place))


def _path(archive: Path, place: int) -> Path:
    return sorted((archive / "runs").glob("*.json"))[place]


def listed(archive: Path) -> list[str]:
    """What ``scrapy runs`` prints: run and state."""
    done = runs(archive)
    assert done.returncode == 0, done.stderr
    return [line.split("  ")[1] for line in done.stdout.splitlines()]


def runs(archive: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return starts.verb("scrapy", "runs", *args, "-s", f"LAFKA_ARCHIVE={archive}")


def agrees(archive: Path, place: int = -1) -> dict[str, Any]:
    """The report, whose counts are those of the outcome feed."""
    values = report(archive, place).values
    feed = _path(archive, place).with_suffix(".jsonl")  # a run killed early has none
    lines = [json.loads(line) for line in feed.read_bytes().splitlines()]
    assert values["outcomes"] == Counter(line["outcome"] for line in lines)
    assert values["lines"] == len(lines)
    assert values["chain"] == (lines[-1]["chain"] if lines else None)
    assert values["requests"] == sum(line["requests"] for line in lines)
    assert values["errors"] == sum(line["error"] is not None for line in lines)
    futs = [fut for line in lines for fut in line["futs"]]
    labelled = sum("label" in fut for fut in futs)
    futs = [fut for fut in futs if "label" not in fut]
    held = sum(line["outcome"] == "fut" and not line["futs"] for line in lines)
    assert values["futs"] == {
        "new": sum(fut["new"] for fut in futs),
        "held": sum(not fut["new"] for fut in futs) + held,
        "bytes": sum(fut["length"] for fut in futs if fut["new"]),
        "labelled": labelled,
    }
    return values


@pytest.mark.forms(count=1)
@pytest.mark.parametrize("packed", [False, True])
def test_a_finished_run(site: SmallSite, list_: Path, tmp_path: Path, packed: bool) -> None:
    archive = tmp_path / "archive"
    if packed:
        (tmp_path / "list.tsv.gz").write_bytes(gzip.compress(list_.read_bytes()))
        list_ = tmp_path / "list.tsv.gz"
    run = crawl(archive, list_, LAFKA_LINKS_MAX=7)
    assert run.code == 0, run.log
    values = agrees(archive)
    count = len(site.papers) + 1
    assert report(archive).state == "finished"
    assert values["list"] == {
        "path": str(list_),
        "whole": True,
        "lines": count,
        "bytes": list_.stat().st_size,
        "sha256": hashlib.sha256(list_.read_bytes()).hexdigest(),
    }
    assert values["futs"]["new"] == sum(len(paper.futs) for paper in site.papers)
    assert (values["raw"]["files"], values["raw"]["left"]) == (1, False)
    assert values["raw"]["bytes"] > values["futs"]["bytes"]
    assert (values["job"], values["arguments"]) == (None, {"input": str(list_)})
    assert values["settings"]["LAFKA_LINKS_MAX"] == "7"
    assert "LAFKA_LINKS" not in values["settings"]
    assert values["versions"]["lafka"] == lafka.__version__
    assert values["robots"] == {"asked": 2, "forbidden": 0}
    assert values["memory"] > 20_000_000
    if packed:
        return
    assert crawl(archive, list_).code == 0
    assert agrees(archive)["futs"] == {"new": 0, "held": values["futs"]["new"], "bytes": 0,
                                       "labelled": 0}  # fmt: skip
    assert listed(archive) == ["finished", "finished"]
    told = [json.loads(line) for line in runs(archive, "--json").stdout.splitlines()]
    assert [(each["state"], each["lines"]) for each in told] == [("finished", count)] * 2


def test_a_killed_run_is_never_taken_for_finished(
    site: SmallSite, list_: Path, tmp_path: Path
) -> None:
    archive = tmp_path / "archive"
    for answers in (1, 6):
        site.pause_after(answers)
        with Crawl(archive, "-a", f"input={list_}", "-a", "_job=42") as going:
            assert site.paused.wait(LIMIT)
            assert listed(archive)[-1] == "running"
            going.kill()
        site.resume()
        killed = report(archive)
        assert (killed.state, killed.done, killed.reason) == ("killed", False, None)
        assert killed.values["job"] == "42"
        assert killed.values["finished"] is None
        assert listed(archive)[-1] == "killed"
    run = crawl(archive, list_)
    said = f"The run {killed.run} of {killed.values['started']} was not finished: it was killed"
    assert run.log.count("was not finished") == 1
    assert said in run.log
    assert listed(archive) == ["killed", "killed", "finished"]
    assert "was not finished" not in crawl(archive, list_).log
    agrees(archive, 2)


def test_a_run_that_ends_by_itself_just_as_it_is_killed(
    site: SmallSite, list_: Path, tmp_path: Path
) -> None:
    """All lines told, but the report not closed: it says killed, and the feed has them all."""
    archive = tmp_path / "archive"
    assert crawl(archive, list_).code == 0
    path = report(archive).values["run"]
    (archive / "runs" / f"{path}.json").write_text(
        json.dumps(report(archive).values | {"reason": None, "done": False})
    )
    assert listed(archive) == ["killed"]
    assert len(outcomes(archive)[0]) == len(site.papers) + 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_a_shutdown(
    site: SmallSite, list_: Path, tmp_path: Path, number: signal.Signals
) -> None:
    archive = tmp_path / "archive"
    site.pause_after(4)
    with Crawl(archive, "-a", f"input={list_}") as going:
        assert site.paused.wait(LIMIT)
        going.process.send_signal(number)
        site.resume()
        run = going.ended()
    assert run.code == STOPPED
    values = agrees(archive)
    assert report(archive).state == "shutdown"
    assert 0 < values["lines"] < values["list"]["lines"]
    assert "ends, shutdown: " in run.log
    assert "the same command goes on" in run.log


def test_a_list_that_ends_early_leaves_the_run_incomplete(
    site: SmallSite, list_: Path, tmp_path: Path
) -> None:
    cut = tmp_path / "cut.tsv.gz"
    cut.write_bytes(gzip.compress(list_.read_bytes())[:-9])
    run = crawl(tmp_path / "archive", cut)
    assert run.code == 1
    values = agrees(tmp_path / "archive")
    assert report(tmp_path / "archive").state == "incomplete"
    assert values["lines"] > 0
    assert values["list"]["sha256"] is None
    assert len(values["troubles"]) == 1
    assert "gzip" in values["troubles"][0]


def test_a_report_that_cannot_be_closed_is_told_in_one_sentence(
    site: SmallSite, list_: Path, tmp_path: Path
) -> None:
    archive = tmp_path / "archive"
    site.pause_after(1)
    with Crawl(archive, "-a", f"input={list_}") as going:
        assert site.paused.wait(LIMIT)
        (archive / "runs" / f".draft-{report(archive).run}.json").mkdir()
        site.resume()
        run = going.ended()
    assert run.code == 1
    assert len(run.troubles()) == 1
    assert "The disk stopped the crawl: " in run.troubles()[0]
    assert report(archive).state == "killed"


def test_a_run_that_cannot_begin_says_so(site: SmallSite, list_: Path, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    dead = Store(archive)
    dead.fut(pdf("a"))
    dead.die()
    (archive / "warc" / "RePEc").write_bytes(b"")  # no paper can be put there
    run = crawl(archive, list_)
    assert run.code == 1
    assert len(run.troubles()) == 1
    values = agrees(archive)
    assert (values["reason"], values["done"], values["lines"]) == ("storage-trouble", False, 0)
    assert len(values["troubles"]) == 1
    assert site.targets() == []


def test_the_hosts_that_asked_to_wait_and_that_were_set_aside(tmp_path: Path) -> None:
    with SmallSite((MAIN, OTHER), 0) as site:
        busy = [reply(b"", "", "Retry-After: 1", status="429 Too Many"), as_pdf(pdf("a"))]
        site.routes["/busy"] = lambda _: busy.pop(0)
        for n in range(5):
            site.routes[f"/never/{n}"] = reply(b"", "", "Retry-After: 1", status="503 Busy")
        lines = [f"RePEc:tst:papers:b\t{site.at(MAIN)}/busy\n"]
        lines += [f"RePEc:tst:papers:n{n}\t{site.at(OTHER)}/never/{n}\n" for n in range(5)]
        (tmp_path / "list.tsv").write_text("".join(lines))
        run = crawl(tmp_path / "a", tmp_path / "list.tsv", LAFKA_HOST_FAILURES_MAX=3)
    assert run.code == 0
    values = agrees(tmp_path / "a")
    assert values["outcomes"] == {"fut": 1, "server-error": 5}
    assert values["done"]
    parked = {each["host"]: each for each in values["hosts"]["parked"]}
    assert parked[MAIN]["times"] == 1
    assert parked[MAIN]["longest"] == 1
    assert parked[MAIN]["why"] == "429, Retry-After: 1"
    assert parked[OTHER]["times"] == 3
    [aside] = values["hosts"]["set_aside"]
    assert (aside["host"], aside["failures"]) == (OTHER, 3)
    assert aside["why"] == "answered 503 and asked to wait 1 s each time"
    assert values["started"] <= aside["time"] <= values["finished"]
