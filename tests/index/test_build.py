"""What an index has of an archive, one process at a time, and after a kill."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lafka.errors import ArchiveBusy, BadArchive
from lafka.papers import Archive
from lafka.papers.checking import Verifier
from tests import starts
from tests.index.histories import History, at, futli_of, line, pid_of

ROOT = Path(__file__).parents[2]


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "archive")


def test_papers_futlis_and_futs_are_as_their_suwafs_say(history: History) -> None:
    history.suwaf(1, {0: [1.0, 2.0], 1: []}, opened=(futli_of(1, 1),))
    history.index()
    assert history.rows("SELECT pid, archive, series, path, warc_bytes, futs, first, last, problem"
                        " FROM paper") == [
        (pid_of(1), "abc", "wpaper", "suwaf/RePEc/abc/wpaper/1.json", 1000, 2, at(1), at(2), None)
    ]  # fmt: skip
    assert history.rows("SELECT url, h.name, open, state, outcome, had, asks FROM futli l"
                        " JOIN host h ON h.id = l.host ORDER BY url") == [
        (futli_of(1, 0), "host1.example", 0, "held", "fut", at(2), 0),
        (futli_of(1, 1), "host1.example", 1, "never", None, None, 0),
    ]  # fmt: skip
    assert history.rows("SELECT time, s, l, length(digest) FROM fut") == [
        (at(1), 10, 100, 32), (at(2), 11, 100, 32)
    ]  # fmt: skip


def test_a_labelled_pdf_is_no_fut_of_the_paper(history: History) -> None:
    history.suwaf(1, {0: [1.0]}, label="supplement")
    history.index()
    assert history.rows("SELECT futs, first FROM paper") == [(0, None)]
    assert history.rows("SELECT state, (SELECT label FROM fut) FROM futli") == [
        ("never", "supplement")
    ]


def test_asks_in_a_row_that_come_to_the_same_are_one_row(history: History) -> None:
    nights = [line(1, day, "timeout") for day in range(30)]
    history.feed(1, line(1, -1, requests=4), *nights)
    history.index()
    assert history.rows(
        "SELECT outcome, times, time, until, requests FROM asked ORDER BY time"
    ) == [
        ("fut", 1, at(-1), at(-1), 4),
        ("timeout", 30, at(0), at(29), 30),
    ]
    assert history.rows("SELECT asks, requests, fails, state FROM futli") == [
        (31, 34, 30, "suspect")
    ]
    assert history.rows("SELECT sum(lines), count(*) FROM daily") == [(31, 31)]


def test_lines_that_are_held_count_by_the_day_alone(history: History) -> None:
    history.feed(1, *(line(number, 1, requests=0) for number in range(5)))
    history.index()
    assert history.rows("SELECT lines, held FROM daily") == [(2, 2), (2, 2), (1, 1)]
    assert history.rows("SELECT count(*) FROM paper") == [(0,)]


def test_what_a_gateway_lacks_is_no_link_rot(history: History) -> None:
    history.report(1, arguments={"legacy": "http://127.0.0.1:8732"})
    history.feed(1, *(line(1, day, "not-found") for day in (2, 10, 40)))
    history.suwaf(1, {0: [1.0]})
    history.index()
    assert history.rows("SELECT state, asks, asked, outcome FROM futli") == [
        ("held", 0, None, "fut")
    ]
    history.report(1, arguments={})
    history.index()
    assert history.rows("SELECT state, asks, outcome FROM futli") == [("lost", 3, "not-found")]


def test_a_torn_line_waits_until_it_is_whole(history: History) -> None:
    data = json.dumps(line(1, 1, "gone")).encode() + b"\n"
    history.feed(1, data[:20])
    assert history.index().lines == 0
    history.feed(1, data[20:])
    assert history.index().lines == 1
    assert history.index().lines == 0
    assert history.rows("SELECT outcome FROM futli") == [("gone",)]


def test_where_nothing_changed_nothing_is_read_and_as_of_stays(history: History) -> None:
    history.suwaf(1, {0: [1.0]})
    history.feed(1, line(1, 1))
    history.report(1)
    history.later()
    history.index()
    before = history.rows("SELECT * FROM meta")
    history.later()
    account = history.index()
    assert (account.papers, account.gone, account.lines, account.runs) == (0, 0, 0, 0)
    assert history.rows("SELECT * FROM meta") == before


def test_hosts_that_wait_come_from_reports(history: History) -> None:
    hosts = {"parked": [{"host": "a.example", "times": 3, "longest": 7.5, "until": at(1),
                         "why": "HTTP status 429"}],
             "set_aside": [{"host": "b.example", "time": at(2), "failures": 20, "why": "timeout"}],
             "failing": [{"host": "c.example", "failures": 4}, "odd"]}  # fmt: skip
    history.report(1, hosts=hosts)
    history.index()
    assert history.rows("SELECT h.name, kind, times, longest, time, why FROM waits"
                        " JOIN host h ON h.id = host ORDER BY 1") == [
        ("a.example", "parked", 3, 7.5, at(1), "HTTP status 429"),
        ("b.example", "set-aside", 20, None, at(2), "timeout"),
        ("c.example", "failing", 4, None, None, None),
    ]  # fmt: skip


def test_a_report_that_is_none_is_told_in_its_row(history: History) -> None:
    path = history.report(1)
    path.write_bytes(b"{")
    history.index()
    ((state, reason),) = history.rows("SELECT state, reason FROM run")
    assert state == "damaged"
    assert "no report of a run" in reason


def test_a_futli_tells_where_it_leads(history: History) -> None:
    history.feed(1, line(1, 1, splap="https://elsewhere.example/p"), line(2, 1, splap=futli_of(2)))
    history.index()
    assert history.rows("SELECT h.name, secure FROM futli l LEFT JOIN host h ON h.id = l.final_host"
                        " ORDER BY l.url") == [("elsewhere.example", 1), (None, None)]  # fmt: skip


@pytest.mark.parametrize("number", [1 << 63, 1 << 70])
def test_sizes_that_no_file_has_are_a_problem_or_no_line(history: History, number: int) -> None:
    path = history.suwaf(1, {0: [1.0]})
    history.put(path, path.read_bytes().replace(b'"s": 10', b'"s": %d' % number))
    history.feed(1, line(2, 1, requests=number))
    account = history.index()
    ((problem,),) = history.rows("SELECT problem FROM paper")
    assert problem == "not a suwaf: a place that no file has"
    assert len(account.sentences) == 1


def test_titles_and_urls_in_any_script_are_stored(history: History) -> None:
    url = "http://пример.example/статья\ud800?q=\u202e"
    history.feed(1, line(1, 1, "gone") | {"futli": url, "error": "\x00\ud800"})
    history.index()
    ((stored, error),) = history.rows("SELECT l.url, a.error FROM futli l JOIN asked a ON 1")
    assert stored == url.replace("\ud800", "\\ud800")
    assert error == "\x00\\ud800"


def test_two_indexers_at_once_are_one_and_a_sentence(history: History) -> None:
    with history.place.locked(), pytest.raises(ArchiveBusy, match="another process brings this"):
        history.index()
    history.index()


CHILD = """
import os, signal, sys
from lafka.index.build import IndexBuilder, refresh
from lafka.index.tables import IndexFiles
from lafka.papers import Archive
steps, anew = int(sys.argv[2]), sys.argv[3] == "True"
own = IndexBuilder._step
def step(self):
    global steps
    own(self)
    steps -= 1
    if not steps:
        os.kill(os.getpid(), signal.SIGKILL)
