"""Workers of a fleet behind a gate, disturbed in any order while they share one list.

What is disturbed are the processes (kill -9, stopped for long, added, taken away for good, with
files that cannot grow), both servers, and the network before them: each is behind a proxy on
loopback that can stop forwarding.
"""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from lafka.jobs.kafka.topics import owners
from tests import starts
from tests.crawls.running import ROOT, Crawl, Run, check
from tests.crawls.test_fleet import fleet, listed, status
from tests.jobs.test_gate import done
from tests.jobs.test_gated_crawls import POLITE, NotingServer, written
from tests.services import kafkas, postgresqls
from tests.services.kafkas import Kafka
from tests.services.postgresqls import Postgres
from tests.sites.server import redirect
from tests.waiting import until

HOSTS = tuple(f"127.0.0.{number}" for number in range(2, 22))
PARTITIONS = 16
CUT = 25.0
"""Seconds for which a network is cut: longer than session and lease."""
_OVER = threading.Event()  # never set: what is waited for is time


class Proxy:
    """Forwards connections on loopback to the port ``target``, and nothing while it is cut."""

    def __init__(self) -> None:
        self.target = 0
        self._flows = threading.Event()
        self._flows.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @contextmanager
    def cut(self) -> Iterator[None]:
        self._flows.clear()
        try:
            yield
        finally:
            self._flows.set()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=[client], daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        self._flows.wait()
        with client, suppress(OSError), socket.create_connection(("127.0.0.1", self.target)) as far:
            back = threading.Thread(target=self._pump, args=[far, client], daemon=True)
            back.start()
            self._pump(client, far)
            back.join()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                self._flows.wait()
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@dataclass
class Servers:
    """A broker and a database, both behind proxies."""

    kafka: Kafka
    postgres: Postgres
    to_kafka: Proxy
    to_postgres: Proxy

    @classmethod
    @contextmanager
    def started(cls) -> Iterator[Servers]:
        with ExitStack() as stack:
            to_kafka, to_postgres = Proxy(), Proxy()
            stack.callback(to_kafka.close)
            stack.callback(to_postgres.close)
            kafka = kafkas.started(to_kafka)
            stack.callback(kafka.end)
            postgres = postgresqls.started()
            stack.callback(postgres.end)
            to_postgres.target = postgres.port
            yield cls(kafka, postgres, to_kafka, to_postgres)


