"""The index of a million papers: made anew, brought up to date, asked; its peer a scan of the JSON.

The papers are made, not crawled: ``benchmarks.papers_made`` writes down their shape.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks import captures, papers_made, runs
from benchmarks.tables import markdown
from lafka.capture.rawlog import RawLog
from lafka.index.build import refresh
from lafka.index.captures import index_captures
from lafka.index.search import Question, search
from lafka.index.tables import IndexFiles, open_to_read
from lafka.papers import Archive

PAPERS = 1_000_000
CHANGED = 1_000
SEARCHES = 500
CAPTURES = 3_000
ANEW, MEMORY, SIZE, NOTHING, SOME, REPORT, REPORT_MEMORY, SEARCH = (
    300.0, 200e6, 1200.0, 2.0, 5.0, 20.0, 400e6, 0.020,
)  # fmt: skip


def table(*, quick: bool, papers: int = PAPERS, keep: Path | None = None) -> str:
    count = papers // 10 if quick else papers
    with (
        TemporaryDirectory(prefix="lafka-benchmark-") as name,
        papers_made.kept(count, keep) as root,
    ):
        rmtree(root / "index", ignore_errors=True)
        archive = Archive(root)
        log = Path(name) / "log"
        lines = sum(1 for path in (root / "runs").glob("*.jsonl") for _ in path.open("rb"))
        scan = runs.run([sys.executable, "-m", "benchmarks.indexing", str(root)], cwd=runs.ROOT,
                        log=log)  # fmt: skip
        measured = [
            ("every suwaf and line read by json, counted", scan, None),
            ("index anew", _lafka(root, log, "index"), (ANEW, MEMORY)),
            ("index, nothing changed", _again(root, log), (NOTHING, MEMORY)),
        ]
        papers_made.touch(archive, count, CHANGED)
        changed = _lafka(root, log, "index")
        measured.append((f"index, {CHANGED:,} changed", changed, (SOME, MEMORY)))
        html = _lafka(root, log, "report", "--no-index", "-o", f"{name}/report.html")
        measured.append(("report as HTML", html, (REPORT, REPORT_MEMORY)))
        database = root / "index" / "archive.sqlite"
        size = database.stat().st_size / count
        judge = _holds if count >= PAPERS else _not_judged
        rows = [_row(*one, scan, judge) for one in measured]
        searches = _searches(database, count, judge)
    return markdown(
        ("", "CPU s", "wall s", "of the scan", "peak MB", "goal"), rows,
        f"{count:,} papers and {lines:,} lines of feeds; {size:,.0f} bytes a paper, goal"
        f" {SIZE:,.0f}{judge(size <= SIZE)}.", searches, _captures(min(count, 5000), judge),
        *([] if count >= PAPERS else ["The goals are for a million papers; these are fewer."]),
    )  # fmt: skip


def _lafka(root: Path, log: Path, *args: str) -> runs.Run:
    command = [sys.executable, "-m", "scrapy", *args, "-s", f"LAFKA_ARCHIVE={root}"]
    return runs.run(command, cwd=runs.ROOT, log=log)


def _again(root: Path, log: Path) -> runs.Run:
    """The second time: the first one looks again at folders that had just been made."""
    _lafka(root, log, "index")
    return _lafka(root, log, "index")


def _captures(count: int, judge: Judge) -> str:
    """How many papers that are really there the index of captures takes in a second."""
    captures.let_syncs_pass()
    with TemporaryDirectory(prefix="lafka-benchmark-") as name:
        archive = Archive.create(Path(name) / "archive", "RePEc")
        run = "20261120T101112000000Z-index-1"
        raw = RawLog(archive.root / "raw", run, config={}, keep=False)
        for number in range(count):
            captures.store(archive, raw, captures.recorded(archive, raw, number, 20_000))
        place = IndexFiles.of(archive.root)
        refresh(archive, place)
        begun, cpu = perf_counter(), sum(os.times()[:4])  # of ended children, too
        refresh(archive, place, more=[index_captures])
        wall, cpu = perf_counter() - begun, sum(os.times()[:4]) - cpu
    return (
        f"Index of captures: {count:,} papers of 20 kB, {count / wall:,.0f} a second,"
        f" {count / cpu:,.0f} by CPU, goal {CAPTURES:,}{judge(count / wall >= CAPTURES)}."
    )


Judge = Callable[[bool], str]


def _holds(holds: bool) -> str:
    return ": holds" if holds else ": falls short"


def _not_judged(holds: bool) -> str:
    """Of fewer papers a goal says nothing."""
    return ""


def _row(
    name: str, run: runs.Run, goal: tuple[float, float] | None, scan: runs.Run, judge: Judge
) -> list[str]:
    told = ""
    if goal is not None:
        seconds, memory = goal
        holds = run.wall <= seconds and run.peak <= memory
        told = f"{seconds:g} s, {memory / 1e6:.0f} MB{judge(holds)}"
    return [name, f"{run.cpu:.1f}", f"{run.wall:.1f}", f"{run.wall / scan.wall:.2f}",
            f"{run.peak / 1e6:.0f}", told]  # fmt: skip


def _searches(database: Path, count: int, judge: Judge) -> str:
    """How long searches take, one at a time: the slowest but one in a hundred."""
    step = max(1, count // SEARCHES)
    asked: dict[str, list[Question]] = {"pid": [], "URL": [], "words": [], "host": []}
    for number, paper in enumerate(papers_made.papers(count)):
        if number % step == 0:
            url = next(iter(paper.futlis))
            asked["pid"].append(Question(text=paper.pid))
            asked["URL"].append(Question(text=url))
            asked["words"].append(Question(text=paper.pid.replace(":", " ")))
            asked["host"].append(Question(host=url.split("/")[2]))
    told = []
    with closing(open_to_read(database)) as db:
        for way, questions in asked.items():
            times = sorted(_time(db, question) for question in questions)
            slow = times[len(times) * 99 // 100 - 1]
            told.append(f"{way} {slow * 1e3:.1f} ms{judge(slow <= SEARCH)}")
    return f"Searches, p99 of {len(times)} each, goal {SEARCH * 1e3:.0f} ms: {', '.join(told)}."


def _time(db: sqlite3.Connection, question: Question) -> float:
    begun = perf_counter()
    search(db, question)
    return perf_counter() - begun


def scan(root: Path) -> Counter[str]:
    """The peer: outcomes, and futs by month, straight from the JSON."""
    counts: Counter[str] = Counter()
    for folder, _, names in os.walk(root / "suwaf"):
        for name in names:
            values = json.loads(Path(folder, name).read_bytes())
            for pid, futlis in values.items():
                if pid != "_warc":
                    for times in futlis.values():
                        counts.update(time[:7] for time in times)
    for feed in sorted((root / "runs").glob("*.jsonl")):
        with feed.open("rb") as lines:
            counts.update(json.loads(line)["outcome"] for line in lines)
    return counts


if __name__ == "__main__":
    print(scan(Path(sys.argv[1])))