IndexBuilder._step = step
archive = Archive(sys.argv[1])
refresh(archive, IndexFiles.of(archive.root), anew=anew, batch=5)
"""


def index_killed(history: History, steps: int, *, anew: bool = False) -> None:
    """Index in a process that is killed after `steps` steps."""
    args = [sys.executable, "-c", CHILD, str(history.root), str(steps), str(anew)]
    assert subprocess.run(args, cwd=ROOT, check=False).returncode == -signal.SIGKILL


def test_after_a_kill_the_next_run_goes_on(history: History) -> None:
    history.index()
    for number in range(23):
        history.suwaf(number, {0: [1.0]})
    history.feed(1, *(line(number, 2, "gone") for number in range(23)))
    for steps in (1, 2, 4, 3):
        index_killed(history, steps)
        (count,) = history.rows("SELECT count(*) FROM paper")[0]
        assert count % 5 == 0 or count == 23
    assert history.rows("SELECT value FROM meta WHERE key = 'unfinished'") == [("",)]
    history.index()
    assert history.rows("SELECT value FROM meta WHERE key = 'unfinished'") == []
    assert history.differences() == []


def test_folders_that_changed_are_read_again(history: History) -> None:
    for number in range(30):
        history.suwaf(number, {0: [1.0]}, series=f"s{number % 15:02}")
    history.index()
    history.later()
    for number in range(0, 30, 2):  # in every folder one of two
        history.suwaf(number, {0: [1.0, 2.0]}, series=f"s{number % 15:02}")
    history.suwaf(31, {0: [1.0]}, series="s00!")  # new, and between others
    history.remove(history.root / "suwaf/RePEc/abc/s07")
    account = history.index()
    assert (account.papers, account.gone) == (15, 2)
    assert history.differences() == []
    history.later()
    history.index()  # once more, since the folders had just changed
    assert history.index().changed == 0


def test_a_kill_leaves_nothing_of_an_index_made_anew(history: History) -> None:
    """Neither where there was none, nor of the old one's successor."""
    for number in range(23):
        history.suwaf(number, {0: [1.0]})
        history.feed(1, line(number, 2, "gone"))
    for papers in (23, 24):
        index_killed(history, 1, anew=True)
        assert history.place.draft.exists()
        assert history.place.database.exists() == (papers == 24)
        if papers == 24:
            assert history.rows("SELECT count(*) FROM paper") == [(23,)]
        history.later()
        history.index()
        assert history.rows("SELECT count(*) FROM paper") == [(papers,)]
        assert history.differences() == []
        assert not history.place.draft.exists()
        history.suwaf(23, {0: [1.0]})


