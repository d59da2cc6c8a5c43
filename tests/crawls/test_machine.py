"""What this machine takes away, at the start or in the middle: no site is blamed for it.

Where a crawl can live with what is left it does; else it ends by one sentence that names the
resource, with exit code 1, and the same command goes on.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crawls.running import Crawl, Run, crawl, futs, outcomes
from tests.crawls.test_disk import assert_complete, can_mount
from tests.sites.papers import MAIN, OTHER, SmallSite, as_pdf, pdf
from tests.sites.server import Server
from tests.waiting import LIMIT

UNPRIVILEGED = (
    f"setpriv --reuid={20_000 + os.getpid() % 40_000} --clear-groups"
    " --inh-caps=+dac_override --ambient-caps=+dac_override --bounding-set=-sys_resource,-sys_admin"
)
"""Root is not held to its number of processes; another user, who has none, reads what root may."""
WITHOUT_NULL = """
mkdir {dev} && mount -t tmpfs none {dev} && cd {dev} && mkdir shm &&
for each in urandom random zero full; do touch $each && mount --bind /dev/$each $each; done &&
mount -o remount,ro {dev} && mount --rbind {dev} /dev && cd - >/dev/zero
"""


@pytest.fixture
def site() -> Iterator[SmallSite]:
    with SmallSite((MAIN, OTHER), 16) as site:
        yield site


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder that is not below ``/dev``, as ``tmp_path`` may be."""
    with tempfile.TemporaryDirectory(prefix="lafka-") as folder:
        yield Path(folder)


def limited(site: SmallSite, folder: Path, limit: str, wrap: str = "") -> Run:
    """A crawl in *folder* below a *limit* that a shell sets, all of it in *wrap*."""
    (folder / "list.tsv").write_text(site.list())
    with Crawl(folder / "a", "-a", f"input={folder / 'list.tsv'}", limit=limit, wrap=wrap) as going:
        return going.ended()


def assert_stopped(run: Run, what: str) -> None:
    assert run.code == 1, run.log
    [sentence] = [line for line in run.log.splitlines() if "stopped the crawl" in line]
    assert what in sentence
    assert sentence.endswith("The same command goes on afterwards.")
    assert "Traceback" not in run.log


def assert_nobody_blamed(site: SmallSite, archive: Path) -> None:
    """And the same command, with all there again, goes on."""
    right = {p.pid: p.outcome for p in site.papers}
    assert all(line["outcome"] == right[line["pid"]] for feed in outcomes(archive) for line in feed)
    again = crawl(archive, archive.with_name("list.tsv"))
    assert again.code == 0, again.log
    assert_complete(archive, site)


@pytest.mark.long("the short suite has too little memory")
@pytest.mark.forms(most=1)
@pytest.mark.parametrize("kib", [400_000, 700_000])
def test_little_memory_is_lived_with(site: SmallSite, tmp_path: Path, kib: int) -> None:
    run = limited(site, tmp_path, f"ulimit -v {kib}")
    assert run.code == 0, run.log
    assert not run.troubles()
    assert_nobody_blamed(site, tmp_path / "a")


def test_too_little_memory_is_found_at_the_start(site: SmallSite, tmp_path: Path) -> None:
    run = limited(site, tmp_path, "ulimit -v 230000")
    assert_stopped(run, "192 MiB more: Cannot allocate memory; raise the memory (ulimit -v)")
    assert site.seen == []
    assert_nobody_blamed(site, tmp_path / "a")


def can_be_another() -> bool:
    tried = f"{UNPRIVILEGED} true".split()
    return bool(shutil.which("setpriv")) and not subprocess.call(tried, stderr=subprocess.DEVNULL)


@pytest.mark.long("the short suite has memory, found likewise")
@pytest.mark.skipif(not can_be_another(), reason="needs root, to be another user")
def test_too_few_processes_are_found_at_the_start(site: SmallSite, tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o777)
    run = limited(site, tmp_path, "ulimit -u 12", UNPRIVILEGED)
    sentence = "24 threads: can't start new thread; raise the number of processes (ulimit -u)"
    assert_stopped(run, sentence)
    assert site.seen == []
    assert_nobody_blamed(site, tmp_path / "a")


@pytest.mark.forms(count=1, most=2)
@pytest.mark.parametrize(
    ("which", "left", "what"),
    [
        (resource.RLIMIT_AS, 1 << 20, "raise the memory (ulimit -v)"),
        (resource.RLIMIT_NOFILE, 30, "raise the number of open files (ulimit -n)"),
        (resource.RLIMIT_FSIZE, 5_000, "raise the size of a file (ulimit -f)"),
    ],
)
def test_what_is_taken_away_in_the_middle(
    site: SmallSite, tmp_path: Path, which: int, left: int, what: str
) -> None:
    list_ = tmp_path / "list.tsv"
    list_.write_text(site.list())
    site.pause_after(8)
    with Crawl(tmp_path / "a", "-a", f"input={list_}", fresh=True) as going:
        site.paused.wait()
        resource.prlimit(going.process.pid, which, (left, left))
        site.resume()
        run = going.ended()
    assert_stopped(run, what)
    assert_nobody_blamed(site, tmp_path / "a")


@pytest.mark.long("the short suite has one of other limits in the middle")
@pytest.mark.skipif(not can_be_another(), reason="needs root, to be another user")
def test_no_more_processes_in_the_middle(site: SmallSite, tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o777)

    def limit(pid: int) -> None:
        command = [*UNPRIVILEGED.split(), "prlimit", "--pid", str(pid), "--nproc=1:1"]
        subprocess.run(command, check=True)

    in_the_middle(site, tmp_path, UNPRIVILEGED, limit)


