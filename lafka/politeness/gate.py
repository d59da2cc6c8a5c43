"""The gate: a host is asked by one worker at a time, over all workers that share a table.

A claim is a worker's on a host, for a turn; under it the worker's own slot rules as alone. What the
crawl asks is answered from memory, and what that takes is asked beside::

    HostQueue, handler, Hosts  ->  Gate (the crawl's thread)  ->  Courier (its own)  ->  Claims

A request is sent only under a claim that was confirmed under ``FRESH`` seconds ago, so a worker
that was stopped sends nothing on waking before it has asked again. No Scrapy in here.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from lafka.errors import Stopped
from lafka.politeness.claims import LEASE, Claims, Refusal
from lafka.politeness.courier import FRESH, Batch, BatchSender, Reply

LOST = "gate-lost"
"""Finish reason of a crawl whose gate was away for longer than its patience."""
RENEW = 2.0
"""Seconds after which a claim is confirmed again, so that it stays fresh."""
TURN = 5.0
"""Seconds after which a host goes to another worker that wants it."""
UNUSED = 1.0
"""Seconds after which a claim is given back that nobody here has a use for."""
WANTED = 0.25
"""The same, where another worker wants the host."""
AGAIN = 0.5
"""Seconds, at most, until who was refused asks again."""
TICK = 0.25
"""Seconds between two looks at the claims that are had: see :meth:`Gate.look`."""


class Queue(Protocol):
    """The requests that wait for their host's turn to come to this crawl."""

    def has(self, host: str) -> bool:
        """Return whether requests to *host* wait."""

    def is_sending(self, host: str) -> bool:
        """Return whether requests to *host* were handed out and are not over."""

    def gate_changed(self, hosts: Iterable[str]) -> None:
        """Ask again about *hosts*."""


@dataclass(slots=True)
class _Host:
    """A host that is ours, or asked for; times are of the gate's clock."""

    since: float = math.inf  # when it became ours; infinite while it is not
    confirmed: float = -math.inf  # when that was last asked, and so
    used: float = -math.inf  # when a request to it last ended
    on_wire: int = 0
    wanted: bool = False  # by another worker
    parked: bool = False
    asked: float = math.inf  # when we asked for it; infinite where we do not
    due: float = math.inf  # when the next look asks for it
    barred: float = -math.inf  # until when another may take it that wants it
    queued: bool = False  # a queue waits to be told
    waiting: list[Future[None]] = field(default_factory=list)

    @property
    def is_ours(self) -> bool:
        return self.since < math.inf

    @property
    def is_idle(self) -> bool:
        return not (self.is_ours or self.on_wire or self.asked < math.inf)

    def turns(self) -> list[Future[None]]:
        """Take those who wait for a turn, but for whom has given it up."""
        waiting, self.waiting = self.waiting, []
        return [turn for turn in waiting if turn.set_running_or_notify_cancel()]


