"""What a run knows of its hosts: which are parked and until when, which are set aside."""

from __future__ import annotations

import time
from collections.abc import Callable


class Hosts:
    """Parked and failing hosts, by the name of their download slot.

    ``failures_max`` failures in a row set a host aside for the run; 0 never does. ``clock`` gives
    seconds, monotonic.
    """

    def __init__(self, *, failures_max: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._failures_max = failures_max
        self._clock = clock
        self._parked: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._set_aside: dict[str, Exception] = {}

    def park(self, slot: str, seconds: float) -> bool:
        """Let no request of *slot* go for *seconds*; False if it waits that long anyway."""
        until = self._clock() + seconds
        if until <= self._parked.get(slot, 0.0):
            return False
        self._parked[slot] = until
        return True

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
        return True

    def set_aside(self, slot: str) -> Exception | None:
        """The last failure of a *slot* that is set aside, else None."""
        return self._set_aside.get(slot)
