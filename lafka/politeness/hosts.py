"""The hosts of a run: which are parked and until when, which are set aside; their own delays."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from scrapy import Request, signals

from lafka.errors import printable

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from lafka.politeness.gate import Gate


SLOT_KEY = "download_slot"
"""Key of ``request.meta``: Scrapy's downloader notes there in which slot a request goes."""


class HostDelays:
    """Keeps the delay of a slot from falling below the one that DOWNLOAD_SLOTS gives it.

    AutoThrottle takes that delay for a beginning and lowers it with each answer. This extension
    stands behind it, so it raises the delay again after each answer, and before the slot sends a
    request.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        delays = cls(crawler)
        for signal in (signals.request_reached_downloader, signals.response_downloaded):
            crawler.signals.connect(delays.keep, signal)
        return delays

    def keep(self, request: Request) -> None:
        assert self._crawler.engine is not None
        downloader = self._crawler.engine.downloader
        key = str(request.meta.get(SLOT_KEY))
        slot = downloader.slots.get(key)
        least = downloader.per_slot_settings.get(key, {}).get("delay")
        if slot is not None and least is not None:
            slot.delay = max(slot.delay, float(least))


def gate_of(crawler: Crawler) -> Gate | None:
    """The gate of the run that the spider of *crawler* has begun, None in most crawls."""
    run = getattr(getattr(crawler, "spider", None), "run", None)
    gate: Gate | None = getattr(run, "gate", None)
    return gate


NAMED_MAX = 1000
"""Hosts of a kind that are named in the run's report; others are only counted."""


@dataclass(slots=True, kw_only=True)
class WaitLimits:
    """The times that a host asked to wait, how long at most (seconds), until when,
    and why at last.
    """

    times: int
    longest: float
    until: datetime
    why: str


class Hosts:
    """Parked and failing hosts, by the name of their download slot.

    ``failures_max`` failures in a row set a host aside for the run; 0 never does. ``clock`` gives
    seconds, monotonic. ``gate``: what tells other workers who is parked, and tells us.
    """

    def __init__(self, *, failures_max: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.gate: Gate | None = None
        self._failures_max = failures_max
        self._clock = clock
        self._parked: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._set_aside: dict[str, Exception] = {}
        self._set_aside_at: dict[str, datetime] = {}
        self._parkings: dict[str, WaitLimits] = {}
        self._parkings_of_others = 0

    def park(self, slot: str, seconds: float, why: str = "") -> bool:
        """Let no request of *slot* go for *seconds*; False if it waits that long anyway."""
        until = self._clock() + seconds
        if until <= self._parked.get(slot, 0.0):
            return False
        self._parked[slot] = until
        self._note_parking(slot, seconds, why)
        if self.gate is not None:
            self.gate.park(slot, seconds, why)
        return True

    def take_gate(self, gate: Gate | None) -> None:
        """Tell *gate* of hosts that are parked, and park those that another worker has parked."""
        self.gate = gate
        if gate is not None:
            gate.on_parked = self._parked_by_another

    def _parked_by_another(self, slot: str, seconds: float, why: str) -> None:
        until = self._clock() + seconds
        if until > self._parked.get(slot, 0.0) + 1:  # else it is our own
            self._parked[slot] = until
            self._note_parking(slot, seconds, why)

    def _note_parking(self, slot: str, seconds: float, why: str) -> None:
        until = datetime.now(UTC) + timedelta(seconds=seconds)
        known = self._parkings.get(slot)
        if known is not None:
            known.times, known.until, known.why = known.times + 1, until, why
            known.longest = max(known.longest, seconds)
        elif len(self._parkings) < NAMED_MAX:
            self._parkings[slot] = WaitLimits(times=1, longest=seconds, until=until, why=why)
        else:
            self._parkings_of_others += 1

    def parked(self, slot: str) -> float:
        """The seconds that *slot* still has to wait, 0 if it is not parked."""
        until = self._parked.get(slot)
        if until is None:
            return 0.0
        left = until - self._clock()
        if left <= 0:
            del self._parked[slot]
            return 0.0
        return left

    @property
    def parked_now(self) -> int:
        """The number of hosts that have to wait at this moment; any thread may ask."""
        now = self._clock()
        return sum(until > now for until in tuple(self._parked.values()))

    @property
    def set_aside_now(self) -> int:
        """The number of hosts that are set aside."""
        return len(self._set_aside)

    def answered(self, slot: str) -> None:
        """An answer of any kind ends the row of failures."""
        self._failures.pop(slot, None)

    def failed(self, slot: str, cause: Exception) -> bool:
        """Count a failure; True if this one sets *slot* aside."""
        if not self._failures_max or slot in self._set_aside:
            return False
        count = self._failures.get(slot, 0) + 1
        self._failures[slot] = count
        if count < self._failures_max:
            return False
        self._failures.pop(slot)
        self._set_aside[slot] = cause
        self._set_aside_at[slot] = datetime.now(UTC)
        return True

    def set_aside(self, slot: str) -> Exception | None:
        """The last failure of a *slot* that is set aside, else None."""
        return self._set_aside.get(slot)

    def as_json(self) -> dict[str, Any]:
        """Return what the run's report says: who asked to wait, who was set aside, who fails just
        now.
        """
        parked = [
            {
                "host": slot,
                "times": parking.times,
                "longest": round(parking.longest, 3),
                "until": _text(parking.until),
                "why": parking.why,
            }
            for slot, parking in self._parkings.items()
        ]
        aside = [
            {
                "host": slot,
                "time": _text(self._set_aside_at[slot]),
                "failures": self._failures_max,
                "why": printable(cause) or type(cause).__name__,
            }
            for slot, cause in _first(self._set_aside)
        ]
        failing = [{"host": slot, "failures": count} for slot, count in _first(self._failures)]
        return {
            "parked": parked,
            "parked_others": self._parkings_of_others,
            "set_aside": aside,
            "set_aside_others": len(self._set_aside) - len(aside),
            "failing": failing,
            "failing_others": len(self._failures) - len(failing),
        }


def _first(hosts: dict[str, Any]) -> list[tuple[str, Any]]:
    return list(hosts.items())[:NAMED_MAX]


def _text(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