def test_readers_see_the_old_index_while_it_is_made_anew(history: History) -> None:
    history.suwaf(1, {0: [1.0]})
    history.index()
    reader = history.open()
    cursor = reader.execute("SELECT pid FROM paper")
    history.suwaf(2, {0: [1.0]})
    history.index(anew=True)
    assert cursor.fetchall() == [(pid_of(1),)]
    assert reader.execute("SELECT count(*) FROM paper").fetchone() == (2,)
    reader.close()
    assert not [path for path in history.place.folder.iterdir() if "draft" in path.name]


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_an_index_can_be_read_where_nothing_can_be_written(history: History) -> None:
    history.suwaf(1, {0: [1.0]})
    history.index()
    history.place.folder.chmod(0o500)
    try:
        assert history.rows("SELECT count(*) FROM paper") == [(1,)]
    finally:
        history.place.folder.chmod(0o700)


def test_verify_says_nothing_of_an_index(history: History) -> None:
    history.index()
    assert list(Verifier(history.root).verify_around()) == []


def test_an_index_alone_is_no_folder_of_something_else(history: History, tmp_path: Path) -> None:
    history.index()
    alone = tmp_path / "alone"
    shutil.copytree(history.place.folder, alone / "index")
    Archive.create(alone)
    other = tmp_path / "other"
    (other / "index").mkdir(parents=True)
    with pytest.raises(BadArchive, match="a folder of something else, it holds 'index'"):
        Archive.create(other)


def command(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return starts.verb("scrapy", "index", *args, **env)


def test_the_command_brings_up_to_date_and_compares(history: History, tmp_path: Path) -> None:
    history.suwaf(1, {0: [1.0]})
    history.feed(1, line(1, 2, "gone"), b"no line\n")
    there = {"LAFKA_ARCHIVE": str(history.root), "LAFKA_INDEX": str(tmp_path / "fast")}
    done = command(**there)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 paper read, 0 gone, 0 runs changed, 2 lines; ")
    assert "a line that is no outcome" in done.stderr
    assert not history.place.folder.exists()
    checked = command("--check", **there)
    assert (checked.returncode, checked.stdout) == (
        0, f"as one made anew: {tmp_path / 'fast' / 'archive.sqlite'}\n"
    )  # fmt: skip
    suwaf = history.root / "suwaf/RePEc/abc/wpaper/1.json"
    suwaf.write_bytes(suwaf.read_bytes().replace(b'"s": 10', b'"s": 99'))  # in place: not seen
    assert command("--quiet", **there).stdout == ""
    checked = command("--check", **there)
    assert checked.returncode == 1
    told = [json.loads(row) for row in checked.stdout.splitlines()]
    assert {("fut", "index"), ("fut", "anew")} <= {(one["table"], one["only"]) for one in told}
    assert command("--rebuild", **there).returncode == 0
    assert command("--check", "--quiet", **there).returncode == 0
    refused = command("--check", "--rebuild", **there)
    assert refused.returncode == 2
    assert "say one of them" in refused.stderr
