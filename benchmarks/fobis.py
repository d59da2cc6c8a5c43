"""A crawl of fobis against the main road, ``crawl futli``, over the same files of nginx."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks import runs, sites
from benchmarks.runs import Run
from benchmarks.sites import Papers
from benchmarks.tables import markdown
from lafka.archec.gather.loss_rules import LossRule
from lafka.archec.gather.runs import Plan, gather_tobis
from lafka.archec.gather.sources import open_source
from lafka.archec.gather.tobis import Clocks
from lafka.archec.records.opening import open_records
from lafka.archec.store.folders import ObiStore

ROUNDS = 3
GOAL = 1.15
START = 1352481230
OURS, PEER = "`crawl fobi`", "`crawl futli`"
_folders = count()


def table(*, quick: bool = False) -> str:
    papers, load = Papers(count=30 if quick else 300, size=200_000), os.getloadavg()[0]
    rounds = 1 if quick else ROUNDS
    found: dict[str, list[Run]] = {OURS: [], PEER: []}
    with TemporaryDirectory(prefix="lafka-benchmark-") as name:
        folder = Path(name)
        papers.make(folder / "site")
        with sites.serving(folder / "site") as port:
            for _ in range(rounds):
                found[OURS].append(_fobis(papers, port, folder / f"{next(_folders)}"))
                found[PEER].append(_futlis(papers, port, folder / f"{next(_folders)}"))
    ratio = median(a.cpu / b.cpu for a, b in zip(found[OURS], found[PEER], strict=True))
    rows = [
        [name, f"{median(run.cpu for run in some):.2f}", f"{median(run.wall for run in some):.2f}",
         f"{median(run.peak for run in some) / 1e6:.0f}",
         f"{median(run.written for run in some) / (papers.count * papers.size):.2f}"]
        for name, some in found.items()
    ]  # fmt: skip
    return markdown(
        ("", "CPU s", "wall s", "peak MB", "MB written / received"),
        rows,
        f"{papers.label}, PDFs without splaps, nginx on loopback without delays,"
        f" {runs.CONCURRENCY} requests at once; medians of {rounds} interleaved rounds, the ratio"
        " of runs of the same round. Both sync what they write. The machine's load was"
        f" {load:.1f} at the beginning.",
        f"CPU at most {GOAL} times that of the main road:"
        f" {'holds' if ratio <= GOAL else 'falls short'} ({ratio:.2f}).",
    )


def _urls(papers: Papers, port: int) -> list[str]:
    return [f"http://127.0.0.1:{port}/pdf/{number}.pdf" for number in range(papers.count)]


def _fobis(papers: Papers, port: int, folder: Path) -> Run:
    data, log = folder / "data" / "RePEc" / "ben" / "w", folder / "log"
    data.mkdir(parents=True)
    (data / "all.rdf").write_text("".join(
        f"Template-Type: ReDIF-Paper 1.0\nTitle: {number}\nFile-URL: {url}\n"
        f"Handle: RePEc:ben:w:{number}\n\n" for number, url in enumerate(_urls(papers, port))
    ))  # fmt: skip
    store = ObiStore.create(folder / "archive")
    records = open_records(store)
    plan = Plan(rule=LossRule(), clocks=Clocks(now=lambda: START, monotonic=lambda: 0.0))
    with open_source(folder / "data") as source:
        gather_tobis(store, records, source, plan)
    records.close()
    run = runs.run(runs.fobi(store.root), cwd=runs.ROOT, log=log)
    with_bytes = [path for path in store.root.glob("[0-9]*/*/*/http*") if path.is_file()]
    if len(with_bytes) != papers.count:
        raise SystemExit(f"{len(with_bytes)} fobis\n{log.read_text()[-3000:]}")
    return run


def _futlis(papers: Papers, port: int, folder: Path) -> Run:
    folder.mkdir()
    path, log = folder / "list.tsv", folder / "log"
    path.write_text("".join(
        f"{papers.pid(number)}\t{url}\n" for number, url in enumerate(_urls(papers, port))
    ))  # fmt: skip
    run = runs.run(runs.lafka(path, folder / "archive"), cwd=runs.ROOT, log=log)
    if f"'lafka/futs/new': {papers.count}" not in log.read_text():
        raise SystemExit(log.read_text()[-3000:])
    return run
