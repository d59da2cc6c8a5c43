"""Who has a place: how many trails go on at once, and how many of them may begin at one host.

No Scrapy in here: the spider says what became of a line, and takes what may begin.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from lafka.papers.lists.feeder import Feeder
    from lafka.papers.lists.futlis import Line


class Places:
    """The lines of a feeder that are out, from being taken to the end of their trail.

    A line holds a place of its host until that host has answered it or has sent it on to another
    one; then the host's next line may be taken, while the trail goes on elsewhere. For one thread.
    """

    def __init__(
        self, feeder: Feeder, *, trails_max: int, freed: Callable[[], object] = bool
    ) -> None:
        """At most *trails_max* trails at once; *freed* is called when more may be taken."""
        self._feeder = feeder
        self._trails_max = trails_max
        # Not without end: resolvers such as doi.org would fill all trails with one slow host.
        self._sent_on_max = max(feeder.per_host, trails_max // 8)
        self._freed = freed
        self._starting: dict[int, Line] = {}  # lines whose host has not answered yet
        self._open: dict[int, Line] = {}  # lines whose trail has not ended
        self._open_at: Counter[str] = Counter()  # how many of those began at a host

    def take(self, most: int) -> list[Line]:
        """Up to *most* lines whose host has a place, as far as there is room for their trails."""
        room = min(most, self._trails_max - len(self._open))
        return self._feeder.take(room) if room > 0 else []

    def leave(self, line: Line) -> None:
        """*line* was taken, and no trail of it begins."""
        self._feeder.release(line)
        self._freed()

    def begin(self, line: Line) -> None:
        """The trail of *line*, which was taken, begins at its host."""
        self._starting[line.number] = self._open[line.number] = line
        self._open_at[_host(line)] += 1

    def sent_on(self, number: int) -> None:
        """The host of a line that waits for its answer has sent it on to another URL.

        That frees its place, unless so many trails that began there go on already.
        """
        line = self._starting.get(number)
        if line and self._open_at[_host(line)] < self._sent_on_max:
            self.answered(number)

    def answered(self, number: int) -> None:
        """The host of a line has answered; nothing for a line whose place is free already."""
        if line := self._starting.pop(number, None):
            self.leave(line)

    def end(self, number: int) -> None:
        """The trail of a line has ended; nothing where that is known already."""
        line = self._open.pop(number, None)
        if line is None:
            return
        host = _host(line)
        self._open_at[host] -= 1
        if not self._open_at[host]:
            del self._open_at[host]
        self._starting.pop(number, None)
        self.leave(line)


def _host(line: Line) -> str:
    assert line.futli is not None
    return line.futli.host