class Gate:
    """The hosts that this worker may ask. For the crawl's thread alone.

    *delay* gives the seconds between two requests to a host, *call* has a function called in the
    crawl's thread, *on_lost* is called once with a sentence where the gate is away for *patience*
    seconds or fails, ``on_parked`` with host, seconds and reason where another worker has parked a
    host. *clock*: seconds, monotonic.
    """

    def __init__(
        self,
        claims: Claims,
        *,
        delay: Callable[[str], float],
        call: Callable[[Callable[[], object]], object],
        on_lost: Callable[[str], object],
        patience: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.queues: list[Queue] = []
        self.on_parked: Callable[[str, float, str], object] = lambda *_: None
        self.counts = {"claims": 0, "refused": 0, "lost": 0}
        self.waited = 0.0
        """Seconds, in all, from asking for a host to its being ours."""
        self._delay_of = delay
        self._on_lost = on_lost
        self._patience = patience
        self._clock = clock
        self._courier = BatchSender(claims, lambda reply: call(partial(self._take, reply)), clock)
        self._hosts: dict[str, _Host] = {}
        self._sent: dict[Hashable, str] = {}
        self._stopped = False

    # What the crawl asks ------------------------------------------------------------------

    @property
    def held(self) -> int:
        """The number of hosts that are ours."""
        return sum(host.is_ours for host in self._hosts.values())

    def wait(self, host: str) -> float:
        """0 where *host* is ours; else infinite: the queue is told when to ask again."""
        if self.may_send(host):
            return 0.0
        state = self._hosts.setdefault(host, _Host())
        state.queued = True
        self._ask(host, state)
        return math.inf

    def may_send(self, host: str) -> bool:
        """Return whether a request to *host* may go at this moment."""
        state = self._hosts.get(host)
        if state is None or self._stopped or self._yields(state):
            return False
        return self.is_fresh(host)

    def is_fresh(self, host: str) -> bool:
        """Return whether *host* is known to be ours: what was begun may be written."""
        state = self._hosts.get(host)
        return state is not None and self._clock() - state.confirmed < FRESH

    def begin(self, host: str, request: Hashable) -> bool:
        """Note that *request* goes to *host* now; False where it may not."""
        if not self.may_send(host):
            return False
        self._sent[request] = host
        self._hosts[host].on_wire += 1
        return True

    def end(self, request: Hashable) -> None:
        """*request* is over; nothing for one that was not begun."""
        if (host := self._sent.pop(request, None)) is not None:
            state = self._hosts[host]
            state.on_wire -= 1
            state.used = self._clock()

    def turn(self, host: str) -> Future[None]:
        """Done when *host* may be ours: then it has to be begun at once. ``Stopped``."""
        turn: Future[None] = Future()
        state = self._hosts.setdefault(host, _Host())
        state.waiting.append(turn)
        self._ask(host, state)
        if self._stopped:
            self.stop()
        return turn

    def park(self, host: str, seconds: float, why: str) -> None:
        """Let no worker ask *host* for *seconds*."""
        self._courier.put(lambda batch: batch.park.__setitem__(host, (seconds, why)))
        if state := self._hosts.get(host):
            state.parked = True

    def stop(self) -> None:
        """The crawl stops: nothing is sent any more; what is on the wire keeps its claim."""
        self._stopped = True
        for host, state in self._hosts.items():
            for turn in state.turns():
                turn.set_exception(Stopped(f"{host}: not asked, for the crawl stops"))

    def close(self) -> None:
        """Give all claims back."""
        self.stop()
        ours = [(host, state) for host, state in self._hosts.items() if state.is_ours]
        self._courier.close({host: self._delay_left(host, state) for host, state in ours})

    # What is done about it ----------------------------------------------------------------

    def look(self) -> None:
        """Renew claims, give them back, and ask for what is due; called every ``TICK``.

        A bug stops the crawl, for without these looks it would wait for ever.
        """
        with self._stopping():
            now = self._clock()
            if self._courier.look(self._patience):
                self._lose(f"The gate was away for {self._patience:g} s: {self._courier.trouble}")
            renewed, claimed = dict[str, float](), dict[str, float]()
            for host, state in list(self._hosts.items()):
                if state.is_ours and self._is_over(host, state, now):
                    self._give_back(host, state, now)
                elif state.is_ours and now - state.confirmed >= RENEW:
                    renewed[host] = self._lease(host)
                elif state.due <= now and not self._stopped:
                    state.due = math.inf
                    claimed[host] = self._lease(host)
                elif state.is_idle and state.barred <= now:
                    del self._hosts[host]
            if renewed or claimed:
                self._courier.put(lambda batch: batch.add(renewed, claimed))

    def _take(self, reply: Reply) -> None:
        with self._stopping():
            changed = [
                *(h for h, wanted in reply.renewed.items() if self._renewed(h, wanted, reply.sent)),
                *(h for h, why in reply.claimed.items() if self._claimed(h, why, reply.sent)),
            ]
            self._wake(changed)

    @contextmanager
    def _stopping(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._lose(f"The gate failed: {error!r}")
            raise

    def _lose(self, sentence: str) -> None:
        if not self._stopped:
            self.stop()
            self._on_lost(sentence)

    def _lease(self, host: str) -> float:
        """Seconds that a claim lasts: of a worker that is killed the host's delay is kept too."""
        return LEASE + self._delay_of(host)

    def _delay_left(self, host: str, state: _Host) -> float:
        """Seconds until another may ask: the delay counts from the end of what we asked for last,
        for when a request has reached the host is not known.
        """
        now = self._clock()
        ended = now if state.on_wire else state.used
        return max(0.0, ended + self._delay_of(host) - now)

    def _yields(self, state: _Host) -> bool:
        """Return whether nothing new is begun under the claim, for another wants the host."""
        return state.parked or (state.wanted and self._clock() - state.since >= TURN)

    def _is_over(self, host: str, state: _Host, now: float) -> bool:
        """Return whether the claim is given back: its turn is over, or nobody here uses it."""
        if state.on_wire:
            return False
        if self._yields(state):
            return True
        if state.waiting or any(queue.is_sending(host) for queue in self.queues):
            return False
        idle = now - max(state.since, state.used)
        if state.used >= state.since and any(queue.has(host) for queue in self.queues):
            return False
        return idle >= (WANTED if state.wanted and state.used >= state.since else UNUSED)

    def _give_back(self, host: str, state: _Host, now: float) -> None:
        delay = self._delay_left(host, state)
        if state.wanted:
            state.barred = now + max(delay, AGAIN) * (1 + random.random() / 10)  # noqa: S311

        def change(batch: Batch) -> None:
            batch.renew.pop(host, None)
            batch.release[host] = delay

        self._courier.put(change)
        self._note_gone(host, state)

    def _note_gone(self, host: str, state: _Host) -> None:
        """Note that *host* is not ours any more; it is asked for where somebody here waits."""
        state.since, state.confirmed = math.inf, -math.inf
        if state.queued or state.waiting:
            self._ask(host, state)

    def _ask(self, host: str, state: _Host) -> None:
        """Have *host* claimed, now or when it is not barred any more.

        One that is ours is renewed or given back soon: then it is told, or asked for.
        """
        if state.is_ours or state.asked < math.inf or self._stopped:
            return
        state.asked = now = self._clock()
        if state.barred > now:
            state.due = state.barred
        else:
            self._courier.put(lambda batch: batch.add({}, {host: self._lease(host)}))

    def _renewed(self, host: str, wanted: bool | None, sent: float) -> bool:
        """Take the answer to a renewal; return whether somebody here waits for *host*."""
        state = self._hosts.get(host)
        if state is None or not state.is_ours:
            return False  # given back meanwhile
        if wanted is None:
            self.counts["lost"] += 1
            self._note_gone(host, state)
            return False
        state.confirmed, state.wanted = sent, wanted
        return state.queued or bool(state.waiting)

    def _claimed(self, host: str, refusal: Refusal | None, sent: float) -> bool:
        """Take the answer to a claim; return whether who waits for *host* asks again by itself.

        It does where the host is ours now, or parked; one that is another's is asked for again.
        """
        state, now = self._hosts[host], self._clock()
        if refusal is None:
            self.counts["claims"] += 1
            self.waited += max(0.0, now - state.asked)
            state.asked, state.wanted, state.parked = math.inf, False, False
            state.since, state.confirmed = now, sent
            return True
        self.counts["refused"] += 1
        if refusal.parked:
            self.on_parked(host, refusal.parked, refusal.why)
            if not state.waiting:
                state.asked = math.inf
                return True
        state.due = now + (refusal.parked or min(refusal.left or AGAIN, AGAIN))
        return False

    def _wake(self, hosts: list[str]) -> None:
        """Wake who waits for *hosts*: each asks again, and may be too late."""
        queued = [host for host in hosts if self._hosts[host].queued]
        for host in hosts:
            state = self._hosts[host]
            state.queued = False
            for turn in state.turns():
                turn.set_result(None)
        if queued:
            for queue in self.queues:
                queue.gate_changed(queued)
