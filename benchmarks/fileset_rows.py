"""What the rows of ``benchmarks.filesets`` share: sizes, interleaved rounds, crawls of ours."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import runs
from benchmarks.runs import Run

GIB = 1 << 30
Way = Callable[[Path], Run]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where a row works, how often, and how much of it."""

    folder: Path
    rounds: int
    scale: float
    small: bool

    def bytes(self, full: int) -> int:
        """The size of a big file that is *full* bytes by default, whole MiB."""
        return max(1, int(full * self.scale * (1 / 32 if self.small else 1)) >> 20) << 20

    def count(self, full: int) -> int:
        return max(2, int(full * self.scale * (1 / 20 if self.small else 1)))

    def best(self, ways: Mapping[str, Way]) -> dict[str, Run]:
        """Of interleaved rounds each way's quickest."""
        rounds = self._rounds(ways)
        return {name: min(took, key=lambda run: run.wall) for name, took in rounds.items()}

    def medians(self, ways: Mapping[str, Way]) -> dict[str, Run]:
        """Of interleaved rounds the median of each way's CPU and of its time by the clock."""
        return {
            name: replace(
                took[0],
                cpu=median(run.cpu for run in took),
                wall=median(run.wall for run in took),
            )
            for name, took in self._rounds(ways).items()
        }

    def _rounds(self, ways: Mapping[str, Way]) -> dict[str, list[Run]]:
        """What interleaved rounds took; each run has a new folder, removed after."""
        found: dict[str, list[Run]] = {name: [] for name in ways}
        for turn in range(self.rounds):
            for number, (name, way) in enumerate(ways.items()):
                folder = self.folder / f"run-{turn}-{number}"
                folder.mkdir()
                found[name].append(way(folder))
                shutil.rmtree(folder)
                print(f"{name}: {found[name][-1].wall:.1f} s", file=sys.stderr, flush=True)
        return found


def shell(script: str, folder: Path, more: Mapping[str, str], *args: object) -> Run:
    """A shell's *script* in *folder*, with *args* as ``$1`` and so on."""
    command = ["bash", "-euc", script, "bash", *map(str, args)]
    return runs.run(command, cwd=folder, log=folder.with_name(f"{folder.name}.log"), more=more)


def crawl_command(folder: Path, urls: Iterable[str], **settings: Any) -> list[str]:
    """``scrapy crawl fileset`` of *urls* into ``archive`` below *folder*; run it in ROOT."""
    path = folder / "requests"
    path.write_text("".join(f"{url}\n" for url in urls))
    return runs.lafka(path, folder / "archive", "fileset", **settings)


def crawl(folder: Path, urls: Sequence[str], more: Mapping[str, str], **settings: Any) -> Run:
    """That crawl; all of it has to be a success."""
    log = folder / "log"
    run = runs.run(crawl_command(folder, urls, **settings), cwd=runs.ROOT, log=log, more=more)
    told = results(folder / "archive")
    if len(told) != len(urls) or not all(result["hit"] for result in told):
        raise SystemExit(f"{str(told[:1])[:2000]}\n{log.read_text()[-3000:]}")
    return run


def results(archive: Path) -> list[dict[str, Any]]:
    """The results of filesets that the archive's feeds tell."""
    lines = [
        json.loads(line)
        for feed in sorted((archive / "runs").glob("*.jsonl"))
        for line in feed.read_bytes().splitlines()
    ]
    return [line for line in lines if line["request"]["ingest_type"] == "dataset"]


def peak_now(pid: int) -> int:
    """Bytes that a process holds now, its children not."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) << 10


def cpu_now(pid: int) -> float:
    """Seconds of CPU that a process took so far, its children not."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def holds(well: bool) -> str:
    return "holds" if well else "falls short"


def seconds(run: Run) -> list[str]:
    return [f"{run.wall:.1f}", f"{run.cpu:.1f}"]
