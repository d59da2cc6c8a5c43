"""A crawl, whole processes: Lafka, plain Scrapy that stores nothing, FilesPipeline, wget."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks import runs, sites
from benchmarks.runs import Run
from benchmarks.sites import Papers
from benchmarks.tables import markdown

ROUNDS = 3
HEAD = ("", "CPU s", "CPU / bare Scrapy", "wall s", "papers a second")
LIMIT = 1.6


def table(*, quick: bool = False) -> str:
    kinds = [Papers(count=300, size=200_000), Papers(count=150, size=1_000_000)]
    if quick:
        kinds = [Papers(count=kind.count // 5, size=kind.size) for kind in kinds]
    with TemporaryDirectory(prefix="lafka-benchmark-") as folder:
        measured = {
            kind: _measure(kind, Path(folder) / str(kind.size), 1 if quick else ROUNDS)
            for kind in kinds
        }
    ratios = {
        kind: found["Lafka"].cpu / found["bare Scrapy"].cpu for kind, found in measured.items()
    }
    rows = [
        [f"**{kind.label}**", "", "", "", ""] if name is None else _row(name, kind, found)
        for kind, found in measured.items()
        for name in (None, *found)
    ]
    short = [kind.label for kind, ratio in ratios.items() if ratio > LIMIT]
    verdict = f"falls short for {' and '.join(short)}" if short else "holds"
    return markdown(
        HEAD,
        rows,
        "Each paper behind a 60 kB splap with `citation_pdf_url`, nginx on loopback without delays,"
        f" {runs.CONCURRENCY} requests at once; median of {ROUNDS} interleaved rounds; CPU is user"
        " and system of the whole process, start-up included. Only Lafka syncs what it writes.",
        f"At most {LIMIT} times the CPU of bare Scrapy: {verdict}.",
    )


def _row(name: str, kind: Papers, found: dict[str, Run]) -> list[str]:
    run, bare = found[name], found["bare Scrapy"]
    ratio = f"{run.cpu / bare.cpu:.2f}"
    return [name, f"{run.cpu:.2f}", ratio, f"{run.wall:.2f}", f"{kind.count / run.wall:.0f}"]


def _measure(papers: Papers, folder: Path, rounds: int) -> dict[str, Run]:
    """The median run of each way."""
    papers.make(folder / "site")
    with sites.serving(folder / "site") as port:
        path = papers.list(folder / "list.tsv", port)
        by_lafka(papers, path, folder)  # compiles the modules
        found: dict[str, list[Run]] = {way.__name__: [] for way in WAYS.values()}
        for _ in range(rounds):
            for way in WAYS.values():
                found[way.__name__].append(way(papers, path, folder))
    return {name: _median(found[way.__name__]) for name, way in WAYS.items()}


def _median(found: list[Run]) -> Run:
    return Run(
        cpu=median(run.cpu for run in found),
        wall=median(run.wall for run in found),
        peak=max(run.peak for run in found),
    )


def by_lafka(papers: Papers, path: Path, folder: Path) -> Run:
    archive = folder / "archive"
    shutil.rmtree(archive, ignore_errors=True)
    log = folder / "log"
    run = runs.run(runs.lafka(path, archive), cwd=runs.ROOT, log=log)
    _expect(f"'lafka/futs/new': {papers.count}", log)
    return run


def by_bare_scrapy(papers: Papers, path: Path, folder: Path) -> Run:
    log = folder / "log"
    run = runs.run(runs.peer("bare_spider.py", path), cwd=folder, log=log)
    _expect(f"'item_scraped_count': {papers.count}", log)
    return run


def by_files_pipeline(papers: Papers, path: Path, folder: Path) -> Run:
    store = folder / "files"
    shutil.rmtree(store, ignore_errors=True)
    log = folder / "log"
    run = runs.run(runs.peer("files_spider.py", path, FILES_STORE=store), cwd=folder, log=log)
    _expect(f"'file_count': {papers.count}", log)
    return run


def by_wget(papers: Papers, path: Path, folder: Path) -> Run:
    store = folder / "wget"
    shutil.rmtree(store, ignore_errors=True)
    script = Path(__file__).with_name("wget_way.py")
    run = runs.run([sys.executable, script, path, store], cwd=folder, log=folder / "log")
    if sum(1 for _ in store.glob("*.warc")) != papers.count:
        raise SystemExit("wget did not get all papers")
    return run


WAYS: dict[str, Callable[[Papers, Path, Path], Run]] = {
    "Lafka": by_lafka,
    "bare Scrapy": by_bare_scrapy,
    "FilesPipeline": by_files_pipeline,
    "one wget a URL": by_wget,
}


def _expect(text: str, log: Path) -> None:
    if text not in log.read_text():
        raise SystemExit(f"not found in the log: {text}\n{log.read_text()[-3000:]}")
