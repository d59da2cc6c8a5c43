"""A disk that says no: one sentence, exit 1, and the same command goes on when there is room."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crawls.running import ROOT, Crawl, Run, check, command, crawl, futs, outcomes
from tests.sites.papers import MAIN, OTHER, SmallSite
from tests.waiting import LIMIT

SENTENCE = "The disk stopped the crawl: "


@pytest.fixture
def site() -> Iterator[SmallSite]:
    with SmallSite((MAIN, OTHER), 16) as site:
        yield site


def assert_stopped(run: Run, sentence: str = SENTENCE) -> None:
    assert run.code == 1, run.log
    troubles = run.troubles()
    assert len(troubles) == 1, troubles
    assert sentence in troubles[0]
    assert "The same command goes on afterwards" in troubles[0]


def assert_complete(archive: Path, site: SmallSite) -> None:
    check(archive)
    assert {(pid, data) for pid, _, data in futs(archive)} == {
        (p.pid, data) for p in site.papers for data in p.futs
    }
    assert {line["pid"]: line["outcome"] for line in outcomes(archive)[-1]} == {
        p.pid: p.outcome for p in site.papers
    }


@pytest.mark.forms(count=1, most=2)
@pytest.mark.parametrize("kib", [0, 1, 24])
def test_files_that_cannot_grow(site: SmallSite, tmp_path: Path, kib: int) -> None:
    archive, list_ = tmp_path / "a", tmp_path / "list.tsv"
    list_.write_text(site.list())
    with Crawl(archive, "-a", f"input={list_}", limit=f"ulimit -f {kib}") as going:
        run = going.ended()
    if kib == 0:  # even the marker cannot be written
        assert run.code == 2
        assert "cannot be written" in run.log.splitlines()[-1]
    else:
        assert_stopped(run, "A limit of this machine stopped the crawl: ")
    again = crawl(archive, list_)
    assert again.code == 0
    assert not again.troubles()
    assert_complete(archive, site)


@pytest.mark.long("the short suite has other limits")
def test_few_open_files_are_lived_with(tmp_path: Path) -> None:
    hosts = tuple(f"127.0.0.{n}" for n in range(2, 42))
    archive, list_ = tmp_path / "a", tmp_path / "list.tsv"
    with SmallSite(hosts, 3) as site:
        list_.write_text(site.list())
        with Crawl(archive, "-a", f"input={list_}", limit="ulimit -n 64") as going:
            run = going.ended()
        assert run.code == 0, run.log
        [told] = run.troubles()
        assert "So few files may be open at once (ulimit -n) that 7 requests go side" in told
        assert_complete(archive, site)


def test_a_feed_that_cannot_be_written(site: SmallSite, tmp_path: Path) -> None:
    archive, list_ = tmp_path / "a", tmp_path / "list.tsv"
    list_.write_text(site.papers[0].line)
    (archive / "warc").mkdir(parents=True)
    (archive / "runs").symlink_to("/proc/self/fdinfo")
    assert_stopped(crawl(archive, list_))


def can_mount() -> bool:
    tried = ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]
    return bool(shutil.which("unshare")) and not subprocess.call(tried, stderr=subprocess.DEVNULL)


SCRIPT = """
disk=$1; shift
mount -t tmpfs -o size=$SIZE none $disk
"$@" 2>$disk.full.log; echo $? >$disk.full.code
mount -o remount,size=50m $disk
"$@" 2>$disk.room.log; echo $? >$disk.room.code
cp -r $disk $disk.kept
"""


@pytest.mark.forms(count=1, most=1)
@pytest.mark.skipif(not can_mount(), reason="no file system can be mounted here")
@pytest.mark.parametrize("size", ["60k", "120k"])
def test_a_full_disk(site: SmallSite, tmp_path: Path, size: str) -> None:
    disk, list_ = tmp_path / "disk", tmp_path / "list.tsv"
    list_.write_text(site.list())
    disk.mkdir()
    crawling = command(disk / "a", "-a", f"input={list_}")
    subprocess.run(
        ["unshare", "-m", "bash", "-c", SCRIPT, "bash", disk, *crawling],
        cwd=ROOT, env={"SIZE": size, "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}, timeout=LIMIT,
        check=True, capture_output=True,
    )  # fmt: skip

    def run(when: str) -> Run:
        code = int((tmp_path / f"disk.{when}.code").read_text())
        return Run(code=code, out="", log=(tmp_path / f"disk.{when}.log").read_text())

    assert_stopped(run("full"))
    assert run("room").code == 0
    assert not run("room").troubles()
    assert_complete(tmp_path / "disk.kept" / "a", site)


def test_children_that_cannot_begin_stop_the_crawl_and_blame_no_site(
    site: SmallSite, tmp_path: Path
) -> None:
    """No process more than there are: the first page that needs a child ends the crawl."""
    archive, list_ = tmp_path / "a", tmp_path / "list.tsv"
    list_.write_text(site.list())
    broken = tmp_path / "sitecustomize.py"
    broken.write_text(
        "import subprocess\n"
        "def refused(*_, **__):\n    raise BlockingIOError(11, 'Try again')\n"
        "subprocess.Popen = refused\n"
    )
    with Crawl(archive, "-a", f"input={list_}", limit=f"export PYTHONPATH={tmp_path}") as going:
        run = going.ended()
    assert run.code == 1, run.log
    [trouble] = run.troubles()
    assert "A limit of this machine stopped the crawl: a child process: " in trouble
    assert "raise the number of processes (ulimit -u)" in trouble
    told = {line["outcome"] for feed in outcomes(archive) for line in feed}
    assert told <= {p.outcome for p in site.papers} - {"splap-only"}
    again = crawl(archive, list_)
    assert again.code == 0, again.log
    assert_complete(archive, site)


def can_be_alone() -> bool:
    tried = ["unshare", "-n", "true"]
    return bool(shutil.which("unshare")) and not subprocess.call(tried, stderr=subprocess.DEVNULL)


@pytest.mark.forms(count=1)
@pytest.mark.skipif(not can_be_alone(), reason="needs root, for a namespace without a network")
@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("host{}.example.org", "names cannot be looked up: Temporary failure in name resolution"),
        ("93.184.216.{}", "connections cannot be made: Network is unreachable"),
    ],
)
def test_a_machine_without_a_network(tmp_path: Path, host: str, why: str) -> None:
    archive, list_ = tmp_path / "a", tmp_path / "list.tsv"
    lines = (f"RePEc:aaa:bbbbbb:{n}\thttp://{host.format(n)}/{n}.pdf\n" for n in range(1, 8))
    list_.write_text("".join(lines))
    line = command(archive, "-a", f"input={list_}")
    done = subprocess.run(
        ["unshare", "-n", *line], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert f"This machine stopped the crawl: 7 hosts in a row: {why}." in done.stderr
    assert outcomes(archive) == [[]]
