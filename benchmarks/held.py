"""A list of a million lines that are all held: beside the engine, and as items through it."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import runs
from benchmarks.corpus import put_suwaf
from benchmarks.runs import Run
from benchmarks.tables import markdown
from lafka.papers import Archive

PAPERS, TIMES, FEW = 100_000, 10, 20_000
GOAL = 20_000
START, ITEMS = "one line", "lines as items: a second feed"


def table(*, quick: bool = False) -> str:
    papers, few = (PAPERS // 20, FEW // 20) if quick else (PAPERS, FEW)
    with TemporaryDirectory(prefix="lafka-benchmark-") as name:
        found = _measured(Path(name), papers, few)
    start = found[START][1]
    rows = [[what, *_cells(lines, run, start)] for what, (lines, run) in found.items()]
    lines, run = [*found.values()][-1]
    rate = lines / (run.cpu - start.cpu)
    return markdown(
        ("", "lines a second of CPU", "a second", "CPU s", "wall s", "peak MB", "switches"),
        rows,
        f"{papers:,} papers of one fut, made by a generator, files in the page cache; of longer"
        " lists each line stands more than once. Whole crawls on the disk of the system's temporary"
        f" folder, one run each; the rates without the {start.cpu:.1f} s of CPU and"
        f" {start.wall:.1f} s that a list of one line takes.",
        f"{GOAL:,} lines a second of CPU: {'holds' if rate >= GOAL else 'falls short'}.",
    )


def _cells(lines: int, run: Run, start: Run) -> list[str]:
    rates = ["", ""]
    if run is not start:
        pairs = ((run.cpu, start.cpu), (run.wall, start.wall))
        # What is within the start-up's own spread says nothing.
        rates = [f"{lines / (t - before):,.0f}" if t - before > 1 else "" for t, before in pairs]
    peak = f"{run.peak / 1e6:.0f}"
    return [*rates, f"{run.cpu:.2f}", f"{run.wall:.2f}", peak, f"{run.switches:,}"]


def _measured(folder: Path, papers: int, few: int) -> dict[str, tuple[int, Run]]:
    root = folder / "archive"
    lines = _filled(root, papers)
    ways = {
        START: (lines[:1], []),
        ITEMS: (lines[:few], ["-o", str(folder / "other.jl")]),
        f"{few:,} lines": (lines[:few], []),
        f"{papers:,} lines": (lines, []),
        f"{papers * TIMES:,} lines": (lines * TIMES, []),
    }
    return {what: (len(of), _crawl(folder, root, of, more)) for what, (of, more) in ways.items()}


def _filled(root: Path, count: int) -> list[str]:
    """Papers that are held, as far as a crawl looks at them; their lines."""
    archive, lines = Archive.create(root), []
    for number in range(count):
        pid, url = put_suwaf(archive, number)
        warc = archive.warc_path(pid)
        warc.parent.mkdir(parents=True, exist_ok=True)
        warc.write_bytes(b"")
        os.truncate(warc, 210_000)
        lines.append(f"{pid}\t{url}\n")
    return lines


def _crawl(folder: Path, root: Path, lines: list[str], more: list[str]) -> Run:
    path = folder / "list.tsv"
    with path.open("w") as out:  # what we need at once would count as the crawl's peak
        out.writelines(lines)
    run = runs.run([*runs.lafka(path, root), *more], cwd=runs.ROOT, log=folder / "log")
    feed = max((root / "runs").glob("*.jsonl"), key=lambda each: each.stat().st_mtime_ns)
    with feed.open("rb") as told:
        if (count := sum(b'"new": false' in line for line in told)) != len(lines):
            raise SystemExit(f"{count} of {len(lines)} lines were told as held")
    feed.unlink()
    return run
