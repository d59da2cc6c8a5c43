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

from benchmarks import captures, durable, runs
from benchmarks.tables import markdown
from lafka.capture.rawlog import RawLog
from lafka.papers.archive.archives import Archive

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
        _in_a_process_of_its_own(partial(_fill, root, held))
        for number in range(ROUNDS):
            for place, (what, leave) in enumerate(_LEFT_BEHIND.items()):
                run = f"{number}-{place}"
                if leave is not None:
                    _in_a_process_of_its_own(partial(leave, root, run), ends_by=signal.SIGKILL)
                os.sync()
                seconds[what].append(_until_first_request(folder, root, run))
                _is_clean(root)
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


def _leave_nothing(root: Path, run: str) -> None:
    RawLog(root / "raw", f"killed-{run}", config={})
    os.kill(os.getpid(), signal.SIGKILL)


def _leave_papers(root: Path, run: str) -> None:
    archive = Archive(root)
    raw = RawLog(root / "raw", f"killed-{run}", config={})
    for number in range(LEFT):
        raw.end(captures.recorded(archive, raw, number, SIZE))
    os.kill(os.getpid(), signal.SIGKILL)


def _in_a_process_of_its_own(work: Callable[[], None], *, ends_by: int = 0) -> None:
    process = get_context("fork").Process(target=work)
    process.start()
    process.join()
    if process.exitcode != -ends_by:
        sys.exit(f"a process that prepares the archive ended with {process.exitcode}")


def _until_first_request(folder: Path, root: Path, run: str) -> float:
    path = folder / f"list-{run}.tsv"
    with _site() as (port, asked):
        path.write_text(f"RePEc:ben:new:{run}\thttp://127.0.0.1:{port}/x.pdf\n")
        begun = time.monotonic()
        runs.run(runs.lafka(path, root), cwd=runs.ROOT, log=folder / "log")
    return asked[0] - begun


@contextmanager
def _site() -> Iterator[tuple[int, list[float]]]:
    """A site that has nothing: its port, and when it was asked."""
    asked: list[float] = []
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=_serve, args=(listener, asked))
    thread.start()
    try:
        yield listener.getsockname()[1], asked
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        listener.close()


def _serve(listener: socket.socket, asked: list[float]) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            if connection.recv(65536):
                asked.append(time.monotonic())
                connection.sendall(_NOT_FOUND)


def _is_clean(root: Path) -> None:
    left = [path for path in (root / "raw").iterdir() if path.is_dir()]
    if left:
        sys.exit(f"not recovered: {left}")


START = "start"
KILLED = f"after a kill, {LEFT} papers and MB captured"
BARE = "those bytes alone: written, the same four syncs"
_LEFT_BEHIND: dict[str, Callable[[Path, str], None] | None] = {
    START: None,
    "after a kill, nothing captured": _leave_nothing,
    KILLED: _leave_papers,
}
