"""Two workers on one topic and one archive: a rebalance, a worker killed, the broker killed."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

from tests import starts
from tests.crawls.running import ROOT
from tests.filesets.crawls.ingesting import Ingest
from tests.filesets.crawls.sixty import Sixty, persist, rows
from tests.waiting import LIMIT

QUICK = "session.timeout.ms=6000\nheartbeat.interval.ms=1000\n"
"""A worker that is killed is missed after six seconds, the least that brokers allow."""


def disturbed(ingest: Ingest, folder: Path, before: int, between: int = 0) -> list[str]:
    """Do all that was asked with two workers; sentences for what is wrong then.

    The second comes after *before* answers of the site; *between* answers later the first is killed
    with ``kill -9`` and so is the broker, which is started again.
    """
    site, count = ingest.site, ingest.asked
    path = folder / "quick.properties"
    path.write_text(QUICK, "utf-8")
    site.pause_after(before)
    with ingest.going(LAFKA_KAFKA=path) as first:
        site.paused.wait(LIMIT)
        with ingest.going(LAFKA_KAFKA=path) as second:
            ingest.wait_for_members(2)
            if between:
                site.resume()
                site.pause_after(between)
                site.paused.wait(LIMIT)
            first.kill()
            passed = ingest.passed()
            ingest.kafka.kill()
            ingest.kafka.start()
            site.resume()
            ingest.wait_for(count, second)
            second.interrupt()
            run = second.ended()
    troubles = [f"{place}: committed and not told" for place in (*passed, *ingest.passed())]
    if run.code != 3:
        troubles.append(f"exit code {run.code}: {run.log[-2000:]}")
    told = {key for key, _ in ingest.told(ingest.filesets)}
    if len(told) != count:
        troubles.append(f"{len(told)} results of {count} requests")
    return troubles


def persisted(ingest: Ingest, database: str, sixty: Sixty) -> list[str]:
    """Have a worker persist what is on the topics; sentences for rows that are wrong."""
    persist(ingest.archive, "--create", "--db", database)
    command = [sys.executable, "-m", "scrapy", "persist", f"kafka://{ingest.kafka.servers}"]
    given = {"LAFKA_ARCHIVE": ingest.archive, "LAFKA_KAFKA_ENV": ingest.env}
    settings = [part for name, value in given.items() for part in ("-s", f"{name}={value}")]
    worker = starts.Popen(
        [*command, "--db", database, *settings], cwd=ROOT, stderr=subprocess.DEVNULL
    )
    over = threading.Event()
    try:
        for _ in range(int(LIMIT) * 5):
            if len(rows(database)) == ingest.asked or worker.poll() is not None:
                break
            over.wait(0.2)
        worker.terminate()
        worker.wait(LIMIT)
    finally:
        worker.kill()
        worker.wait()
    return sixty.check_rows(rows(database))
