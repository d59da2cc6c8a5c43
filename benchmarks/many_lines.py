"""Many lines of one pid against as many pids of one line each: whole crawls, in the same run."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import captures, durable, runs, sites
from benchmarks.runs import CONCURRENCY, Run
from benchmarks.tables import markdown
from lafka.capture.rawlog import RawLog
from lafka.papers.archive.archives import Archive
from lafka.papers.archive.paperwarc import Stored, TrailRecord
from lafka.papers.walk import Trail
from lafka.storage.keeper import Commit, all_done
from lafka.storage.steps import Steps

LINES, SIZE = 5_000, 20_000
ONE, MANY, AGAIN = "lines of one pid", "pids of one line", "lines of one pid, held already"
LIMIT = 2.0


def table(*, quick: bool = False) -> str:
    lines = LINES // 5 if quick else LINES
    with TemporaryDirectory(prefix="lafka-benchmark-", dir=durable.disk()) as name:
        crawled = _measured(Path(name), lines)
    stored = {
        what: stored_alone(lines, one_pid=one_pid) for what, one_pid in ((MANY, False), (ONE, True))
    }
    rows = [
        [f"{lines:,} {what}{how}", *(f"{value:.2f}" for value in _figures(run, side[MANY]))]
        for how, side in (("", crawled), (", the store alone", stored))
        for what, run in side.items()
    ]
    one, many = crawled[ONE], crawled[MANY]
    holds = one.wall <= LIMIT * many.wall and one.cpu <= LIMIT * many.cpu
    return markdown(
        ("", "CPU s", "wall s", "CPU / many pids", "wall / many pids"),
        rows,
        f"Each line a fut of its own of {SIZE // 1000} kB, nginx on loopback without delays,"
        f" {CONCURRENCY} requests at once, on the disk of the system's temporary folder. The store"
        f" alone: {CONCURRENCY} trails wait for it at a time.",
        f"At most {LIMIT:g} times the cost of as many pids: {'holds' if holds else 'falls short'}.",
    )


def _figures(run: Run, many: Run) -> tuple[float, float, float, float]:
    return run.cpu, run.wall, run.cpu / many.cpu, run.wall / many.wall


def _measured(folder: Path, lines: int) -> dict[str, Run]:
    site = folder / "site"
    site.mkdir()
    for number in range(lines):
        (site / f"{number}.pdf").write_bytes(captures.payload(f"many lines {number}", SIZE))
    with sites.serving(site) as port:
        many = _list(folder / "many.tsv", [f"RePEc:ben:many:{n}" for n in range(lines)], port)
        one = _list(folder / "one.tsv", ["RePEc:ben:one:1"] * lines, port)
        return {
            MANY: _crawl(many, folder / "many", lines),
            ONE: _crawl(one, folder / "one", lines),
            AGAIN: _crawl(one, folder / "one", lines),
        }


def _list(path: Path, pids: list[str], port: int) -> Path:
    lines = (f"{pid}\thttp://127.0.0.1:{port}/{n}.pdf\n" for n, pid in enumerate(pids))
    path.write_text("".join(lines))
    return path


def _crawl(path: Path, archive: Path, lines: int) -> Run:
    run = runs.run(runs.lafka(path, archive), cwd=runs.ROOT, log=archive.with_suffix(".log"))
    held = 0
    for suwaf in (archive / "suwaf").rglob("*.json"):
        values = json.loads(suwaf.read_bytes())
        held += sum(len(futlis) for pid, futlis in values.items() if pid != "_warc")
    if held != lines:
        raise SystemExit(f"{archive}: {held} futs of {lines} lines")
    return run


def stored_alone(lines: int, *, one_pid: bool) -> Run:
    """The store's part of such a crawl, in this process: trails that wait, 16 at a time."""
    with TemporaryDirectory(prefix="lafka-benchmark-", dir=durable.disk()) as name:
        archive = Archive.create(Path(name) / "archive")
        raw = RawLog(archive.root / "raw", "many", config={})
        paper = 1 if one_pid else None
        trails = [captures.recorded(archive, raw, n, SIZE, paper=paper) for n in range(lines)]

        def begin(some: Sequence[Trail]) -> Steps[Sequence[Stored]]:
            records = [TrailRecord(captures=t.captures) for t in some]
            return archive.storing(some[0].futli.pid, records)

        waiting = iter(trails)
        cpu, wall = time.process_time(), time.monotonic()
        while some := [*islice(waiting, CONCURRENCY)]:
            commits = [Commit(key=t.futli.pid.path, make_steps=begin, argument=t) for t in some]
            all_done(commits)
            if failed := [commit.error for commit in commits if commit.error]:
                raise failed[0]
        return Run(cpu=time.process_time() - cpu, wall=time.monotonic() - wall, peak=0)
