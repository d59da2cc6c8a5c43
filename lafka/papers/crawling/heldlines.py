"""Lines of a list whose fut is held go into the feed while the list is read, past the engine.

Nobody is asked for them and nothing is stored, so a list that is mostly held, as the second crawl
of any is, costs little more than reading it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime

from lafka.errors import BadList, KeeperError
from lafka.papers.archive.archives import Archive
from lafka.papers.archive.suwafs import Fut
from lafka.papers.lists.futlis import Futli, Line
from lafka.papers.lists.listfiles import Excludes
from lafka.runs.feed import SyncedLines
from lafka.warc.format import dates

COUNTED_AFTER = 512
"""Lines after which their number is given, or half a second."""
LOOKS_AFTER = 64
"""Lines after which it is asked whether the crawl stops."""

_text = json.JSONEncoder(ensure_ascii=False).encode


class HeldLines:
    """Takes the lines that are held out of a list, and tells them in *feed*.

    *since*: as of ``Archive.held``. *stops* says whether the crawl does: then all lines are left.
    *on_count* is called with the number of lines that were taken out since its last call, *on_held*
    with a line before it is told. A line
    whose suwaf or WARC cannot be looked at is left: who takes it from the feeder looks again, and
    says why.
    """

    def __init__(
        self,
        archive: Archive,
        feed: SyncedLines,
        *,
        since: datetime | None = None,
        excludes: Excludes | None = None,
        stops: Callable[[], bool] = bool,
        on_count: Callable[[int], object] = bool,
        on_held: Callable[[list[Line]], object] = bool,
    ) -> None:
        self._archive = archive
        self._feed = feed
        self._since = since
        self._excludes = excludes
        self._stops = stops
        self._on_count = on_count
        self._on_held = on_held
        self._count = 0
        self._counted_at = 0.0
        self._second = 0
        self._now = ""

    def left(self, lines: Iterable[Line]) -> Iterator[Line]:
        """Those of *lines* that are not taken out; errors of *lines* pass through."""
        try:
            stops = False
            for number, line in enumerate(lines):
                if not number % LOOKS_AFTER:
                    stops = self._stops()
                if stops or not self._is_taken(line):
                    yield line
        except BadList:
            self._count_out()
            raise
        self._count_out()

    def _is_taken(self, line: Line) -> bool:
        futli = line.futli
        if futli is None or line.outcome:
            return False
        if self._excludes and self._excludes.match(futli.pid):
            return False
        found = self._held_fut(futli, line.since or self._since)
        if found is None:
            return False
        self._on_held([line])
        now = time.time()
        if int(now) != self._second:
            self._second = int(now)
            self._now = dates.to_seconds(datetime.fromtimestamp(now, UTC))
        self._feed.append(feed_line(futli, found, self._now))
        self._count += 1
        if self._count >= COUNTED_AFTER or now - self._counted_at > 0.5:
            self._counted_at = now
            self._count_out()
        return True

    def _held_fut(self, futli: Futli, since: datetime | None) -> Fut | None:
        try:
            return self._archive.held(futli, since)
        except (KeeperError, OSError):
            return None  # who takes the line from the feeder looks again, and says why

    def _count_out(self) -> None:
        count, self._count = self._count, 0
        if count:
            self._on_count(count)


def feed_line(futli: Futli, found: Fut, now: str) -> str:
    """The line of the outcome feed for *futli*, whose fut was held at *now*, without its chain.

    As Scrapy makes it of the item that the line would be, a tenth as dear.
    """
    return (
        f'{{"pid": {_text(futli.pid.text)}, "futli": {_text(futli.url)}, "outcome": "fut",'
        f' "time": "{now}", "futs": [{{"url": {_text(found.url)}, "digest": {_text(found.digest)},'
        f' "length": {found.l}, "s": {found.s}, "l": {found.l}, "new": false}}],'
        ' "splap": null, "candidates": [], "capped": false, "requests": 0, "error": null,'
        f' "as_written": {_text(futli.as_written or futli.url)}}}\n'
    )
