"""The web pages: PDFs by Range against nginx, slow clients, searches, pages, captures near a time.

The papers are those of ``benchmarks.papers_made``, with eight captures each in the index of
captures; beside them some that are really there, with a PDF of 1 MB. One worker; the clients are
in another process on the same cores.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, timedelta
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from urllib.parse import quote

from benchmarks import captures, papers_made, runs, sites
from benchmarks.gateway import cpu_of
from benchmarks.tables import markdown
from lafka.capture.rawlog import RawLog
from lafka.index.tables import IndexFiles
from lafka.papers import Archive
from lafka.warc.format.dates import WarcDate
from lafka.warc.indexes.base import Entry
from lafka.warc.indexes.sqlite import SqliteBuilder
from lafka.warc.indexes.surts import surt

PAPERS, CAPTURES = 1_000_000, 8
PDFS, SIZE = 40, 1_000_000
CLIENTS, SLOW, ROUNDS = 20, 200, 5
NGINX, OURS = "nginx, the same bytes as files", "Lafka, straight from the WARCs"
HALF = 0.5
FLAT = 50e6
"""Bytes of memory that slow clients of a fifth of a GB may take."""
SEARCHES = ("pid", "DOI that is not there", "URL", "host", "rare word", "frequent word",
            "three frequent words", "six words of a title", "two letters",
            "frequent word and year", "archive and year")  # fmt: skip
P99 = {"the first page": 100.0, **{f"search by {what}": 100.0 for what in SEARCHES},
       "a paper's page": 50.0, "nearest capture of a URL": 10.0}  # fmt: skip
"""Milliseconds, with 20 clients."""


def table(*, quick: bool, papers: int = PAPERS, keep: Path | None = None) -> str:
    count = papers // 10 if quick else papers
    asks = 200 if quick else 400
    with TemporaryDirectory(prefix="lafka-benchmark-") as name, ExitStack() as stack:
        root = stack.enter_context(papers_made.kept(count, keep))
        files = Path(name) / "files"
        pids = _really_there(root, files)
        log = Path(name) / "log"
        runs.run([sys.executable, "-m", "scrapy", "index", "-s", f"LAFKA_ARCHIVE={root}"],
                 cwd=runs.ROOT, log=log)  # fmt: skip
        _captures(root, count)
        port = stack.enter_context(sites.serving(files))
        nginx = _listening(port)
        pages, others, ours = stack.enter_context(_serving(root))
        targets = [f"/futs/{quote(pid, safe='')}" for pid in pids]
        rates = _pdfs({NGINX: (port, nginx, [f"/{n}.pdf" for n in range(PDFS)]),
                       OURS: (others, ours, targets)}, asks // 5)  # fmt: skip
        waits = {what: _waits(at, paths, ours)
                 for what, at, paths in _questions(count, asks, pids, pages, others)}  # fmt: skip
        slow = _slow(others, ours, targets)
    return _told(count, rates, waits, slow)


def _told(
    count: int,
    rates: dict[str, tuple[float, float]],
    waits: dict[str, tuple[float, ...]],
    slow: float,
) -> str:
    by_range = markdown(
        ("PDFs of 1 MB by Range", "MB a second", "/ nginx", "CPU of the server, ms each"),
        [[name, f"{rate:.0f}", f"{rate / rates[NGINX][0]:.2f}", f"{cost:.1f}"]
         for name, (rate, cost) in rates.items()],
        f"{PDFS} PDFs, {CLIENTS} connections that are kept, one worker each; median of {ROUNDS}"
        f" interleaved rounds, clients on the same cores. At {HALF} or more of nginx:"
        f" {_holds(rates[OURS][0] >= HALF * rates[NGINX][0])}.",
        f"{SLOW} clients that take nothing after the first bytes: the server's memory grows by"
        f" {slow / 1e6:.0f} MB, of {SLOW * SIZE / 1e6:.0f} MB that they asked for:"
        f" {_holds(slow <= FLAT)}.",
    )  # fmt: skip
    judged = count >= PAPERS
    asked = markdown(
        ("p99, ms", "one client", f"{CLIENTS} at once", "asked again", "goal",
         "CPU of the server, ms each", "asked again"),
        [[what, f"{alone:.1f}", f"{together:.1f}", f"{again:.1f}",
          f"{P99[what]:.0f}" + (f": {_holds(together <= P99[what])}" if judged else ""),
          f"{cost:.1f}", f"{cost_again:.1f}"]
         for what, (alone, together, cost, again, cost_again) in waits.items()],
        f"{count:,} papers, {count * CAPTURES:,} captures; each is asked once by one client or by"
        f" one of {CLIENTS}, then the latter again."
        + ("" if judged else " The goals are for a million papers; these are fewer."),
    )  # fmt: skip
    return f"{by_range}\n\n{asked}"


def _holds(truth: bool) -> str:
    return "holds" if truth else "falls short"


# What is served ----------------------------------------------------------------------------


def _really_there(root: Path, files: Path) -> list[str]:
    """Papers that have their WARC, in the archive at *root*; their PDFs as files too."""
    captures.let_syncs_pass()
    files.mkdir()
    archive, pids = Archive(root), []
    raw = RawLog(root / "raw", "20261120T101112000000Z-web-1", config={}, keep=False)
    for number in range(PDFS):
        trail = captures.recorded(archive, raw, number, SIZE)
        pids.append(str(trail.futli.pid))
        if not archive.suwaf_path(trail.futli.pid).exists():
            captures.store(archive, raw, trail)
        (files / f"{number}.pdf").write_bytes(archive.fut(trail.futli.pid).read())
    return pids


def _captures(root: Path, count: int) -> None:
    """An index of captures that nobody made: of each first futli, a month apart."""
    place, archive = IndexFiles.of(root), Archive(root)
    if place.captures.exists():
        return
    with SqliteBuilder(place.captures, fresh=True) as builder:
        for paper in papers_made.papers(count):
            url = next(iter(paper.futlis))
            volume = f"../warc/{archive.pid(paper.pid).path}.warc"
            for number in range(CAPTURES):
                date = papers_made.START.astimezone(UTC) + timedelta(days=30 * number)
                builder.add_entry(Entry(
                    key=surt(url), url=url, date=WarcDate.parse(papers_made.text(date)),
                    type="response", mime="application/pdf", status=200, volume=volume,
                    offset=2000 + number * 200_000, length=200_000,
                ))  # fmt: skip


@contextmanager
def _serving(root: Path) -> Iterator[tuple[int, int, int]]:
    """``scrapy serve``: the ports of pages and of bytes, and its process."""
    server = subprocess.Popen(
        [sys.executable, "-m", "scrapy", "serve", "--no-index", "--port", "0", "--replay-port",
         "0", "-s", f"LAFKA_ARCHIVE={root}", "-s", "LAFKA_WEB_CONNECTIONS=300"],
        cwd=runs.ROOT, env={**runs.environment(), "PYTHONPATH": str(runs.ROOT)},
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        pages, others = (int(server.stdout.readline().rpartition(":")[2]) for _ in range(2))
        yield pages, others, server.pid
    finally:
        server.terminate()
        server.wait(60)


def _listening(port: int) -> int:
    """The process of nginx that answers at *port*: the child of ours."""
    ours = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    for child in ours:
        if b"nginx" in Path(f"/proc/{child}/cmdline").read_bytes():
            workers = Path(f"/proc/{child}/task/{child}/children").read_text().split()
            return int(workers[0] if workers else child)
    raise SystemExit(f"no nginx at port {port}")


# What is asked -----------------------------------------------------------------------------


def _questions(
    count: int, asks: int, pids: list[str], pages: int, others: int
) -> Iterator[tuple[str, int, list[str]]]:
    """Each question with its port and its paths: papers from all over the archive."""
    step = max(1, count // asks)
    chosen = [(n, one) for n, one in enumerate(papers_made.papers(count)) if n % step == 0]
    urls = [next(iter(paper.futlis)) for _, paper in chosen]
    yield "the first page", pages, ["/"] * asks
    for what, questions in _searches(chosen, urls).items():
        paths = [f"/search?q={quote(one, safe='&=')}" for one in dict.fromkeys(questions)]
        yield f"search by {what}", pages, paths[:asks]
    yield "a paper's page", pages, [f"/papers/{quote(pid, safe='')}" for pid in pids] * 10
    yield "nearest capture of a URL", others, [f"/web/{url}" for url in urls]


def _searches(
    chosen: Sequence[tuple[int, papers_made.MadePaper]], urls: Sequence[str]
) -> dict[str, list[str]]:
    """What is searched for, with filters behind it."""
    frequent, random = papers_made.FREQUENT[::2], Random(42)
    titles = [papers_made.title_of(number).split() for number, _ in chosen]
    years, letters = range(1990, 2026), "abcdefghijklmnoprstuvwxyz"
    archives = dict.fromkeys(paper.pid.split(":")[1] for _, paper in chosen)
    every = (
        [paper.pid for _, paper in chosen],
        [f"10.1000/{number}" for number, _ in chosen],
        urls,
        [url.split("/")[2] for url in urls],
        [word for words in titles for word in words if word not in frequent],
        frequent,
        [" ".join(random.sample(frequent[:30], 3)) for _ in chosen],
        [" ".join(words[:6]) for words in titles],
        [first + second for first in letters for second in "aeiorst"],
        [f"{word}&year={year}" for word in frequent[:20] for year in years],
        [f"&archive={archive}&year={year}" for archive in archives for year in years],
    )
    return {what: [*texts] for what, texts in zip(SEARCHES, every, strict=True)}


async def _client(port: int, paths: list[str], more: str, took: list[float]) -> None:
    """Ask for *paths*, one after the other, on one connection; the seconds of each into *took*."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 21)
    for path in paths:
        begun = time.perf_counter()
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{more}\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        if head[9:10] not in (b"2", b"3"):
            raise SystemExit(f"{path}: {head[:80]!r}")
        size = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(size)
        took.append(time.perf_counter() - begun)
    writer.close()
    await writer.wait_closed()


