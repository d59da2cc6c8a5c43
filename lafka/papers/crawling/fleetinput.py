"""The lines of a fleet: those of the partitions that Kafka gives to this worker.

A thread of its own is the group's member. A partition that is assigned is joined: its outcomes are
read to their end, then its lines, and those without an outcome are given out. When none of it waits
or goes on it is joined once more, and where each line has its outcome its end is committed.
"""

from __future__ import annotations

import json
import logging
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lafka.errors import BadList, StorageTrouble
from lafka.jobs.kafka import BrokerTrouble
from lafka.jobs.kafka.consuming import GroupMember, Partition, TopicReader
from lafka.jobs.kafka.producing import Producer
from lafka.jobs.lines import Message as DeadMessage
from lafka.jobs.lines import UnusableMessage, burying
from lafka.papers.lists import fleets
from lafka.papers.lists.fleets import OutcomeTimes

if TYPE_CHECKING:
    from lafka.papers.crawling.fleets import Fleet
    from lafka.papers.lists.futlis import Line
    from lafka.pids import Scheme
    from lafka.politeness.feeder import HostFeeder

UNTOLD_MAX = 1_000
"""Outcomes that no broker has acknowledged, from which on nothing new is begun."""
AHEAD = 5_000
"""Lines that wait between the two threads."""
HANDOVER = 30.0
"""Seconds at most for which a partition that is revoked waits for its trails."""
STALL = 5.0
"""Seconds without a turn after which this worker asks whether its partitions are still its own."""
SETTLED = 6.0
"""Seconds in which the group tells a worker that was stalled what it lost: two heartbeats."""
APART = 10.0
"""Seconds between the two looks that see the end of a fleet's lines."""
_POLL = 0.2
_HEARD = 5.0  # seconds without a word of a broker after which it is asked for one
_ANSWER = 2.0  # seconds that its answer is waited for

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Share:
    """A partition that is ours: the offset at which its lines are read on, and its state.

    ``settled``: each of its lines before ``position`` has an outcome, and that is committed; or
    there is a ``stumbling`` one, which only another start asks for, and nothing is committed.
    """

    position: int = 0
    joined: bool = False
    settled: bool = False
    stumbling: bool = False


