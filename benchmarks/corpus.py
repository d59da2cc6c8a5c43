"""Walking through an archive of 100,000 papers, beside the plainest reader; and the live line."""

from __future__ import annotations

import gc
import io
import json
import os
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.tables import markdown
from lafka.papers import Archive, Pid
from lafka.papers.archive.suwafs import Fut, Suwaf
from lafka.runs.live import INTERVAL, ProgressSnapshot
from lafka.runs.terminals import Terminal

PAPERS = 100_000
ROUNDS = 3
LOOKS = 2_000
TARGET = 20_000
SHARE = 0.01


def table(*, quick: bool = False) -> str:
    count = PAPERS // 10 if quick else PAPERS
    with TemporaryDirectory(prefix="lafka-benchmark-") as name:
        root = Path(name) / "archive"
        archive = _filled(root, count)
        ways: dict[str, Callable[[], int]] = {
            "`Archive.futs()`": lambda: sum(1 for _ in archive.futs()),
            "`json.load` of each file": lambda: _plainly(root),
        }
        times: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(ROUNDS):
            for way, walk in ways.items():
                times[way].append(_cpu(walk, count))
        rates = {way: count / median(found) for way, found in times.items()}
        few, all_ = (_peak(archive, limit) for limit in (1_000, count))
    rows = [[way, f"{rate:,.0f}"] for way, rate in rates.items()]
    look = _look()
    share = look / INTERVAL
    held = rates["`Archive.futs()`"] >= TARGET
    return markdown(
        ("papers a second of CPU", "one fut each"),
        rows,
        f"{count:,} papers, made by a generator, files in the page cache, median of {ROUNDS}"
        f" interleaved rounds. Python memory at most: {few / 1e6:.1f} MB over 1,000 papers,"
        f" {all_ / 1e6:.1f} MB over all.",
        f"At least {TARGET:,} a second: {'holds' if held else 'falls short'}. The live line of a"
        f" crawl: {look * 1e6:.0f} µs of CPU a look, every {INTERVAL} s, {share:.2%} of one CPU;"
        f" under {SHARE:.0%}: {'holds' if share < SHARE else 'falls short'}.",
    )


def _filled(root: Path, count: int) -> Archive:
    """An archive of suwafs alone; nothing of the WARCs is read by who lists futs."""
    archive = Archive.create(root)
    for number in range(count):
        put_suwaf(archive, number)
    return archive


def put_suwaf(archive: Archive, number: int) -> tuple[Pid, str]:
    """The suwaf of a paper that has its fut, without a WARC; the pid and the futli."""
    url = f"https://h{number % 997}.example.org/papers/{number}.pdf"
    digest = "sha256:" + f"{number:064x}"
    fut = Fut(s=1_200, l=200_000, url=url, digest=digest)
    pid = archive.scheme.pid(f"RePEc:a{number % 50:02}:s{number // 50 % 40:02}:{number}")
    times = {url: {"2026-11-20T10:11:12Z": fut}}
    suwaf = Suwaf(pid=pid, futlis=times, end=210_000, chain=digest)
    path = archive.suwaf_path(pid)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(suwaf.to_bytes())
    return pid, url


def _plainly(root: Path) -> int:
    """What one would write without Lafka, and without its checks."""
    count = 0
    for folder, _, names in os.walk(root / "suwaf"):
        for name in names:
            with open(f"{folder}/{name}", "rb") as file:  # noqa: PTH123  as quick as can be
                values = json.load(file)
            values.pop("_warc")
            count += sum(len(times) for futlis in values.values() for times in futlis.values())
    return count


def _cpu(walk: Callable[[], int], count: int) -> float:
    begun = time.process_time()
    found = walk()
    spent = time.process_time() - begun
    if found != count:
        raise SystemExit(f"{found} of {count} futs were found")
    return spent


def _peak(archive: Archive, limit: int) -> int:
    gc.collect()
    tracemalloc.start()
    for number, _ in enumerate(archive.futs(), 1):
        if number >= limit:
            break
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


class _Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def _look() -> float:
    """Seconds of CPU to put a moment that has changed into the line."""
    terminal = Terminal(_Tty())
    groups = {"held": 0, "page only": 10, "not there": 20, "closed": 30, "trouble": 5, "ours": 1}
    begun = time.process_time()
    for number in range(LOOKS):
        moment = ProgressSnapshot(
            done=number, total=1_000_000, loaded=True, futs=number, groups=groups, size=number,
            busy=100, waiting=5_000, parked=3, rate=3.0,
        )  # fmt: skip
        terminal.show(moment.parts())
    return (time.process_time() - begun) / LOOKS


if __name__ == "__main__":
    print(table(quick=True))
