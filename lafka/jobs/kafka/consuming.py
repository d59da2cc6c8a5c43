"""Messages for a crawl: a thread of its own owns the consumer and polls for ever.

Polling never stops, so a message that takes a day trips no ``max.poll.interval.ms``: where the
window is full, partitions are paused. Offsets are committed up to the lowest that is not done,
every few seconds, when partitions are revoked, and at the end. At least once: a crash repeats at
most the window. A worker that does one after the other takes them in batches, in its own thread.
"""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lafka.jobs.kafka import PASSING, BrokerTrouble, Message, ask_again, client, library, quiet

_POLL = 0.5  # seconds
_ANSWER = 2  # seconds in which a broker says where a partition ends
_PIECE = 2_000


class Reader:
    """Messages of *topics* for the *group*; ``BrokerTrouble`` where a topic is not there.

    Offsets are committed by :meth:`commit` alone.
    """

    def __init__(
        self,
        servers: str,
        topics: Sequence[str],
        group: str,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self._kafka = library()
        self._consumer = client("Consumer", settings(servers, group, properties))
        self._resting = False
        self._consumer.subscribe(list(topics), on_assign=self._assigned)

    def _assigned(self, consumer: Any, partitions: list[Any]) -> None:
        consumer.incremental_assign(partitions)
        if self._resting:
            consumer.pause(partitions)

    def batches(self, size: int, seconds: float) -> Iterator[list[Message]]:
        """For ever: up to *size* messages, those that came within *seconds*; empty for none."""
        while True:
            found = self._consumer.consume(size, seconds)
            yield [self._message(one) for one in found]

    def _message(self, found: Any) -> Message:
        if error := found.error():
            raise BrokerTrouble(f"{found.topic() or 'kafka'}: {error.str()}")
        value = found.value() or b""
        return Message(
            topic=found.topic(), partition=found.partition(), offset=found.offset(), value=value
        )

    def commit(self, messages: Sequence[Message]) -> None:
        """*messages* are done. Where partitions have gone to another, it does them again."""
        last = {(m.topic, m.partition): m.offset + 1 for m in messages}
        offsets = [self._kafka.TopicPartition(*place, at) for place, at in last.items()]
        try:
            self._consumer.commit(offsets=offsets, asynchronous=False)
        except self._kafka.KafkaException:
            return  # at least once: the rows are written again, to no effect

    def rest(self, seconds: float) -> None:
        """Take nothing for *seconds*, and stay a member of the group."""
        self._resting = True
        self._consumer.pause(self._consumer.assignment())
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._consumer.poll(min(_POLL, seconds))
        self._resting = False
        self._consumer.resume(self._consumer.assignment())

    def close(self) -> None:
        self._consumer.close()


class TopicReader:
    """Reads partitions from an offset to their end, without a group; for one thread.

    *patience*: seconds in which a broker that cannot answer yet, as it has just begun or is not
    reached, is asked again.
    """

    def __init__(
        self,
        servers: str,
        properties: Mapping[str, str] | None = None,
        *,
        patience: float = 0.0,
    ) -> None:
        self._kafka = library()
        self._patience = patience
        own = {"enable.partition.eof": True, "fetch.wait.max.ms": 20, "group.id": "lafka-reader"}
        self._consumer = client(
            "Consumer",
            {**quiet(), **(properties or {}), "bootstrap.servers": servers,
             "enable.auto.commit": False, **own},
        )  # fmt: skip

    def end(self, topic: str, partition: int) -> int:
        """The offset behind the last message; ``BrokerTrouble`` where no broker says it."""
        place = self._kafka.TopicPartition(topic, partition)
        ask = self._consumer.get_watermark_offsets
        try:
            end: int = ask_again(lambda: ask(place, _ANSWER), self._patience)[1]
        except self._kafka.KafkaException as error:
            raise BrokerTrouble(f"{topic}: {error.args[0].str()}") from None
        return end

    def read(self, topic: str, partition: int, end: int | None = None) -> Iterator[list[Any]]:
        """Yield all messages before *end* in pieces, empty ones while no broker answers."""
        if end is None:
            end = self.end(topic, partition)
        self._consumer.assign([self._kafka.TopicPartition(topic, partition, 0)])
        is_over = not end
        while not is_over:
            found = self._consumer.consume(_PIECE, _POLL)
            is_over = any(one.offset() >= end - 1 for one in found if not one.error())
            codes = [one.error().code() for one in found if one.error()]
            is_over = is_over or self._kafka.KafkaError._PARTITION_EOF in codes
            yield [one for one in found if not one.error() and one.offset() < end]
        self._consumer.unassign()

    def close(self) -> None:
        self._consumer.close()


Partition = tuple[str, int]


@dataclass(slots=True)
class _Line:
    """Offsets of one partition that are open, in the order in which they came, and the next one."""

    open: dict[int, None] = field(default_factory=dict)
    next: int = -1
    committed: int = -1


@dataclass(slots=True)
class Offsets:
    """The offsets that were read and are not yet done, of each partition that is ours."""

    _lines: dict[Partition, _Line] = field(default_factory=dict)

    def read(self, partition: Partition, offset: int) -> None:
        """*offset* of *partition* was read; offsets of a partition come in order."""
        line = self._lines.setdefault(partition, _Line())
        line.open[offset] = None
        line.next = offset + 1

    def done(self, partition: Partition, offset: int) -> None:
        """*offset* is done; one that is not open, as its partition was lost, is passed over."""
        if line := self._lines.get(partition):
            line.open.pop(offset, None)

    def lost(self, partition: Partition) -> None:
        """*partition* is another's: nothing of it is open here."""
        self._lines.pop(partition, None)

    @property
    def open(self) -> int:
        """Return how many are read and not done."""
        return sum(len(line.open) for line in self._lines.values())

    def committable(self) -> dict[Partition, int]:
        """The offset to commit, for each partition where it has moved since :meth:`committed`."""
        found = {}
        for partition, line in self._lines.items():
            offset = next(iter(line.open), line.next)
            if offset > line.committed:
                found[partition] = offset
        return found

    def committed(self, offsets: dict[Partition, int]) -> None:
        """*offsets*, as :meth:`committable` gave them, are committed."""
        for partition, offset in offsets.items():
            if line := self._lines.get(partition):
                line.committed = max(line.committed, offset)


_log = logging.getLogger(__name__)
_COMMIT = 5.0
SESSION = 10_000  # milliseconds after which the group takes a worker for dead
_FENCES = 60.0  # seconds from one fence to the next within which another has our name


class _Fenced(BrokerTrouble):
    """The group has another member of our name; it takes nothing from this consumer any more."""


def settings(
    servers: str, group: str, properties: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return what a consumer of *group* is made with; *properties* may say how brokers
    are reached.
    """
    return {
        **quiet(),
        "session.timeout.ms": SESSION,
        "max.poll.interval.ms": 360_000,
        **(properties or {}),
        "bootstrap.servers": servers,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "partition.assignment.strategy": "cooperative-sticky",
    }


class GroupMember(ABC):
    """A member of *group* for *topics*, in a thread of its own that polls for ever.

    *failed* is called with the trouble that ends it. A subclass says what a turn is, and what
    becomes of partitions.

    A member with a name (``group.instance.id``) that is fenced joins again, once in a minute: an
    offset that waited while no broker answered is sent under the identity of before, and a broker
    that has given us a new one takes it for a second worker of our name. Where there is one, it
    fences us again, and that ends this member.
    """

    def __init__(
        self,
        servers: str,
        topics: Sequence[str],
        group: str,
        *,
        failed: Callable[[BrokerTrouble], object],
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self._kafka = library()
        self._settings = settings(servers, group, properties)
        self._consumer = client("Consumer", self._settings)
        self._fenced_at = -_FENCES
        self._topics = list(topics)
        self._failed = failed
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kafka-consumer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Leave the group; waits for it."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        try:
            self._subscribe()
            while not self._ending.is_set():
                try:
                    self._turn()
                except _Fenced as error:
                    self._join_again(error)
            self._leave()
        except (self._kafka.KafkaException, BrokerTrouble) as error:
            self._failed(BrokerTrouble(f"kafka: {error}"))
        finally:
            self._consumer.close()

    def _subscribe(self) -> None:
        self._consumer.subscribe(
            self._topics,
            on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost,
        )  # fmt: skip

    def _join_again(self, error: _Fenced) -> None:
        now = time.monotonic()
        if now - self._fenced_at < _FENCES:
            raise error
        self._fenced_at = now
        _log.warning("Kafka: the group took another for this worker; it joins again: %s", error)
        # Not the consumer's assignment: by now it may be empty, and no callback said so.
        self._let_go([self._kafka.TopicPartition(*place) for place in self._ours()])
        self._consumer.close()
        self._consumer = client("Consumer", self._settings)
        self._subscribe()

    @abstractmethod
    def _turn(self) -> None:
        """Poll once, and do what is to be done beside."""

    @abstractmethod
    def _leave(self) -> None:
        """Do what is to be done before the group is left."""

    @abstractmethod
    def _assigned(self, consumer: Any, partitions: list[Any]) -> None:
        """Take *partitions*, beside those that are ours."""

    @abstractmethod
    def _revoked(self, consumer: Any, partitions: list[Any]) -> None:
        """Give *partitions* to another member."""

    @abstractmethod
    def _ours(self) -> list[Partition]:
        """Return the partitions that were assigned and not let go."""

    @abstractmethod
    def _let_go(self, partitions: list[Any]) -> None:
        """Forget *partitions*, which another member may have by now; also what is not ours."""

    def _lost(self, consumer: Any, partitions: list[Any]) -> None:
        self._let_go(partitions)
        consumer.incremental_unassign(partitions)

    def _poll(self, seconds: float) -> Any | None:
        """Return a message that comes within *seconds*; ``BrokerTrouble`` for good."""
        found = self._consumer.poll(seconds)
        if found is None or not (error := found.error()):
            return found
        if error.name() == "_FATAL":  # of a consumer, it is a fence
            raise _Fenced(error.str())
        if not error.retriable() and error.name() not in (*PASSING, "_MAX_POLL_EXCEEDED"):
            raise BrokerTrouble(error.str())
        return None

    def _commit_offsets(self, offsets: Mapping[Partition, int]) -> bool:
        """Commit *offsets*; False where the broker does not take them now."""
        wanted = [self._kafka.TopicPartition(*place, at) for place, at in offsets.items()]
        try:
            self._consumer.commit(offsets=wanted, asynchronous=False)
        except self._kafka.KafkaException as error:
            # The broker is away, or the group has gone on without us: then another does again
            # what could not be told, and here it is tried again with the next ones.
            _log.info("Kafka: offsets were not committed: %s", error.args[0].str())
            return False
        return True


class Consumer(GroupMember):
    """Reads *topics* for *group* and hands each message to *deliver*, from its own thread.

    At most *window* messages are read and not done. *failed* is told of trouble that ends it. Who
    has a message asks :meth:`is_ours` before it begins, and says :meth:`done` when all that came of
    it is safe. *let_go* is told, in the thread, of partitions that are another's from now on.
    """

    def __init__(
        self,
        servers: str,
        topics: Sequence[str],
        group: str,
        *,
        deliver: Callable[[Message], object],
        failed: Callable[[BrokerTrouble], object],
        let_go: Callable[[frozenset[Partition]], object] = bool,
        window: int = 100,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(servers, topics, group, failed=failed, properties=properties)
        self._deliver = deliver
        self._tell_lost = let_go
        self._window = window
        self._offsets = Offsets()
        self._tokens: dict[Partition, int] = {}
        self._assignments = 0
        self._done: deque[Message] = deque()
        self._paused = False
        self._told = threading.Event()
        self._committed_at = time.monotonic()
        self.counts = dict.fromkeys(("read", "committed", "paused", "revoked"), 0)

    def is_ours(self, message: Message) -> bool:
        """Return whether *message* is still to be done here: its partition may have gone to
        another.
        """
        return self._tokens.get((message.topic, message.partition)) == message.token

    def done(self, message: Message) -> None:
        """All that came of *message* is safe; from any thread."""
        self._done.append(message)
        self._told.set()

    def stop(self) -> None:
        """Commit what is done and leave the group; waits for it."""
        self._ending.set()
        self._told.set()
        super().stop()

    # ---- In the thread

    def _leave(self) -> None:
        self._settle()
        self._commit()

    def _turn(self) -> None:
        if self._paused:  # nothing comes: what is waited for is that something is done
            self._told.wait(_POLL)
            self._told.clear()
        found = self._poll(0 if self._paused else _POLL)
        self._settle()
        if found is not None:
            self._take(found)
        self._keep_to_window()
        if time.monotonic() - self._committed_at >= _COMMIT:
            self._commit()

    def _take(self, found: Any) -> None:
        partition = found.topic(), found.partition()
        message = Message(
            topic=partition[0],
            partition=partition[1],
            offset=found.offset(),
            value=found.value() or b"",
            token=self._tokens.get(partition, 0),
        )
        self._offsets.read(partition, message.offset)
        self.counts["read"] += 1
        self._deliver(message)

    def _settle(self) -> None:
        """Take in what others said is done; what was lost since is another's."""
        while self._done:
            message = self._done.popleft()
            if self.is_ours(message):
                self._offsets.done((message.topic, message.partition), message.offset)

    def _keep_to_window(self) -> None:
        """Pause where the window is full, go on where half of it is free."""
        if not self._paused and self._offsets.open >= self._window:
            self._consumer.pause(self._consumer.assignment())
            self._paused = True
            self.counts["paused"] += 1
        elif self._paused and self._offsets.open <= self._window // 2:
            self._consumer.resume(self._consumer.assignment())
            self._paused = False

    def _commit(self) -> None:
        self._committed_at = time.monotonic()
        offsets = self._offsets.committable()
        if not offsets or not self._commit_offsets(offsets):
            return
        self._offsets.committed(offsets)
        self.counts["committed"] += 1

    def _assigned(self, consumer: Any, partitions: list[Any]) -> None:
        consumer.incremental_assign(partitions)
        for found in partitions:
            self._assignments += 1
            self._tokens[found.topic, found.partition] = self._assignments
        if self._paused:
            consumer.pause(partitions)

    def _revoked(self, consumer: Any, partitions: list[Any]) -> None:
        """Finished offsets are committed; what has not begun is dropped, what has goes on."""
        self._settle()
        self._commit()
        self._lost(consumer, partitions)

    def _ours(self) -> list[Partition]:
        return list(self._tokens)

    def _let_go(self, partitions: list[Any]) -> None:
        lost = frozenset((found.topic, found.partition) for found in partitions)
        for partition in lost:
            self.counts["revoked"] += partition in self._tokens
            self._tokens.pop(partition, None)
            self._offsets.lost(partition)
        self._tell_lost(lost)
