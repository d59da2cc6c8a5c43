"""Topics: made on request alone, and held against what they should be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from lafka.jobs.kafka import BrokerTrouble, library, quiet

_TIMEOUT = 20  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic as it should be."""

    name: str
    partitions: int
    config: Mapping[str, str] = field(default_factory=dict)


def missing(servers: str, topics: Sequence[Topic], properties: Mapping[str, str]) -> list[Topic]:
    """Those of *topics* that the brokers do not have; ``BrokerTrouble``."""
    with _admin(servers, properties) as admin:
        there = admin.list_topics(timeout=_TIMEOUT).topics
    return [topic for topic in topics if topic.name not in there]


def create(
    servers: str,
    topics: Sequence[Topic],
    properties: Mapping[str, str],
    *,
    replication: int = -1,
) -> list[Topic]:
    """Make those of *topics* that are missing; which they were. ``BrokerTrouble``.

    *replication*: copies of each partition, -1 as many as the brokers do by themselves. What is
    there is left as it is.
    """
    new = missing(servers, topics, properties)
    NewTopic = library().admin.NewTopic  # noqa: N806  a class
    asked = [
        NewTopic(topic.name, topic.partitions, replication, config=dict(topic.config))
        for topic in new
    ]
    with _admin(servers, properties) as admin:
        for made in admin.create_topics(asked, request_timeout=_TIMEOUT).values() if asked else ():
            made.result()
    return new


def differences(servers: str, topics: Sequence[Topic], properties: Mapping[str, str]) -> list[str]:
    """A sentence for each way in which the brokers' topics are not *topics*; ``BrokerTrouble``."""
    with _admin(servers, properties) as admin:
        there = admin.list_topics(timeout=_TIMEOUT).topics
        known = [topic for topic in topics if topic.name in there]
        configs = _configs(admin, known)
    found = [f"{topic.name}: is missing" for topic in topics if topic.name not in there]
    for topic in known:
        count = len(there[topic.name].partitions)
        if count != topic.partitions:
            found.append(f"{topic.name}: has {count} partitions, not {topic.partitions}")
        for name, value in topic.config.items():
            if configs[topic.name].get(name) != value:
                found.append(
                    f"{topic.name}: {name} is {configs[topic.name].get(name)}, not {value}"
                )
    return found


def _configs(admin: Any, topics: Sequence[Topic]) -> dict[str, dict[str, str]]:
    resource = library().admin.ConfigResource
    asked = [resource(resource.Type.TOPIC, topic.name) for topic in topics]
    answers = admin.describe_configs(asked, request_timeout=_TIMEOUT) if asked else {}
    return {
        one.name: {name: entry.value for name, entry in answer.result().items()}
        for one, answer in answers.items()
    }


@contextmanager
def _admin(servers: str, properties: Mapping[str, str]) -> Iterator[Any]:
    kafka = library()
    from confluent_kafka import admin  # noqa: PLC0415

    try:
        yield admin.AdminClient({**quiet(), **properties, "bootstrap.servers": servers})
    except kafka.KafkaException as error:
        raise BrokerTrouble(f"kafka://{servers}: {error.args[0].str()}") from error
