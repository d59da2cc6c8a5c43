"""The thread in which the gate asks PostgreSQL: what is asked meanwhile goes in one batch."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from lafka.politeness.claims import Claims, GateAway, Refusal

FRESH = 5.0
"""Seconds that a claim counts after it was last confirmed, and that the table has to answer."""
BATCH = 0.02
"""Seconds between two batches, at least."""
RECONNECT = 1.0
"""Seconds between two tries while the gate is away."""


@dataclass(slots=True)
class Batch:
    """The work of one visit to the table, in this order."""

    park: dict[str, tuple[float, str]] = field(default_factory=dict)
    release: dict[str, float] = field(default_factory=dict)
    renew: dict[str, float] = field(default_factory=dict)
    claim: dict[str, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.park or self.release or self.renew or self.claim)

    def add(self, renew: Mapping[str, float], claim: Mapping[str, float]) -> None:
        """Have hosts renewed and claimed too, each for so many seconds."""
        self.renew.update(renew)
        self.claim.update(claim)


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of a batch that was begun at ``sent``."""

    sent: float
    renewed: Mapping[str, bool | None]  # wanted by another; None: lost
    claimed: Mapping[str, Refusal | None]


class BatchSender:
    """The thread that takes batches to the table, one after the other.

    *on_reply* is called in that thread. A batch that the gate did not take is taken again.
    """

    def __init__(
        self, claims: Claims, on_reply: Callable[[Reply], object], clock: Callable[[], float]
    ) -> None:
        self._claims = claims
        self._on_reply = on_reply
        self._clock = clock
        self._condition = threading.Condition()
        self._next = Batch()
        self._closed = threading.Event()
        self._delays: Mapping[str, float] = {}
        self._thread: threading.Thread | None = None
        self._begun = math.inf  # when the batch on its way was begun
        self._away_since = math.inf
        self.trouble = "it does not answer"

    def put(self, change: Callable[[Batch], object]) -> None:
        """Have *change* done to the next batch."""
        with self._condition:
            change(self._next)
            self._condition.notify()
        if self._thread is None and not self._closed.is_set():
            self.start()

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="lafka-gate", daemon=True)
        self._thread.start()

    def look(self, patience: float) -> bool:
        """Break off a batch that hangs; return whether the gate is away for over *patience*."""
        with self._condition:  # else a batch that ends just now would be found to hang
            now = self._clock()
            if now - self._begun > FRESH:
                self._away_since = min(self._away_since, self._begun)
                self._claims.abort()
            return now - self._away_since > patience

    def close(self, delays: Mapping[str, float]) -> None:
        """Give everything back, the hosts of *delays* after so many seconds, and end."""
        self._delays = delays
        self._closed.set()
        with self._condition:
            self._condition.notify()
        if self._thread is not None:
            self._thread.join(FRESH)
            self._claims.abort()

    def _run(self) -> None:
        while not self._closed.is_set():
            with self._condition:
                self._condition.wait_for(lambda: self._next or self._closed.is_set())
            if self._next:
                self.visit()
            self._closed.wait(RECONNECT if self._away_since < math.inf else BATCH)
        if self._away_since == math.inf:
            with suppress(GateAway):
                self._leave()

    def visit(self) -> None:
        """Do what the next batch says, or put back what was not done."""
        with self._condition:
            batch, self._next = self._next, Batch()
            self._begun = sent = self._clock()
        try:
            reply = self._visit(batch, sent)
        except (GateAway, ValueError) as error:
            self.trouble = str(error)
            self._end_visit(min(self._away_since, sent))
            self.put(lambda then: _put_back(batch, then))
        else:
            self._end_visit(math.inf)
            self._on_reply(reply)

    def _end_visit(self, away_since: float) -> None:
        with self._condition:
            self._begun, self._away_since = math.inf, away_since

    def _visit(self, batch: Batch, sent: float) -> Reply:
        claims = self._claims
        if batch.park:
            claims.park(batch.park)
        if batch.release:
            claims.release(batch.release)
        kept = claims.renew(batch.renew) if batch.renew else {}
        claimed = claims.claim(batch.claim) if batch.claim else {}
        return Reply(sent, {host: kept.get(host) for host in batch.renew}, claimed)

    def _leave(self) -> None:
        if self._next.park:
            self._claims.park(self._next.park)
        if delays := {**self._next.release, **self._delays}:
            self._claims.release(delays)
        self._claims.leave()


def _put_back(batch: Batch, then: Batch) -> None:
    """Have *then* do what *batch* has not done; claims are renewed by whoever looks next."""
    then.park = {**batch.park, **then.park}
    then.release = {**batch.release, **then.release}
    then.claim = {**batch.claim, **then.claim}
