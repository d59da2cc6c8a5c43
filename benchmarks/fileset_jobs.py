"""Requests from Kafka that exist already, and results on their way into a database."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

from benchmarks import fileset_site, runs
from benchmarks.fileset_rows import Bench, cpu_now, crawl, holds, kill, peak_now, results, seconds
from benchmarks.runs import Run
from benchmarks.tables import markdown
from lafka.filesets.archive.filesets import Filesets
from lafka.filesets.archive.index import HitIndex
from lafka.filesets.model.rows import rows_of
from lafka.filesets.results import group, topics
from lafka.jobs.database import TABLES
from lafka.jobs.kafka.producing import Producer
from lafka.jobs.kafka.topics import Topic, create
from tests.services import kafkas, postgresqls

RATE, POSTGRES_RATE, SQLITE_RATE = 200, 3_000, 5_000
KILLS = 5
RECORDS = 20
_PREFIX = "sandcrawler"


# ---- Existing requests


def existing(bench: Bench) -> str:
    """10,000 requests from Kafka that exist already; and again with five kills."""
    count = bench.count(10_000)
    archive = bench.folder / "archive"
    with fileset_site.serving(bench.folder) as site:
        for number in range(1, RECORDS + 1):
            site.zenodo(number, [1000] * 10)
        crawl(bench.folder, [f"https://zenodo.org/records/{n}" for n in range(1, RECORDS + 1)],
              site.trust)  # fmt: skip
    urls = _noted(archive, count)
    broker = kafkas.started()
    try:
        calm = _Work(bench.folder, broker.servers, "calm", urls)
        worked = calm.run()
        killed = _Work(bench.folder, broker.servers, "killed", urls)
        for turn in range(1, KILLS + 1):
            killed.killed_at(count * turn // (KILLS + 1))
        killed.finished()
        lost = len(set(urls) - killed.told()) + len(set(urls) - calm.told())
    finally:
        broker.end()
    held, rate = worked.held, worked.rate
    early, late = max(held[: len(held) // 3 or 1]), max(held[-len(held) // 3 :])
    flat = late <= early + 20_000_000
    return markdown(
        (f"{count:,} requests that exist", "a second", "CPU ms each", "MB in the first third",
         "MB in the last", "lost"),
        [["one worker", f"{rate:.0f}", f"{worked.cpu * 1e3:.1f}", f"{early / 1e6:.0f}",
          f"{late / 1e6:.0f}", str(lost)]],
        f"Of the {worked.counted:,} results behind the first that were seen at the broker; real"
        " Kafka and worker on one machine, results published and acknowledged."
        f" {RATE} a second: {holds(rate >= RATE)}; memory flat: {holds(flat)}; none lost, also"
        f" with kill -9 {KILLS} times in another run: {holds(not lost)}. One round.",
    )  # fmt: skip


def _noted(archive: Path, count: int) -> list[str]:
    """*count* requests of which the archive's index says that they had a hit; their URLs."""
    known = results(archive)
    with closing(HitIndex(Filesets(archive))) as index:
        for number in range(count):
            result = known[number % len(known)]
            request = {**result["request"], "base_url": f"https://doi.org/10.5281/x.{number}"}
            version = result["lafka"]["version"]
            index.note({**result, "request": request}, result["lafka"]["fileset"], version, "")
        urls = [f"https://doi.org/10.5281/x.{number}" for number in range(count)]
        index.tell([("dataset", url) for url in urls])
    return urls


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """What a worker held by and by, in bytes; results a second and seconds of CPU for each.

    ``counted``: of how many results these are.
    """

    held: list[int]
    rate: float
    cpu: float
    counted: int


