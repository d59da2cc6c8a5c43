"""Batches of messages for a worker that does one after the other, in its own thread."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from lafka.jobs.kafka import BrokerTrouble, Message, library
from lafka.jobs.kafka.consuming import settings

_POLL = 0.5  # seconds


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
        self._consumer = self._kafka.Consumer(settings(servers, group, properties))
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
