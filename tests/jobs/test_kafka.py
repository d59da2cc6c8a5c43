"""A real broker: topics, what is sent, what is read again after a crash, a second worker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from queue import Queue

import pytest
from confluent_kafka import Consumer as RawConsumer
from confluent_kafka import TopicPartition

from lafka.errors import BadArgument
from lafka.jobs.kafka import BrokerTrouble, Message
from lafka.jobs.kafka.consuming import Consumer, Partition, Reader
from lafka.jobs.kafka.producing import LARGEST, Producer, TooLarge
from lafka.jobs.kafka.topics import Place, Topic, create, differences, properties
from tests import starts
from tests.filesets.test_persist import urls
from tests.filesets.test_persisting import result
from tests.services.kafkas import Kafka, started, take_the_name
from tests.waiting import LIMIT

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def kafka() -> Iterator[Kafka]:
    broker = started()
    yield broker
    broker.end()


@pytest.fixture
def topic(kafka: Kafka) -> str:
    name = f"t{uuid.uuid4().hex}"
    create(kafka.servers, [Topic(name=name, partitions=4)], {}, replication=1)
    return name


def sent(kafka: Kafka, topic: str, count: int) -> None:
    with closing(Producer(kafka.servers)) as producer:
        answers = [producer.send(topic, str(n), str(n).encode()) for n in range(count)]
        for answer in answers:
            answer.result(LIMIT)


def committed(kafka: Kafka, topic: str, group: str) -> int:
    """How many messages the group has behind it."""
    consumer = RawConsumer({"bootstrap.servers": kafka.servers, "group.id": group})
    try:
        found = consumer.committed([TopicPartition(topic, n) for n in range(4)], LIMIT)
        return sum(max(0, place.offset) for place in found)
    finally:
        consumer.close()


class Worker:
    """A consumer whose messages wait in a queue."""

    def __init__(
        self, kafka: Kafka, topic: str, group: str, window: int = 100, name: str | None = None
    ) -> None:
        self.inbox: Queue[Message | BrokerTrouble] = Queue()
        self.gone: set[Partition] = set()
        self.consumer = Consumer(
            kafka.servers, [topic], group,
            deliver=self.inbox.put, failed=self.inbox.put, let_go=self.gone.update, window=window,
            properties={"group.instance.id": name} if name else None,
        )  # fmt: skip
        self.consumer.start()

    def take(self, count: int) -> list[Message]:
        found = [self.inbox.get(timeout=LIMIT) for _ in range(count)]
        assert all(isinstance(one, Message) for one in found), found
        return [one for one in found if isinstance(one, Message)]


def test_topics_are_made_once_and_differences_told(kafka: Kafka) -> None:
    name = f"t{uuid.uuid4().hex}"
    wanted = Topic(name=name, partitions=3, config={"retention.ms": "-1"})
    assert differences(kafka.servers, [wanted], {}) == [f"{name}: is missing"]
    assert create(kafka.servers, [wanted], {}, replication=1) == [wanted]
    assert create(kafka.servers, [wanted], {}, replication=1) == []
    assert differences(kafka.servers, [wanted], {}) == []
    other = Topic(name=name, partitions=6, config={"retention.ms": "5"})
    assert differences(kafka.servers, [other], {}) == [
        f"{name}: has 3 partitions, not 6",
        f"{name}: retention.ms is -1, not 5",
    ]


def test_the_command_makes_all_topics_of_ingest(kafka: Kafka) -> None:
    def topics(*args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "scrapy", "topics", f"kafka://{kafka.servers}", *args]
        return starts.run(
            [*command, "-s", "LAFKA_KAFKA_ENV=test"],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip

    before = topics("--check")
    assert before.returncode == 1
    assert before.stdout.count("is missing") == 5
    made = topics("--create", "--copies", "1")
    assert made.returncode == 0, made.stderr
    assert "sandcrawler-test.ingest-file-requests-daily: made, 24 partitions" in made.stdout
    assert topics("--check").stdout == ""


def test_every_message_that_is_acknowledged_is_read(kafka: Kafka, topic: str) -> None:
    sent(kafka, topic, 50)
    worker = Worker(kafka, topic, "all")
    found = worker.take(50)
    for message in found:
        worker.consumer.done(message)
    worker.consumer.stop()
    assert {int(message.value) for message in found} == set(range(50))
    assert committed(kafka, topic, "all") == 50


def test_who_puts_many_messages_needs_no_thread_for_their_answers(kafka: Kafka, topic: str) -> None:
    answers: list[object] = []
    few = {"queue.buffering.max.messages": "20"}
    with closing(Producer(kafka.servers, few, has_thread=False)) as producer:
        for number in range(90):
            producer.put(topic, number % 4, b"key", b"value", lambda e, _: answers.append(e))
        assert len(answers) >= 70  # the others may wait
    assert answers == [None] * 90


def test_what_was_not_done_is_read_again(kafka: Kafka, topic: str) -> None:
    sent(kafka, topic, 20)
    worker = Worker(kafka, topic, "again")
    found = worker.take(20)
    undone = found[7]
    for message in found:
        if message is not undone:
            worker.consumer.done(message)
    worker.consumer.stop()
    after = Worker(kafka, topic, "again")
    repeated = after.take(1)
    assert repeated[0].value == undone.value
    assert repeated[0].offset == undone.offset
    after.consumer.stop()


def test_the_window_bounds_what_is_read(kafka: Kafka, topic: str) -> None:
    sent(kafka, topic, 60)
    worker = Worker(kafka, topic, "window", window=10)
    taken = worker.take(10)
    seen = 10
    while seen < 60:
        assert worker.consumer.counts["read"] <= seen - len(taken) + 10 + 4
        for message in taken:
            worker.consumer.done(message)
        taken = worker.take(1)
        seen += 1
    for message in taken:
        worker.consumer.done(message)
    worker.consumer.stop()
    assert worker.consumer.counts["paused"] >= 1
    assert committed(kafka, topic, "window") == 60


def test_a_second_worker_gets_its_share_and_the_first_lets_go(kafka: Kafka, topic: str) -> None:
    first = Worker(kafka, topic, "two")
    sent(kafka, topic, 40)
    held = first.take(40)
    second = Worker(kafka, topic, "two")
    others = second.take(1)  # of a partition that the first one had begun and not done
    assert any((m.partition, m.offset) == (others[0].partition, others[0].offset) for m in held)
    lost = [m for m in held if not first.consumer.is_ours(m)]
    assert lost
    assert {(message.topic, message.partition) for message in lost} == first.gone
    for message in held:
        first.consumer.done(message)
    first.consumer.stop()
    second.consumer.stop()
    mine = sum(m not in lost for m in held)
    assert committed(kafka, topic, "two") == mine


def test_a_message_that_is_too_large_is_told_apart(kafka: Kafka, topic: str) -> None:
    with closing(Producer(kafka.servers)) as producer:
        with pytest.raises(TooLarge):
            producer.send(topic, "k", bytes(LARGEST + 1)).result(LIMIT)
        with pytest.raises(TooLarge):  # the topic takes a MiB
            producer.send(topic, "k", os.urandom(10_000_000)).result(LIMIT)
        producer.send(topic, "k", b"small").result(LIMIT)


def test_a_topic_that_is_missing_is_told(kafka: Kafka) -> None:
    worker = Worker(kafka, f"t{uuid.uuid4().hex}", "missing")
    told = worker.inbox.get(timeout=LIMIT)
    assert isinstance(told, BrokerTrouble)
    assert "Unknown topic" in str(told)
    worker.consumer.stop()


def test_a_broker_that_is_killed_comes_back_and_nothing_is_lost(kafka: Kafka, topic: str) -> None:
    sent(kafka, topic, 10)
    worker = Worker(kafka, topic, "killed")
    before = worker.take(10)
    kafka.kill()
    with closing(Producer(kafka.servers)) as producer:
        answers = [producer.send(topic, str(n), b"late") for n in range(5)]
        for message in before:
            worker.consumer.done(message)
        kafka.start()
        for answer in answers:
            answer.result(LIMIT)
    late = set()
    while len(late) < 5:  # what was not committed may come again
        (message,) = worker.take(1)
        if message.value == b"late":
            late.add((message.partition, message.offset))
        worker.consumer.done(message)
    worker.consumer.stop()
    assert committed(kafka, topic, "killed") == 15


def test_a_fenced_member_joins_again_once_and_then_leaves_the_name_to_the_other(
    kafka: Kafka, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    sent(kafka, topic, 4)
    worker = Worker(kafka, topic, "fenced", name="one")
    before = worker.take(4)
    take_the_name(kafka, topic, "fenced", "one")
    again = worker.take(4)
    assert worker.gone == {(topic, partition) for partition in range(4)}
    assert "joins again" in caplog.text
    assert not any(worker.consumer.is_ours(message) for message in before)
    assert all(worker.consumer.is_ours(message) for message in again)
    take_the_name(kafka, topic, "fenced", "one")
    trouble = worker.inbox.get(timeout=LIMIT)
    assert isinstance(trouble, BrokerTrouble)
    assert "fenced" in str(trouble)
    worker.consumer.stop()


def test_a_reader_commits_batches_and_rests(kafka: Kafka, topic: str) -> None:
    sent(kafka, topic, 30)
    with closing(Reader(kafka.servers, [topic], "reader")) as reader:
        found: list[Message] = []
        for batch in reader.batches(7, 1.0):
            assert len(batch) <= 7
            found += batch
            reader.commit(batch) if batch else None
            if len(found) == 10:
                reader.rest(0.1)
            if len(found) == 30:
                break
    assert committed(kafka, topic, "reader") == 30


def test_results_on_topics_are_persisted_until_a_signal(kafka: Kafka, tmp_path: Path) -> None:
    env = f"e{uuid.uuid4().hex}"
    names = [
        f"sandcrawler-{env}.{name}" for name in ("ingest-fileset-results", "ingest-file-results")
    ]
    create(kafka.servers, [Topic(name=n, partitions=2) for n in names], {}, replication=1)
    with closing(Producer(kafka.servers)) as producer:
        for n in range(20):
            producer.send(names[n % 2], str(n), result(n)).result(LIMIT)
        producer.send(names[0], "x", b"poison").result(LIMIT)
    command = [sys.executable, "-m", "scrapy", "persist", f"kafka://{kafka.servers}"]
    worker = starts.Popen(
        [*command, "-s", f"LAFKA_ARCHIVE={tmp_path}", "-s", f"LAFKA_KAFKA_ENV={env}"],
        cwd=ROOT, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        _until_committed(kafka, names, f"sandcrawler-{env}-persist-ingest-fileset", 21)
        worker.terminate()
        _, told = worker.communicate(timeout=LIMIT)
    finally:
        worker.kill()
        worker.wait()
    assert "20 results written, 1 refused" in told
    assert sorted(urls(tmp_path / "ingest.sqlite")) == sorted(
        f"https://x.example/{n}" for n in range(20)
    )
    (dead,) = (tmp_path / "ingest.dead.jsonl").read_text("utf-8").splitlines()
    assert json.loads(dead)["topic"] == names[0]


def _until_committed(kafka: Kafka, topics: list[str], group: str, count: int) -> None:
    """Ask the broker, again and again, until *group* has *count* messages behind it."""
    consumer = RawConsumer({"bootstrap.servers": kafka.servers, "group.id": group})
    over = threading.Event()
    try:
        for _ in range(int(LIMIT) * 5):
            places = [TopicPartition(topic, n) for topic in topics for n in range(2)]
            if sum(max(0, p.offset) for p in consumer.committed(places, LIMIT)) == count:
                return
            over.wait(0.2)
    finally:
        consumer.close()
    raise AssertionError("the offsets were not committed")


@pytest.mark.parametrize("url", ["kafka://", "kafka://a b/x", "http://h/x", "kafka://h/a b"])
def test_a_place_that_is_none_is_told(url: str) -> None:
    with pytest.raises(BadArgument):
        Place.parse(url)


def test_a_place_is_brokers_and_a_topic() -> None:
    place = Place.parse("kafka://a:9092,b.example,[::1]:9/x.y")
    assert (place.servers, place.topic) == ("a:9092,b.example,[::1]:9", "x.y")


def test_properties_are_read_from_a_file_and_ours_are_ours(tmp_path: Path) -> None:
    path = tmp_path / "kafka.properties"
    path.write_text("# TLS\n\nsecurity.protocol = ssl\nsasl.password=a=b\n", "utf-8")
    assert properties(str(path)) == {"security.protocol": "ssl", "sasl.password": "a=b"}
    for line in ("enable.auto.commit=true", "no value"):
        path.write_text(f"a=b\n{line}\n", "utf-8")
        with pytest.raises(BadArgument, match=":2: "):
            properties(str(path))
    with pytest.raises(BadArgument, match="No such file"):
        properties(str(tmp_path / "none"))
