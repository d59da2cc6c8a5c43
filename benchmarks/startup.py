"""What a command costs before it does anything: ``python -c pass`` and Scrapy in the same run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks import archives, runs
from benchmarks.sites import Papers
from benchmarks.tables import markdown

ROUNDS = 9
LIMIT = 0.25
PEER, FUT = "`python -c pass`", "`lafka fut PID`"


def table(*, quick: bool = False) -> str:
    papers = Papers(count=2, size=200_000)
    with archives.crawled(papers) as root, TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "compileall", "-q", str(runs.ROOT / "lafka")], check=True
        )
        ways = _ways(root, papers.pid(0))
        found: dict[str, list[runs.Run]] = {name: [] for name in ways}
        for _ in range(3 if quick else ROUNDS):
            for name, args in ways.items():
                each = runs.run([sys.executable, *args], cwd=runs.ROOT, log=Path(folder) / "log")
                found[name].append(each)
    cpu = {name: median(run.cpu for run in took) for name, took in found.items()}
    rows = [
        [name, f"{cpu[name]:.2f}", f"{median(run.wall for run in took):.2f}",
         f"{median(run.peak for run in took) / 1e6:.0f}"]
        for name, took in found.items()
    ]  # fmt: skip
    verdict = "holds" if cpu[FUT] - cpu[PEER] <= LIMIT else "falls short"
    return markdown(
        ("seconds", "CPU", "wall", "peak, MB"),
        rows,
        f"Median of {ROUNDS} interleaved rounds, byte code compiled.",
        f"{FUT} at most {LIMIT} s more than {PEER}: {verdict}.",
    )


def _ways(root: Path, pid: str) -> dict[str, list[str]]:
    at = ["-s", f"LAFKA_ARCHIVE={root}"]
    return {
        PEER: ["-c", "pass"],
        FUT: ["-m", "lafka", "fut", pid, *at],
        "`lafka suwaf PID`": ["-m", "lafka", "suwaf", pid, *at],
        "`lafka verify PID`": ["-m", "lafka", "verify", pid, *at],
        "`lafka --version`": ["-m", "lafka", "--version"],
        "`scrapy fut PID`": ["-m", "scrapy", "fut", pid, *at],
        "`scrapy version`": ["-m", "scrapy", "version"],
    }
