"""Failures that no site can explain: believed of one host, and of five in a row of none."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from time import monotonic

from lafka.errors import MachineTrouble

GRACE = 10.0
"""Seconds in which another host may answer, before such a failure is believed."""


class Canary:
    """Holds failures of name service and network back until a host answers, or until it is known
    that none does. For one thread, in a running loop.

    After *most* hosts in a row, none of which answered, *stop* is called with the reason, and none
    of the failures that are held is any site's; 0 believes each at once. *probe*: does now what
    failed, where it succeeded before, and returns whether it succeeds.
    """

    def __init__(
        self,
        most: int,
        stop: Callable[[MachineTrouble], object],
        grace: float = GRACE,
        probe: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        self._most = most
        self._stop = stop
        self._grace = grace
        self._probe = probe
        self._is_stopping = False
        self._since = -math.inf  # when the first of the hosts failed
        self._hosts: set[str] = set()
        self._held: set[asyncio.Future[bool]] = set()

    def answered(self, known: float = math.inf) -> None:
        """A host has answered: the way there is whole, and what failed meanwhile did so alone.

        Not where *known*, monotonic seconds, is before the first of the failures: an answer of a
        host whose address was looked up by then says nothing of names that cannot be now.
        """
        if known < self._since:
            return
        self._hosts.clear()
        self._release(is_theirs=True)

    def stopping(self) -> None:
        """The crawl stops: what is held is nobody's yet, and is asked again by the next run."""
        self._is_stopping = True
        self._release(is_theirs=False)

    async def is_the_sites(self, host: str, reason: str) -> bool:
        """Return whether the failure of *host* for *reason* may be said of it, once that is
        known: when another host answers, or after the grace.
        """
        if not self._most:
            return True
        if self._is_stopping:
            return False
        if not self._hosts:
            self._since = monotonic()
        self._hosts.add(host)
        held = asyncio.get_running_loop().create_future()
        self._held.add(held)
        try:
            return await asyncio.wait_for(held, self._grace)
        except TimeoutError:
            if len(self._hosts) >= self._most and self._probe and await self._probe():
                self.answered()
            return self._judged(reason)
        finally:
            self._held.discard(held)

    def _judged(self, reason: str) -> bool:
        if self._is_stopping:  # another has judged
            return False
        if len(self._hosts) < self._most:
            return True
        error = OSError(0, reason)
        self._stop(MachineTrouble(f"{len(self._hosts)} hosts in a row", error))
        self.stopping()
        return False

    def _release(self, *, is_theirs: bool) -> None:
        for held in self._held:
            if not held.done():
                held.set_result(is_theirs)
