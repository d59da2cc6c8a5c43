"""A fleet's two topics at their brokers: made, checked, filled and counted."""

from __future__ import annotations

import json
import re
import socket
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
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
from lafka.jobs.kafka.producing import Producer
from lafka.jobs.kafka.topics import Place, Topic, create, owners, properties, shapes
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
        place, names, how = _topics(url, settings)
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
        place, names, how = _topics(url, settings)
        config = {**_CONFIG, **({"min.insync.replicas": "2"} if copies > 2 else {})}
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


def _topics(url: str, settings: BaseSettings) -> tuple[Place, list[str], dict[str, str]]:
    """The place that *url* names, the names of its topics, and how brokers are reached."""
    place = Place.parse(url)
    if not place.topic:
        raise BadArgument(f"{url} names no fleet: kafka://HOST/crawl")
    names = [f"{place.topic}.{kind}" for kind in ("lines", "outcomes")]
    return place, names, properties(settings["LAFKA_KAFKA"])


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
    with _sending(fleet) as send:
        for line in lines:
            partition = shard_of_line(line, fleet.partitions)
            send(partition, key_of(line), value_of(line, scheme, since))
            count += 1
    return count


_SENDING: dict[str, Any] = {
    "message.timeout.ms": "60000",  # as a person waits for the command
    "linger.ms": "250",  # else each of many partitions sends a few lines at a time
    "queue.buffering.max.messages": "100000",
    "delivery.report.only.error": True,
}


@contextmanager
def _sending(fleet: Fleet) -> Iterator[Callable[[int, bytes, bytes], None]]:
    """Yield what sends a line; a refusal is raised soon, or at the end: ``BrokerTrouble``."""
    producer = Producer(fleet.servers, {**_SENDING, **fleet.properties}, has_thread=False)
    refusals: list[str] = []
    topic = fleet.lines

    def delivered(error: Any, message: Any) -> None:
        if error is not None:
            refusals.append(f"{message.topic()}: {error.str()}")

    def send(partition: int, key: bytes, value: bytes) -> None:
        if refusals:
            raise BrokerTrouble(refusals[0])
        producer.put(topic, partition, key, value, delivered)

    try:
        yield send
    finally:
        producer.close()
    if refusals:
        raise BrokerTrouble(refusals[0])


def _reader(fleet: Fleet) -> TopicReader:
    return TopicReader(fleet.servers, fleet.properties, patience=_SILENCE)


def outcomes(fleet: Fleet) -> Iterator[tuple[int, bytes, dict[str, Any]]]:
    """Yield partition, key and value of the last outcome of each line; ``BrokerTrouble``."""
    with closing(_reader(fleet)) as reader:
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
    with closing(_reader(fleet)) as reader, _sending(fleet) as send:
        for partition, group in groupby(outcomes(fleet), key=itemgetter(0)):
            ended = {key: said["time"] for _, key, said in group if said.get("worker") == worker}
            is_known = is_known or bool(ended)
            for line in _last_lines(fleet, scheme, reader, partition, ended):
                if kept and line.futli and _holds(kept, line.futli):
                    continue
                after = datetime.fromisoformat(ended[key_of(line)]) + timedelta(seconds=1)
                since = dates.to_seconds(max(after, line.since or after))
                send(partition, key_of(line), value_of(line, scheme, since))
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
    groups: Counter[str] = Counter()
    left: Counter[str] = Counter()
    workers: Counter[str] = Counter(dict.fromkeys(held_by.values(), 0))
    partitions = []
    with closing(_reader(fleet)) as reader:
        for number in range(fleet.partitions):
            lines = done = 0
            for host, ended in _joined(fleet, scheme, reader, number):
                lines += 1
                if ended is None:
                    left[host] += 1
                    continue
                done += 1
                words[ended[0]] += 1
                workers[ended[1]] += 1
            owner = held_by.get(number)
            partitions.append({"partition": number, "lines": lines, "done": done, "owner": owner})
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


def _joined(
    fleet: Fleet, scheme: Scheme, reader: TopicReader, partition: int
) -> Iterator[tuple[str, tuple[str, str] | None]]:
    """Yield the host of each line of *partition*, with outcome and worker where it has ended."""
    times = OutcomeTimes()
    ended: dict[int, tuple[str, str]] = {}
    for message in _messages(reader, fleet.outcomes, partition):
        key, value = message.key() or b"", message.value()
        times.add(key, value)
        if value is not None:
            said = json.loads(value)
            ended[hash(key)] = said["outcome"], said.get("worker", "")
    lines: dict[int, tuple[str, tuple[str, str] | None]] = {}
    for message in _messages(reader, fleet.lines, partition):
        key, value = message.key() or b"", message.value()
        number = number_of(partition, message.offset())
        with suppress(BadList):
            line = line_of(key, value, number, fleet.partitions, scheme)
            found = None if times.is_open(key, value) else ended[hash(key)]
            lines[hash(key)] = line.host, found
    yield from lines.values()
