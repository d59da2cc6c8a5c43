"""Sixty datasets, ten by each strategy, into archive and PostgreSQL: from a file, from Kafka."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.filesets.crawls.ingesting import Ingest
from tests.filesets.crawls.running import crawl, payload_bytes, results, warcio_check
from tests.filesets.crawls.sixty import EACH, WAYS, Sixty, feeds, listed, persist, rows
from tests.filesets.crawls.workers import disturbed, persisted
from tests.services.postgresqls import Postgres
from tests.sites.platforms import PlatformSite


def test_sixty_datasets_by_six_strategies_from_a_file(postgres: Postgres, tmp_path: Path) -> None:
    archive, database = tmp_path / "archive", postgres.url()
    with PlatformSite() as site:
        sixty = Sixty(site)
        given = ("-a", f"input={listed(tmp_path, sixty)}")
        run = crawl(archive, *given, **site.settings)
        assert (run.code, run.troubles()) == (0, []), run.log
        told = Counter(one["ingest_strategy"] for one in results(archive)[0]
                       if one["request"]["ingest_type"] == "dataset")  # fmt: skip
        assert told == dict.fromkeys(WAYS, EACH)
        before = payload_bytes(archive)
        site.forget()
        again = crawl(archive, *given, **site.settings)
        assert (again.code, site.targets(), payload_bytes(archive)) == (0, [], before), again.log
    assert Counter(one["status"] for one in results(archive)[1]) == {"success-existing": 60}
    assert sixty.check_held(archive) == []
    warcio_check(archive)
    persist(archive, "--create", "--db", database)
    for feed in feeds(archive):  # the second tells nothing new
        persist(archive, feed, "--db", database)
        assert sixty.check_rows(rows(database)) == []


def test_two_workers_of_which_one_is_killed_and_a_broker_that_is_lose_no_request(
    ingest: Ingest, postgres: Postgres, tmp_path: Path
) -> None:
    sixty, database = Sixty(ingest.site), postgres.url()
    ingest.ask(*sixty.requests)
    assert disturbed(ingest, tmp_path, before=90) == []
    assert sixty.check_held(ingest.archive) == []
    warcio_check(ingest.archive)
    assert persisted(ingest, database, sixty) == []
