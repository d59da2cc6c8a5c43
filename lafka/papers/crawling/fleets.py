"""A fleet's two topics at their brokers: made, checked, filled and counted."""

from __future__ import annotations

import json
import re
import socket
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from lafka.errors import BadArgument, BadList, KeeperError
from lafka.jobs.kafka import BrokerTrouble
from lafka.jobs.kafka.consuming import TopicReader
from lafka.jobs.kafka.places import Place, properties
from lafka.jobs.kafka.producing import Producer
from lafka.jobs.kafka.topics import Topic, create, owners, shapes
from lafka.papers.lists.fleets import OutcomeTimes, key_of, line_of, number_of, value_of
from lafka.papers.lists.futlis import shard_of_line
from lafka.papers.outcomes import Outcome
from lafka.warc.format import dates

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from lafka.papers.archive.archives import Archive
    from lafka.papers.lists.futlis import Futli, Line
    from lafka.pids import Scheme

_CONFIG = {"cleanup.policy": "compact", "retention.ms": "-1", "max.message.bytes": "31457280"}
_WORKER = re.compile(r"[A-Za-z0-9._-]{1,200}")
HOSTS_SHOWN = 10
PARTITIONS = 64
_SILENCE = 20.0  # seconds


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
    def create(cls, url: str, settings: BaseSettings, partitions: int | None, copies: int) -> Self:
        """The fleet at *url*; topics that are missing are made. As :meth:`load`.

        *partitions*: how many each has; None: as many as are there, else 64.
        """
        place, how = _place(url), properties(settings["LAFKA_KAFKA"])
        config = {**_CONFIG, **({"min.insync.replicas": "2"} if copies > 2 else {})}
        names = [f"{place.topic}.{kind}" for kind in ("lines", "outcomes")]
        there = shapes(place.servers, names, how)
        count = next((topic.partitions for topic in there.values()), partitions or PARTITIONS)
        if partitions not in (None, count):
            raise BadArgument(
                f"{place.topic} has {count} partitions, which stay as they are:"
                f" put without --partitions {partitions}"
            )
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


_PATIENCE = {"message.timeout.ms": "60000"}
"""How long a message waits for a broker, where a person waits for the command."""


class _Sender:
    """A producer that raises its first refusal, ``BrokerTrouble``, at once or at its end."""

    def __init__(self, fleet: Fleet) -> None:
        self._producer = Producer(fleet.servers, {**_PATIENCE, **fleet.properties})
        self._refusal = ""

    def send(self, topic: str, partition: int, key: bytes, value: bytes | None) -> None:
        if self._refusal:
            raise BrokerTrouble(self._refusal)
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


def _messages(
    reader: TopicReader, topic: str, partition: int, end: int | None = None
) -> Iterator[Any]:
    heard_at = time.monotonic()
    for found in reader.read(topic, partition, end):
        yield from found
        if found:
            heard_at = time.monotonic()
        elif time.monotonic() - heard_at > _SILENCE:
            raise BrokerTrouble(f"{topic}: no broker has answered for {_SILENCE:.0f} seconds")


def again(fleet: Fleet, worker: str, scheme: Scheme, kept: Archive | None = None) -> int:
    """Have the lines that *worker* told the end of asked again; how many.

    A fut that the archive *kept* holds stays told. A line is put again with a ``since`` one second
    after its outcome: one message both ends that outcome and asks anew, so a kill loses nothing,
    and an outcome that comes meanwhile is not taken back. ``BadArgument``, ``BrokerTrouble``.
    """
    count, is_known = 0, False
    with TopicReader(fleet.servers, fleet.properties) as reader, _Sender(fleet) as sender:
        for partition, group in groupby(outcomes(fleet), key=itemgetter(0)):
            ended = {key: said["time"] for _, key, said in group if said.get("worker") == worker}
            is_known = is_known or bool(ended)
            for line in _last_lines(fleet, scheme, reader, partition, ended):
                if kept and line.futli and _holds(kept, line.futli):
                    continue
                after = datetime.fromisoformat(ended[key_of(line)]) + timedelta(seconds=1)
                since = dates.to_seconds(max(after, line.since or after))
                sender.send(fleet.lines, partition, key_of(line), value_of(line, scheme, since))
                count += 1
    if not is_known:
        raise BadArgument(f"no outcome is of a worker {worker!r}: lafka fleet status names them")
    return count


def _last_lines(
    fleet: Fleet, scheme: Scheme, reader: TopicReader, partition: int, keys: Collection[bytes]
) -> Iterator[Line]:
    """Yield the lines of *keys*, each as it was put last."""
    found = _messages(reader, fleet.lines, partition) if keys else ()
    for key, message in {m.key(): m for m in found if m.key() in keys}.items():
        number = number_of(partition, message.offset())
        with suppress(BadList):
            yield line_of(key, message.value(), number, fleet.partitions, scheme)


def _holds(archive: Archive, futli: Futli) -> bool:
    try:
        return archive.held(futli) is not None
    except KeeperError:
        return False


def status(fleet: Fleet, scheme: Scheme) -> dict[str, Any]:
    """Return how far *fleet* is, in one pass over both topics; ``BrokerTrouble``."""
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
    for message in _messages(reader, fleet.outcomes, number):
        times.add(message.key() or b"", message.value())
        ended.pop(hash(message.key()), None)
        if message.value() is not None:
            said = json.loads(message.value())
            ended[hash(message.key())] = said["outcome"], said.get("worker", "")
    opened: dict[int, str | None] = {}
    for message in _messages(reader, fleet.lines, number):
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
