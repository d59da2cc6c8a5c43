"""Topics of a real broker's own for one test: what is asked, what is told, what is committed."""

from __future__ import annotations

import json
import threading
import uuid
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer as RawConsumer
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from lafka.filesets.results import topics
from lafka.jobs.kafka.producing import Producer
from lafka.jobs.kafka.topics import create
from tests.crawls.running import Run
from tests.filesets.crawls.running import FilesetCrawl
from tests.services.kafkas import Kafka
from tests.sites.platforms import PlatformSite
from tests.waiting import LIMIT


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
        self.asked = 0

    def ask(self, *requests: Any) -> None:
        """Send *requests*: URLs, objects, or bytes as they are."""
        self.asked += len(requests)
        with closing(Producer(self.kafka.servers)) as producer:
            for one in requests:
                if isinstance(one, str):
                    one = {"ingest_type": "dataset", "base_url": one}
                value = one if isinstance(one, bytes) else json.dumps(one).encode()
                producer.send(self.requests, "", value).result(LIMIT)

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
        for _ in range(int(LIMIT) * 5):
            if self.committed() >= count or worker.process.poll() is not None:
                return
            over.wait(0.2)
        raise AssertionError(f"{self.committed()} offsets are committed, not {count}")

    def committed(self) -> int:
        return sum(self.offsets())

    def offsets(self) -> list[int]:
        """What is committed, by partition; zeros while no broker can tell."""
        consumer = RawConsumer({"bootstrap.servers": self.kafka.servers, "group.id": self.group})
        try:
            places = [TopicPartition(self.requests, n) for n in range(6)]
            return [max(0, place.offset) for place in consumer.committed(places, LIMIT)]
        except KafkaException:  # the broker is away, or the group has no coordinator yet
            return [0] * 6
        finally:
            consumer.close()

    def passed(self) -> list[str]:
        """Places behind the committed offsets of which no result was told: there may be none."""
        told = {result["lafka"]["message"] for _, result in self.told(self.filesets)}
        places = (f"{self.requests}/{number}@{place}" for number, offset in
                  enumerate(self.offsets()) for place in range(offset))  # fmt: skip
        return [place for place in places if place not in told]

    def wait_for_members(self, count: int) -> None:
        """Until so many workers share the partitions, and none of them is about to."""
        admin = AdminClient({"bootstrap.servers": self.kafka.servers, "log_level": 0})
        over = threading.Event()
        for _ in range(int(LIMIT) * 5):
            answer = admin.describe_consumer_groups([self.group], request_timeout=LIMIT)
            with suppress(KafkaException):
                found = answer[self.group].result()
                shares = [member.assignment.topic_partitions for member in found.members]
                if found.state.name == "STABLE" and len(shares) == count and all(shares):
                    return
            over.wait(0.2)
        raise AssertionError(f"the group never came to have {count} members")

    def told(self, topic: str) -> list[tuple[str, dict[str, Any]]]:
        """All that is on *topic*: keys and results."""
        consumer = RawConsumer(
            {"bootstrap.servers": self.kafka.servers, "group.id": uuid.uuid4().hex}
        )
        found = []
        try:
            places = [TopicPartition(topic, n, 0) for n in range(6)]
            left = sum(consumer.get_watermark_offsets(place, LIMIT)[1] for place in places)
            consumer.assign(places)
            while len(found) < left:
                message = consumer.poll(LIMIT)
                assert message is not None, "a message is missing"
                assert not message.error()
                found.append((message.key().decode(), json.loads(message.value())))
            return found
        finally:
            consumer.close()
