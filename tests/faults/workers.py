"""Two workers on a real topic, disturbed at moments that a seed chooses, and asked once more."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.filesets.crawls.ingesting import Ingest
from tests.filesets.crawls.running import crawl, payload_bytes, warcio_check
from tests.filesets.crawls.sixty import Sixty
from tests.filesets.crawls.workers import disturbed, persisted
from tests.services import kafkas, postgresqls
from tests.services.kafkas import Kafka
from tests.services.postgresqls import Postgres
from tests.sites.platforms import PlatformSite


@contextmanager
def services() -> Iterator[tuple[Kafka, Postgres]]:
    broker, database = kafkas.started(), postgresqls.started()
    try:
        yield broker, database
    finally:
        broker.end()
        database.end()


def disturbed_at_random(broker: Kafka, server: Postgres, seed: int) -> list[str]:
    """Sixty requests, a rebalance, a worker and the broker killed; sentences for what is wrong."""
    chance = random.Random(seed)
    before, between = chance.randrange(10, 120), chance.randrange(0, 60)
    with tempfile.TemporaryDirectory(prefix="lafka-workers-") as name, PlatformSite() as site:
        folder = Path(name)
        ingest = Ingest(broker, site, folder / "archive")
        sixty = Sixty(site)
        ingest.ask(*sixty.requests)
        troubles = disturbed(ingest, folder, before, between)
        troubles += persisted(ingest, server.url(), sixty)
        troubles += _asked_again(ingest, sixty)
    return [f"seed {seed}, {before} and {between} answers: {trouble}" for trouble in troubles]


def _asked_again(ingest: Ingest, sixty: Sixty) -> list[str]:
    """The same requests once more: nothing is fetched, and no byte is added."""
    troubles = sixty.check_held(ingest.archive)
    # Pages that the killed worker had in hand and bound to no fileset are stored by the next run.
    recovered = crawl(ingest.archive, verb="recover")
    if recovered.code:
        troubles.append(f"recover: exit code {recovered.code}: {recovered.log[-2000:]}")
    warcio_check(ingest.archive)
    before = payload_bytes(ingest.archive)
    ingest.site.forget()
    ingest.ask(*sixty.requests)
    run = ingest.worked(ingest.asked)
    if run.code != 3:
        troubles.append(f"again: exit code {run.code}")
    if ingest.site.file_requests() or payload_bytes(ingest.archive) != before:
        troubles.append(f"again: fetched {ingest.site.file_requests()}")
    return troubles
