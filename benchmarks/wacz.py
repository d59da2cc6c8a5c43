"""Packing a thousand papers into a WACZ, against copying their WARCs into one folder."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks import archives
from benchmarks.sites import Papers
from benchmarks.tables import markdown
from lafka.papers.archive.archives import Archive
from lafka.papers.archive.wacz import package, pieces
from lafka.warc.converting.packing import pack

ROUNDS = 5
GOAL = 0.6
PEER = "cp of the paper WARCs, synced"
OWN = "`scrapy wacz`"


def table(*, quick: bool = False) -> str:
    kinds = [Papers(count=1000, size=200_000), Papers(count=1000, size=1_000_000)]
    if quick:
        kinds = [Papers(count=kind.count // 10, size=kind.size) for kind in kinds]
    measured = [_measure(papers) for papers in kinds]
    rows = [
        [name, *(f"{found[name]:.0f} | {found[name] / found[PEER]:.2f}" for found in measured)]
        for name in (PEER, OWN)
    ]
    told = ["holds" if found[OWN] >= GOAL * found[PEER] else "falls short" for found in measured]
    memory = getrusage(RUSAGE_SELF).ru_maxrss / 1000
    return markdown(
        ("MB a second", kinds[0].label, "/ cp", kinds[1].label, "/ cp"),
        rows,
        f"Wall time, files in the page cache, both end with fsync; median of {ROUNDS} interleaved"
        f" rounds. Peak memory of both together {memory:.0f} MB.",
        f"At {GOAL:.0%} or more of copying: {', '.join(told)}.",
    )


def _measure(papers: Papers) -> dict[str, float]:
    """Median MB/s of each way."""
    with archives.crawled(papers) as root:
        archive = Archive(root)
        warcs = list(archive.warcs())
        size = sum(path.stat().st_size for path in warcs)
        ways: dict[str, Callable[[Path], object]] = {
            PEER: lambda folder: _copy(warcs, folder),
            OWN: lambda folder: pack(
                pieces(archive, map(archive.pid_at, warcs)), folder / "x.wacz", package("all")
            ),
        }
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for name, way in ways.items():
                with TemporaryDirectory(dir=root.parent) as folder:
                    begun = time.perf_counter()
                    way(Path(folder))
                    seconds[name].append(time.perf_counter() - begun)
    return {name: size / 1e6 / median(found) for name, found in seconds.items()}


def _copy(warcs: list[Path], folder: Path) -> None:
    for number, path in enumerate(warcs):
        copied = folder / str(number)
        shutil.copyfile(path, copied)
    place = os.open(folder, os.O_RDONLY)
    os.fsync(place)
    os.close(place)
    os.sync()