@dataclass
class Ordeal:
    """A list of so many *papers* at twenty hosts of very different size, and who crawls it."""

    servers: Servers
    folder: Path
    papers: int
    chance: random.Random
    workers: dict[str, Crawl] = field(default_factory=dict)
    site: NotingServer = field(default_factory=lambda: NotingServer(HOSTS))
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        name = f"f{self.chance.randrange(1 << 60):x}"
        self.url = f"kafka://{self.servers.kafka.servers}/{name}"
        own, through = self.servers.postgres.port, self.servers.to_postgres.port
        self.gate = self.servers.postgres.url()
        self.cut_gate = self.gate.replace(f":{own}/", f":{through}/")

    def put(self) -> None:
        parts = [1 / rank for rank in range(1, len(HOSTS) + 1)]
        sizes = {
            host: max(1, round(self.papers * part / sum(parts)))
            for host, part in zip(HOSTS, parts, strict=True)
        }
        list_ = written(self.folder / "list.tsv", self.site, sizes)
        for host in (HOSTS[0], HOSTS[3]):
            name = f"/{host}-1.pdf"
            answer = self.site.routes[name]
            self.site.routes[name] = self.site.asks_to_wait(lambda _, answer=answer: answer)  # type: ignore[misc]
        self.site.robots[HOSTS[1]] = redirect(f"{self.site.at(HOSTS[9])}/robots.txt")
        self.lines = sum(sizes.values())
        options = ("--copies", "1", "--partitions", str(PARTITIONS))
        run = fleet("put", str(list_), self.url, *options)
        assert run.returncode == 0, run.stderr

    def begin(self, name: str, *, limit: str = "") -> None:
        archive = self.folder / name
        self.workers[name] = Crawl(
            archive, "-a", f"input={self.url}", "-a", "until=done", limit=limit,
            LAFKA_WORKER=name, USER_AGENT=f"{name}@example.org", LOG_FILE=f"{archive}.log",
            LAFKA_GATE=self.cut_gate if name == "one" else self.gate, **POLITE,
        )  # fmt: skip

    def wait_for(self, requests: int) -> None:
        """Until hosts were asked so often, or nobody asks any more."""
        processes = [going.process for going in self.workers.values()]
        until(
            lambda: len(self.site.seen) >= requests or all(p.poll() is not None for p in processes)
        )

    # What happens ---------------------------------------------------------------------------

    def kill_a_worker(self) -> None:
        name = self.chance.choice(sorted(self.workers))
        self.workers[name].kill()
        self.begin(name)

    def stop_a_worker(self) -> None:
        """Until others may have what it had: its session is over, and its claims have run out."""
        name = self.chance.choice(sorted(self.workers))
        process = self.workers[name].process
        process.send_signal(signal.SIGSTOP)
        until(lambda: not self._has_a_part(name))
        process.send_signal(signal.SIGCONT)

    def _has_a_part(self, name: str) -> bool:
        fleet = self.url.rpartition("/")[2]
        given = owners(self.servers.kafka.servers, f"{fleet}.workers", f"{fleet}.lines", {})
        claims = "SELECT 1 FROM lafka_gate WHERE until > now() AND worker LIKE '%%-{}-%%'"
        pid = self.workers[name].process.pid
        return name in given.values() or bool(done(self.gate, claims.format(pid)))

    def add_a_worker(self) -> None:
        self.begin(f"added{len(self.workers)}")

    def take_a_worker_away(self) -> None:
        """For good: others have its part; its archive stays."""
        name = self.chance.choice(sorted({*self.workers} - {"one"}))
        self.workers.pop(name).kill()

    def kill_the_broker(self) -> None:
        self.servers.kafka.kill()
        self.servers.kafka.start()

    def kill_the_gate(self) -> None:
        self.servers.postgres.stop()
        _OVER.wait(CUT / 3)
        self.servers.postgres.start()

    def cut_the_way_to_kafka(self) -> None:
        with self.servers.to_kafka.cut():
            _OVER.wait(CUT)

    def cut_the_way_of_one_to_the_gate(self) -> None:
        with self.servers.to_postgres.cut():
            _OVER.wait(CUT)

    def fill_a_disk(self) -> None:
        """A worker whose files cannot grow stops; the same command goes on where they can."""
        self.begin(f"full{len(self.workers)}", limit="ulimit -f 64")

    # What is so in the end ------------------------------------------------------------------

    def troubles(self) -> list[str]:
        """Sentences for what is wrong when all have ended."""
        found = [f"{name}: {run.code}: {run.log[-1500:]}" for name, run in self._ends() if run.code]
        told = listed(self.url)
        lines = {(one["pid"], one["as_written"]) for one in told}
        if (len(told), len(lines)) != (self.lines, self.lines):
            found.append(f"{len(told)} outcomes of {len(lines)} lines, not of {self.lines}")
        if wrong := Counter(one["outcome"] for one in told if one["outcome"] != "fut"):
            found.append(f"not all are futs: {wrong}")
        found += self.site.impolite()
        found += self._merged({one["pid"] for one in told})
        self._count(told)
        return found

    def _ends(self) -> Iterator[tuple[str, Run]]:
        """Yield how each worker ended.

        One that met no server at its start is begun again, one that lost Kafka since, and one
        whose disk was full, with room.
        """
        for name in [*self.workers]:
            path, run = self.folder / f"{name}.log", self.workers[name].ended()
            log = path.read_text() if path.exists() else ""
            is_stopped = name.startswith("full") or "ends, kafka-lost" in log
            if run.code == 2 or (is_stopped and run.code == 1):
                self.counts["begun again by who looks after it"] += 1
                self.begin(name)
                run = self.workers[name].ended()
            log = run.log + (path.read_text() if path.exists() else "")
            yield name, Run(code=run.code, out=run.out, log=log)

    def _merged(self, pids: set[str]) -> list[str]:
        archives = [str(path.parent) for path in sorted(self.folder.glob("*/lafka.json"))]
        whole = self.folder / "merged"
        # What a worker that was taken away had begun is in its raw log: as its next start would.
        for archive in archives:
            self._command("recover", archive)
        merged = self._command("merge", str(whole), *archives)
        found = [f"merge: {merged.stderr}"] if merged.returncode else []
        try:
            check(whole)
        except AssertionError as error:
            found.append(f"merged: {str(error)[:1000]}")
        held = {f"RePEc:abc:wpaper:{path.stem}" for path in (whole / "suwaf").rglob("*.json")}
        return found + ([f"{len(pids - held)} papers are lost"] if pids - held else [])

    def _command(self, verb: str, archive: str, *arguments: str) -> Any:
        line = [sys.executable, "-m", "scrapy", verb, "-s", f"LAFKA_ARCHIVE={archive}", *arguments]
        return starts.run(line, cwd=ROOT, capture_output=True, text=True, check=False)

    def _count(self, told: list[dict[str, Any]]) -> None:
        asked = Counter(
            (seen.host, seen.target) for seen in self.site.seen if seen.target != "/robots.txt"
        )
        waited = sum(one.waits for came in self.site.exchanges.values() for one in came)
        again = sum(asked.values()) - len(asked) - waited
        self.counts += Counter({"lines": len(told), "requests": len(self.site.seen),
                                "asked twice": again})  # fmt: skip

    def close(self) -> None:
        for going in self.workers.values():
            with suppress(subprocess.TimeoutExpired, ProcessLookupError):
                going.__exit__(None, None, None)


Event = Callable[[Ordeal], None]
EVENTS: tuple[Event, ...] = (
    Ordeal.kill_a_worker, Ordeal.stop_a_worker, Ordeal.add_a_worker, Ordeal.kill_the_broker,
    Ordeal.kill_the_gate, Ordeal.cut_the_way_to_kafka, Ordeal.cut_the_way_of_one_to_the_gate,
    Ordeal.fill_a_disk, Ordeal.kill_a_worker, Ordeal.take_a_worker_away,
)  # fmt: skip


def disturbed(ordeal: Ordeal, events: list[Event]) -> list[str]:
    """Have *events* happen while the list is crawled by three workers; what is wrong then."""
    with ordeal.site:
        try:
            ordeal.put()
            for name in ("one", "two", "three"):
                ordeal.begin(name)
            apart = ordeal.lines // (len(events) + 1)
            for event, requests in zip(events, accumulate([apart] * len(events)), strict=True):
                ordeal.wait_for(requests)
                event(ordeal)
                ordeal.counts[event.__name__.replace("_", " ")] += 1
            troubles = ordeal.troubles()
            asked = len(ordeal.site.seen)
            ordeal.begin("two")
            code = ordeal.workers["two"].ended().code
            if code or len(ordeal.site.seen) != asked:
                troubles.append(f"again: {code}, {len(ordeal.site.seen) - asked} requests")
            at_last = status(ordeal.url)
            if at_last["done"] != at_last["lines"]:
                troubles.append(f"{at_last['done']} of {at_last['lines']} are done")
            return troubles
        finally:
            ordeal.close()
