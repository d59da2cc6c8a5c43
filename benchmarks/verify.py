"""Verifying and rebuilding an archive, against SHA-256 alone over the same bytes."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks import archives, runs
from benchmarks.sites import Papers
from benchmarks.tables import markdown
from lafka.papers.archive.archives import Archive
from lafka.papers.checking import Verifier

ROUNDS = 3
GOAL = 0.6
PEER = "SHA-256 alone, one thread"
SHARED = "`Verifier`, a process a core"


def table(*, quick: bool = False) -> str:
    kinds = [Papers(count=1000, size=200_000), Papers(count=600, size=1_000_000)]
    if quick:
        kinds = [Papers(count=kind.count // 10, size=kind.size) for kind in kinds]
    small, big = (_measure(papers) for papers in kinds)
    rows = []
    for name in small:
        shares = (f"{found[name]:.0f} | {found[name] / found[PEER]:.2f}" for found in (small, big))
        rows.append([name, *shares])
    held = "holds" if big[SHARED] >= GOAL * big[PEER] else "falls short"
    return markdown(
        ("MB a second", kinds[0].label, "/ SHA-256", kinds[1].label, "/ SHA-256"),
        rows,
        f"Wall time, files in the page cache, median of {ROUNDS} interleaved rounds. `scrapy"
        " verify` is the whole command, start-up included, with a process a core.",
        f"{SHARED} at {GOAL:.0%} or more of SHA-256, 1 MB: {held}.",
    )


def _measure(papers: Papers) -> dict[str, float]:
    """Median MB/s of each way."""
    with archives.crawled(papers) as root:
        size = sum(path.stat().st_size for path in Archive(root).warcs())
        seconds: dict[str, list[float]] = {name: [] for name in WAYS}
        for _ in range(ROUNDS):
            for name, way in WAYS.items():
                begun = time.perf_counter()
                way(root)
                seconds[name].append(time.perf_counter() - begun)
    return {name: size / 1e6 / median(found) for name, found in seconds.items()}


def _hash(root: Path) -> None:
    buffer = bytearray(1 << 20)
    view = memoryview(buffer)
    for path in Archive(root).warcs():
        digest = hashlib.sha256()
        with path.open("rb", buffering=0) as file:
            while count := file.readinto(buffer):
                digest.update(view[:count])


def _verify(root: Path, workers: int = 1) -> None:
    problems = list(Verifier(root, workers=workers).verify_all())
    if problems:
        raise SystemExit(f"{len(problems)} problems, the first: {problems[0]}")


def _command(root: Path) -> None:
    command = [sys.executable, "-m", "scrapy", "verify", "-s", f"LAFKA_ARCHIVE={root}"]
    runs.run(command, cwd=runs.ROOT, log=root.with_name("verify-log"))


def _rebuild(root: Path) -> None:
    archive = Archive(root)
    for warc in archive.warcs():
        archive.rebuild(archive.pid_at(warc))


WAYS: dict[str, Callable[[Path], None]] = {
    PEER: _hash,
    "`Verifier`, one process, two threads": _verify,
    SHARED: lambda root: _verify(root, os.cpu_count() or 1),
    "`scrapy verify`": _command,
    "`Archive.rebuild`, every paper": _rebuild,
}
