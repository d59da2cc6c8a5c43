"""An archive of many papers, made and not crawled: suwafs, feeds and reports, no WARCs.

Its shape, the same for any number of papers (all by a fixed seed):

- archives and series as in RePEc: sizes fall as 1/rank; one archive for 500 papers, four series
  each, so that a folder has some hundred suwafs;
- hosts: one for 400 papers, sizes fall as 1/rank; an archive's papers are on its own host or, one
  in five, on a host that all share;
- 1.1 futlis a paper; a year in half the pids;
- of ten papers seven have a fut, of 180 kB in the mean (log-normal), one in ten of these in two
  versions; half the futs are the futli itself, the others were found on a page;
- feeds: a first run that asked all; then two runs over all lines, a month apart, where what is held
  stays held (``requests: 0``) but for a tenth that is asked again each time; of these one in fifty
  begins to fail, for good; what failed at first is asked each time, and fails as before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from lafka.papers import Archive, Suwaf
from lafka.papers.archive.suwafs import Fut
from lafka.papers.origins import Origin

START = datetime(2025, 11, 1, tzinfo=UTC)
RUNS = 3
FAILS = ("not-found",) * 4 + ("refused",) * 2 + ("splap-only",) * 6 + ("timeout", "robots",
         "server-error", "dns", "login", "bot-challenge", "gone")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class MadePaper:
    """A paper: its pid, and of each futli the outcome of the first run."""

    pid: str
    futlis: dict[str, str]
    size: int
    versions: int
    found_by: str


def papers(count: int) -> Iterator[MadePaper]:
    random = Random(42)
    archives, hosts = max(1, count // 500), max(1, count // 400)
    for number in range(count):
        archive = min(archives - 1, int(archives ** random.random()) - 1)
        host = archive % hosts if random.random() < 0.8 else min(
            hosts - 1, int(hosts ** random.random()) - 1)  # fmt: skip
        series = f"s{random.randrange(4)}"
        year = f"y:{random.randrange(1990, 2026)}:" if random.random() < 0.5 else ""
        code = "".join(chr(97 + archive // 26**n % 26) for n in range(4))
        futlis = {
            f"https://www{host}.example/papers/{number}/{n}": "fut" if random.random() < 0.7 else
            random.choice(FAILS)
            for n in range(2 if random.random() < 0.1 else 1)
        }  # fmt: skip
        yield MadePaper(
            pid=f"RePEc:{code}:{series}:{year}{number}", futlis=futlis,
            size=int(random.lognormvariate(11.8, 0.8)), versions=2 if random.random() < 0.1 else 1,
            found_by="" if random.random() < 0.5 else "citation_pdf_url",
        )  # fmt: skip


def text(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def make(root: Path, count: int, *, runs: int = RUNS) -> Archive:
    """An archive of *count* papers at *root*, which is not there yet."""
    archive = Archive.create(root, "RePEc")
    made = set[Path]()
    for paper in papers(count):
        suwaf = suwaf_of(archive, paper)
        path = archive.suwaf_path(suwaf.pid)
        if path.parent not in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            made.add(path.parent)
        path.write_bytes(suwaf.to_bytes())
    for run in range(runs):
        feed(root, count, run)
    return archive


@contextmanager
def kept(count: int, keep: Path | None) -> Iterator[Path]:
    """The root of an archive of *count* papers; below *keep* it stays for the next time."""
    if keep is not None:
        root = keep / f"papers-{count}"
        if not root.exists():
            make(root, count)
        yield root
        return
    with TemporaryDirectory(prefix="lafka-benchmark-") as name:
        make(Path(name) / "archive", count)
        yield Path(name) / "archive"


def suwaf_of(archive: Archive, paper: MadePaper) -> Suwaf:
    futlis, place = {}, 2000
    for url, outcome in paper.futlis.items():
        times = {}
        for version in range(paper.versions if outcome == "fut" else 0):
            digest = hashlib.sha256(f"{url}{version}".encode()).hexdigest()
            origin = Origin(found_by=paper.found_by)
            times[text(START + timedelta(days=90 * version))] = Fut(
                s=place, l=paper.size, url=f"{url}.pdf", digest=f"sha256:{digest}", origin=origin
            )
            place += paper.size + 2000
        if times:
            futlis[url] = times
    return Suwaf(pid=archive.pid(paper.pid), futlis=futlis, end=place)


def feed(root: Path, count: int, run: int) -> None:
    begin = START + timedelta(days=30 * run)
    name = f"{begin:%Y%m%dT%H%M%S}000000Z-host-1"
    lines = 0
    with (root / "runs" / f"{name}.jsonl").open("w") as out:
        for number, paper in enumerate(papers(count)):
            for url, first in paper.futlis.items():
                time = text(begin + timedelta(seconds=number * 0.2))
                out.write(json.dumps(line(paper, url, first, number, run, time)) + "\n")
                lines += 1
    report = {"format": 1, "run": name, "done": True, "reason": "finished", "started": text(begin),
              "finished": text(begin + timedelta(days=1)), "lines": lines, "seconds": 86400.0,
              "list": {"path": "list.tsv", "lines": lines}, "arguments": {}}  # fmt: skip
    (root / "runs" / f"{name}.json").write_text(json.dumps(report))


def line(
    paper: MadePaper, url: str, first: str, number: int, run: int, time: str
) -> dict[str, Any]:
    asked = first != "fut" or run == 0 or number % 10 == 0
    outcome = "not-found" if first == "fut" and number % 500 == 0 and run else first
    held = outcome == "fut" and not asked
    digest = hashlib.sha256(f"{url}0".encode()).hexdigest()
    fut = {"url": f"{url}.pdf", "digest": f"sha256:{digest}", "length": paper.size, "s": 2000,
           "l": paper.size, "new": run == 0}  # fmt: skip
    found = [{"url": fut["url"], "found_by": paper.found_by, "score": 9, "place": 1,
              "outcome": "fut"}]  # fmt: skip
    page = not held and (bool(paper.found_by) or outcome == "splap-only")
    return {
        "pid": paper.pid, "futli": url, "outcome": outcome, "time": time,
        "futs": [fut] if outcome == "fut" and not held else [], "splap": url if page else None,
        "candidates": found if paper.found_by and outcome == "fut" and not held else [],
        "capped": False, "requests": 0 if held else 1 + page,
        "error": None if outcome in ("fut", "splap-only") else f"HTTP: {outcome}",
    }  # fmt: skip


def touch(archive: Archive, count: int, changed: int) -> None:
    """Replace *changed* suwafs of the *count* papers, as a crawl does."""
    step = max(1, count // changed)
    for number, paper in enumerate(papers(count)):
        if number % step == 0:
            path = archive.suwaf_path(archive.pid(paper.pid))
            draft = path.with_name(f".draft-{path.name}")
            draft.write_bytes(path.read_bytes().replace(b'"end": ', b'"end": 1'))
            draft.replace(path)
