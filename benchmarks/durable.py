"""How many papers a second are made durable, against the same bytes and the same syncs alone."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Barrier

from benchmarks import captures
from benchmarks.tables import markdown
from lafka.capture.rawlog import RawLog
from lafka.papers.archive.archives import Archive

ROUNDS = 3
WRITERS = 4
SIZE = 1_000_000
GOAL = 50

Work = Callable[[int], None]
"""Makes the paper of that number durable."""
Ready = Callable[[Path, str, Sequence[int]], Work]
"""Does in a folder, under a name, all that is not measured for the papers of these numbers."""


def table(*, quick: bool = False) -> str:
    count = 40 if quick else 240
    found: dict[tuple[str, str], list[float]] = {}
    for number in range(ROUNDS):
        for what, ready in WAYS.items():
            for how, run in HOWS.items():
                with TemporaryDirectory(prefix="lafka-benchmark-", dir=disk()) as folder:
                    seconds = run(ready, Path(folder), f"r{number}", count)
                found.setdefault((what, how), []).append(count / seconds)
    rates = {place: median(all_) for place, all_ in found.items()}
    rows = [[what, *(f"{rates[what, how]:.0f}" for how in HOWS)] for what in WAYS]
    least = min(rates[LAFKA, how] for how in HOWS if how != ONE)
    return markdown(
        ("papers of 1 MB a second", *HOWS),
        rows,
        f"{count} papers, median of {ROUNDS} interleaved rounds, on the disk of the system's"
        " temporary folder. A paper of Lafka's is appended, synced, named, and has its suwaf; its"
        " raw WARC was written before. The peers write the same bytes from memory.",
        f"At least {GOAL} with {WRITERS} writers: {'holds' if least >= GOAL else 'falls short'}.",
    )


def disk() -> str:
    """Where syncs mean something: never a file system in memory."""
    return os.environ.get("TMPDIR", "/var/tmp")


# What is measured


def _lafka(root: Path, name: str, numbers: Sequence[int]) -> Work:
    archive = Archive.create(root / "archive")
    raw = RawLog(archive.root / "raw", name, config={})
    trails = {n: captures.recorded(archive, raw, n, SIZE) for n in numbers}
    return lambda number: captures.store(archive, raw, trails[number])


def written(root: Path, name: str, numbers: Sequence[int], *, whole: bool) -> Work:
    folder = root / "bare" / name
    folder.mkdir(parents=True)
    data = {n: captures.payload(f"{name} {n}", SIZE) for n in numbers}
    return lambda number: _write(folder, number, data[number], whole=whole)


def _write(folder: Path, number: int, data: bytes, *, whole: bool) -> None:
    draft, path = folder / f".draft-{number}", folder / f"{number}.warc"
    with (draft if whole else path).open("wb", buffering=0) as file:
        file.write(data)
        os.fdatasync(file.fileno())
    if not whole:
        return
    draft.rename(path)
    _sync(folder)
    with draft.open("wb", buffering=0) as file:
        file.write(b"{}" * 300)
        os.fsync(file.fileno())
    draft.rename(folder / f"{number}.json")
    _sync(folder)


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


# By whom


def _by_threads(ready: Ready, root: Path, name: str, count: int, *, writers: int) -> float:
    work = ready(root, name, range(count))
    os.sync()
    with ThreadPoolExecutor(writers) as pool:
        begun = time.perf_counter()
        list(pool.map(work, range(count)))
        return time.perf_counter() - begun


def _by_processes(ready: Ready, root: Path, name: str, count: int) -> float:
    assert threading.active_count() == 1
    context = get_context("fork")
    start, end = context.Barrier(WRITERS + 1), context.Barrier(WRITERS + 1)
    writers = [
        context.Process(
            target=_write_share,
            args=(ready, root, f"{name}p{n}", range(n, count, WRITERS), start, end),
        )
        for n in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    start.wait(600)
    begun = time.perf_counter()
    end.wait(600)
    seconds = time.perf_counter() - begun
    for writer in writers:
        writer.join()
        if writer.exitcode:
            sys.exit(f"a writer ended with {writer.exitcode}")
    return seconds


def _write_share(
    ready: Ready, root: Path, name: str, numbers: Sequence[int], start: Barrier, end: Barrier
) -> None:
    work = ready(root, name, numbers)
    os.sync()
    start.wait(600)
    for number in numbers:
        work(number)
    end.wait(600)


LAFKA = "Lafka"
WAYS: dict[str, Ready] = {
    LAFKA: _lafka,
    "write, the same four syncs": partial(written, whole=True),
    "write, fdatasync": partial(written, whole=False),
}
ONE = "one thread"
HOWS: dict[str, Callable[[Ready, Path, str, int], float]] = {
    ONE: partial(_by_threads, writers=1),
    "4 threads": partial(_by_threads, writers=WRITERS),
    "4 processes": _by_processes,
}