class _Work:
    """A topic of *urls*, and the workers that one after the other work it off."""

    def __init__(self, folder: Path, servers: str, env: str, urls: list[str]) -> None:
        self._folder, self._servers, self._env, self._count = folder, servers, env, len(urls)
        wanted = topics(_PREFIX, env)
        create(servers, wanted, {}, replication=1)
        self._requests, self._results = wanted[0], wanted[3]
        with Producer(servers) as producer:
            for url in urls:
                value = json.dumps({"ingest_type": "dataset", "base_url": url}).encode()
                producer.send(self._requests.name, "", value)

    @contextmanager
    def _worker(self) -> Iterator[subprocess.Popen[bytes]]:
        source = f"kafka://{self._servers}/{self._requests.name}"
        archive = self._folder / "archive"
        properties = self._folder / "properties"
        properties.write_text(
            "group.instance.id=benchmark\n"
        )  # a killed one's place is free at once
        command = runs.lafka(source, archive, "fileset", LAFKA_KAFKA_ENV=self._env,
                             LAFKA_KAFKA=properties)  # fmt: skip
        with (self._folder / f"worker-{time.monotonic_ns()}.log").open("wb") as log:
            process = subprocess.Popen(
                command, cwd=runs.ROOT, env=runs.environment(), stdout=log, stderr=log
            )
            try:
                yield process
            finally:
                kill(process)

    def killed_at(self, count: int) -> None:
        """Work until so many results are told, and be killed."""
        with self._worker() as process:
            for told in self._watched(process, self._results):
                if told >= count:
                    return

    def finished(self) -> None:
        """Work until every request is committed."""
        with self._worker() as process:
            for done in self._watched(process, None):
                if done >= self._count:
                    return

    def run(self) -> Worked:
        """Work until all results are told, and end in order."""
        seen: list[tuple[float, int, int, float]] = []  # time, results, bytes held, CPU
        with self._worker() as process:
            for told in self._watched(process, self._results):
                if told:
                    now = time.monotonic()
                    seen.append((now, told, peak_now(process.pid), cpu_now(process.pid)))
                if told >= self._count:
                    break
            process.send_signal(signal.SIGINT)
            process.wait(60)
        (begun, first, _, before), (ended, last, _, after) = seen[0], seen[-1]
        done = max(1, last - first)
        return Worked(
            held=[held for _, _, held, _ in seen],
            rate=done / max(1e-9, ended - begun),
            cpu=(after - before) / done,
            counted=done,
        )

    def _watched(self, process: subprocess.Popen[bytes], results: Topic | None) -> Iterator[int]:
        """How many *results* are told, of None how many requests are committed, by and by."""
        name = group(_PREFIX, self._env, "ingest-fileset")
        topic = results or self._requests
        asked = Consumer({"bootstrap.servers": self._servers, "group.id": name, "log_level": 0})
        places = [TopicPartition(topic.name, n) for n in range(topic.partitions)]
        with closing(asked):
            while True:
                if process.poll() is not None:
                    raise SystemExit(f"the worker ended with {process.returncode}")
                try:
                    if results is not None:
                        yield sum(asked.get_watermark_offsets(place, 60)[1] for place in places)
                    else:
                        yield sum(max(0, place.offset) for place in asked.committed(places, 60))
                except KafkaException:  # the group has no coordinator yet
                    yield 0
                time.sleep(0.1)

    def told(self) -> set[str]:
        """The URLs of all results on the topic."""
        properties = {"bootstrap.servers": self._servers, "group.id": "reader", "log_level": 0}
        reader = Consumer(properties)
        places = [TopicPartition(self._results.name, n, 0) for n in range(self._results.partitions)]
        found, seen = set(), 0
        with closing(reader):
            left = sum(reader.get_watermark_offsets(place, 60)[1] for place in places)
            reader.assign(places)
            while seen < left:
                for message in reader.consume(1000, 0.5):  # it waits so long for as many
                    seen += 1
                    found.add(json.loads(message.value())["request"]["base_url"])
        return found


# ---- Into a database


