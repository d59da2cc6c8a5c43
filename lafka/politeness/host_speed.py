"""The speed of hosts: which answer, which keep us waiting, and so which may have a place.

A place is one of CONCURRENT_REQUESTS. A request that its host keeps waiting gives its place back
and goes on beside them, as far as there is room; so hosts that drip hold up nobody, and each is
still heard to the end that LAFKA_STALL_TIMEOUT and LAFKA_MIN_RATE set. No Scrapy in here.
"""

from __future__ import annotations

import heapq
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import IntEnum
from itertools import count

PATIENCE = 2.0
"""Seconds after which a request is looked at: is its host sending?"""
FLOW = 2048.0
"""Bytes a second that count as sending; who gives less costs nothing but the place it holds."""
BESIDE = 3
"""The most requests that may wait for hosts beside the places, as a multiple of the places."""
REMEMBERED = 10_000
"""Hosts of a kind whose speed is kept; one that is forgotten is new again."""


class HostSpeed(IntEnum):
    """The speed of a host in this run, as far as it is known.

    ``NEW``: it has never answered. ``ANSWERING``: it has. ``SLOW``: the last request to it was
    kept waiting.
    """

    NEW = 0
    ANSWERING = 1
    SLOW = 2


@dataclass(slots=True, kw_only=True, eq=False)
class _Sent:
    request: Hashable | None  # None once it is over
    slot: str
    speed: HostSpeed
    heard: float  # seconds, when it was sent or its host has answered since
    received: int = 0
    beside: bool = False
    waited: bool = False
    answered: bool = False


class HostSpeeds:
    """The requests on their way, the places that they hold, and the speeds of their hosts.

    At most *places* requests hold a place (0: no bound, and no share). Each is looked at every
    ``PATIENCE`` seconds: one to which fewer than ``FLOW`` bytes a second came goes on beside the
    places, up to *beside* of them; those beyond hold places again. While some are kept waiting,
    as many places, up to half, are not for new hosts: so one that answers waits for a place
    ``PATIENCE`` seconds at most. A slow host is asked again beside the places from the outset;
    at most *places* of those that wait there are let go by that.

    *received* gives the bytes that came for a request so far, *clock* monotonic seconds.
    """

    def __init__(
        self,
        *,
        places: int,
        beside: int | None = None,
        received: Callable[[Hashable], int] = lambda _: 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._places = places
        self._beside_max = BESIDE * places if beside is None else beside
        self._received = received
        self._clock = clock
        self._sent: dict[Hashable, _Sent] = {}
        self._looks: list[tuple[float, int, _Sent]] = []  # heap: when to look at whom
        self._order = count()
        self._beside = 0
        self._new = 0  # requests that hold a place, to hosts that were new
        self._slow: OrderedDict[str, None] = OrderedDict()
        self._answering: OrderedDict[str, None] = OrderedDict()

    def speed(self, slot: str) -> HostSpeed:
        if slot in self._slow:
            return HostSpeed.SLOW
        return HostSpeed.ANSWERING if slot in self._answering else HostSpeed.NEW

    def sent(self, request: Hashable, slot: str) -> None:
        """*request* goes to *slot*."""
        speed = self.speed(slot)
        sent = _Sent(request=request, slot=slot, speed=speed, heard=self._clock())
        self._sent[request] = sent
        self._new += speed is HostSpeed.NEW
        self._put_beside(sent, beside=speed is HostSpeed.SLOW)
        self._look_later(sent)

    def answered(self, request: Hashable, slot: str) -> None:
        """The host of *slot* has answered *request*, which may be one of a component of ours."""
        _remember(self._answering, slot)
        own = self._sent.get(request)
        if own is not None:
            own.answered = True  # what is still to be done with it is our own work
            return
        now = self._clock()
        for sent in self._sent.values():
            if sent.slot == slot:
                sent.heard = now

    def ended(self, request: Hashable) -> None:
        """*request* is over, whatever came of it; nothing for one that is not on its way."""
        sent = self._sent.pop(request, None)
        if sent is None:
            return
        sent.request = None
        self._put_beside(sent, beside=False)
        self._new -= sent.speed is HostSpeed.NEW
        if sent.answered and not sent.waited:
            self._slow.pop(sent.slot, None)

    @property
    def full(self) -> bool:
        """True where no request may go, to whomever."""
        self._look()
        return bool(self._places) and self._held >= self._places

    def room(self, speed: HostSpeed) -> float:
        """Return how many requests to hosts of that speed may go now."""
        self._look()
        if not self._places:
            return math.inf
        if speed is HostSpeed.SLOW:
            return max(0, self._places - self._beside)
        free = self._places - self._held
        if speed is HostSpeed.ANSWERING:
            return max(0, free)
        kept_free = min(self._places // 2, self._beside)
        return max(0, min(free, self._places - kept_free - self._new - self._over))

    @property
    def next_look(self) -> float:
        """Seconds until a request may be found waiting, infinite where none is on its way."""
        return max(0.0, self._looks[0][0] - self._clock()) if self._looks else math.inf

    @property
    def _over(self) -> int:
        return max(0, self._beside - self._beside_max)

    @property
    def _held(self) -> int:
        return len(self._sent) - self._beside + self._over

    def _look(self) -> None:
        now = self._clock()
        while self._looks and self._looks[0][0] <= now:
            _, _, sent = heapq.heappop(self._looks)
            if sent.request is None or sent.answered:
                continue
            if now - sent.heard >= PATIENCE:
                self._judge(sent, sent.request, now)
            self._look_later(sent)

    def _judge(self, sent: _Sent, request: Hashable, now: float) -> None:
        received = self._received(request)
        sent.waited = received - sent.received < FLOW * (now - sent.heard)
        sent.received, sent.heard = received, now
        self._put_beside(sent, beside=sent.waited)
        if sent.waited:
            _remember(self._slow, sent.slot)

    def _put_beside(self, sent: _Sent, *, beside: bool) -> None:
        if sent.beside == beside:
            return
        change = 1 if beside else -1
        sent.beside = beside
        self._beside += change
        if sent.speed is HostSpeed.NEW:
            self._new -= change

    def _look_later(self, sent: _Sent) -> None:
        if self._places:
            heapq.heappush(self._looks, (sent.heard + PATIENCE, next(self._order), sent))


def _remember(slots: OrderedDict[str, None], slot: str) -> None:
    slots[slot] = None
    slots.move_to_end(slot)
    if len(slots) > REMEMBERED:
        slots.popitem(last=False)
