"""Requests from a Kafka topic: messages that become lines of an input, and the dead letters.

The consumer's thread hands each message to the loop; what waits here is bounded, for the consumer
pauses its partitions where its window is full. Only what is still ours is begun.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from lafka.filesets.crawling.lines import RequestLine
from lafka.filesets.model.requests import (
    LONGEST_BASE_URL,
    LONGEST_REQUEST,
    BadRequest,
    IngestRequest,
)
from lafka.filesets.results.persisting import Dead
from lafka.filesets.results.persisting import Message as Persisted
from lafka.jobs.kafka import BrokerTrouble, Message
from lafka.jobs.kafka.consuming import Consumer
from lafka.jobs.kafka.offsets import Partition
from lafka.jobs.kafka.places import Place

_KEY = ("ingest_type", "base_url")
_SMALL = 16 << 10
"""Bytes of a message that are read in less time than a thread takes to be asked."""


class Aside(Protocol):
    """Has work that blocks done in a thread."""

    def __call__(self, work: Callable[..., Any], *args: Any) -> Awaitable[Any]: ...


class Inbox:
    """The messages of the topic *place*, for the workers of *group*; made in the loop.

    *types*: the ingest types that are done here, others are passed over. *dead* keeps a message
    that is no request, *failed* is told, in any thread, of what ends the consumer, *let_go* of the
    places of messages that were begun here and are another worker's from now on.
    """

    def __init__(
        self,
        place: Place,
        group: str,
        types: frozenset[str],
        *,
        aside: Aside,
        dead: Callable[[Dead], None],
        failed: Callable[[BrokerTrouble], object],
        let_go: Callable[[list[str]], object],
        window: int,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Queue[Message] = asyncio.Queue()
        self._begun: dict[str, Message] = {}
        self._types = types
        self._aside = aside
        self._bury = dead
        self._let_go = let_go
        self._passed = self._dead = self._number = 0
        self._consumer = Consumer(
            place.servers,
            [place.topic],
            group,
            deliver=self._deliver,
            failed=failed,
            let_go=self._lost,
            window=window,
            properties=properties,
        )

    def start(self) -> None:
        self._consumer.start()

    @property
    def counts(self) -> dict[str, int]:
        return {**self._consumer.counts, "passed": self._passed, "dead": self._dead}

    def _deliver(self, message: Message) -> None:
        """In the consumer's thread."""
        self._loop.call_soon_threadsafe(self._waiting.put_nowait, message)

    def _lost(self, partitions: frozenset[Partition]) -> None:
        """In the consumer's thread."""
        begun = list(self._begun.values())
        self._let_go([one.place for one in begun if (one.topic, one.partition) in partitions])

    async def next(self) -> RequestLine:
        """The next request that is ours; waits for it. ``StorageTrouble``."""
        while True:
            message = await self._waiting.get()
            if not self._consumer.is_ours(message):
                continue  # the partition is another's by now, and so is the request
            line = await self._line_of(message.value)
            if line is None:
                self._passed += 1
                self._consumer.done(message)
            elif (ready := await self._begin(message, line)) is not None:
                return ready

    async def _line_of(self, value: bytes) -> RequestLine | None:
        if len(value) <= _SMALL:
            return line_of(value, self._types)
        line: RequestLine | None = await self._aside(line_of, value, self._types)
        return line

    async def _begin(self, message: Message, line: RequestLine) -> RequestLine | None:
        """*line* with its number and place; None where nothing can be told of it."""
        if line.request is None:
            self._dead += 1
            letter = Persisted(place=message.place, data=message.value)
            await self._aside(self._bury, Dead(message=letter, reason=line.trouble))
            if not line.said:
                self._consumer.done(message)
                return None
        self._begun[message.place] = message
        self._number += 1
        return replace(line, number=self._number, message=message.place)

    def done(self, place: str) -> None:
        """All that came of the message at *place* is safe; from any thread."""
        if message := self._begun.pop(place, None):
            self._consumer.done(message)

    def stop(self) -> None:
        """Commit what is done and leave the group; waits for it."""
        self._consumer.stop()


def line_of(value: bytes, types: frozenset[str]) -> RequestLine | None:
    """Return what a message asks for; None for an ingest type that others do.

    Of one that is no request, ``said`` is what it says, empty where that names no type and URL.
    """
    said = _said(value)
    if isinstance(kind := said.get("ingest_type"), str) and kind not in types:
        return None
    try:
        return RequestLine(number=0, request=IngestRequest.parse(value))
    except BadRequest as error:
        has_key = all(said.get(name) and isinstance(said[name], str) for name in _KEY)
        return RequestLine(number=0, trouble=str(error), said=said if has_key else {})


def _said(value: bytes) -> dict[str, Any]:
    """The object in *value*, of one that is too long its key alone; empty where there is none."""
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    if len(value) <= LONGEST_REQUEST:
        return found
    return {n: found[n][:LONGEST_BASE_URL] for n in _KEY if isinstance(found.get(n), str)}
