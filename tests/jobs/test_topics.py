"""Topics at brokers that have just begun: what they refuse for a moment is asked again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from lafka.jobs import kafka
from lafka.jobs.kafka import BrokerTrouble, topics
from lafka.jobs.kafka.consuming import Reader
from lafka.jobs.kafka.producing import Producer
from lafka.jobs.kafka.topics import Topic, create, shapes

NEVER = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "_PAUSE", 0)
    monkeypatch.setattr(topics, "_LOOK", 0)


class Admin:
    """A broker that knows one topic more, or one otherwise, each time that it is asked."""

    def __init__(self, *known: tuple[str, KafkaError | None]) -> None:
        self.known = list(known)
        self.shown: dict[str, Any] = {}
        self.made: list[str] = []

    def list_topics(self, timeout: float) -> Any:
        if self.known:
            name, error = self.known.pop(0)
            self.shown[name] = SimpleNamespace(topic=name, error=error, partitions={0: 1, 1: 2})
        return SimpleNamespace(topics=self.shown)

    def describe_configs(self, asked: list[Any], request_timeout: float) -> dict[Any, Any]:
        values = {"cleanup.policy": SimpleNamespace(value="compact")}
        return {one: SimpleNamespace(result=lambda: values) for one in asked}

    def create_topics(self, asked: list[Any], request_timeout: float) -> dict[str, Any]:
        self.made += [one.topic for one in asked]
        return {one.topic: SimpleNamespace(result=lambda: None) for one in asked}


def reached(monkeypatch: pytest.MonkeyPatch, admin: Admin) -> Admin:
    monkeypatch.setattr("confluent_kafka.admin.AdminClient", lambda _: admin)
    return admin


def test_a_topic_without_a_leader_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    late = KafkaError(KafkaError.LEADER_NOT_AVAILABLE)
    reached(monkeypatch, Admin(("a", late), ("a", late), ("a", None)))
    assert shapes("x", ["a", "b"], {})["a"].partitions == 2
    reached(monkeypatch, Admin(("a", NEVER)))
    with pytest.raises(BrokerTrouble, match=r"^kafka://x: .*[Aa]uthoriz"):
        shapes("x", ["a"], {})


def test_topics_that_were_made_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [Topic(name=name, partitions=2) for name in "ab"]
    other = ("other", None)
    admin = reached(monkeypatch, Admin(other, other, ("a", None), other, ("b", None)))
    assert create("x", wanted, {}, replication=1) == wanted
    assert admin.made == ["a", "b"]
    assert admin.shown.keys() == {"other", "a", "b"}


def test_properties_that_do_not_go_together_are_told_in_a_sentence() -> None:
    with pytest.raises(BrokerTrouble, match=r"kafka://127.0.0.1:1: .*linger\.ms"):
        Producer("127.0.0.1:1", {"message.timeout.ms": "5", "linger.ms": "1000"})
    properties = {"max.poll.interval.ms": "10", "session.timeout.ms": "9999"}
    with pytest.raises(BrokerTrouble, match=r"kafka://127.0.0.1:1: .*session\.timeout\.ms"):
        Reader("127.0.0.1:1", ["t"], "g", properties)
