"""Several machines: archives merged, lists planned, put on Kafka and taken over, a crawl's metrics.

What is compared is CPU, so that a busy machine changes little; Kafka is the tests' own, beside it.
"""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue
from statistics import median
from tempfile import TemporaryDirectory
from threading import Thread
from types import SimpleNamespace

from prometheus_client import CollectorRegistry, generate_latest

from benchmarks import runs
from benchmarks.tables import markdown
from lafka.jobs.kafka.producing import Producer
from lafka.jobs.kafka.topics import Topic, create
from lafka.papers import Archive, Suwaf
from lafka.papers.archive.merging import merge_papers
from lafka.papers.crawling.fleetinput import FleetInput
from lafka.papers.crawling.fleets import Fleet, put
from lafka.papers.lists.fleets import key_of
from lafka.papers.lists.forecasts import DAY, PERCENTS, CrawlSpeed, Forecast
from lafka.papers.lists.futlis import Line, shard_of
from lafka.papers.lists.rows import ListRow, verdict
from lafka.pids import SCHEMES
from lafka.politeness.hosts import SLOT_KEY
from lafka.runs.metrics import CrawlCollector
from tests.services import kafkas
from tests.sites.server import Server, reply
from tests.stores import Store, pdf

SCHEME = SCHEMES["RePEc"]
COMPACT = {"cleanup.policy": "compact"}


