"""Crawls that share hosts by a gate, as processes, against hosts that note each exchange."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lafka.capture.gating import check_gate
from lafka.errors import BadArgument
from lafka.politeness.claims import LEASE
from tests import starts
from tests.crawls.running import ROOT, Crawl, command, crawl, outcomes
from tests.jobs.test_gate import AWAY, done
from tests.services.postgresqls import Postgres
from tests.sites.server import Handler, Seen, Server, redirect, reply
from tests.stores import pdf
from tests.waiting import LIMIT, until

HOSTS = tuple(f"127.0.0.{number}" for number in range(2, 12))
DELAY = 0.3
WAIT = 2
"""Seconds for which two hosts ask to wait."""
POLITE = {"DOWNLOAD_DELAY": DELAY, "DOWNLOAD_DELAY_JITTER": 0}


@dataclass(frozen=True)
class Exchange:
    """Begin in monotonic seconds, who came, and whether the answer asked to wait."""

    begin: float
    worker: str
    waits: bool


class NotingServer(Server):
    """Notes when each request was there, which is before its worker knows of any answer."""

    def __init__(self, hosts: tuple[str, ...] = HOSTS) -> None:
        super().__init__(hosts)
        self.exchanges: defaultdict[str, list[Exchange]] = defaultdict(list)
        self.waiting: set[tuple[str, str]] = set()

    def _answer(self, host: str, head: bytes, connection: Any) -> bool:
        begin = time.monotonic()
        lines = head.decode("latin-1").split("\r\n")
        [agent] = [line for line in lines if line.startswith("User-Agent: ")]
        try:
            return super()._answer(host, head, connection)
        finally:
            waits = (host, lines[0].split(" ")[1]) in self.waiting
            self.waiting.discard((host, lines[0].split(" ")[1]))
            self.exchanges[host].append(Exchange(begin, agent[12:], waits))

    def asks_to_wait(self, then: Handler) -> Handler:
        """Answer 429 once, then as *then* does."""
        first = [True]

        def answer(seen: Seen) -> Any:
            if not first:
                return then(seen)
            first.clear()
            self.waiting.add((seen.host, seen.target))
            return reply(b"wait", "text/plain", f"Retry-After: {WAIT}", status="429 Too Many")

        return answer

    def impolite(self) -> list[str]:
        """What a single crawl would never have done.

        Between two workers the delay counts from the end of the first one's answer, and a wait from
        that answer, so on the busiest machine no request can come sooner than it should. What one
        worker does under one claim is its slot's, and noted late where the machine is busy.
        """
        wrong = [f"{host}: {most} at once" for host, most in self.most_at_once.items() if most > 1]
        for host, came in self.exchanges.items():
            ordered = sorted(came, key=lambda exchange: exchange.begin)
            for one, next_ in pairwise(ordered):
                pair = f"{host}: {one.worker}, {next_.worker}"
                if one.worker != next_.worker and next_.begin - one.begin < 0.8 * DELAY:
                    wrong.append(f"{pair}: {next_.begin - one.begin:.3f} s apart")
                if one.waits and next_.begin - one.begin < 0.95 * WAIT:
                    wrong.append(f"{pair}: not {WAIT} s later")
        return wrong

    def workers(self) -> set[str]:
        return {exchange.worker for came in self.exchanges.values() for exchange in came}


def written(path: Path, site: NotingServer, sizes: dict[str, int]) -> Path:
    """A list of papers at hosts of those sizes, of which each sixth is sent on to another host."""
    lines = []
    for host, size in sizes.items():
        for number in range(size):
            name = f"{host}-{number}"
            body = reply(pdf(len(lines)), "application/pdf")
            site.routes[f"/{name}.pdf"] = body
            target = f"/{name}.pdf"
            if number % 6 == 5:
                other = site.hosts[(site.hosts.index(host) + 1 + number) % len(site.hosts)]
                target = f"/{name}"
                site.routes[target] = redirect(f"{site.at(other)}/{name}.pdf")
            lines.append(f"RePEc:abc:wpaper:{name}\t{site.at(host)}{target}\n")
    path.write_text("".join(lines))
    return path


def worker(archive: Path, list_: Path, url: str, **settings: Any) -> Crawl:
    """A crawl that is known by the name of its archive."""
    settings = {
        **POLITE,
        "LAFKA_GATE": url,
        "USER_AGENT": f"{archive.name}@example.org",
        **settings,
    }
    return Crawl(archive, "-a", f"input={list_}", **settings)


def report(archive: Path) -> dict[str, Any]:
    path = max((archive / "runs").glob("*.json"))
    values: dict[str, Any] = json.loads(path.read_bytes())
    return values


def test_workers_ask_a_host_one_at_a_time_with_its_delay_between(
    postgres: Postgres, tmp_path: Path
) -> None:
    with NotingServer() as site:
        sizes = {host: 1 + number**2 // 8 for number, host in enumerate(HOSTS)}
        list_ = written(tmp_path / "list.tsv", site, sizes)
        lines = sum(sizes.values())
        for name in (f"/{HOSTS[4]}-1.pdf", f"/{HOSTS[8]}-3.pdf"):
            answer = site.routes[name]
            site.routes[name] = site.asks_to_wait(lambda _, answer=answer: answer)  # type: ignore[misc]
        site.robots[HOSTS[1]] = redirect(f"{site.at(HOSTS[9])}/robots.txt")
        site.robots[HOSTS[5]] = reply(b"User-agent: *\nCrawl-delay: 1", "text/plain")
        url = postgres.url()
        archives = [tmp_path / name for name in ("one", "two", "three")]
        crawls = [worker(archive, list_, url, LAFKA_PROGRESS_INTERVAL=1) for archive in archives]
        runs = [going.ended() for going in crawls]
    assert site.impolite() == []
    assert len(site.workers()) == 3
    assert [run.code for run in runs] == [0, 0, 0]
    assert not any(run.troubles() for run in runs)
    for archive in archives:
        assert [line["outcome"] for line in outcomes(archive)[0]] == ["fut"] * lines
    slow = sorted(site.exchanges[HOSTS[5]], key=lambda exchange: exchange.begin)
    assert all(b.begin - a.begin >= 0.8 for a, b in pairwise(slow) if a.worker != b.worker)
    assert done(url, "SELECT host FROM lafka_gate WHERE worker IS NOT NULL") == []


def test_workers_wait_for_a_gate_that_is_away_and_go_on_when_it_is_back(
    postgres: Postgres, tmp_path: Path
) -> None:
    with NotingServer(HOSTS[:3]) as site:
        list_ = written(tmp_path / "list.tsv", site, dict.fromkeys(HOSTS[:3], 24))
        url = postgres.url()
        begun = site.when_asked(6, *(site.at(host) for host in site.hosts))
        with (
            worker(tmp_path / "one", list_, url) as one,
            worker(tmp_path / "two", list_, url) as two,
        ):
            assert begun.wait(LIMIT)
            postgres.stop()
            try:
                until(lambda: time.monotonic() - site.seen[-1].time > 4 * DELAY, one.process.pid)
            finally:
                postgres.start()
            runs = [one.ended(), two.ended()]
    assert [run.code for run in runs] == [0, 0]
    assert site.impolite() == []
    for name in ("one", "two"):
        assert {line["outcome"] for line in outcomes(tmp_path / name)[0]} == {"fut"}
        assert report(tmp_path / name)["lines"] == 72


def test_a_crawl_stops_without_its_gate_and_the_same_command_goes_on(
    postgres: Postgres, tmp_path: Path
) -> None:
    with NotingServer(HOSTS[:2]) as site:
        list_ = written(tmp_path / "list.tsv", site, dict.fromkeys(HOSTS[:2], 15))
        url = postgres.url().replace("lafka@", "lafka:secret@")
        begun = site.when_asked(4, *(site.at(host) for host in site.hosts))
        with worker(tmp_path / "one", list_, url, LAFKA_GATE_PATIENCE=1) as one:
            assert begun.wait(LIMIT)
            postgres.stop()
            try:
                stopped = one.ended()
            finally:
                postgres.start()
        assert stopped.code == 1
        assert "The gate was away for 1 s: postgresql://127.0.0.1:" in stopped.log
        assert "secret" not in stopped.log
        values = report(tmp_path / "one")
        assert values["reason"] == "gate-lost"
        assert not values["done"]
        assert values["settings"]["LAFKA_GATE"] == "[removed]"
        assert "secret" not in json.dumps(values)
        before = {line["pid"] for line in outcomes(tmp_path / "one")[0]}
        assert 0 < len(before) < 30
        with worker(tmp_path / "one", list_, url) as again:
            assert again.ended().code == 0
    assert site.impolite() == []
    assert len({line["pid"] for line in outcomes(tmp_path / "one")[1]}) == 30
    assert report(tmp_path / "one")["done"]


def test_a_worker_that_was_stopped_sends_nothing_when_it_wakes(
    postgres: Postgres, tmp_path: Path
) -> None:
    with NotingServer(HOSTS[:1]) as site:
        list_ = written(tmp_path / "list.tsv", site, {HOSTS[0]: 16})
        url = postgres.url()
        begun = site.when_asked(3, site.at(HOSTS[0]))
        with worker(tmp_path / "one", list_, url) as one:
            assert begun.wait(LIMIT)
            one.process.send_signal(signal.SIGSTOP)
            runs_out_soon(url)
            with worker(tmp_path / "two", list_, url) as two:
                first = site.workers()
                until(lambda: site.workers() > first, two.process.pid)
                seen = len(site.seen)
                until(lambda: len(site.seen) > seen + 5, two.process.pid)
                one.process.send_signal(signal.SIGCONT)
                runs = [one.ended(), two.ended()]
    assert [run.code for run in runs] == [0, 0]
    assert site.impolite() == []


def test_others_take_the_hosts_of_a_killed_worker_when_its_claims_run_out(
    postgres: Postgres, tmp_path: Path
) -> None:
    with NotingServer(HOSTS[:3]) as site:
        list_ = written(tmp_path / "list.tsv", site, dict.fromkeys(HOSTS[:3], 12))
        url = postgres.url()
        begun = site.when_asked(6, *(site.at(host) for host in site.hosts))
        with worker(tmp_path / "one", list_, url) as one:
            assert begun.wait(LIMIT)
            one.kill()
        killed = len(site.seen)
        free = runs_out_soon(url)
        assert free
        with worker(tmp_path / "two", list_, url) as two:
            assert two.ended().code == 0
        with worker(tmp_path / "one", list_, url) as again:  # it had none of its own left behind
            assert again.ended().code == 0
    assert site.impolite() == []
    for host, when in free.items():
        assert min(seen.time for seen in site.seen[killed:] if seen.host == host) >= when
    for name in ("one", "two"):
        assert len({line["pid"] for part in outcomes(tmp_path / name) for line in part}) == 36
    assert done(url, "SELECT host FROM lafka_gate WHERE worker IS NOT NULL") == []


def runs_out_soon(url: str) -> dict[str, float]:
    """Bring the end of the claims of a worker that is gone nearer; when each is, at the soonest."""
    now = time.monotonic()
    rows = done(
        url,
        "UPDATE lafka_gate SET until = until - interval '10 s' WHERE worker IS NOT NULL"
        " RETURNING host, extract(epoch FROM until - clock_timestamp())::float8",
    )
    assert all(left <= LEASE + DELAY - 10 for _, left in rows)
    return {host: now + left for host, left in rows}


def test_the_lines_of_the_how_to_are_run(postgres: Postgres, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "share-a-list.md").read_text()
    lines = re.findall(r"^lafka crawl .*LAFKA_GATE.*$", page, re.MULTILINE)
    assert len(lines) == 2
    url = postgres.url()
    with NotingServer(HOSTS[:4]) as site:
        written(tmp_path / "list.tsv", site, dict.fromkeys(HOSTS[:4], 7))
        runs = []
        for line in lines:
            given = line.replace("postgresql://localhost/gate", url).split()[1:]
            allowed = ["-s", "LAFKA_ALLOWED_NETWORKS=127.0.0.0/8", "-s", "AUTOTHROTTLE_ENABLED=0"]
            runs.append(
                starts.Popen(
                    [sys.executable, "-m", "lafka", *given, *allowed],
                    cwd=tmp_path,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
            )
        said = [run.communicate(timeout=LIMIT)[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0]
    assert not any("Each host of the list" in text for text in said)
    archives = [tmp_path / "first", tmp_path / "second"]
    assert sum(len(outcomes(archive)[0]) for archive in archives) == 28
    assert done(url, "SELECT count(*) FROM lafka_gate") == [(4,)]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"LAFKA_GATE": "mysql://bob:secret@127.0.0.1/x"}, "LAFKA_GATE has to be a URL"),
        ({"LAFKA_GATE": "postgresql://bob:secret@127.0.0.1:1/x"}, "LAFKA_GATE cannot be used"),
        ({"LAFKA_GATE_PATIENCE": "soon"}, "LAFKA_GATE_PATIENCE='soon' has to be a number of sec"),
        ({"LAFKA_GATE": AWAY, "LAFKA_GATE_PATIENCE": "x"}, "LAFKA_GATE_PATIENCE='x' has to be a"),
        ({"LAFKA_GATE_PATIENCE": "-1"}, "LAFKA_GATE_PATIENCE='-1' has to be a number of seconds"),
    ],
)
def test_what_cannot_be_a_gate_begins_no_crawl(
    tmp_path: Path, settings: dict[str, str], said: str
) -> None:
    with Server(HOSTS[:1]) as site:
        (tmp_path / "list.tsv").write_text(f"RePEc:abc:wpaper:1\t{site.at(HOSTS[0])}/1.pdf\n")
        run = crawl(tmp_path / "archive", tmp_path / "list.tsv", **settings)
        assert site.seen == []
    assert run.code == 2
    assert run.log.count(said) == 1
    assert "secret" not in run.log
    assert "bob" not in run.log
    assert not (tmp_path / "archive").exists()


def test_a_gate_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(BadArgument, match=r"^LAFKA_GATE: .*pip install 'lafka\[postgresql\]'"):
        check_gate("postgresql://x/y")


def test_a_crawl_without_a_gate_imports_none_of_it(tmp_path: Path) -> None:
    (tmp_path / "list.tsv").write_text("RePEc:abc:wpaper:1\thttp://127.0.0.1:1/1.pdf\n")
    line = command(tmp_path / "archive", "-a", f"input={tmp_path / 'list.tsv'}", RETRY_ENABLED=0)
    told = tmp_path / "modules"
    code = (
        "import atexit, pathlib, sys\n"
        f"atexit.register(lambda: pathlib.Path({str(told)!r}).write_text(' '.join(sys.modules)))\n"
        "from scrapy.cmdline import execute\n"
        f"execute({['scrapy', *line[3:]]!r})"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={**os.environ}, capture_output=True,
                   check=False)  # fmt: skip
    modules = set(told.read_text().split())
    assert "lafka.politeness.hosts" in modules
    gates = {f"lafka.politeness.{name}" for name in ("gate", "claims", "courier")}
    assert not modules & {*gates, "lafka.capture.gating", "psycopg", "lafka.jobs.database"}