class FleetInput(GroupMember):
    """The lines of *fleet* for the worker *worker*, as ``lafka.papers.lists.inputs.Input``.

    *dead*: the file of messages that are no lines. *failed* is called, from any thread, with what
    ends the crawl.
    *until_done*: the lines end where each line of the fleet has its outcome.
    """

    def __init__(
        self,
        fleet: Fleet,
        scheme: Scheme,
        worker: str,
        *,
        dead: Path,
        failed: Callable[[BrokerTrouble | StorageTrouble], object],
        patience: float,
        until_done: bool = False,
    ) -> None:
        how: Mapping[str, str] = {**fleet.properties, "group.instance.id": worker}
        super().__init__(fleet.servers, [fleet.lines], fleet.group, failed=failed, properties=how)
        self.feeder: HostFeeder[Line] | None = None
        self.done = False
        self.worker = worker
        self._fleet, self._scheme, self._bury = fleet, scheme, burying(dead)
        self._patience, self._until_done = patience, until_done
        self._producer = Producer(fleet.servers, fleet.properties)
        self._reader = TopicReader(fleet.servers, fleet.properties)
        self._lines: queue.SimpleQueue[tuple[_Share, Line]] = queue.SimpleQueue()
        self._yielded = -1  # the partition of the line that the loader has in hand
        self._queued: Counter[int] = Counter()
        self._shares: dict[int, _Share] = {}
        self._join: Iterator[None] | None = None
        self._lock = threading.Lock()
        self._out: dict[tuple[str, str], list[tuple[int, bytes]]] = {}
        self._begun: set[int] = set()
        self._stumbled: set[int] = set()
        self._untold: dict[int, float] = {}
        self._over = threading.Event()
        now = time.monotonic()
        self._turned_at = self._heard_at = self._looked_at = now
        self._resumes_at, self._end_seen_at = now, 0.0
        self._buried: set[int] = set()

    # ---- For the spider

    @property
    def may_begin(self) -> bool:
        now = time.monotonic()
        is_fresh = now - self._turned_at < STALL and now >= self._resumes_at
        return is_fresh and self.untold < UNTOLD_MAX

    @property
    def untold(self) -> int:
        """The number of outcomes that no broker has acknowledged yet."""
        return len(self._untold)

    @property
    def partitions(self) -> int:
        """The number of partitions that are ours."""
        return len(self._shares)

    def lines(self) -> Iterator[Line]:
        """Yield lines as they come, until the end is seen or :meth:`stop`."""
        self.start()
        while not self._over.is_set():
            try:
                share, line = self._lines.get(timeout=_POLL)
            except queue.Empty:
                continue
            while not self.may_begin and not self._over.wait(_POLL / 4):
                pass
            partition = fleets.partition_of(line.number)
            with self._lock:
                is_ours = self._shares.get(partition) is share
                self._yielded = partition if is_ours else -1
            if is_ours:
                yield line  # it comes back when the line is in the feeder, or told
            with self._lock:
                self._queued[partition] -= 1
                self._yielded = -1

    def begin(self, lines: list[Line]) -> Collection[Line]:
        """Note that *lines* begin, from any thread; return those that are not ours any more."""
        others = []
        with self._lock:
            for line in lines:
                if fleets.partition_of(line.number) not in self._shares:
                    others.append(line)
                    continue
                self._begun.add(line.number)
                names = self._out.setdefault(fleets.name_of(line), [])
                names.append((line.number, fleets.key_of(line)))
        return others

    def stumbled(self, number: int) -> None:
        """Give the line no outcome and do not hand it out again in this run."""
        with self._lock:
            self._stumbled.add(number)
            self._begun.discard(number)

    def on_outcomes(self, lines: bytes) -> None:
        """Send the outcomes in *lines*; in the feed's thread."""
        for text in lines.splitlines():
            values = json.loads(text)
            name = values["pid"], values["as_written"]
            with self._lock:
                found = [one for one in self._out.pop(name, ()) if one[0] not in self._stumbled]
                if not found:
                    continue
                (number, key), *others = found
                if others:
                    self._out[name] = others
                self._untold[number] = time.monotonic()
            self._send(number, key, fleets.outcome_value(values, self.worker))

    def _send(self, number: int, key: bytes, value: bytes) -> None:
        def delivered(error: Any, _: Any) -> None:
            with self._lock:
                self._untold.pop(number, None)
                self._begun.discard(number)
            self._heard_at = time.monotonic()
            if error is not None:
                self._failed(BrokerTrouble(f"{self._fleet.outcomes}: {error.str()}"))

        try:
            partition = fleets.partition_of(number)
            self._producer.put(self._fleet.outcomes, partition, key, value, delivered)
        except BrokerTrouble as error:
            self._failed(error)

    def report_fields(self) -> dict[str, Any]:
        return {"whole": self.done, "lines": None}

    def stop(self) -> None:
        self._over.set()

    def close(self) -> None:
        """Wait for what was sent, commit and leave; ``BrokerTrouble``."""
        self._over.set()
        is_lost = time.monotonic() - self._heard_at > self._patience
        try:
            self._producer.close(0.0 if is_lost else HANDOVER)
        finally:
            super().stop()
            self._reader.close()

    # ---- In the member's thread

    def _turn(self) -> None:
        self._beat()
        found = self._poll(0 if self._join else _POLL)
        if found is not None:
            self._take(found)
        try:
            self._go_on()
        except (BrokerTrouble, self._kafka.KafkaException) as error:
            self._join = None  # it is begun again when a broker answers
            logger.info("Kafka: %s; it is asked again", error)
            self._ending.wait(_POLL)
        except StorageTrouble as error:
            self._failed(error)  # type: ignore[arg-type]
            self._ending.set()
        self._look_for_brokers()

    def _beat(self) -> None:
        now = time.monotonic()
        if now - self._turned_at > STALL:
            self._resumes_at = now + SETTLED
        self._turned_at = now

    def _take(self, found: Any) -> None:
        """Give out a line that came after its partition was joined."""
        self._heard_at = time.monotonic()
        share = self._shares.get(found.partition())
        if share is None or not share.joined or found.offset() < share.position:
            return
        share.position, share.settled = found.offset() + 1, False
        self._give(found.partition(), found)
        while self._lines.qsize() > 2 * AHEAD and not self._ending.wait(_POLL):
            self._beat()

    def _go_on(self) -> None:
        """Go on with a join, begin one, or look whether the end is there."""
        if self._join is not None:
            if self._lines.qsize() > AHEAD:
                self._ending.wait(_POLL / 4)
            elif next(self._join, self) is self:
                self._join = None
            return
        for partition, share in self._shares.items():
            if not share.joined or (not share.settled and self._is_quiet(partition)):
                self._join = self._joined(partition, share)
                return
        if self._until_done and time.monotonic() - self._looked_at >= APART / 5:
            self._look_for_the_end()

    def _is_quiet(self, partition: int) -> bool:
        """Return whether no line of *partition* waits or goes on."""
        with self._lock:
            if self._queued[partition] or any(
                fleets.partition_of(number) == partition for number in self._begun
            ):
                return False
        return self.feeder is not None and not self.feeder.holds(fleets.numbers_of(partition))

    def _joined(self, partition: int, share: _Share) -> Iterator[None]:
        """Give out the lines of *partition* that have no outcome; commit it where all have one."""
        fleet = self._fleet
        times, lacking = OutcomeTimes(), 0
        end = self._reader.end(fleet.lines, partition)
        if not self._are_committed([partition]):
            for found in self._reader.read(fleet.outcomes, partition):
                for message in found:
                    times.add(message.key() or b"", message.value())
                yield
            for found in self._reader.read(fleet.lines, partition, end):
                if self._shares.get(partition) is not share:
                    return
                for message in found:
                    key, value = message.key() or b"", message.value()
                    if value is not None and times.is_open(key, value):
                        times.give(key)
                        lacking += self._give(partition, message)
                yield
        if self._shares.get(partition) is not share:
            return
        self._heard_at = time.monotonic()
        if not share.joined:
            place = self._kafka.TopicPartition(fleet.lines, partition, end)
            self._consumer.seek(place)
            self._consumer.resume([place])
            share.position, share.joined = end, True
        if not lacking and share.position == end:
            share.settled = (
                share.stumbling or not end or self._commit_offsets({(fleet.lines, partition): end})
            )

    def _are_committed(self, partitions: Iterable[int]) -> bool:
        """Return whether each line of *partitions* is known to have its outcome."""
        lines = self._fleet.lines
        places = [self._kafka.TopicPartition(lines, number) for number in partitions]
        try:
            committed = self._consumer.committed(places, _ANSWER)
        except self._kafka.KafkaException as error:
            sentence = f"no broker has said within {_ANSWER:.0f} seconds how far {lines} is done"
            raise BrokerTrouble(sentence) from error
        return all(
            place.offset >= (self._reader.end(lines, place.partition) or place.offset)
            for place in committed
        )

    def _give(self, partition: int, message: Any) -> bool:
        """Give out the line of *message*; return whether it is one that still has no outcome."""
        number = fleets.number_of(partition, message.offset())
        if number in self._stumbled:
            self._shares[partition].stumbling = True
            return False
        key, value = message.key() or b"", message.value()
        if value is None or number in self._begun:
            return value is not None
        try:
            count = self._fleet.partitions
            line = fleets.line_of(key, value, number, count, self._scheme)
        except BadList as error:
            if number not in self._buried:
                self._buried.add(number)
                place = f"{self._fleet.lines}/{partition}@{message.offset()}"
                letter = DeadMessage(place=place, data=value)
                self._bury(UnusableMessage(message=letter, reason=str(error)))
            return False
        with self._lock:
            self._queued[partition] += 1
        self._lines.put((self._shares[partition], line))
        return True

    def _look_for_the_end(self) -> None:
        """Leave where all is done; or where nothing is left here but what stumbled: others try."""
        now = self._looked_at = time.monotonic()
        shares = self._shares.values()
        has_left = any(s.stumbling for s in shares) and all(s.settled for s in shares)
        if not has_left and not self._are_committed(range(self._fleet.partitions)):
            self._end_seen_at = 0.0
            return
        self._heard_at = time.monotonic()
        self._end_seen_at = self._end_seen_at or now
        if now - self._end_seen_at >= APART:
            self.done = not has_left
            self._over.set()

    def _look_for_brokers(self) -> None:
        """Ask for a word of a broker where none came; give up where none comes for too long."""
        now = time.monotonic()
        oldest = next(iter(self._untold.copy().values()), now)
        if now - self._heard_at > _HEARD and not self._over.is_set():
            try:
                self._reader.end(self._fleet.lines, 0)
                self._heard_at = time.monotonic()
            except BrokerTrouble:
                self._beat()
        if now - min(self._heard_at, oldest) > self._patience and not self._over.is_set():
            raise BrokerTrouble(f"no broker has answered for {self._patience:.0f} seconds")

    def _assigned(self, consumer: Any, partitions: list[Any]) -> None:
        for place in partitions:
            place.offset = 0
            self._shares[place.partition] = _Share()
        consumer.incremental_assign(partitions)
        consumer.pause(partitions)

    def _revoked(self, consumer: Any, partitions: list[Any]) -> None:
        self._let_go(partitions)
        ends_at = time.monotonic() + HANDOVER
        gone = {place.partition for place in partitions}
        while time.monotonic() < ends_at and not self._ending.is_set() and self._goes_on(gone):
            self._beat()
            self._ending.wait(_POLL / 4)
        consumer.incremental_unassign(partitions)

    def _goes_on(self, partitions: set[int]) -> bool:
        with self._lock:
            return any(fleets.partition_of(number) in partitions for number in self._begun)

    def _ours(self) -> list[Partition]:
        return [(self._fleet.lines, partition) for partition in self._shares]

    def _let_go(self, partitions: list[Any]) -> None:
        gone = {place.partition for place in partitions}
        with self._lock:
            for partition in gone:
                self._shares.pop(partition, None)
        while self._yielded in gone and not self._over.is_set():
            self._ending.wait(_POLL / 100)  # until the loader has put its line into the feeder
        if self.feeder is not None:
            for partition in gone:
                self.feeder.drop(fleets.numbers_of(partition))

    def _leave(self) -> None:
        """Commit nothing more: whole partitions are committed when they are."""