def table(*, quick: bool = False) -> str:
    part = 10 if quick else 1
    with TemporaryDirectory(prefix="lafka-benchmark-") as name:
        folder = Path(name)
        rows = [*_merged(folder, 300 // part, 1_000_000, 5), *_small(folder, 2000 // part)]
        rows += _planned(folder, 10_000_000 // part)
        rows += _foretold(folder, 40 // part)
        rows += _shared(folder, 4800 // part, 3)
    broker = kafkas.started()
    try:
        rows += _fleets(broker.servers, 200_000 // part, 20_000 // part)
    finally:
        broker.end()
    rows += _metrics(300)
    return markdown(
        ("several machines", "measured", "goal"), rows,
        "CPU is user and system. The merge makes the paper's folders, summaries and syncs, too.",
    )  # fmt: skip


def _cpu(work: Callable[[], object]) -> float:
    begun = os.times()
    work()
    ended = os.times()
    return ended.user + ended.system - begun.user - begun.system


def _archive(root: Path, papers: int, size: int) -> Archive:
    store = Store(root)
    for number in range(papers):
        store.put(store.fut(pdf(number, size), pid=f"RePEc:abc:s{number % 10}:{number}"))
    store.raw.close()
    return Archive(root)


def _merge(source: Archive, target: Path) -> None:
    for paper in merge_papers(source, Archive.create(target, "RePEc"), source.warcs()):
        assert not paper.problem


def _copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target)
    for path in target.rglob("*.warc"):
        with path.open("rb") as file:
            hashlib.file_digest(file, "sha256")


def _merged(folder: Path, papers: int, size: int, pairs: int) -> Iterator[list[str]]:
    source = _archive(folder / "large", papers, size)
    ratios = []
    for number in range(pairs):
        one, other = folder / f"copy{number}", folder / f"merged{number}"
        peer = _cpu(lambda one=one: _copy(source.root, one))  # type: ignore[misc]
        ours = _cpu(lambda other=other: _merge(source, other))  # type: ignore[misc]
        ratios.append(peer / ours)
        shutil.rmtree(one)
        shutil.rmtree(other)
    yield [f"{papers} papers of 1 MB merged, to copying and SHA-256 of the same files, CPU",
           f"{median(ratios):.2f}", "0.6"]  # fmt: skip


def _small(folder: Path, papers: int) -> Iterator[list[str]]:
    source = _archive(folder / "small", papers, 20_000)
    target = folder / "merged"
    rate = papers / _cpu(lambda: _merge(source, target))
    yield ["papers of 20 kB merged a CPU second", f"{rate:,.0f}", "300"]
    archives = source, Archive(target)

    def read() -> None:
        for archive in archives:
            for warc in archive.warcs():
                pid = archive.pid_at(warc)
                Suwaf.load(archive.suwaf_path(pid), pid)

    ratios = [_cpu(read) / _cpu(lambda: _merge(source, target)) for _ in range(5)]
    yield ["the same merged again, to reading the suwafs of both, CPU", f"{median(ratios):.2f}",
           "1"]  # fmt: skip


def _planned(folder: Path, lines: int) -> Iterator[list[str]]:
    path = folder / "list.tsv"
    with path.open("w") as file:
        for number in range(lines):
            host = number % 200_000
            file.write(f"RePEc:abc:wpaper:{number}\thttps://h{host}.example/{number}.pdf\n")
    run = runs.run(
        [*runs._scrapy("plan", str(path), {})], cwd=runs.ROOT, log=folder / "plan.log"
    )  # fmt: skip
    yield [f"a plan of {lines:,} lines at 200,000 hosts, CPU s", f"{run.cpu:.0f}", "180"]
    yield ["its memory, MB", f"{run.peak / 1e6:.0f}", "200"]


def _foretold(folder: Path, largest: int) -> Iterator[list[str]]:
    """A crawl of hosts of very different size, held to its forecast."""
    delay = 2.0  # so that the machine has time enough
    sizes = {f"127.0.2.{rank}": max(1, largest // rank) for rank in range(1, 9)}
    path = folder / "skewed.tsv"
    with Server(tuple(sizes)) as site:
        _put_papers(site, path, sizes)
        polite = {"DOWNLOAD_DELAY": delay, "DOWNLOAD_DELAY_JITTER": 0}
        alone = {"CONCURRENT_REQUESTS_PER_DOMAIN": 1, "CONCURRENT_REQUESTS": 100}
        line = runs.lafka(path, folder / "skewed", **polite, **alone)
        runs.run(line, cwd=runs.ROOT, log=folder / "skewed.log")
        times = sorted(seen.time - site.seen[0].time for seen in site.seen)
    forecast = Forecast(sizes.values(), CrawlSpeed(rate=1 / delay, requests=1))
    parts = []
    for percent, days in zip(PERCENTS, forecast.days(1), strict=True):
        took = times[math.ceil(len(times) * percent / 100) - 1]
        parts.append(f"{percent} %: {took:.1f} of {days * DAY:.1f}")
    yield [f"a crawl of {len(times)} papers at 8 hosts, s of those foretold, to",
           ", ".join(parts), "within 15 %"]  # fmt: skip


def _shared(folder: Path, papers: int, pairs: int) -> Iterator[list[str]]:
    """One worker beside two with half of the hosts each; a core each is supposed."""
    names = [f"127.0.3.{number}" for number in range(1, 101)]
    halves = [[n for n in names if shard_of(f"http://{n}/", "", 2) == k][:20] for k in (0, 1)]
    sizes = dict.fromkeys([*halves[0], *halves[1]], papers // 40)
    path = folder / "shared.tsv"
    ratios = []
    with Server(tuple(sizes)) as site:
        _put_papers(site, path, sizes)

        def crawl(name: str, *arguments: str) -> float:
            line = [*runs.lafka(path, folder / name), *arguments]
            return runs.run(line, cwd=runs.ROOT, log=folder / f"{name}.log").cpu

        for number in range(pairs):
            one = crawl(f"whole{number}")
            ratios.append(
                one / max(crawl(f"{k}of2-{number}", "-a", f"shard={k}/2") for k in (0, 1))
            )
    yield [f"{papers:,} papers by one worker, to the longer of two with half the hosts each, CPU",
           f"{median(ratios):.2f}", "1.8"]  # fmt: skip


def _put_papers(site: Server, path: Path, sizes: Mapping[str, int]) -> None:
    with path.open("w") as file:
        for host, size in sizes.items():
            for number in range(size):
                site.routes[f"/{host}-{number}.pdf"] = reply(pdf(number), "application/pdf")
                url = f"{site.at(host)}/{host}-{number}.pdf"
                file.write(f"RePEc:ben:w:{host}-{number}\t{url}\n")


def _lines(count: int) -> Iterable[Line]:
    for number in range(count):
        row = ListRow(f"RePEc:abc:wpaper:{number}", f"https://h{number % 997}.example/{number}.pdf")
        yield verdict(number, row, SCHEME)


def _fleet(servers: str, partitions: int) -> Fleet:
    name = f"f{uuid.uuid4().hex}"
    fleet = Fleet(servers=servers, name=name, partitions=partitions, properties={})
    topics = [Topic(name=topic, partitions=partitions, config=COMPACT)
              for topic in (fleet.lines, fleet.outcomes)]  # fmt: skip
    create(servers, topics, {}, replication=1)
    return fleet


def _fleets(servers: str, lines: int, taken: int) -> Iterator[list[str]]:
    fleet = _fleet(servers, 64)
    begun = time.perf_counter()
    cpu = _cpu(lambda: put(fleet, _lines(lines), SCHEME))
    wall = time.perf_counter() - begun
    yield ["lines put a second; a CPU second", f"{lines / wall:,.0f}; {lines / cpu:,.0f}", "30,000"]
    fleet = _fleet(servers, 1)
    put(fleet, _lines(taken), SCHEME)
    with closing(Producer(servers)) as producer:
        value = b'{"outcome": "fut", "time": "2026-11-24T10:11:12Z", "worker": "w"}'
        for line in _lines(taken):
            producer.put(fleet.outcomes, 0, key_of(line), value, lambda *_: None)
    given = FleetInput(fleet, SCHEME, "w", dead=Path("dead.jsonl"), failed=print, patience=60.0)
    seen: SimpleQueue[Line] = SimpleQueue()
    Thread(target=lambda: [seen.put(line) for line in given.lines()], daemon=True).start()
    while not given.partitions:
        time.sleep(0.001)
    begun, share = time.perf_counter(), given._shares[0]
    cpu = _cpu(lambda: _until(lambda: share.settled))
    wall = time.perf_counter() - begun
    given.close()
    assert seen.empty()
    yield [f"a partition of {taken:,} lines and outcomes taken over, s; CPU s",
           f"{wall:.2f}; {cpu:.2f}", "2"]  # fmt: skip


def _metrics(scrapes: int) -> Iterator[list[str]]:
    """What it costs to be asked each 15 seconds, with 500 requests on their way."""
    active = [SimpleNamespace(meta={SLOT_KEY: f"host{number}"}) for number in range(500)]
    crawler = SimpleNamespace(
        stats=SimpleNamespace(get_stats=lambda: {f"lafka/trails/{n}": 9 for n in "abcdefghij"}),
        spider=SimpleNamespace(feeder=SimpleNamespace(waiting_hosts=1, waiting_lines=4)),
        settings={}, engine=SimpleNamespace(downloader=SimpleNamespace(active=active)),
        get_downloader_middleware=lambda _: None,
    )  # fmt: skip
    run = SimpleNamespace(gate=SimpleNamespace(held=5, waited=0.5), root=Path("/"), name="a-run")
    registry = CollectorRegistry()
    registry.register(CrawlCollector(crawler, run))  # type: ignore[arg-type]
    cpu = _cpu(lambda: [generate_latest(registry) for _ in range(scrapes)]) / scrapes
    yield ["metrics asked for each 15 s, per cent of a core", f"{100 * cpu / 15:.3f}", "1"]


def _until(so: Callable[[], bool]) -> None:
    while not so():
        time.sleep(0.005)
