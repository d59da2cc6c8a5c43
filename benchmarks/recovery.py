"""How long a run after a kill takes to its first request, against the same start without a kill."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TypeVar

from benchmarks import captures, durable, runs
from benchmarks.tables import markdown
from lafka.capture.rawlog import RawLog
from lafka.papers.archive.archives import Archive
from lafka.papers.archive.recovery import end_of

T = TypeVar("T")
ROUNDS = 3
ARCHIVES = (2_000, 20_000)
HELD_SIZE = 4_000
LEFT = 100
SIZE = 1_000_000
GOAL = 1.0
_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def table(*, quick: bool = False) -> str:
    sizes = [size // 20 if quick else size for size in ARCHIVES]
    found = {size: _measure(size) for size in sizes}
    rows = [
        [what, *(f"{found[size][what]:.2f}" for size in sizes)] for what in (*_LEFT_BEHIND, BARE)
    ]
    beyond = {s: f[KILLED] - f[START] - f[BARE] for s, f in found.items()}
    rows.append(["beyond start and bytes", *(f"{beyond[size]:.2f}" for size in sizes)])
    held = "holds" if max(beyond.values()) < GOAL else "falls short"
    return markdown(
        ("seconds to the first request", *(f"{size:,} papers held" for size in sizes)),
        rows,
        f"From the start of `scrapy crawl` to the first request, median of {ROUNDS} interleaved"
        f" rounds. The killed run had captured {LEFT} papers of {SIZE / 1e6:g} MB and acknowledged"
        " none; each is copied, synced and named before that request. The papers held are there"
        " to be passed by: no row may grow with them.",
        f"Within {GOAL:g} s beside the time for the bytes: {held}.",
    )


def _measure(held: int) -> dict[str, float]:
    """Median seconds of each way, over an archive that holds so many papers."""
    seconds: dict[str, list[float]] = {what: [] for what in (*_LEFT_BEHIND, BARE)}
    with TemporaryDirectory(prefix="lafka-benchmark-", dir=durable.disk()) as name:
        folder = Path(name)
        root = folder / "archive"
        in_a_process_of_its_own(partial(_fill, root, held))
        for number in range(ROUNDS):
            for place, (what, leave) in enumerate(_LEFT_BEHIND.items()):
                run = f"{number}{place}"
                if leave is not None:
                    in_a_process_of_its_own(partial(leave, root, run), ends_by=signal.SIGKILL)
                os.sync()
                seconds[what].append(_until_first_request(folder, root, run))
                is_clean(root)
            bare = durable.written(folder, f"bare{number}", range(LEFT), whole=True)
            os.sync()
            begun = time.perf_counter()
            for paper in range(LEFT):
                bare(paper)
            seconds[BARE].append(time.perf_counter() - begun)
    return {what: median(found) for what, found in seconds.items()}


def _fill(root: Path, held: int) -> None:
    captures.let_syncs_pass()
    archive = Archive.create(root)
    raw = RawLog(root / "raw", "held", config={})
    for number in range(held):
        captures.store(archive, raw, captures.recorded(archive, raw, number, HELD_SIZE))
    raw.close()


def leave(root: Path, run: str, *, papers: int) -> None:
    """Leave in *root* what a crawl leaves that had captured so many *papers* when it was killed.

    None of them was acknowledged. This process ends here.
    """
    archive = Archive.create(root)
    raw = RawLog(root / "raw", f"20261120T101112000000Z-killed-{run}", config={})
    for number in range(papers):
        trail = captures.recorded(archive, raw, number, SIZE)
        raw.note(trail.number, trail.futli.url, end_of(trail))
    os.kill(os.getpid(), signal.SIGKILL)


def in_a_process_of_its_own(work: Callable[[], None], *, ends_by: int = 0) -> None:
    """Do *work* in a child, which has to end well, or *ends_by* that signal."""
    process = get_context("fork").Process(target=work)
    process.start()
    process.join()
    if process.exitcode != -ends_by:
        sys.exit(f"a process that prepares the archive ended with {process.exitcode}")


def _until_first_request(folder: Path, root: Path, run: str) -> float:
    path = folder / f"list-{run}.tsv"
    with site(time.monotonic) as (port, asked):
        path.write_text(f"RePEc:ben:new:{run}\thttp://127.0.0.1:{port}/x.pdf\n")
        begun = time.monotonic()
        runs.run(runs.lafka(path, root), cwd=runs.ROOT, log=folder / "log")
    return asked[0] - begun


@contextmanager
def site(look: Callable[[], T]) -> Iterator[tuple[int, list[T]]]:
    """A site that has nothing: its port, and what a *look* at each question gave."""
    asked: list[T] = []
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=_serve, args=(listener, asked, look))
    thread.start()
    try:
        yield listener.getsockname()[1], asked
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        listener.close()


def _serve(listener: socket.socket, asked: list[T], look: Callable[[], T]) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            if connection.recv(65536):
                asked.append(look())
                connection.sendall(_NOT_FOUND)


def is_clean(root: Path) -> None:
    """Nothing that a dead run left waits in *root* any more."""
    left = [path for path in (root / "raw").iterdir() if path.is_dir()]
    if left:
        sys.exit(f"not recovered: {left}")


START = "start"
KILLED = f"after a kill, {LEFT} papers and MB captured"
BARE = "those bytes alone: written, the same four syncs"
_LEFT_BEHIND: dict[str, Callable[[Path, str], None] | None] = {
    START: None,
    "after a kill, nothing captured": partial(leave, papers=0),
    KILLED: partial(leave, papers=LEFT),
}
