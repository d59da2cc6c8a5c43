"""What is published when the broker takes a result, finds it too large, or refuses it."""

from __future__ import annotations

import json
from concurrent.futures import Future
from typing import Any

from lafka.filesets.crawling.services import Publisher
from lafka.jobs.kafka import BrokerTrouble
from lafka.jobs.kafka.producing import TooLarge

REQUEST = {"ingest_type": "dataset", "base_url": "https://x.example/"}
RESULT: dict[str, Any] = {"hit": True, "status": "success", "request": REQUEST}


class Narrow:
    """A producer whose topic takes so many bytes a message; it answers when it is told to."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.sent: list[tuple[str, dict[str, Any], Future[None]]] = []

    def send(self, topic: str, key: str, value: bytes) -> Future[None]:
        answer: Future[None] = Future()
        self.sent.append((topic, json.loads(value), answer))
        if len(value) > self.most:
            answer.set_exception(TooLarge(topic))
        return answer


def publisher(producer: Narrow, done: list[Any], failed: list[Any]) -> Publisher:
    return Publisher(
        producer,  # type: ignore[arg-type]  as much of one as is asked for
        ("filesets", "files"),
        acknowledged=done.append,
        failed=failed.append,
    )


def test_a_result_that_is_too_large_goes_without_its_manifest() -> None:
    producer, done, failed = Narrow(300), [], []
    result = RESULT | {"manifest": [{"path": "a" * 500}]}
    publisher(producer, done, failed).publish([result])
    _, told, answer = producer.sent[-1]
    assert told == RESULT | {"manifest_truncated": True}
    answer.set_result(None)
    assert (done, failed) == ([result], [])


def test_a_request_is_done_when_both_of_its_results_are_acknowledged() -> None:
    producer, done, failed = Narrow(10_000), [], []
    result = RESULT | {"status": "success-file", "fileset_file": {"file_meta": {"size_bytes": 1}}}
    file = {**RESULT, "request": REQUEST | {"ingest_type": "dataset-file"}}
    publisher(producer, done, failed).publish([result, file])
    assert [topic for topic, *_ in producer.sent] == ["filesets", "files"]
    producer.sent[1][2].set_result(None)
    assert done == []
    producer.sent[0][2].set_result(None)
    assert (done, failed) == ([result], [])


def test_what_the_broker_refuses_is_not_done() -> None:
    producer, done, failed = Narrow(10), [], []
    publisher(producer, done, failed).publish([RESULT])
    other = Narrow(1_000)
    publisher(other, done, failed).publish([RESULT])
    other.sent[0][2].set_exception(BrokerTrouble("gone"))
    assert (done, [type(one) for one in failed]) == ([], [TooLarge, BrokerTrouble])