MOUNTS = {
    "null": WITHOUT_NULL,
    "proc": "mount -t tmpfs none /proc",
    "temporary": "mount -t tmpfs -o ro none {dev} && mount -t tmpfs -o ro none /var/tmp",
}


@pytest.mark.rare("a machine that changes in the middle; others have no /dev/null at the start")
@pytest.mark.skipif(not can_mount(), reason="no file system can be mounted here")
@pytest.mark.parametrize("gone", MOUNTS)
def test_what_is_mounted_over_in_the_middle(site: SmallSite, outside: Path, gone: str) -> None:
    folder = outside / "dev"
    folder.mkdir(exist_ok=gone == "temporary")
    script = MOUNTS[gone].format(dev=folder).replace("mkdir", "mkdir -p").strip()

    def mount(pid: int) -> None:
        inside = ["nsenter", "-t", str(pid), "-m", "sh", "-c", script]
        subprocess.run(inside, check=True, cwd="/", stdout=subprocess.DEVNULL)

    in_the_middle(site, outside, "unshare -m", mount, f"export TMPDIR={folder}")


def in_the_middle(
    site: SmallSite, folder: Path, wrap: str, take: Callable[[int], object], limit: str = "true"
) -> None:
    """Have *take* done to a crawl that has work left: it ends, or stops by one sentence."""
    list_ = folder / "list.tsv"
    list_.write_text(site.list())
    site.pause_after(8)
    arguments = ("-a", f"input={list_}")
    with Crawl(folder / "a", *arguments, limit=limit, wrap=wrap, fresh=True) as going:
        assert site.paused.wait(LIMIT)
        take(going.process.pid)
        site.resume()
        run = going.ended()
    if run.code:
        assert_stopped(run, ": ")
    assert_nobody_blamed(site, folder / "a")


@pytest.mark.long("the short suite has a machine without a network")
@pytest.mark.skipif(not can_mount(), reason="no file system can be mounted here")
def test_names_that_cannot_be_looked_up_any_more(tmp_path: Path) -> None:
    names = [f"host{n}.test" for n in range(14)]
    (tmp_path / "hosts").write_text("".join(f"{MAIN} {name}\n" for name in names))
    (tmp_path / "none").write_text("")
    (tmp_path / "servers").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    named = (f"mount --bind {tmp_path}/servers /etc/resolv.conf"
             f" && mount --bind {tmp_path}/hosts /etc/hosts")  # fmt: skip
    archive, list_ = tmp_path / "a", tmp_path / "list.tsv"
    with Server((MAIN,)) as site:
        site.routes = {f"/{name}.pdf": as_pdf(pdf(name)) for name in names}
        port = site.at(MAIN).rpartition(":")[2]
        urls = [f"http://{name}:{port}/{name}.pdf" for name in names]
        list_.write_text("".join(f"RePEc:tst:names:{n}\t{url}\n" for n, url in enumerate(urls)))
        site.pause_after(2)
        how: dict[str, Any] = {"limit": named, "wrap": "unshare -m", "fresh": True}
        given = ("-a", f"input={list_}", "-s", "CONCURRENT_REQUESTS=2")
        with Crawl(archive, *given, **how) as going:
            assert site.paused.wait(LIMIT)
            inside = ("nsenter", "-t", str(going.process.pid), "-m")
            subprocess.run(
                [*inside, "mount", "--bind", tmp_path / "none", "/etc/hosts"], check=True
            )
            site.resume()
            run = going.ended()
        assert run.code == 1, run.log
        assert "hosts in a row: names cannot be looked up: Temporary failure" in run.log
        assert {line["outcome"] for feed in outcomes(archive) for line in feed} <= {"fut"}
        with Crawl(archive, *given, **how) as again:
            assert again.ended().code == 0
    assert {url for _, url, _ in futs(archive)} == set(urls)


@pytest.mark.long("the short suite has a crawl whose child cannot begin")
@pytest.mark.skipif(not can_mount(), reason="no file system can be mounted here")
def test_no_dev_null(site: SmallSite, outside: Path) -> None:
    limit = WITHOUT_NULL.format(dev=outside / "dev")
    run = limited(site, outside, limit.strip(), "unshare -m")
    assert_stopped(run, "a child process: /dev/null: Read-only file system")
    assert_nobody_blamed(site, outside / "a")


@pytest.mark.long("the short suite has other limits")
@pytest.mark.skipif(not can_mount(), reason="no file system can be mounted here")
def test_no_proc_and_no_temporary_folder_are_lived_with(site: SmallSite, tmp_path: Path) -> None:
    gone = "mount -t tmpfs none /proc && mount -t tmpfs -o ro none /var/tmp"
    run = limited(site, tmp_path, f"{gone} && export TMPDIR=/nowhere", "unshare -m")
    assert run.code == 0, run.log
    assert not run.troubles()
    assert_nobody_blamed(site, tmp_path / "a")


def test_a_clock_that_jumps(site: SmallSite, tmp_path: Path) -> None:
    path = tmp_path / "list.tsv"
    path.write_text(site.list())
    run = crawl(tmp_path / "archive", path, SPIDER_MODULES="tests.crawls.jumping")
    assert run.code == 0, run.log[-3000:]
    assert "Traceback" not in run.log
    assert_complete(tmp_path / "archive", site)
    [lines] = outcomes(tmp_path / "archive")
    days = {line["time"][:10] for line in lines}
    assert len(days) > 1, "it has not jumped"
    again = crawl(tmp_path / "archive", path)
    assert again.code == 0, again.log[-3000:]
    assert_complete(tmp_path / "archive", site)
