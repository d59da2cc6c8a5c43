"""The scheduler's queue: which request goes next, so that no host fills the places."""

from __future__ import annotations

import heapq
import math
from collections import Counter, OrderedDict
from collections.abc import Iterable
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING

from scrapy import Request, signals
from scrapy.pqueues import (
    DownloaderAwarePriorityQueue,
    DownloaderInterface,
    QueueProtocol,
    ScrapyPriorityQueue,
)
from scrapy.utils.asyncio import CallLaterResult, call_later

from lafka.politeness.host_speed import HostSpeed, HostSpeeds
from lafka.politeness.hosts import Hosts, gate_of
from lafka.politeness.retries import RetryAfterMiddleware

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class _OneSlot(DownloaderInterface):
    """Shows the base class one slot only, so that its choice among all of them costs nothing."""

    chosen: str | None = None

    def stats(self, possible_slots: Iterable[str]) -> list[tuple[int, str]]:
        return super().stats(possible_slots if self.chosen is None else [self.chosen])


class HostQueue(DownloaderAwarePriorityQueue):
    """Requests by download slot; hands out only what can be sent at once.

    A slot is passed over while it has as many requests on their way as it may have connections,
    while its delay runs and while it is parked; all of that would only take places that another
    host can use. What is on its way counts from here, not from the downloader's slot: a request
    that waits for robots.txt has not got there yet. Among slots that can go, the highest priority
    goes first, start requests after others, and slots of one rank take turns. ``pop`` costs the
    same however many slots wait: one that cannot go is looked at again when something changes.

    Hosts that are new, or that keep us waiting, have a share of the places where the downloader
    has ``speeds`` (HostSpeeds); beyond it they wait, in turn. Where the run has a gate, a slot
    waits until its host is ours.
    """

    def __init__(
        self,
        crawler: Crawler,
        downstream_queue_cls: type[QueueProtocol],
        key: str,
        slot_startprios: dict[str, Iterable[int]] | None = None,
        *,
        start_queue_cls: type[QueueProtocol] | None = None,
    ) -> None:
        super().__init__(
            crawler, downstream_queue_cls, key, slot_startprios, start_queue_cls=start_queue_cls
        )
        self._one_slot = self._downloader_interface = _OneSlot(crawler)
        self._downloader = self._one_slot.downloader
        self._hosts = _hosts_of(crawler)
        speeds = getattr(self._downloader, "speeds", None)
        self._speeds: HostSpeeds = speeds or HostSpeeds(places=0)
        self._length = sum(len(queue) for queue in self.pqueues.values())
        self._ready: dict[int, OrderedDict[str, None]] = {}  # rank -> slots, next one first
        self._ranks: dict[str, int] = {}  # slot in _ready -> rank
        self._held: set[str] = set()  # slots that cannot go now
        self._timers: list[tuple[float, str]] = []  # heap: when a held slot may go
        self._blocked: list[str] = []  # held, by requests that did not come from here
        # Held, for their share is full: heaps of tickets and slots. A slot keeps its first ticket
        # until it is sent: who has room now is asked more often than room is taken.
        self._crowded: dict[HostSpeed, list[tuple[int, str]]] = {each: [] for each in HostSpeed}
        self._crowded_as: dict[str, HostSpeed] = {}
        self._tickets: dict[str, int] = {}
        self._ticket = count()
        self._sent: dict[Request, str] = {}
        self._sending: Counter[str] = Counter()
        self._wake_up: tuple[float, CallLaterResult] | None = None
        self._gate = gate_of(crawler)
        if self._gate is not None:
            self._gate.queues.append(self)
        for slot in self.pqueues:
            self._offer(slot)
        # Scrapy's scheduler closes its disk queue only.
        crawler.signals.connect(self._cancel_wake_up, signals.spider_closed)

    def __len__(self) -> int:
        return self._length

    def push(self, request: Request) -> None:
        super().push(request)
        self._length += 1
        slot = self._one_slot.get_slot_key(request)
        self._let_rise(slot)
        self._offer(slot)

    def pop(self) -> Request | None:
        self._release()
        while self._ready:
            slot = self._take()
            wait = self._wait(slot)
            if wait > 0:
                self._hold(slot, wait)
                continue
            if self._is_crowded(slot) or self._is_gated(slot):
                continue
            request = self._pop_from(slot)
            if request is not None:
                return request
        self._set_wake_up()
        return None

    def _pop_from(self, slot: str) -> Request | None:
        self._one_slot.chosen = slot
        request = super().pop()
        self._one_slot.chosen = None
        if slot in self.pqueues:
            self._offer(slot)
        if request is not None:
            self._tickets.pop(slot, None)
            self._length -= 1
            self._sent[request] = slot
            self._sending[slot] += 1
        return request

    def _offer(self, slot: str) -> None:
        if slot in self._held:
            return
        rank = _rank(self.pqueues[slot])
        old = self._ranks.get(slot)
        if old == rank:
            return
        if old is not None:
            self._withdraw(slot, old)
        self._ready.setdefault(rank, OrderedDict())[slot] = None
        self._ranks[slot] = rank

    def _take(self) -> str:
        rank = min(self._ready)
        slot = next(iter(self._ready[rank]))
        self._withdraw(slot, rank)
        return slot

    def _withdraw(self, slot: str, rank: int) -> None:
        del self._ranks[slot]
        slots = self._ready[rank]
        del slots[slot]
        if not slots:
            del self._ready[rank]

    def _wait(self, slot: str) -> float:
        """Seconds until *slot* can go, 0 if now, infinite if a request has to come back first."""
        if self._hosts.set_aside(slot) is not None:
            return 0.0  # fails at once
        parked = self._hosts.parked(slot)
        if parked:
            return parked
        live = self._downloader.slots.get(slot)
        if self._sending[slot] >= self._concurrency(slot):
            return math.inf
        if live is None:
            return 0.0
        if len(live.active) >= live.concurrency:
            return math.inf
        # The slot itself draws a delay around this one (jitter) and waits for what is left of it.
        return live.lastseen + live.delay - monotonic()

    def _is_crowded(self, slot: str) -> bool:
        """Return whether hosts of that speed have all the places that they may have; it waits
        then.
        """
        if self._hosts.set_aside(slot) is not None:
            return False
        speed = self._speeds.speed(slot)
        if self._speeds.room(speed) > 0:
            return False
        ticket = self._tickets.setdefault(slot, next(self._ticket))
        heapq.heappush(self._crowded[speed], (ticket, slot))
        self._crowded_as[slot] = speed
        self._held.add(slot)
        return True

    def _is_gated(self, slot: str) -> bool:
        """Return whether another worker may have that host; it waits for :meth:`gate_changed`."""
        if self._gate is None or self._hosts.set_aside(slot) is not None:
            return False
        if self._gate.wait(slot) <= 0:
            return False
        self._held.add(slot)
        return True

    def gate_changed(self, slots: Iterable[str]) -> None:
        for slot in slots:
            self._held.discard(slot)
            if slot in self.pqueues:
                self._offer(slot)
        wake(self.crawler)

    def has(self, slot: str) -> bool:
        """Return whether requests of *slot* wait here."""
        return slot in self.pqueues

    def is_sending(self, slot: str) -> bool:
        """Return whether requests of *slot* went from here and are not known to be over."""
        return slot in self._sending

    def _let_rise(self, slot: str) -> None:
        """Let a slot go that waits for a share, and has another speed by now."""
        speed = self._crowded_as.get(slot)
        if speed is not None and speed is not self._speeds.speed(slot):
            del self._crowded_as[slot]
            self._held.discard(slot)

    def _concurrency(self, slot: str) -> int:
        live = self._downloader.slots.get(slot)
        if live is not None:
            return live.concurrency
        own = self._downloader.per_slot_settings.get(slot, {})
        return int(own.get("concurrency", self._downloader.domain_concurrency))

    def _hold(self, slot: str, wait: float) -> None:
        self._held.add(slot)
        if wait < math.inf:
            heapq.heappush(self._timers, (monotonic() + wait, slot))
        elif self._sending[slot] < self._concurrency(slot):
            self._blocked.append(slot)

    def _release(self) -> None:
        """Offer the slots again for which something has changed."""
        changed = self._blocked
        self._blocked = []
        active = self._downloader.active
        for request in [request for request in self._sent if request not in active]:
            slot = self._sent.pop(request)
            self._sending[slot] -= 1
            if not self._sending[slot]:
                del self._sending[slot]
            changed.append(slot)
        now = monotonic()
        while self._timers and self._timers[0][0] <= now:
            changed.append(heapq.heappop(self._timers)[1])
        for speed, waiting in self._crowded.items():
            room = self._speeds.room(speed) if waiting else 0
            while waiting and room > 0:
                slot = heapq.heappop(waiting)[1]
                if self._crowded_as.get(slot) is speed:  # not let go, or waiting twice
                    del self._crowded_as[slot]
                    changed.append(slot)
                    room -= 1
        for slot in changed:
            self._held.discard(slot)
            if slot in self.pqueues:
                self._offer(slot)

    def _set_wake_up(self) -> None:
        """Have the engine ask again when the first timer is due: its own heartbeat is 5 s."""
        due = self._timers[0][0] if self._timers else math.inf
        if self._crowded_as:
            due = min(due, monotonic() + self._speeds.next_look)
        if due == math.inf:
            return
        if self._wake_up and self._wake_up[0] <= due:
            return
        self._cancel_wake_up()
        self._wake_up = due, call_later(max(0.0, due - monotonic()), self._wake_engine)

    def _cancel_wake_up(self) -> None:
        if self._wake_up:
            self._wake_up[1].cancel()
            self._wake_up = None

    def _wake_engine(self) -> None:
        self._wake_up = None
        wake(self.crawler)


def wake(crawler: Crawler) -> None:
    """Have the engine ask for the next request now.

    No public way to it; where the name is gone, its heartbeat comes soon enough.
    """
    slot = getattr(crawler.engine, "_slot", None)
    if slot is not None:
        slot.nextcall.schedule()


def _hosts_of(crawler: Crawler) -> Hosts:
    middleware = crawler.get_downloader_middleware(RetryAfterMiddleware)
    return Hosts(failures_max=0) if middleware is None else middleware.hosts


def _rank(queue: ScrapyPriorityQueue) -> int:
    """Lower goes first. Not ``queue.curprio``: that is stale after the last of a priority."""
    others = (2 * priority for priority in queue.queues)
    starts = (2 * priority + 1 for priority in queue._start_queues)
    return min((*others, *starts), default=0)