def _ask(port: int, paths: list[str], clients: int, more: str = "") -> list[float]:
    """Seconds of each answer; *paths* are shared out among *clients*."""
    took: list[float] = []

    async def all_of_them() -> None:
        await asyncio.gather(
            *(_client(port, paths[n::clients], more, took) for n in range(clients))
        )

    asyncio.run(all_of_them())
    return took


def _waits(port: int, paths: list[str], process: int) -> tuple[float, ...]:
    """As :func:`_p99`: of one client, of many that ask for others, and of these once more."""
    alone, together = paths[::2], paths[1::2]
    return (
        _p99(port, alone, 1, process)[0], *_p99(port, together, CLIENTS, process),
        *_p99(port, together, CLIENTS, process),
    )  # fmt: skip


def _p99(port: int, paths: list[str], clients: int, process: int) -> tuple[float, float]:
    """Milliseconds: the slowest but one in a hundred; CPU of the server for each."""
    before = cpu_of(process)
    took = sorted(_ask(port, paths, clients))
    return took[len(took) * 99 // 100 - 1] * 1e3, (cpu_of(process) - before) / len(took) * 1e3


def _pdfs(ways: dict[str, tuple[int, int, list[str]]], asks: int) -> dict[str, tuple[float, float]]:
    """MB a second and milliseconds of the server's CPU for each, by server."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for round_ in range(ROUNDS + 1):
        for name, (port, process, paths) in ways.items():
            before, begun = cpu_of(process), time.perf_counter()
            wanted = (paths * (asks // len(paths) + 1))[:asks]
            _ask(port, wanted, CLIENTS, f"Range: bytes=0-{SIZE - 1}\r\n")
            wall, cpu = time.perf_counter() - begun, cpu_of(process) - before
            if round_:  # the first is for the caches
                found[name].append((asks * SIZE / 1e6 / wall, cpu / asks * 1e3))
    return {
        name: (median(rate for rate, _ in one), median(cost for _, cost in one))
        for name, one in found.items()
    }


def _slow(port: int, process: int, paths: list[str]) -> float:
    """Bytes by which the memory of *process* grows while 200 clients take next to nothing."""
    before = _memory(process)
    with ExitStack() as stack:
        for number in range(SLOW):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(60)
            client.connect(("127.0.0.1", port))
            client.sendall(
                f"GET {paths[number % len(paths)]} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
            )
            if client.recv(12) != b"HTTP/1.1 200":
                raise SystemExit("a slow client was not served")
        return _memory(process) - before


def _memory(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return float(next(line for line in lines if line.startswith("VmRSS")).split()[1]) * 1024
