"""The consumer's thread against a library that only plays one: what it waits for, and how."""

from __future__ import annotations

from collections.abc import Callable
from queue import Queue
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from lafka.jobs import kafka
from lafka.jobs.kafka import BrokerTrouble, Message, consuming
from lafka.jobs.kafka.consuming import Consumer, TopicReader

WAIT = 400  # seconds that a busy machine may need


class Played:
    """A partition with *count* messages; ``waits`` are the seconds of each poll while paused."""

    def __init__(self, count: int) -> None:
        self.left = list(range(count))
        self.paused = False
        self.waits: list[float] = []
        self.committed: list[int] = []

    def subscribe(self, topics: list[str], on_assign: Callable[..., None], **_: object) -> None:
        on_assign(self, [place(topics[0], 0)])

    def poll(self, seconds: float) -> Any:
        if self.paused:
            self.waits.append(seconds)
        if self.paused or not self.left:
            return None
        offset = self.left.pop(0)
        return SimpleNamespace(
            error=lambda: None, topic=lambda: "t", partition=lambda: 0,
            offset=lambda: offset, value=lambda: b"x",
        )  # fmt: skip

    def pause(self, _: object) -> None:
        self.paused = True

    def resume(self, _: object) -> None:
        self.paused = False

    def commit(self, offsets: list[Any], asynchronous: bool) -> None:
        assert not asynchronous
        self.committed.append(offsets[0].offset)

    def assignment(self) -> list[Any]:
        return []

    def incremental_assign(self, partitions: list[Any]) -> None:
        assert partitions

    def close(self) -> None:
        pass


def place(topic: str, partition: int, offset: int = 0) -> Any:
    return SimpleNamespace(topic=topic, partition=partition, offset=offset)


def test_a_full_window_goes_on_when_something_is_done_and_not_at_the_next_poll(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played = Played(9)
    library = SimpleNamespace(
        Consumer=lambda _: played, TopicPartition=place, KafkaException=RuntimeError
    )
    for module in (kafka, consuming):
        monkeypatch.setattr(module, "library", lambda: library)
    monkeypatch.setattr(consuming, "quiet", dict)
    monkeypatch.setattr(consuming, "_POLL", WAIT / 2)  # to wait for it once is to fail
    inbox: Queue[Message] = Queue()
    consumer = Consumer("", ["t"], "g", deliver=inbox.put, failed=inbox.put, window=3)
    consumer.start()
    for _ in range(3):
        for message in [inbox.get(timeout=WAIT / 4) for _ in range(3)]:
            consumer.done(message)
    consumer.stop()
    assert set(played.waits) <= {0}
    assert played.committed[-1] == 9


@pytest.mark.parametrize(
    ("name", "patience", "is_answered"),
    [
        ("NOT_LEADER_FOR_PARTITION", 400.0, True),
        ("_TRANSPORT", 400.0, True),
        ("NOT_LEADER_FOR_PARTITION", 0.0, False),
        ("TOPIC_AUTHORIZATION_FAILED", 400.0, False),
    ],
)
def test_a_broker_that_has_just_begun_is_asked_again_where_a_partition_ends(
    monkeypatch: pytest.MonkeyPatch, name: str, patience: float, is_answered: bool
) -> None:
    refusals = [KafkaException(KafkaError(getattr(KafkaError, name)))] * 2

    def watermarks(_place: object, _seconds: float) -> tuple[int, int]:
        if refusals:
            raise refusals.pop()
        return 0, 7

    library = SimpleNamespace(
        Consumer=lambda _: SimpleNamespace(get_watermark_offsets=watermarks),
        TopicPartition=place,
        KafkaException=KafkaException,
    )
    for module in (kafka, consuming):
        monkeypatch.setattr(module, "library", lambda: library)
    monkeypatch.setattr(consuming, "quiet", dict)
    monkeypatch.setattr(kafka, "_PAUSE", 0)
    reader = TopicReader("", patience=patience)
    if is_answered:
        assert reader.end("t", 0) == 7
    else:
        with pytest.raises(BrokerTrouble, match=r"^t: "):
            reader.end("t", 0)
    assert len(refusals) == (0 if is_answered else 1)
