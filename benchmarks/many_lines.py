"""Many lines of one pid against as many pids of one line each: whole crawls, in the same run."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import captures, durable, runs, sites
from benchmarks.runs import Run
from benchmarks.tables import markdown

LINES, SIZE = 5_000, 20_000
ONE, MANY, AGAIN = "lines of one pid", "pids of one line", "lines of one pid, held already"
LIMIT = 2.0


def table(*, quick: bool = False) -> str:
    lines = LINES // 5 if quick else LINES
    with TemporaryDirectory(prefix="lafka-benchmark-", dir=durable.disk()) as name:
        measured = _measured(Path(name), lines)
    many = measured[MANY]
    rows = [
        [
            f"{lines:,} {what}",
            *(f"{value:.2f}" for value in (run.cpu, run.wall, run.wall / many.wall)),
        ]
        for what, run in measured.items()
    ]
    one = measured[ONE]
    holds = one.wall <= LIMIT * many.wall and one.cpu <= LIMIT * many.cpu
    return markdown(
        ("", "CPU s", "wall s", "wall / many pids"),
        rows,
        f"Each line a fut of its own of {SIZE // 1000} kB, nginx on loopback without delays,"
        f" {runs.CONCURRENCY} requests at once, on the disk of the system's temporary folder.",
        f"At most {LIMIT:g} times the cost of as many pids: {'holds' if holds else 'falls short'}.",
    )


def _measured(folder: Path, lines: int) -> dict[str, Run]:
    site = folder / "site"
    site.mkdir()
    for number in range(lines):
        (site / f"{number}.pdf").write_bytes(captures.payload(f"many lines {number}", SIZE))
    with sites.serving(site) as port:
        many = _list(folder / "many.tsv", [f"RePEc:ben:many:{n}" for n in range(lines)], port)
        one = _list(folder / "one.tsv", ["RePEc:ben:one:1"] * lines, port)
        return {
            MANY: _crawl(many, folder / "many", lines),
            ONE: _crawl(one, folder / "one", lines),
            AGAIN: _crawl(one, folder / "one", lines),
        }


def _list(path: Path, pids: list[str], port: int) -> Path:
    lines = (f"{pid}\thttp://127.0.0.1:{port}/{n}.pdf\n" for n, pid in enumerate(pids))
    path.write_text("".join(lines))
    return path


def _crawl(path: Path, archive: Path, lines: int) -> Run:
    run = runs.run(runs.lafka(path, archive), cwd=runs.ROOT, log=archive.with_suffix(".log"))
    held = 0
    for suwaf in (archive / "suwaf").rglob("*.json"):
        values = json.loads(suwaf.read_bytes())
        held += sum(len(futlis) for pid, futlis in values.items() if pid != "_warc")
    if held != lines:
        raise SystemExit(f"{archive}: {held} futs of {lines} lines")
    return run
