"""Messages for a crawl: a thread of its own owns the consumer and polls for ever.

Polling never stops, so a message that takes a day trips no ``max.poll.interval.ms``: where the
window is full, partitions are paused. Offsets are committed up to the lowest that is not done,
every few seconds, when partitions are revoked, and at the end. At least once: a crash repeats at
most the window.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lafka.jobs.kafka import BrokerTrouble, Message, library, quiet
from lafka.jobs.kafka.offsets import Offsets, Partition

_log = logging.getLogger(__name__)
_POLL = 0.5  # seconds
_COMMIT = 5.0
SESSION = 10_000  # milliseconds after which the group takes a worker for dead


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


class Consumer:
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
        self._kafka = library()
        self._consumer = self._kafka.Consumer(settings(servers, group, properties))
        self._topics = list(topics)
        self._deliver = deliver
        self._failed = failed
        self._let_go = let_go
        self._window = window
        self._offsets = Offsets()
        self._tokens: dict[Partition, int] = {}
        self._assignments = 0
        self._done: deque[Message] = deque()
        self._paused = False
        self._ending, self._told = threading.Event(), threading.Event()
        self._committed_at = time.monotonic()
        self.counts = dict.fromkeys(("read", "committed", "paused", "revoked"), 0)
        self._thread = threading.Thread(target=self._run, name="kafka-consumer", daemon=True)

    def start(self) -> None:
        self._thread.start()

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
        if self._thread.is_alive():
            self._thread.join()

    # ---- In the thread

    def _run(self) -> None:
        try:
            self._consumer.subscribe(
                self._topics,
                on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost,
            )  # fmt: skip
            while not self._ending.is_set():
                self._turn()
            self._settle()
            self._commit()
        except (self._kafka.KafkaException, BrokerTrouble) as error:
            self._failed(BrokerTrouble(f"kafka: {error}"))
        finally:
            self._consumer.close()

    def _turn(self) -> None:
        if self._paused:  # nothing comes: what is waited for is that something is done
            self._told.wait(_POLL)
            self._told.clear()
        found = self._consumer.poll(0 if self._paused else _POLL)
        self._settle()
        if found is not None:
            self._take(found)
        self._keep_to_window()
        if time.monotonic() - self._committed_at >= _COMMIT:
            self._commit()

    def _take(self, found: Any) -> None:
        if error := found.error():
            away = self._kafka.KafkaError._ALL_BROKERS_DOWN, self._kafka.KafkaError._TRANSPORT
            if not error.retriable() and error.code() not in away:
                raise BrokerTrouble(error.str())
            return
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
        if not offsets:
            return
        wanted = [self._kafka.TopicPartition(*place, at) for place, at in offsets.items()]
        try:
            self._consumer.commit(offsets=wanted, asynchronous=False)
        except self._kafka.KafkaException as error:
            if error.args[0].fatal():
                raise
            # The broker is away, or the group has gone on without us: then another does again
            # what could not be told, and here it is tried again with the next ones.
            _log.info("Kafka: offsets were not committed: %s", error.args[0].str())
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

    def _lost(self, consumer: Any, partitions: list[Any]) -> None:
        lost = frozenset((found.topic, found.partition) for found in partitions)
        for partition in lost:
            self._tokens.pop(partition, None)
            self._offsets.lost(partition)
        self._let_go(lost)
        self.counts["revoked"] += len(lost)
        consumer.incremental_unassign(partitions)
