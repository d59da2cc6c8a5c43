"""Lafka under a real scrapyd on loopback: deployed as an egg, several jobs on one archive."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

import pytest

from lafka.archec.checking import check_store
from lafka.archec.records import Kind
from lafka.cli.demo import site
from lafka.papers.checking import Verifier
from lafka.runs.exits import BROKEN_OFF, STOPPED
from lafka.runs.reports import Report
from tests import waiting
from tests.archec.stores import Home, template
from tests.services.ports import free_port
from tests.sites.papers import MAIN, SmallSite, pdf
from tests.sites.server import reply

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
PATIENCE = waiting.LIMIT
SPIDERS = ["fileset", "fobi", "futli"]
BAD_LINE = "RePEc:dem:wpaper:nowhere\tmailto:someone@example.org\n"

pytestmark = pytest.mark.skipif(
    int(version("setuptools").partition(".")[0]) < 77,
    reason="pyproject.toml needs setuptools 77 or later, as in requirements-test.txt",
)

_open = build_opener(ProxyHandler({})).open


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """A scrapyd that runs, and the folder that is its working directory."""

    url: str
    folder: Path

    def get(self, what: str, **fields: str) -> dict[str, Any]:
        with _open(f"{self.url}/{what}.json?{urlencode(fields)}", timeout=PATIENCE) as answer:
            return _ok(json.load(answer))

    def schedule(self, path: Path, archive: Path, **more: Any) -> str:
        """The id of a job that crawls the list at *path*."""
        return self.begin("futli", {"input": str(path)}, {"LAFKA_ARCHIVE": archive, **more})

    def begin(self, spider: str, arguments: dict[str, str], settings: dict[str, Any]) -> str:
        """The id of a job of *spider*."""
        given = {
            "LAFKA_ALLOWED_NETWORKS": "127.0.0.0/8",
            "LAFKA_CONTACT": "tests@example.org",
            "AUTOTHROTTLE_ENABLED": "False",
            **settings,
        }
        fields = [("project", "lafka"), ("spider", spider), *arguments.items()]
        fields += [("setting", f"{name}={value}") for name, value in given.items()]
        data = urlencode(fields).encode()
        with _open(f"{self.url}/schedule.json", data, timeout=PATIENCE) as answer:
            return str(_ok(json.load(answer))["jobid"])

    def cancel(self, job: str) -> None:
        fields = urlencode({"project": "lafka", "job": job}).encode()
        with _open(f"{self.url}/cancel.json", fields, timeout=PATIENCE) as answer:
            _ok(json.load(answer))

    def wait_for(self, *jobs: str) -> None:
        def ended() -> bool:
            finished = self.get("listjobs", project="lafka")["finished"]
            return set(jobs) <= {job["id"] for job in finished}

        waiting.until(ended)

    def log(self, job: str, spider: str = "futli") -> str:
        return (self.folder / "logs" / "lafka" / spider / f"{job}.log").read_text()


def _ok(answer: dict[str, Any]) -> dict[str, Any]:
    assert answer["status"] == "ok", answer
    return answer


def _environment(home: Path) -> dict[str, str]:
    """Ours, without what would lead a job to the checkout or anybody to a proxy."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SCRAPY")}
    paths = [p for p in kept.pop("PYTHONPATH", "").split(os.pathsep) if p and Path(p) != ROOT]
    paths = [path for path in paths if not (Path(path) / "lafka").exists()]
    return {**kept, "PYTHONPATH": os.pathsep.join(paths), "HOME": str(home), "NO_PROXY": "*"}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    folder = tmp_path_factory.mktemp("scrapyd")
    port = free_port()
    (folder / "scrapyd.conf").write_text(
        "[scrapyd]\nbind_address = 127.0.0.1\nmax_proc = 3\npoll_interval = 0.1\n"
        f"http_port = {port}\nitems_dir = items\n"
    )
    with (folder / "scrapyd.log").open("wb") as log:
        process = subprocess.Popen(
            [BIN / "scrapyd", "--pidfile="], cwd=folder, env=_environment(folder),
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    daemon = Daemon(url=f"http://127.0.0.1:{port}", folder=folder)

    def answers() -> bool:
        assert process.poll() is None, (folder / "scrapyd.log").read_text()
        with suppress(URLError):
            return bool(daemon.get("daemonstatus"))
        return False

    try:
        waiting.until(answers)
        yield daemon
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:  # seen once, of a daemon that ran jobs
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        with suppress(ProcessLookupError):  # jobs, which are of its process group
            os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def deployed(daemon: Daemon, tmp_path_factory: pytest.TempPathFactory) -> Daemon:
    """scrapyd-deploy from a copy of what git has: it leaves build/ and setup.py behind."""
    copy = tmp_path_factory.mktemp("deployed") / "lafka"
    _copy_project(copy)
    cfg = copy / "scrapy.cfg"
    cfg.write_text(cfg.read_text().replace("http://127.0.0.1:6800", daemon.url))
    done = subprocess.run(
        [BIN / "scrapyd-deploy"], cwd=copy, env=_environment(daemon.folder),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert f'"spiders": {len(SPIDERS)}' in done.stdout, done.stdout
    return daemon


def _copy_project(copy: Path) -> None:
    """The files that an egg is made of; those of the checkout that git does not have stay out."""
    left_out = shutil.ignore_patterns("__pycache__", "*.egg-info", ".*")
    shutil.copytree(ROOT / "lafka", copy / "lafka", ignore=left_out)
    (copy / "docs").mkdir()
    for name in ("pyproject.toml", "scrapy.cfg", "README.md", "LICENSE", "docs/lafka.1"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, copy / name)


@pytest.fixture
def base() -> Iterator[str]:
    with site.serving() as base:
        yield base


@pytest.mark.long("a job is a start from an egg")
def test_several_jobs_share_one_archive(deployed: Daemon, base: str, tmp_path: Path) -> None:
    _assert_egg_is_whole(deployed)
    lines = site.list_of(base).splitlines(keepends=True)
    lists = [lines, [*reversed(lines), BAD_LINE], lines[:5]]
    paths = [tmp_path / f"{number}.tsv" for number in range(len(lists))]
    for path, content in zip(paths, lists, strict=True):
        path.write_text("".join(content))
    archive = tmp_path / "archive"

    jobs = [deployed.schedule(path, archive) for path in paths]
    deployed.wait_for(*jobs)

    for job in jobs:
        _assert_clean(deployed.log(job))
    feeds = [_lines(path) for path in (archive / "runs").glob("*.jsonl")]
    assert sorted(map(_asked, feeds), key=str) == sorted(map(_listed, lists), key=str)
    assert list(Verifier(archive).verify_all()) == []
    told = [Report.load(path) for path in (archive / "runs").glob("*.json")]
    assert {report.values["job"]: report.state for report in told} == dict.fromkeys(
        jobs, "finished"
    )
    new = Counter(line["pid"] for feed in feeds for line in feed for f in line["futs"] if f["new"])
    assert all(_outcome(f, "nowhere") == "bad-url" for f in feeds if len(f) > len(lines))
    with_fut = {line["pid"] for feed in feeds for line in feed if line["outcome"] == "fut"}
    assert {"RePEc:dem:wpaper:straight", "RePEc:dem:wpaper:tagged"} <= with_fut
    assert new == Counter(with_fut)  # each stored once, by whichever job was first

    again = deployed.schedule(paths[0], archive)
    deployed.wait_for(again)
    _assert_clean(deployed.log(again))
    latest = _lines(max((archive / "runs").glob("*.jsonl")))
    assert _asked(latest) == _listed(lines)
    assert {line["pid"] for line in latest if line["requests"] == 0} >= with_fut
    assert not any(fut["new"] for line in latest for fut in line["futs"])
    items = deployed.folder / "items" / "lafka" / "futli" / f"{again}.jl"
    assert _asked(_lines(items)) == _asked(latest)  # scrapyd's own feed goes on beside ours


@pytest.mark.long("a job is a start from an egg")
def test_jobs_fill_an_obi_store(deployed: Daemon, base: str, tmp_path: Path) -> None:
    """What RePEc's templates point at is asked for once; the next job finds nothing due."""
    home = Home(tmp_path / "archec", now=int(time.time()) - 9)
    urls = sorted({line.split("\t")[1].strip() for line in site.list_of(base).splitlines()})
    files = "".join(f"File-URL: {url}\n" for url in urls)
    home.put({"abc/wpaper/1.rdf": template(1, more=files).replace("http://x.example", base)})
    home.tobi()
    settings = {"LAFKA_OBJECT_STORE": home.archive}

    for expected in (set(urls) | {f"{base}/abc/1.pdf"}, set()):
        before = set((home.archive / "runs").glob("*.json"))
        job = deployed.begin("fobi", {"archive": "abc"}, settings)
        deployed.wait_for(job)
        _assert_clean(deployed.log(job, "fobi"))
        [path] = set((home.archive / "runs").glob("*.json")) - before
        report = Report.load(path)
        assert (report.values["job"], report.state) == (job, "finished")
        lines = _lines(path.with_suffix(".jsonl"))
        assert {line["fobi"] for line in lines} == expected
        assert report.values["outcomes"] == Counter(line["outcome"] for line in lines)

    assert list(check_store(home.archive)) == []
    outcomes = {line["fobi"]: line["outcome"] for path in (home.archive / "runs").glob("*.jsonl")
                for line in _lines(path)}  # fmt: skip
    with home.records() as records:
        got = {obi.id for obi in records.walk(Kind.FOBI) if obi.versions}
    appeared = {fobi for fobi, outcome in outcomes.items() if outcome == "appearance"}
    assert appeared
    assert appeared <= got


@pytest.fixture
def held() -> Iterator[SmallSite]:
    """A site whose papers come to a standstill half way."""
    with SmallSite((MAIN,), 1) as site:
        for path in list(site.routes):
            half = reply(pdf("half"), "application/pdf", length=10_000, then="hold")
            site.routes[path] = half
        yield site


@pytest.mark.long("an egg, a daemon and a job; signals to a crawl by hand are in the short suite")
@pytest.mark.forms(most=1)
@pytest.mark.parametrize(("cancels", "seconds", "code"), [(1, 4, STOPPED), (2, 900, BROKEN_OFF)])
def test_a_job_that_is_cancelled_frees_its_slot(
    deployed: Daemon, held: SmallSite, tmp_path: Path, cancels: int, seconds: int, code: int
) -> None:
    path, archive = tmp_path / "list.tsv", tmp_path / "archive"
    path.write_text(held.list())
    asked = held.when_asked(1, held.at(MAIN))
    job = deployed.schedule(path, archive, LAFKA_SHUTDOWN_TIMEOUT=seconds)
    assert asked.wait(PATIENCE)
    deployed.cancel(job)
    if cancels > 1:
        waiting.until(lambda: ": the crawl ends, in" in deployed.log(job))
        deployed.cancel(job)
    deployed.wait_for(job)
    assert deployed.get("daemonstatus")["running"] == 0
    assert f"Process died: exitstatus={code} " in (deployed.folder / "scrapyd.log").read_text()
    [report] = [Report.load(path) for path in (archive / "runs").glob("*.json")]
    assert report.state == ("shutdown" if code == STOPPED else "killed")


def _assert_egg_is_whole(daemon: Daemon) -> None:
    (egg,) = (daemon.folder / "eggs" / "lafka").glob("*.egg")
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "lafka").rglob("*.py")}
    assert modules | {"lafka/py.typed"} <= set(zipfile.ZipFile(egg).namelist())
    assert daemon.get("listspiders", project="lafka")["spiders"] == SPIDERS


def _assert_clean(log: str) -> None:
    assert "Traceback" not in log, log[log.index("Traceback") :][:3000]
    assert " ERROR: " not in log
    assert "Spider closed (finished)" in log


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _outcome(feed: list[dict[str, Any]], number: str) -> str:
    (line,) = (line for line in feed if line["pid"].endswith(f":{number}"))
    return str(line["outcome"])


def _asked(feed: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return sorted((line["pid"], line["futli"]) for line in feed)


def _listed(lines: list[str]) -> list[tuple[str, str]]:
    pairs = [line.rstrip("\n").split("\t") for line in lines]
    return sorted((pid, futli) for pid, futli in pairs)
