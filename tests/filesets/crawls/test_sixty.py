"""Sixty datasets, ten by each strategy, into archive and PostgreSQL: from a file, from Kafka."""

from __future__ import annotations

from collections import Counter

from tests.filesets.crawls.running import crawl, payload_bytes, results, warcio_check
from tests.filesets.crawls.sixty import EACH, WAYS, Sixty, feeds, listed, persist, rows
from tests.filesets.crawls.workers import disturbed, persisted


def test_sixty_datasets_by_six_strategies_from_a_file(postgres, tmp_path, site):
    archive, database = tmp_path / "archive", postgres.url()
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


def test_two_workers_one_killed_and_a_killed_broker_lose_no_request(ingest, postgres, tmp_path):
    sixty, database = Sixty(ingest.site), postgres.url()
    ingest.ask(*sixty.requests)
    assert disturbed(ingest, tmp_path, before=90) == []
    assert sixty.check_held(ingest.archive) == []
    warcio_check(ingest.archive)
    assert persisted(ingest, database, sixty) == []
