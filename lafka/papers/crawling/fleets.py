"""A fleet's two topics at their brokers: made, checked, filled and counted."""

from __future__ import annotations

import json
import re
import socket
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from lafka.errors import BadArgument, BadList
from lafka.jobs.kafka import BrokerTrouble
from lafka.jobs.kafka.consuming import TopicReader
from lafka.jobs.kafka.places import Place, properties
from lafka.jobs.kafka.producing import Producer
from lafka.jobs.kafka.topics import Topic, create, owners, shapes
from lafka.papers.lists.fleets import OutcomeTimes, key_of, line_of, number_of, value_of
from lafka.papers.lists.shards import shard_of_line
from lafka.papers.outcomes import Outcome

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from lafka.papers.lists.futlis import Line
    from lafka.pids import Scheme

_CONFIG = {"cleanup.policy": "compact", "retention.ms": "-1", "max.message.bytes": "31457280"}
_WORKER = re.compile(r"[A-Za-z0-9._-]{1,200}")
HOSTS_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """A fleet: the brokers, the name of its topics, and how many partitions each has."""

    servers: str
    name: str
    partitions: int
    properties: Mapping[str, str]

    @property
    def lines(self) -> str:
        return f"{self.name}.lines"

    @property
    def outcomes(self) -> str:
        return f"{self.name}.outcomes"

    @property
    def group(self) -> str:
        return f"{self.name}.workers"

    @classmethod
    def load(cls, url: str, settings: BaseSettings) -> Self:
        """The fleet at *url*, ``kafka://HOST/NAME``, whose topics are there and as they should be.

        ``BadArgument``, ``BrokerTrouble``.
        """
        place, how = _place(url), properties(settings["LAFKA_KAFKA"])
        names = [f"{place.topic}.{kind}" for kind in ("lines", "outcomes")]
        found = shapes(place.servers, names, how)
        for name in names:
            if name not in found:
                raise BadArgument(f"the topic {name} is missing: lafka fleet put LIST makes it")
            if (policy := found[name].config.get("cleanup.policy")) != "compact":
                raise BadArgument(f"the topic {name} is not compacted: its policy is {policy}")
        lines, outcomes = (found[name].partitions for name in names)
        if lines != outcomes:
            raise BadArgument(
                f"{names[0]} has {lines} partitions and {names[1]} has {outcomes}:"
                " they need as many"
            )
        return cls(servers=place.servers, name=place.topic, partitions=lines, properties=how)

    @classmethod
    def create(cls, url: str, settings: BaseSettings, partitions: int, copies: int) -> Self:
        """The fleet at *url*; topics that are missing are made. As :meth:`load`."""
        place, how = _place(url), properties(settings["LAFKA_KAFKA"])
        config = {**_CONFIG, **({"min.insync.replicas": "2"} if copies > 2 else {})}
        names = [f"{place.topic}.{kind}" for kind in ("lines", "outcomes")]
        there = shapes(place.servers, names, how)
        count = next((topic.partitions for topic in there.values()), partitions)
        wanted = [Topic(name=name, partitions=count, config=config) for name in names]
        create(place.servers, wanted, how, replication=copies)
        return cls.load(url, settings)


def _place(url: str) -> Place:
    place = Place.parse(url)
    if not place.topic:
        raise BadArgument(f"{url} names no fleet: kafka://HOST/crawl")
    return place


def worker_name(settings: BaseSettings) -> str:
    """The name of this worker: LAFKA_WORKER, else this host's with the archive's folder.

    ``BadArgument``.
    """
    if name := settings.get("LAFKA_WORKER"):
        if not _WORKER.fullmatch(name):
            raise BadArgument(f"LAFKA_WORKER={name!r} is not of letters, digits, '.', '_' and '-'")
        return str(name)
    path = str(Path(settings["LAFKA_ARCHIVE"]).absolute())
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{socket.gethostname()}{path}")
    return name if len(name) <= 200 else f"{name[:180]}-{sha256(path.encode()).hexdigest()[:16]}"


def put(fleet: Fleet, lines: Iterable[Line], scheme: Scheme, since: str = "") -> int:
    """Put *lines*, whose pids are judged by *scheme*, on the topic; how many. ``BrokerTrouble``.

    *since*: lines that ended before it are to be asked for again.
    """
    count = 0
    with _Sender(fleet) as sender:
        for line in lines:
            partition = shard_of_line(line, fleet.partitions)
            sender.send(fleet.lines, partition, key_of(line), value_of(line, scheme, since))
            count += 1
    return count


