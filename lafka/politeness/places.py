"""Places: how many trails go on at once, and how many of them may begin at one host.

No Scrapy in here: the spider says what became of a line, and takes what may begin.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Generic

from lafka.politeness.feeder import AnyLine, HostFeeder

PATIENCE = 5.0
"""Seconds after which a line that its host has not answered is counted among those that wait."""


class Places(Generic[AnyLine]):
    """The lines of a feeder that are out, from being taken to the end of their trail.

    A line holds a place of its host until that host has answered it or has sent it on to another
    one; then the host's next line may be taken, while the trail goes on elsewhere. Where lines
    wait for hosts that do not answer, as many trails, up to half, are kept for hosts that are known
    to answer: so no number of hosts that drip takes all. For one thread.
    """

    def __init__(
        self,
        feeder: HostFeeder[AnyLine],
        *,
        trails_max: int,
        freed: Callable[[], object] = bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """At most *trails_max* trails at once; *freed* is called when more may be taken.

        *clock*: monotonic seconds.
        """
        self._feeder = feeder
        self._trails_max = trails_max
        # Not without end: resolvers such as doi.org would fill all trails with one slow host, and
        # so would a host whose pages all lead to one.
        self._sent_on_max = max(feeder.per_host, trails_max // 8)
        self._open_max = max(feeder.per_host, trails_max // 2)
        self._freed = freed
        self._clock = clock
        self._starting: dict[int, AnyLine] = {}  # lines whose host has not answered yet
        self._begun: deque[tuple[float, int]] = deque()  # when they began, while that is not long
        self._waiting: set[int] = set()  # those of _starting that began long ago
        self._new: set[int] = set()  # those of _starting whose host was not known to answer
        self._answered: dict[
            str, list[AnyLine]
        ] = {}  # they hold their place, for its host has many
        self._open: dict[int, AnyLine] = {}  # lines whose trail has not ended
        self._open_at: Counter[str] = Counter()  # how many of those began at a host

    def take(self, most: int) -> list[AnyLine]:
        """Up to *most* lines whose host has a place, as far as there is room for their trails."""
        room = min(most, self._trails_max - len(self._open))
        if room <= 0:
            return []
        kept = min(self._trails_max // 2, self._count_waiting())
        return self._feeder.take(room, new=max(0, self._trails_max - kept - len(self._new)))

    def leave(self, line: AnyLine) -> None:
        """*line* was taken, and no trail of it begins."""
        self._feeder.release(line)
        self._freed()

    def begin(self, line: AnyLine) -> None:
        """The trail of *line*, which was taken, begins at its host."""
        number = line.number
        self._starting[number] = self._open[number] = line
        self._begun.append((self._clock(), number))
        if not self._feeder.answers(line):
            self._new.add(number)
        self._open_at[line.host] += 1

    def sent_on(self, number: int) -> None:
        """The host of a line that waits for its answer has sent it on to another URL.

        That frees its place, unless so many trails that began there go on already.
        """
        line = self._starting.get(number)
        if line and self._open_at[line.host] < self._sent_on_max:
            self.answered(number)

    def answered(self, number: int) -> None:
        """The host of a line has answered; nothing for a line whose place is free already.

        The place is free now, or when fewer trails that began there go on.
        """
        line = self._started(number)
        if line is None:
            return
        host = line.host
        self._answered.setdefault(host, []).append(line)
        self._free(host)

    def end(self, number: int) -> None:
        """The trail of a line has ended; nothing where that is known already."""
        line = self._open.pop(number, None)
        if line is None:
            return
        host = line.host
        self._open_at[host] -= 1
        if not self._open_at[host]:
            del self._open_at[host]
        if self._started(number):
            self._feeder.release(line, answered=False)
        self._free(host)
        self._freed()

    def _started(self, number: int) -> AnyLine | None:
        self._waiting.discard(number)
        self._new.discard(number)
        return self._starting.pop(number, None)

    def _free(self, host: str) -> None:
        """Give back the places of *host* whose lines are answered, where it has few trails."""
        lines = self._answered.get(host, [])
        while lines and self._open_at[host] < self._open_max:
            self._feeder.release(lines.pop(0), answered=True)
            self._freed()
        if not lines:
            self._answered.pop(host, None)

    def _count_waiting(self) -> int:
        long_ago = self._clock() - PATIENCE
        while self._begun and self._begun[0][0] <= long_ago:
            number = self._begun.popleft()[1]
            if number in self._starting:
                self._waiting.add(number)
        return len(self._waiting)
