"""The gateway of an obi store, against Starlette's own file response on the same files.

Mementos of 20 kB and TimeMaps of 10 versions, asked by clients that keep their connections; both
servers are uvicorn with the same settings, in processes of their own.
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from urllib.parse import quote

from benchmarks.tables import markdown
from lafka.archec.gather.gathering import Gathering, NewObi
from lafka.archec.records import Kind
from lafka.archec.records.opening import open_records
from lafka.archec.store import pages
from lafka.archec.store.folders import ObiStore

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 5
CLIENTS = 8
SIZE = 20_000
URLS = 300
VERSIONS = 10
START = 1352481230
GOAL = 0.5
TIMEMAPS_GOAL = 500
HEAD = {"kind": "fobi", "source": "benchmark", "at": False, "run": "benchmark", "software": "x"}
PEER_APP = """
import sys
from pathlib import Path
from socket import create_server
import uvicorn
from starlette.applications import Starlette
from starlette.responses import FileResponse
from starlette.routing import Route
from lafka.web.connections import config
folder = Path(sys.argv[1])
async def file(request):
    return FileResponse(folder / request.path_params["name"], media_type="application/pdf")
listening = create_server(("127.0.0.1", 0))
print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
app = Starlette(routes=[Route("/{name}", file)])
uvicorn.Server(config(app)).run(sockets=[listening])
"""


@dataclass
class Way:
    """A server at *port*, its process, and what it is asked for."""

    port: int
    process: int
    targets: list[str]


Timed = tuple[float, float]
"""Answers a second; milliseconds of the server's CPU an answer."""


def table(*, quick: bool = False) -> str:
    seconds = 0.3 if quick else 1.5
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as ways:
        timed: dict[str, list[Timed]] = {name: [] for name in ways}
        for round_ in range(ROUNDS + 1):
            for name, way in ways.items():
                found = _asked(way, seconds)
                if round_:  # the first is for the caches
                    timed[name].append(found)
    rates = {name: median(rate for rate, _ in found) for name, found in timed.items()}
    costs = {name: median(cost for _, cost in found) for name, found in timed.items()}
    files, ours, links, json = ways
    rows = [
        [name, f"{rates[name]:.0f}", f"{rates[name] / rates[files]:.2f}", f"{costs[name]:.2f}"]
        for name in ways
    ]
    return markdown(
        ("gateway", "a second", "/ file response", "CPU of the server, ms each"),
        rows,
        f"{URLS} files of {SIZE // 1000} kB, {VERSIONS} versions of {URLS // VERSIONS} URLs,"
        f" {CLIENTS} connections that are kept, one worker each; median of {ROUNDS} interleaved"
        f" rounds of {seconds} s, clients on the same cores.",
        f"Mementos at {GOAL} or more of the file response:"
        f" {_holds(truth=rates[ours] >= GOAL * rates[files])}."
        f" {TIMEMAPS_GOAL} TimeMaps a second:"
        f" {_holds(truth=min(rates[links], rates[json]) >= TIMEMAPS_GOAL)}.",
    )


def _holds(*, truth: bool) -> str:
    return "holds" if truth else "falls short"


@contextmanager
def serving(folder: Path) -> Iterator[dict[str, Way]]:
    urls, times = [f"http://x.example/{n}.pdf" for n in range(URLS // VERSIONS)], range(VERSIONS)
    store = _filled(folder / "archive", urls)
    plain = folder / "plain"
    plain.mkdir()
    names = []
    for place, (url, time_) in enumerate((url, START + at) for url in urls for at in times):
        (plain / f"{place}.pdf").write_bytes(store.read(time_, url))
        names.append(f"/{place}.pdf")
    mementos = [f"/obi/{START + at}/{quote(url, safe='')}" for url in urls for at in times]
    maps = {form: [f"/timemap/{form}/{quote(url, safe='')}" for url in urls]
            for form in ("link", "json")}  # fmt: skip
    ours = ["-m", "lafka", "archec", "serve", "--port", "0", "-s",
            f"LAFKA_OBJECT_STORE={store.root}"]  # fmt: skip
    with _process(["-c", PEER_APP, str(plain)]) as peer, _process(ours) as mine:
        yield {
            "Starlette's `FileResponse`": Way(*peer, names),
            "mementos": Way(*mine, mementos),
            "TimeMaps, link-format": Way(*mine, maps["link"]),
            "TimeMaps, JSON": Way(*mine, maps["json"]),
        }


def _filled(root: Path, urls: list[str]) -> ObiStore:
    store, bytes_of = ObiStore.create(root), random.Random(1).randbytes
    records = open_records(store)
    for tist in range(START, START + VERSIONS):
        gathering = Gathering.begin(store, records, Kind.FOBI, HEAD, not_before=tist, exactly=True)
        for url in urls:
            data = b"%PDF-1.4\n" + bytes_of(SIZE - 9)
            event = "appearance" if tist == START else "change"
            line = {"e": event, "id": url, "found": START, "way": [url], "status": 200}
            sums = pages.of_file(data, is_page=False)
            gathering.put(NewObi(data=data, mtime=tist, checksums=sums, line=line))
        gathering.end(seconds=0.0)
    records.close()
    return store


@contextmanager
def _process(args: list[str]) -> Iterator[tuple[int, int]]:
    """The port and the number of a server that prints its address first."""
    process = subprocess.Popen(
        [sys.executable, *args], cwd=ROOT, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline().rpartition(":")[2]), process.pid
    finally:
        process.terminate()
        process.wait(30)


def _asked(way: Way, seconds: float) -> Timed:
    before, begun = cpu_of(way.process), time.perf_counter()
    answers = asyncio.run(_clients(way, begun + seconds))
    took = time.perf_counter() - begun
    return answers / took, 1000 * (cpu_of(way.process) - before) / answers


async def _clients(way: Way, until: float) -> int:
    counts = await asyncio.gather(*(_client(way, until, n) for n in range(CLIENTS)))
    return sum(counts)


async def _client(way: Way, until: float, seed: int) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", way.port, limit=1 << 20)
    choose, count = random.Random(seed).choice, 0
    while time.perf_counter() < until:
        target = choose(way.targets)
        writer.write(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{way.port}\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        assert head.startswith(b"http/1.1 200 "), head
        size = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(size)
        count += 1
    writer.close()
    await writer.wait_closed()
    return count


def cpu_of(process: int) -> float:
    """Seconds of CPU that the process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
