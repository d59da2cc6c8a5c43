"""A crawl, whole processes: Lafka, plain Scrapy that stores nothing, FilesPipeline, wget.

Rounds are interleaved, every run has a folder that was never there before (removing hundreds of
files just before making as many costs ext4 a search), and ratios are of runs of the same round.
"""

from __future__ import annotations

import compileall
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks import runs, sites
from benchmarks.runs import Run
from benchmarks.sites import Papers
from benchmarks.tables import markdown

ROUNDS = 7
LONG_ROUNDS = 3
"""Of kinds whose one round takes minutes."""
HEAD = ("", "CPU s", "CPU / bare Scrapy", "the same, 1 item at once", "wall s", "papers a second",
        "peak MB", "context switches", "MB written / received")  # fmt: skip
KINDS: dict[Papers, float | None] = {
    Papers(count=3000, size=50_000): 1.25,
    Papers(count=300, size=200_000): 1.15,
    Papers(count=150, size=1_000_000): 1.25,
    Papers(count=300, size=200_000, robots=True): None,
    Papers(count=300, size=200_000, tls=True): None,
}
"""The papers of a crawl, and how often the CPU of bare Scrapy it may take, where that is said."""
LAFKA, BARE, ONE, FILES, WGET = (
    "Lafka", "bare Scrapy", "bare Scrapy, `CONCURRENT_ITEMS=1`", "FilesPipeline", "one wget a URL",
)  # fmt: skip
_folders = count()


def table(*, quick: bool = False) -> str:
    compileall.compile_dir(runs.ROOT / "lafka", quiet=1)
    load = os.getloadavg()[0]
    kinds = KINDS
    if quick:
        kinds = {replace(kind, count=kind.count // 10): limit for kind, limit in KINDS.items()}
    with TemporaryDirectory(prefix="lafka-benchmark-") as folder:
        measured = {
            kind: _measure(kind, Path(folder) / str(n), 1 if quick else _rounds(kind))
            for n, kind in enumerate(kinds)
        }
    rows = [
        [f"**{kind.label}**", *[""] * (len(HEAD) - 1)] if name is None else _row(name, kind, found)
        for kind, found in measured.items()
        for name in (None, *found)
    ]
    return markdown(
        HEAD,
        rows,
        "Each paper behind a 60 kB splap with `citation_pdf_url`, nginx on loopback without delays,"
        f" {runs.CONCURRENCY} requests at once; medians of {1 if quick else ROUNDS} interleaved"
        f" rounds, of 3,000 papers {1 if quick else LONG_ROUNDS}, ratios of runs of the same round;"
        " CPU is user and system of the whole process,"
        " start-up included, byte code compiled. Only Lafka syncs what it writes. The machine's"
        f" load was {load:.1f} at the beginning.",
        " ".join(_verdicts(kinds, measured)),
    )


def _rounds(kind: Papers) -> int:
    return LONG_ROUNDS if kind.count >= 1000 else ROUNDS


def _verdicts(
    kinds: dict[Papers, float | None], measured: dict[Papers, dict[str, list[Run]]]
) -> list[str]:
    told = []
    for kind, limit in kinds.items():
        if limit is None:
            continue
        bare, files = (_ratio(measured[kind], peer) for peer in (BARE, FILES))
        holds = "holds" if bare <= limit else "falls short"
        told.append(f"{kind.label}: {limit} times bare Scrapy's CPU at most: {holds} ({bare:.2f});")
        told.append(f"FilesPipeline's: {'holds' if files <= 1 else 'falls short'} ({files:.2f}).")
    return told


def _ratio(found: dict[str, list[Run]], peer: str, name: str = LAFKA) -> float:
    return median(run.cpu / other.cpu for run, other in zip(found[name], found[peer], strict=True))


def _row(name: str, kind: Papers, found: dict[str, list[Run]]) -> list[str]:
    def middle(of: Callable[[Run], float]) -> float:
        return median(map(of, found[name]))

    received = kind.count * (kind.size + sites.SPLAP_SIZE)
    wall = middle(lambda run: run.wall)
    return [
        name,
        f"{middle(lambda run: run.cpu):.2f}",
        f"{_ratio(found, BARE, name):.2f}",
        f"{_ratio(found, ONE, name):.2f}",
        f"{wall:.2f}",
        f"{kind.count / wall:.0f}",
        f"{middle(lambda run: run.peak) / 1e6:.0f}",
        f"{middle(lambda run: run.switches):,.0f}",
        f"{middle(lambda run: run.written) / received:.2f}",
    ]


def _measure(papers: Papers, folder: Path, rounds: int) -> dict[str, list[Run]]:
    """The runs of each way, in the order of the rounds."""
    papers.make(folder / "site")
    ways = dict(WAYS)
    if papers.tls or papers.robots:
        del ways[WGET]
    with sites.serving(folder / "site", tls=papers.tls) as port:
        path = papers.list(folder / "list.tsv", port)
        found: dict[str, list[Run]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, way in ways.items():
                found[name].append(way(papers, path, folder / f"{next(_folders)}"))
    return found


def by_lafka(papers: Papers, path: Path, folder: Path) -> Run:
    folder.mkdir()
    log = folder / "log"
    command = runs.lafka(path, folder / "archive", ROBOTSTXT_OBEY=papers.robots)
    run = runs.run(command, cwd=runs.ROOT, log=log)
    _expect(f"'lafka/futs/new': {papers.count}", log)
    return run


def by_bare_scrapy(papers: Papers, path: Path, folder: Path, **settings: object) -> Run:
    folder.mkdir()
    log = folder / "log"
    command = runs.peer("bare_spider.py", path, ROBOTSTXT_OBEY=papers.robots, **settings)
    run = runs.run(command, cwd=folder, log=log)
    _expect(f"'item_scraped_count': {papers.count}", log)
    return run


def by_one_item_at_once(papers: Papers, path: Path, folder: Path) -> Run:
    return by_bare_scrapy(papers, path, folder, CONCURRENT_ITEMS=1)


def by_files_pipeline(papers: Papers, path: Path, folder: Path) -> Run:
    folder.mkdir()
    log = folder / "log"
    store = folder / "files"
    command = runs.peer("files_spider.py", path, ROBOTSTXT_OBEY=papers.robots, FILES_STORE=store)
    run = runs.run(command, cwd=folder, log=log)
    _expect(f"'file_count': {papers.count}", log)
    return run


def by_wget(papers: Papers, path: Path, folder: Path) -> Run:
    folder.mkdir()
    store = folder / "wget"
    script = Path(__file__).with_name("wget_way.py")
    run = runs.run([sys.executable, script, path, store], cwd=folder, log=folder / "log")
    if sum(1 for _ in store.glob("*.warc")) != papers.count:
        raise SystemExit("wget did not get all papers")
    return run


WAYS: dict[str, Callable[[Papers, Path, Path], Run]] = {
    LAFKA: by_lafka,
    BARE: by_bare_scrapy,
    ONE: by_one_item_at_once,
    FILES: by_files_pipeline,
    WGET: by_wget,
}


def _expect(text: str, log: Path) -> None:
    if text not in log.read_text():
        raise SystemExit(f"not found in the log: {text}\n{log.read_text()[-3000:]}")