class _Sender:
    """A producer whose first refusal is raised at the end, ``BrokerTrouble``."""

    def __init__(self, fleet: Fleet) -> None:
        self._producer = Producer(fleet.servers, fleet.properties)
        self._refusal = ""

    def send(self, topic: str, partition: int, key: bytes, value: bytes | None) -> None:
        self._producer.put(topic, partition, key, value, self._delivered)

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None and not self._refusal:
            self._refusal = f"{message.topic()}: {error.str()}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._producer.close()
        if self._refusal:
            raise BrokerTrouble(self._refusal)


def outcomes(fleet: Fleet) -> Iterator[tuple[int, bytes, dict[str, Any]]]:
    """Yield partition, key and value of the last outcome of each line; ``BrokerTrouble``."""
    with TopicReader(fleet.servers, fleet.properties) as reader:
        for partition in range(fleet.partitions):
            end = reader.end(fleet.outcomes, partition)
            last: dict[int, int] = {}
            for message in _messages(reader, fleet.outcomes, partition, end):
                last[hash(message.key())] = message.offset()
            for message in _messages(reader, fleet.outcomes, partition, end):
                is_last = last.get(hash(message.key())) == message.offset()
                if is_last and message.value() is not None:
                    yield partition, message.key(), json.loads(message.value())


def _messages(reader: TopicReader, topic: str, partition: int, end: int) -> Iterator[Any]:
    for found in reader.read(topic, partition, end):
        yield from found


def status(fleet: Fleet, scheme: Scheme) -> dict[str, Any]:
    """How far *fleet* is, in one pass over both topics; ``BrokerTrouble``."""
    held_by = owners(fleet.servers, fleet.group, fleet.lines, fleet.properties)
    words: Counter[str] = Counter()
    workers: Counter[str] = Counter(dict.fromkeys(held_by.values(), 0))
    left: Counter[str] = Counter()
    partitions = []
    with TopicReader(fleet.servers, fleet.properties) as reader:
        for number in range(fleet.partitions):
            lines, done = _count(fleet, scheme, reader, number, (words, workers, left))
            owner = held_by.get(number)
            partitions.append({"partition": number, "lines": lines, "done": done, "owner": owner})
    groups = Counter()  # type: Counter[str]
    for word, count in words.items():
        groups[str(Outcome(word).group)] += count
    shares = Counter(held_by.values())
    return {
        "lines": sum(one["lines"] for one in partitions),
        "done": sum(one["done"] for one in partitions),
        "outcomes": dict(words.most_common()),
        "groups": dict(groups.most_common()),
        "partitions": partitions,
        "workers": [
            {"worker": name, "partitions": shares[name], "outcomes": count}
            for name, count in sorted(workers.items())
        ],
        "hosts": [{"host": h, "lines": n} for h, n in left.most_common(HOSTS_SHOWN)],
    }


def _count(
    fleet: Fleet,
    scheme: Scheme,
    reader: TopicReader,
    number: int,
    counts: tuple[Counter[str], Counter[str], Counter[str]],
) -> tuple[int, int]:
    """Return the lines of a partition and how many are done; *counts* of words, workers, hosts."""
    words, workers, left = counts
    times = OutcomeTimes()
    ended: dict[int, tuple[str, str]] = {}
    for message in _messages(reader, fleet.outcomes, number, reader.end(fleet.outcomes, number)):
        times.add(message.key() or b"", message.value())
        ended.pop(hash(message.key()), None)
        if message.value() is not None:
            said = json.loads(message.value())
            ended[hash(message.key())] = said["outcome"], said.get("worker", "")
    opened: dict[int, str | None] = {}
    for message in _messages(reader, fleet.lines, number, reader.end(fleet.lines, number)):
        key, value = message.key() or b"", message.value()
        try:
            line = line_of(
                key, value, number_of(number, message.offset()), fleet.partitions, scheme
            )
        except (BadList, TypeError):
            continue
        opened[hash(key)] = line.host if times.is_open(key, value) else None
    for name, host in opened.items():
        if host is None:
            words[ended[name][0]] += 1
            workers[ended[name][1]] += 1
        else:
            left[host] += 1
    return len(opened), sum(host is None for host in opened.values())
