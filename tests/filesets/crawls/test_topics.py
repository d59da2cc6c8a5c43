"""Requests from a real broker's topic, and results to its topics, by real crawls."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer as RawConsumer
from confluent_kafka import TopicPartition

from lafka.filesets.topics import topics
from lafka.jobs.kafka.producing import Producer
from lafka.jobs.kafka.topics import create
from tests.crawls.running import Run
from tests.filesets.crawls.running import FilesetCrawl, crawl, held, requests_file, results
from tests.filesets.crawls.test_command import schema
from tests.services.kafkas import Kafka, started
from tests.sites.platforms import PlatformSite, file_target, played
from tests.sites.server import reply

FILES = (("a.csv", b"a,b\n1,2\n"), ("sub/b.txt", b"text\n" * 50))
WAIT = 60  # seconds that a busy machine may need


@pytest.fixture(scope="session")
def broker() -> Iterator[Kafka]:
    made = started()
    yield made
    made.end()


class Ingest:
    """Topics of its own, a site and an archive."""

    def __init__(self, kafka: Kafka, site: PlatformSite, archive: Path) -> None:
        self.kafka, self.site, self.archive = kafka, site, archive
        self.env = f"e{uuid.uuid4().hex}"
        wanted = topics("sandcrawler", self.env)
        create(kafka.servers, wanted, {}, replication=1)
        self.requests, self.filesets, self.files = (wanted[i].name for i in (2, 3, 4))
        self.group = f"sandcrawler-{self.env}-ingest-fileset"
        self.settings = {**site.settings, "LAFKA_KAFKA_ENV": self.env}

    def ask(self, *requests: Any) -> None:
        """Send *requests*: URLs, objects, or bytes as they are."""
        with Producer(self.kafka.servers) as producer:
            for one in requests:
                if isinstance(one, str):
                    one = {"ingest_type": "dataset", "base_url": one}
                value = one if isinstance(one, bytes) else json.dumps(one).encode()
                producer.send(self.requests, "", value).result(WAIT)

    def going(self, **settings: Any) -> FilesetCrawl:
        source = f"input=kafka://{self.kafka.servers}/{self.requests}"
        return FilesetCrawl(self.archive, "-a", source, **self.settings, **settings)

    def worked(self, until: int, **settings: Any) -> Run:
        """A worker that is stopped in order when the group has *until* messages behind it."""
        with self.going(**settings) as worker:
            self.wait_for(until, worker)
            worker.interrupt()
            return worker.ended()

    def wait_for(self, count: int, worker: FilesetCrawl) -> None:
        over = threading.Event()
        for _ in range(WAIT * 5):
            if self.committed() >= count or worker.process.poll() is not None:
                return
            over.wait(0.2)
        raise AssertionError(f"{self.committed()} offsets are committed, not {count}")

    def committed(self) -> int:
        consumer = RawConsumer({"bootstrap.servers": self.kafka.servers, "group.id": self.group})
        try:
            places = [TopicPartition(self.requests, n) for n in range(6)]
            return sum(max(0, place.offset) for place in consumer.committed(places, WAIT))
        finally:
            consumer.close()

    def told(self, topic: str) -> list[tuple[str, dict[str, Any]]]:
        """All that is on *topic*: keys and results."""
        consumer = RawConsumer(
            {"bootstrap.servers": self.kafka.servers, "group.id": uuid.uuid4().hex}
        )
        found = []
        try:
            places = [TopicPartition(topic, n, 0) for n in range(6)]
            left = sum(consumer.get_watermark_offsets(place, WAIT)[1] for place in places)
            consumer.assign(places)
            while len(found) < left:
                message = consumer.poll(WAIT)
                assert message is not None, "a message is missing"
                assert not message.error()
                found.append((message.key().decode(), json.loads(message.value())))
            return found
        finally:
            consumer.close()


@pytest.fixture
def ingest(broker: Kafka, tmp_path: Path) -> Iterator[Ingest]:
    with PlatformSite() as site:
        yield Ingest(broker, site, tmp_path / "archive")


def test_requests_come_from_a_topic_and_results_go_to_theirs(ingest: Ingest) -> None:
    site = ingest.site
    urls = [site.play(name, played(*FILES, number=n)) for n, name in
            enumerate(("zenodo", "dataverse", "archiveorg"), 1)]  # fmt: skip
    one = site.play("figshare", played(FILES[0], number=9))
    ingest.ask(*urls, one, {"ingest_type": "pdf", "base_url": urls[0]})
    run = ingest.worked(5)
    assert (run.code, run.troubles()) == (3, []), run.log
    assert (run.stats["lafka/kafka/read"], run.stats["lafka/kafka/passed"]) == (5, 1)
    assert run.stats["lafka/kafka/published"] == 5
    told = dict(ingest.told(ingest.filesets))
    assert told.keys() == {f"dataset\t{url}" for url in (*urls, one)}
    assert {result["status"] for result in told.values()} == {"success", "success-file"}
    for result in told.values():
        schema("ingest-fileset-result").validate(result)
        assert result["lafka"]["message"].startswith(f"{ingest.requests}/")
    [(key, file)] = ingest.told(ingest.files)
    assert key == f"dataset-file\t{one}"
    schema("ingest-file-result").validate(file)
    assert len(held(ingest.archive)) == 7
    [feed] = results(ingest.archive)
    assert sorted(map(str, feed)) == sorted(map(str, [*told.values(), file]))

    ingest.ask(*urls, one)
    site.forget()
    again = ingest.worked(9)
    assert (again.code, site.targets()) == (3, []), again.log
    assert again.stats["lafka/kafka/read"] == 4
    assert len(ingest.told(ingest.files)) == 1  # it was told
    news = [result for _, result in ingest.told(ingest.filesets)][-8:]
    assert sum(result["status"] == "success-existing" for result in news) == 4


def test_a_killed_worker_loses_no_result_and_fetches_no_file_twice(ingest: Ingest) -> None:
    site = ingest.site
    sets = [played((f"{n}.txt", b"%d\n" % n), ("b.txt", b"b"), number=n) for n in range(1, 7)]
    urls = [site.play("zenodo", one) for one in sets]
    held_up = file_target("zenodo", sets[4], 1)
    answer = site.routes[held_up]
    site.routes[held_up] = reply(b"", "", length=900, then="hold")
    ingest.ask(*urls)
    over = threading.Event()
    with ingest.going() as worker:
        for _ in range(WAIT * 10):
            if held_up in site.targets():
                break
            over.wait(0.1)
        worker.kill()
    fetched = {path for *_, path in held(ingest.archive)}
    assert fetched
    site.routes[held_up] = answer
    site.forget()
    run = ingest.worked(6)
    assert run.code == 3, run.log
    assert {key for key, _ in ingest.told(ingest.filesets)} == {f"dataset\t{u}" for u in urls}
    assert all(result["hit"] for _, result in ingest.told(ingest.filesets))
    assert len(held(ingest.archive)) == 12
    once = {path.removesuffix(".txt") for path in fetched} - {"b"}
    assert not [t for t in site.file_requests() if t.split("/")[-2].removesuffix(".txt") in once]


def test_poison_stops_no_worker(ingest: Ingest) -> None:
    url = ingest.site.play("zenodo", played(*FILES))
    bad = {"ingest_type": "dataset", "base_url": "ftp://x.example/"}
    long = {"ingest_type": "dataset", "base_url": "https://x.example/", "edit_extra": {"a": "x"}}
    long["edit_extra"] = {"a": "x" * (1 << 20)}
    ingest.ask(b"poison \xff", b"[1]", b'{"ingest_type": "dataset"}', bad, b"", url)
    run = ingest.worked(6)
    assert run.code == 3, run.log
    assert run.stats["lafka/kafka/dead"] == 5
    told = dict(ingest.told(ingest.filesets))
    assert {key: result["status"] for key, result in told.items()} == {
        f"dataset\t{url}": "success", "dataset\tftp://x.example/": "bad-request",
    }  # fmt: skip
    schema("ingest-fileset-result").validate(told["dataset\tftp://x.example/"])
    [path] = (ingest.archive / "runs").glob("*.dead.jsonl")
    dead = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert all(one["place"].startswith(f"{ingest.requests}/") for one in dead)
    assert {one["reason"] for one in dead} == {
        "the request is not JSON",
        "the request is no JSON object",
        "base_url is missing or is no text",
        told["dataset\tftp://x.example/"]["error_message"].partition(": ")[2],
    }
    assert crawl(ingest.archive, verb="verify").out == ""


def test_a_topic_that_is_missing_stops_the_crawl(ingest: Ingest) -> None:
    ingest.requests = f"none-{uuid.uuid4().hex}"
    with ingest.going() as worker:
        run = worker.ended()
    assert run.code == 1
    assert "Unknown topic" in run.log


def test_results_of_a_file_of_requests_are_published_too(ingest: Ingest, tmp_path: Path) -> None:
    url = ingest.site.play("figshare", played(FILES[0]))
    listed = requests_file(tmp_path, url, "{}")
    where = f"output=kafka://{ingest.kafka.servers}"
    run = crawl(ingest.archive, "-a", f"input={listed}", "-a", where, **ingest.settings)
    assert (run.code, run.troubles()) == (0, []), run.log
    assert [key for key, _ in ingest.told(ingest.filesets)] == [f"dataset\t{url}"]
    assert [key for key, _ in ingest.told(ingest.files)] == [f"dataset-file\t{url}"]
    [feed] = results(ingest.archive)
    assert len(feed) == 3
