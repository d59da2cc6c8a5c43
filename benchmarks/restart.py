"""The first request after a kill, by the bytes that it left, beside bare Scrapy's own first."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks import durable, recovery, runs
from benchmarks.tables import markdown
from lafka.papers.archive.archives import Archive

ROUNDS = 3
PAPERS = (0, 100, 2_000)
"""Captured and not acknowledged when the crawl was killed, of ``recovery.SIZE`` bytes each."""
COPIED = 200e6
GOAL = 1.0
BARE = "bare Scrapy"
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class First:
    """Seconds from the start of a program to its first request: by the clock, and CPU."""

    wall: float
    cpu: float


def table(*, quick: bool = False) -> str:
    papers = [count // 10 if quick else count for count in PAPERS]
    found: dict[str, list[First]] = {BARE: [], **{_row(count): [] for count in papers}}
    for number in range(1 if quick else ROUNDS):
        found[BARE].append(_bare())
        for count in papers:
            found[_row(count)].append(_after_a_kill(count, number))
    took = {
        what: First(wall=median(one.wall for one in of), cpu=median(one.cpu for one in of))
        for what, of in found.items()
    }
    copying = {_row(count): count * recovery.SIZE / COPIED for count in papers}
    beyond = {what: took[what].wall - copying[what] for what in copying}
    rows = [
        [what, f"{each.wall:.2f}", f"{each.cpu:.2f}", f"{each.wall / took[BARE].wall:.2f}",
         *([f"{copying[what]:.2f}", f"{beyond[what]:.2f}",
            f"{beyond[what] - took[BARE].wall:.2f}"] if what in copying else ["", "", ""])]
        for what, each in took.items()
    ]  # fmt: skip
    whole = "holds" if max(beyond.values()) <= GOAL else "falls short"
    alone = "holds" if max(beyond.values()) - took[BARE].wall <= GOAL else "falls short"
    return markdown(
        ("to the first request", "wall s", "CPU s", "/ bare Scrapy",
         f"its bytes at {COPIED / 1e6:g} MB/s, s", "beyond these, s", "and bare Scrapy, s"),
        rows,
        "From the start of the program to the first request that the site sees, the median of"
        f" {len(found[BARE])} interleaved rounds, each in an archive of its own. The killed crawl"
        f" had captured so many papers of {recovery.SIZE / 1e6:g} MB and acknowledged none: each is"
        " copied, synced and named before that request. CPU is user and system of the program and"
        " its children until then.",
        f"At most {GOAL:g} s beyond the time for the bytes: {whole}; beyond that and what bare"
        f" Scrapy takes to begin: {alone}.",
    )  # fmt: skip


def _row(papers: int) -> str:
    return f"after a kill, {papers * recovery.SIZE / 1e6:,.0f} MB left"


def _after_a_kill(papers: int, number: int) -> First:
    with TemporaryDirectory(prefix="lafka-benchmark-", dir=durable.disk()) as name:
        folder = Path(name)
        root = folder / "archive"
        dies = partial(recovery.leave, root, str(number), papers=papers)
        recovery.in_a_process_of_its_own(dies, ends_by=signal.SIGKILL)
        os.sync()
        first = _first(folder, runs.lafka(folder / "list.tsv", root), runs.ROOT)
        recovery.is_clean(root)
        if (held := sum(1 for _ in Archive(root).warcs())) != papers:
            raise SystemExit(f"{held} papers of {papers} were copied")
        return first


def _bare() -> First:
    with TemporaryDirectory(prefix="lafka-benchmark-") as name:
        folder = Path(name)
        return _first(folder, runs.peer("bare_spider.py", folder / "list.tsv"), folder)


def _first(folder: Path, args: list[str], cwd: Path) -> First:
    """Start the program *args*, which reads ``list.tsv`` in *folder*, and wait for its end."""
    going: list[subprocess.Popen[bytes]] = []

    def look() -> First:
        return First(wall=time.monotonic() - begun, cpu=_cpu(going[0].pid))

    with recovery.site(look) as (port, asked), (folder / "log").open("wb") as log:
        (folder / "list.tsv").write_text(f"RePEc:ben:new:1\thttp://127.0.0.1:{port}/x.pdf\n")
        begun = time.monotonic()
        env = runs.environment()
        going.append(subprocess.Popen(args, cwd=cwd, stdout=log, stderr=log, env=env))
        if going[0].wait():
            raise SystemExit(f"{args}: {(folder / 'log').read_text()[-3000:]}")
    return asked[0]


def _cpu(process: int) -> float:
    """Seconds of CPU that a process and its ended children have had (proc(5), stat)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS
