"""What a crawl says at its end and while it runs: to a log, and to a terminal."""

from __future__ import annotations

import errno
import json
import os
import pty
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lafka.runs.exits import STOPPED
from lafka.runs.terminals import ERASE
from tests import starts
from tests.crawls.running import ROOT, Crawl, command, crawl
from tests.sites.papers import MAIN, OTHER, SmallSite
from tests.waiting import LIMIT


@pytest.fixture
def site() -> Iterator[SmallSite]:
    with SmallSite((MAIN, OTHER), 8) as site:
        yield site


@pytest.fixture
def list_(site: SmallSite, tmp_path: Path) -> Path:
    path = tmp_path / "list.tsv"
    path.write_text(site.list())
    return path


def report(archive: Path) -> dict[str, Any]:
    """The last run's."""
    last = max((archive / "runs").glob("*.json"))
    return json.loads(last.read_bytes())


def test_the_end_tells_what_came_and_the_next_what_was_lost(site, list_, tmp_path) -> None:
    archive = tmp_path / "a"
    run = crawl(archive, list_)
    first = report(archive)
    summary = first["summary"]
    assert summary["groups"] == {
        "held": 12, "page only": 4, "not there": 0, "closed": 0, "trouble": 0, "ours": 0,
    }  # fmt: skip
    assert (summary["new"], summary["held"], summary["before"]) == (12, 0, None)
    assert summary["bytes"] == first["futs"]["bytes"]
    assert summary["requests_a_fut"] == round(first["requests"] / 12, 2)
    assert summary["feed"] == str(archive / "runs" / f"{first['run']}.jsonl")
    assert "16 of 16 lines in " in run.log
    assert "  held             12  75.0%  fut 12\n" in run.log
    del site.routes["/0-0"]  # a 404 from now on
    run = crawl(archive, list_, "-a", "refresh=all")
    summary = report(archive)["summary"]
    assert summary["before"] == {"run": first["run"], "started": first["started"], "lost": 1}
    assert f"1 lost since the last run of this list ({first['run']})" in run.log
    assert {host["host"]: host["why"] for host in summary["hosts"]}[MAIN] == {
        "splap-only": 2, "not-found": 1,
    }  # fmt: skip


def test_a_run_that_is_stopped_tells_its_end_too(site, list_, tmp_path) -> None:
    asked = site.when_asked(2, site.at(MAIN))
    with Crawl(tmp_path / "a", "-a", f"input={list_}", DOWNLOAD_DELAY=1) as going:
        assert asked.wait(LIMIT)
        going.interrupt()
        run = going.ended()
    assert run.code == STOPPED
    assert "go on: the same command asks for what is left" in run.log
    assert report(tmp_path / "a")["summary"]["next"][0].startswith("go on")


def test_a_crawl_without_a_fut_warns_of_it(tmp_path) -> None:
    with SmallSite((MAIN,), 0) as site:
        (tmp_path / "list.tsv").write_text(f"RePEc:tst:p:1\t{site.at(MAIN)}/none\n")
        run = crawl(tmp_path / "a", tmp_path / "list.tsv")
    assert "WARNING: Not one fut: 1 of 1 lines ended as not-found (not there)" in run.log


@pytest.mark.forms(count=1)
@pytest.mark.parametrize("asked", [False, True])
def test_scrapys_tables_are_told_where_they_are_asked_for(asked, list_, tmp_path) -> None:
    run = crawl(tmp_path / "a", list_, **({"LOG_LEVEL": "DEBUG"} if asked else {"STATS_DUMP": 1}))
    assert ("Overridden settings" in run.log) is asked
    assert ("Enabled downloader middlewares" in run.log) is asked
    assert "Dumping Scrapy stats" in run.log


def on_a_terminal(archive: Path, list_: Path, *args: str, **settings: Any) -> str:
    """What a crawl writes to the terminal that its standard error is."""
    ours, theirs = pty.openpty()
    line = command(archive, "-a", f"input={list_}", *args, LAFKA_PROGRESS_INTERVAL=30, **settings)
    with starts.Popen(
        line, cwd=ROOT, env=os.environ | {"TERM": "xterm"}, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=theirs,
    ) as going:  # fmt: skip
        os.close(theirs)
        said = b"".join(iter(lambda: _read(ours), b""))
        assert going.wait(LIMIT) == 0
    os.close(ours)
    return said.decode().replace("\r\n", "\n")


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 1 << 16)
    except OSError as error:
        if error.errno != errno.EIO:  # nobody has the other end any more
            raise
        return b""


def test_a_terminal_has_a_live_line_below_the_log_and_the_end(site, list_, tmp_path) -> None:
    slow = {"DOWNLOAD_DELAY": 0.3}
    said = on_a_terminal(tmp_path / "a", list_, **slow)
    lives = re.findall(rf"{re.escape(ERASE)}(\d+ of 16 lines \| [^\n\r]*)", said)
    assert lives
    assert all(len(line) < 80 for line in lives)
    shown = [line.rpartition(ERASE)[2] for line in said.split("\n")]
    assert any("Spider closed" in line for line in shown)
    ends = [n for n, line in enumerate(shown) if line.startswith("The run ")]
    assert len(ends) == 1
    assert shown[ends[0] + 1].startswith("  16 of 16 lines in ")
    assert "lines | " not in "\n".join(shown)


def test_with_a_log_file_the_terminal_still_has_line_and_end(list_, tmp_path) -> None:
    log = tmp_path / "log"
    said = on_a_terminal(tmp_path / "a", list_, "--logfile", str(log), DOWNLOAD_DELAY=0.3)
    assert f"{ERASE}" in said
    assert "16 of 16 lines in " in said
    assert "INFO" not in said
    assert "16 of 16 lines in " in log.read_text()


@pytest.mark.long("the short suite has the terminal with a log file")
def test_with_a_higher_level_the_terminal_still_has_the_end(list_, tmp_path) -> None:
    said = on_a_terminal(tmp_path / "a", list_, LOG_LEVEL="ERROR")
    assert "16 of 16 lines in " in said
    assert "INFO" not in said


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("pid\turl\n" + "https://x.example/\tRePEc:abc:wpaper:1\n" * 3,
         "standard input: none of its 3 lines can be asked for: line 2 and 2 more: "),
        ("", "standard input: an empty list, no line of it is a pid and a URL"),
    ],
)  # fmt: skip
def test_a_list_from_standard_input_that_is_all_wrong_says_why(text, sentence, tmp_path) -> None:
    run = crawl(tmp_path / "a", "-", stdin=text)
    assert run.code == 2
    assert f"The list ends early: {sentence}" in run.log
    assert "swapped?" in run.log or not text
    assert report(tmp_path / "a")["lines"] == 0


def test_lines_before_a_list_of_standard_input_gets_sound_are_kept(site, tmp_path) -> None:
    run = crawl(tmp_path / "a", "-", stdin="no pid\n" * 99 + site.list())
    assert run.code == 0
    assert report(tmp_path / "a")["lines"] == 99 + 16
