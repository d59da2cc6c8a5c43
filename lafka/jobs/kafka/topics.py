"""Topics: their addresses, librdkafka's properties from a file, and what topics should be.

Topics are made on request alone.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self

from lafka.errors import BadArgument
from lafka.jobs.kafka import BrokerTrouble, ask_again, library, quiet

PREFIX = "kafka://"
_HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9a-fA-F:]+\])(?::[0-9]{1,5})?")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
OURS = frozenset({
    "bootstrap.servers", "group.id", "enable.auto.commit", "enable.auto.offset.store",
    "auto.offset.reset", "partition.assignment.strategy", "acks", "enable.idempotence",
})  # fmt: skip
"""Properties on which at-least-once stands: a file cannot change them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Brokers, comma-separated, and a topic, empty where none is said."""

    servers: str
    topic: str = ""

    @classmethod
    def parse(cls, url: str) -> Self:
        """*url* as ``kafka://HOST[:PORT][,HOST...][/TOPIC]``; ``BadArgument``."""
        servers, _, topic = url.removeprefix(PREFIX).partition("/")
        hosts = servers.split(",")
        if not url.startswith(PREFIX) or not all(map(_HOST.fullmatch, hosts)):
            shown = re.sub("//.*@", "//", url)  # a password is not told
            raise BadArgument(f"{shown!r} is not like kafka://HOST:9092,HOST:9092/TOPIC")
        if topic and not _TOPIC.fullmatch(topic):
            raise BadArgument(f"{topic!r} is no name of a topic")
        return cls(servers=servers, topic=topic)


def is_kafka(text: str) -> bool:
    return text.startswith(PREFIX)


def properties(path: str | None) -> dict[str, str]:
    """The properties in the file at *path*, ``name=value`` lines; ``BadArgument``.

    Empty lines and those that begin with ``#`` are passed over; properties that are ours are
    refused.
    """
    if not path:
        return {}
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadArgument(f"LAFKA_KAFKA: {path}: {error}") from None
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            name, is_there, value = line.partition("=")
            if not is_there or name.strip() in OURS:
                why = "is Lafka's own" if is_there else "is not like name=value"
                raise BadArgument(f"LAFKA_KAFKA: {path}:{number}: {name.strip()!r} {why}")
            found[name.strip()] = value.strip()
    return found


_TIMEOUT = 20  # seconds
_PATIENCE = 10.0
"""Seconds in which a broker that has just begun is asked again."""
_LOOK = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic as it should be."""

    name: str
    partitions: int
    config: Mapping[str, str] = field(default_factory=dict)


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
    names = [topic.name for topic in topics]
    with _admin(servers, properties) as admin:
        made = ask_again(partial(_create, admin, topics, replication), _PATIENCE)
        known = partial(ask_again, partial(_shapes, admin, names), _PATIENCE)
        ends_at = time.monotonic() + _PATIENCE
        # The controller has made them; the broker that is asked learns of it a moment later.
        while made and len(known()) < len(names) and time.monotonic() < ends_at:
            time.sleep(_LOOK)
    return made


def _create(admin: Any, topics: Sequence[Topic], replication: int) -> list[Topic]:
    there = _shapes(admin, [topic.name for topic in topics])
    new = [topic for topic in topics if topic.name not in there]
    new_topic = partial(library().admin.NewTopic, replication_factor=replication)
    asked = [new_topic(one.name, one.partitions, config=dict(one.config)) for one in new]
    for made in admin.create_topics(asked, request_timeout=_TIMEOUT).values() if asked else ():
        made.result()
    return new


def differences(servers: str, topics: Sequence[Topic], properties: Mapping[str, str]) -> list[str]:
    """A sentence for each way in which the brokers' topics are not *topics*; ``BrokerTrouble``."""
    there = shapes(servers, [topic.name for topic in topics], properties)
    found = [f"{topic.name}: is missing" for topic in topics if topic.name not in there]
    for topic in topics:
        if not (known := there.get(topic.name)):
            continue
        if known.partitions != topic.partitions:
            found.append(f"{topic.name}: has {known.partitions} partitions, not {topic.partitions}")
        found += [
            f"{topic.name}: {name} is {known.config.get(name)}, not {value}"
            for name, value in topic.config.items()
            if known.config.get(name) != value
        ]
    return found


@contextmanager
def _admin(servers: str, properties: Mapping[str, str]) -> Iterator[Any]:
    kafka = library()
    from confluent_kafka import admin  # noqa: PLC0415

    try:
        yield admin.AdminClient({**quiet(), **properties, "bootstrap.servers": servers})
    except kafka.KafkaException as error:
        if error.args[0].code() == kafka.KafkaError._TRANSPORT:
            why = f"does not answer within {_TIMEOUT} seconds"
            raise BrokerTrouble(f"kafka://{servers} {why}") from error
        raise BrokerTrouble(f"kafka://{servers}: {error.args[0].str()}") from error


def shapes(servers: str, names: Sequence[str], properties: Mapping[str, str]) -> dict[str, Topic]:
    """Those of the topics *names* that are there, as they are; ``BrokerTrouble``."""
    with _admin(servers, properties) as admin:
        return ask_again(partial(_shapes, admin, names), _PATIENCE)


def _shapes(admin: Any, names: Sequence[str]) -> dict[str, Topic]:
    there = admin.list_topics(timeout=_TIMEOUT).topics
    found = [there[name] for name in names if name in there]
    for one in found:
        if one.error:  # such as a partition that has no leader yet
            raise library().KafkaException(one.error)
    resource = library().admin.ConfigResource
    asked = [resource(resource.Type.TOPIC, one.topic) for one in found]
    answers = admin.describe_configs(asked, request_timeout=_TIMEOUT) if asked else {}
    configs = {one.name: answer.result() for one, answer in answers.items()}
    return {
        one.topic: Topic(
            name=one.topic,
            partitions=len(one.partitions),
            config={name: entry.value for name, entry in configs[one.topic].items()},
        )
        for one in found
    }


def owners(servers: str, group: str, topic: str, properties: Mapping[str, str]) -> dict[int, str]:
    """The members of *group* by the partitions of *topic* that they have; ``BrokerTrouble``."""
    with _admin(servers, properties) as admin:
        answers = admin.describe_consumer_groups([group], request_timeout=_TIMEOUT)
        try:
            members = answers[group].result().members
        except library().KafkaException as error:
            if error.args[0].code() == library().KafkaError.GROUP_AUTHORIZATION_FAILED:
                raise
            return {}  # no member was there yet, or the group is looked for
    return {
        place.partition: member.group_instance_id or member.client_id
        for member in members
        for place in member.assignment.topic_partitions
        if place.topic == topic
    }