def persist(bench: Bench) -> str:
    """50,000 results into PostgreSQL, which syncs, and into SQLite."""
    count = bench.count(50_000)
    with fileset_site.serving(bench.folder) as site:
        site.zenodo(1, [1000] * 10)
        crawl(bench.folder, ["https://zenodo.org/records/1"], site.trust)
    [result] = results(bench.folder / "archive")
    lines = bench.folder / "results.jsonl"
    with lines.open("w") as file:
        file.writelines(f"{json.dumps(_another(result, number))}\n" for number in range(count))
    server = postgresqls.Postgres(fsync="on")
    try:
        server.make()
        server.start()
        row_by_row = "row by row, psycopg"
        found = bench.best({
            "`scrapy persist`, PostgreSQL": lambda folder: _persisted(folder, lines, server.url()),
            row_by_row: lambda folder: _row_by_row(folder, lines, server.url()),
            "`scrapy persist`, SQLite": lambda folder: _persisted(
                folder, lines, str(folder / "results.sqlite")
            ),
        })  # fmt: skip
    finally:
        server.end()
    rows = [[name, *seconds(run), f"{count / run.wall:,.0f}",
             f"{found[row_by_row].wall / run.wall:.1f}"]
            for name, run in found.items()]  # fmt: skip
    fast = [count / run.wall for name, run in found.items() if name != row_by_row]
    return markdown(
        (f"{count:,} results", "wall s", "CPU s", "results a second",
         "times row by row"),
        rows,
        "Each result has ten files and makes a row in each of four tables. Whole commands, start-up"
        " included; CPU without the server's. All sync a transaction of 500 results."
        f" {POSTGRES_RATE:,} a second to PostgreSQL: {holds(fast[0] >= POSTGRES_RATE)};"
        f" {SQLITE_RATE:,} to SQLite: {holds(fast[1] >= SQLITE_RATE)}. Best of {bench.rounds}.",
    )  # fmt: skip


def _another(result: Mapping[str, Any], number: int) -> dict[str, Any]:
    """*result* as another request's: another URL, another landing page."""
    url = f"https://zenodo.org/records/{number}"
    sha1 = hashlib.sha1(url.encode()).hexdigest()
    return {
        **result,
        "request": {**result["request"], "base_url": url, "link_source": "doi",
                    "link_source_id": f"10.5281/zenodo.{number}"},
        "platform_id": str(number),
        "file_meta": {**result["file_meta"], "sha1hex": sha1},
        "cdx": {**result["cdx"], "url": url, "sha1hex": sha1},
    }  # fmt: skip


def _persisted(folder: Path, lines: Path, database: str) -> Run:
    flags = ["-s", f"LAFKA_ARCHIVE={folder}"]
    command = [sys.executable, "-m", "scrapy", "persist", str(lines), "--db", database, *flags]
    if "://" in database:
        create_tables = [*command[:4], "--create", *command[5:]]
        runs.run(create_tables, cwd=runs.ROOT, log=folder / "create.log")
    return runs.run(command, cwd=runs.ROOT, log=folder / "log")


def _row_by_row(folder: Path, lines: Path, database: str) -> Run:
    create_tables = [sys.executable, "-m", "scrapy", "persist", "--create", "--db", database,
                     "-s", f"LAFKA_ARCHIVE={folder}"]  # fmt: skip
    runs.run(create_tables, cwd=runs.ROOT, log=folder / "create.log")
    command = [sys.executable, "-m", "benchmarks.fileset_jobs", str(lines), database]
    return runs.run(command, cwd=runs.ROOT, log=folder / "log")


def insert(lines: Path, database: str) -> None:
    """The peer: the same statements, each row sent and waited for by itself."""
    import psycopg  # noqa: PLC0415  as in the project: only who asks for PostgreSQL needs it

    inserts = {
        table.name: (
            table,
            table.insert(f"VALUES ({', '.join(['%s'] * len(table.columns))})", "now()"),
        )
        for table in TABLES
    }
    with psycopg.connect(database) as connection, lines.open() as file:
        for number, line in enumerate(file, 1):
            for name, rows in rows_of(json.loads(line)).tables().items():
                table, statement = inserts[name]
                for row in rows:
                    connection.execute(statement, table.values(row))
            if number % 500 == 0:
                connection.commit()


if __name__ == "__main__":
    insert(Path(sys.argv[1]), sys.argv[2])
