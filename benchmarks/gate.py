"""The gate: claims a second in batches, and what it costs a crawl of hosts that nobody else wants.

PostgreSQL is the tests' own, without fsync; the site is a thread of this process, on loopback.
"""

from __future__ import annotations

import time
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

from benchmarks import runs
from benchmarks.runs import Run
from benchmarks.tables import markdown
from lafka.jobs.database.postgresql import Server as Database
from lafka.politeness.claims import LEASE, Claims
from tests.services.postgresqls import started
from tests.sites.server import Server, reply
from tests.stores import pdf

BATCHES = 1000
BATCH = 32
HOSTS = 60
PAPERS = 600
PAIRS = 7
CLAIMS_GOAL, P99_GOAL, CPU_GOAL = 3000, 5.0, 1.05


def table(*, quick: bool = False) -> str:
    database = started()
    try:
        rate, p99, floor = _claims(database.url(), BATCHES // 10 if quick else BATCHES)
        pairs = _pairs(database.url(), 2 if quick else PAIRS)
    finally:
        database.end()
    without, gated = (median(run.cpu for run in runs_) for runs_ in zip(*pairs, strict=True))
    ratio = median(gate.cpu / bare.cpu for bare, gate in pairs)
    walls = [median(run.wall for run in runs_) for runs_ in zip(*pairs, strict=True)]
    return markdown(
        ("gate", "measured", "goal"),
        [
            [f"claims a second, with release, batches of {BATCH}", f"{rate:,.0f}",
             f"{CLAIMS_GOAL:,}"],
            ["p99 of a batch of claims, ms", f"{p99:.1f}", f"{P99_GOAL:g}"],
            ["p99 of a statement that does nothing, in turn with those, ms", f"{floor:.1f}", ""],
            ["CPU s of a crawl without / with a gate", f"{without:.2f} / {gated:.2f}", ""],
            ["CPU with / without, median of pairs", f"{ratio:.3f}", f"{CPU_GOAL:g}"],
            ["wall s without / with", f"{walls[0]:.2f} / {walls[1]:.2f}", ""],
        ],
        f"A crawl of {PAPERS} papers at {HOSTS} hosts, {len(pairs)} alternating pairs; PostgreSQL"
        " without fsync, and the site, on the same cores.",
    )  # fmt: skip


def _claims(url: str, batches: int) -> tuple[float, float, float]:
    """Claims that are had and given back a second, and p99 of the milliseconds of a batch.

    And of those of a claim of no host, which shows what the machine is busy with.
    """
    claims, took, floor = Claims(Database(url), "benchmark"), [], []
    claims.claim({})  # connects, and makes the table
    begun = time.perf_counter()
    for number in range(batches):
        hosts = [f"host{(number * BATCH + n) % 10_000}" for n in range(BATCH)]
        asked = time.perf_counter()
        assert set(claims.claim(dict.fromkeys(hosts, LEASE)).values()) == {None}
        took.append(1000 * (time.perf_counter() - asked))
        claims.release(dict.fromkeys(hosts, 0.0))
        asked = time.perf_counter()
        claims.claim({})
        floor.append(1000 * (time.perf_counter() - asked))
    rate = BATCH * batches / (time.perf_counter() - begun - sum(floor) / 1000)
    claims.leave()
    return rate, quantiles(took, n=100)[98], quantiles(floor, n=100)[98]


def _pairs(url: str, pairs: int) -> list[tuple[Run, Run]]:
    names = count()
    hosts = tuple(f"127.0.1.{number}" for number in range(1, HOSTS + 1))
    with Server(hosts) as site, TemporaryDirectory(prefix="lafka-benchmark-") as folder:
        path = Path(folder) / "list.tsv"
        with path.open("w") as file:
            for number in range(PAPERS):
                site.routes[f"/{number}.pdf"] = reply(pdf(number), "application/pdf")
                file.write(f"RePEc:ben:w:{number}\t{site.at(hosts[number % HOSTS])}/{number}.pdf\n")

        def crawl(**settings: object) -> Run:
            own = Path(folder) / str(next(names))
            settings = {"CONCURRENT_REQUESTS_PER_DOMAIN": 1, "CONCURRENT_REQUESTS": 100} | settings
            line = runs.lafka(path, own, **settings)
            run = runs.run(line, cwd=runs.ROOT, log=own.with_suffix(".log"))
            assert f"'lafka/futs/new': {PAPERS}" in own.with_suffix(".log").read_text()
            return run

        crawl()  # for the caches
        return [(crawl(), crawl(LAFKA_GATE=url)) for _ in range(pairs)]
