"""The goals of a gathering in pairs of one run, by CPU, so that others may use the machine.

Each round takes the same data into a new store, unpacks a tarball of the files that a store holds,
adds these to git; then again with nothing changed, beside reading the data and its MD5.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.gathering import DAY, READ, START, Work
from benchmarks.runs import Run
from benchmarks.tables import markdown

TEMPLATES = 20_000
ROUNDS, ROUNDS_AGAIN = 2, 5
GIT = (
    'cd "$1" && git init -q && git add -A && git -c user.name=x -c user.email=x@x.example'
    " -c gc.auto=0 commit -qm all && sync -f ."
)
PAIRS = (
    ("first gather / `tar x` and sync", "first", "tar", 4.0),
    ("first gather / `git add` and commit", "first", "git", 1.0),
    ("again, nothing changed / reading and MD5", "again", "read", 1.5),
)


def table(*, quick: bool = False, size: int = 0) -> str:
    count = size or (TEMPLATES // 10 if quick else TEMPLATES)
    with TemporaryDirectory(prefix="lafka-benchmark-") as name:
        work = Work(folder=Path(name), count=count)
        taken: dict[str, list[float]] = {}
        for what, run in _measured(work):
            taken.setdefault(what, []).append(run.cpu)
        start = median(taken["start"])
    rows = [
        _row(title, list(zip(taken[ours], taken[peer], strict=True)), goal)
        for title, ours, peer, goal in PAIRS
    ]
    return markdown(
        ("pair", "CPU s", "peer, CPU s", "ratio, median", "goal"), rows,
        f"{count:,} templates of {work.bytes / count:,.0f} bytes in {work.files:,} files; user and"
        f" system CPU of whole processes, {ROUNDS} and {ROUNDS_AGAIN} alternating rounds, a new"
        f" store each first gather. To start the program alone takes {start:.2f} s.",
    )  # fmt: skip


def _measured(work: Work) -> Iterator[tuple[str, Run]]:
    """What each process took, by its name; those of a pair in turn."""
    work._write("data")
    (work.folder / "nothing").mkdir()
    for number in range(ROUNDS):
        for name in ("archive", "tar"):
            shutil.rmtree(work.folder / name, ignore_errors=True)
        yield "first", work._tobi("data", START)
        if not number:
            folders = sorted(path.name for path in work.store.glob("[0-9][0-9][0-9]"))
            work._peer("tar", "cf", work._at("all.tar"), "-C", work.store, *folders)
        yield "tar", work._unpacked()
        yield "git", work._peer("sh", "-c", GIT, "sh", work._at("tar"))
    for number in range(ROUNDS_AGAIN):
        yield "again", work._tobi("data", START + (number + 1) * DAY)
        yield "read", work._peer("python3", "-c", READ, work._at("data"))
        other = work.folder / f"store-{number}"
        yield "start", work._tobi("nothing", START, store=other)


def _row(title: str, pairs: list[tuple[float, float]], goal: float) -> list[str]:
    ratio = median(ours / peer for ours, peer in pairs)
    ours, peer = (median(values) for values in zip(*pairs, strict=True))
    holds = "holds" if ratio <= goal else "falls short"
    return [title, f"{ours:.2f}", f"{peer:.2f}", f"{ratio:.2f}", f"≤ {goal:g}: {holds}"]
