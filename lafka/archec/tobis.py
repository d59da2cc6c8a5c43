"""A run over RePEc data: what is new, changed or gone goes into the store (``scrapy tobi``).

Memory stays flat: what was seen is eight bytes a tobi in a file without a name; templates outside
their archive's own folder wait in another one.
"""

from __future__ import annotations

import mmap
import pickle
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO

from lafka.archec import texts
from lafka.archec.gathering import AGE_MAX, GROUP, OBIS_MAX, Gathering, Stored
from lafka.archec.losses import LossRule, losses
from lafka.archec.problems import Problem
from lafka.archec.records import Kind, Last, Records
from lafka.archec.recovering import event_of
from lafka.archec.sightings import Sighting, sightings
from lafka.archec.sources import Source

BATCH = 1024
"""Tobis that are looked up in the records together."""
WAIT = 1.0
"""Seconds that a tobi waits at most for others to share its syncs."""
_PLACE_BITS = 32


@dataclass(slots=True)
class Seen:
    """Which tobis this run has seen, by their numbers in the records, and where.

    A place is a file and a line of it: 8 bytes in a file without a name.
    """

    files: list[str] = field(default_factory=list)
    _file: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    _map: mmap.mmap | None = None

    def add(self, number: int, place: int) -> None:
        self._grow((number + 1) * 8)
        assert self._map is not None
        self._map[number * 8 : number * 8 + 8] = place.to_bytes(8, "little")

    def place(self, number: int) -> int:
        """Where it was seen; 0 where it was not."""
        if self._map is None or (number + 1) * 8 > len(self._map):
            return 0
        return int.from_bytes(self._map[number * 8 : number * 8 + 8], "little")

    def pack(self, file: str, line: int) -> int:
        """A place as a number; never 0."""
        if not self.files or self.files[-1] != file:
            self.files.append(file)
        return len(self.files) << _PLACE_BITS | min(line, (1 << _PLACE_BITS) - 1)

    def told(self, place: int) -> str:
        file, line = self.files[(place >> _PLACE_BITS) - 1], place & ((1 << _PLACE_BITS) - 1)
        return f"{file}, line {line}"

    def _grow(self, size: int) -> None:
        if self._map is not None and size <= len(self._map):
            return
        size = max(1 << 16, 2 * size)
        self._file.truncate(size)
        if self._map is not None:
            self._map.close()
        self._map = mmap.mmap(self._file.fileno(), size)

    def close(self) -> None:
        if self._map is not None:
            self._map.close()
        self._file.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """``now`` is seconds UTC, ``monotonic`` measures: arguments, so that tests have time."""

    now: Callable[[], int]
    monotonic: Callable[[], float]


Begin = Callable[[int], Gathering]
"""Makes the gathering that takes the first free tist from that one on."""


class TobiRun:
    """One run over *source*; ``gather`` gives what came of it.

    *begin* makes the gatherings, the first from *tist* on; *tell* takes each problem. *replays*:
    the next ones take the seconds behind it, whatever the clock says.
    """

    def __init__(
        self, records: Records, source: Source, begin: Begin, *, tist: int, rule: LossRule,
        clocks: Clocks, tell: Callable[[Problem], None], replays: bool = False,
    ) -> None:  # fmt: skip
        self.counts: Counter[str] = Counter()
        self.withheld: dict[str, int] = {}
        self._records, self._source, self._begin = records, source, begin
        self._rule, self._clocks, self._tell = rule, clocks, tell
        self._replays = replays
        self._seen = Seen()
        self._fresh: dict[str, tuple[str, int]] = {}  # put since their numbers were asked for
        self._began = self._put_at = clocks.monotonic()
        self._gathering = begin(tist)
        self.gatherings = [self._gathering.tist]

    def gather(self) -> Counter[str]:
        """Go through the source; how many of each event, and ``same``, ``withheld``, ``late``.

        ``StorageTrouble``, ``RecordsAway``: what was acknowledged is kept, and the same run again
        goes on.
        """
        try:
            with tempfile.TemporaryFile() as spool:
                self._look(self._own(spool))
                self._look(_spooled(spool))
            self._commit()
            self._settle()
            self._lose()
            self._end()
        finally:
            self._gathering.close()
            self._seen.close()
        return self.counts

    def _own(self, spool: IO[bytes]) -> Iterator[Sighting]:
        """Tobis in their archive's own folder; the others go into the spool for later."""
        for sighting in sightings(self._source, self._tell):
            if sighting.is_own:
                yield sighting
            else:
                pickle.dump(sighting, spool)

    def _look(self, found: Iterable[Sighting]) -> None:
        batch: list[Sighting] = []
        for sighting in found:
            batch.append(sighting)
            late = self._clocks.monotonic() - self._put_at > WAIT
            if len(batch) == BATCH or (late and self._gathering.waiting):
                self._judge_all(batch)
                batch = []
        self._judge_all(batch)

    def _judge_all(self, batch: Sequence[Sighting]) -> None:
        last = self._records.last_many(Kind.TOBI, {sighting.id for sighting in batch})
        for sighting in batch:
            self._judge(sighting, last.get(sighting.id))
        late = self._clocks.monotonic() - self._put_at > WAIT
        if self._gathering.waiting >= GROUP - BATCH or late:
            self._commit()
            self._settle()

    def _judge(self, sighting: Sighting, last: Last | None) -> None:
        sums = texts.of_template(sighting.data)
        before = self._before(sighting, last)
        if before:
            self._compare(sighting, sums.text_sha256, *before)
            return
        place = self._seen.pack(sighting.file, sighting.line)
        if last and last.lost is None and last.text_sha256 == sums.text_sha256:
            self._seen.add(last.number, place)
            self.counts["same"] += 1
            return
        self._put(sighting, sums, last)
        self._fresh[sighting.id] = (sums.text_sha256, place)

    def _before(self, sighting: Sighting, last: Last | None) -> tuple[str | None, int] | None:
        """Text and place of the same tobi where this run has seen it already."""
        if sighting.id in self._fresh:
            return self._fresh[sighting.id]
        place = self._seen.place(last.number) if last else 0
        return (last.text_sha256, place) if last and place else None

    def _compare(self, sighting: Sighting, text: str, had: str | None, place: int) -> None:
        if text != had:
            sentence = f"{sighting.id} has another text in {self._seen.told(place)}, which is kept"
            problem = Problem(
                file=sighting.file, line=sighting.line, code="duplicate-handle", sentence=sentence
            )
            self._tell(problem)

    def _put(self, sighting: Sighting, sums: texts.Checksums, last: Last | None) -> None:
        aged = self._clocks.monotonic() - self._began > AGE_MAX
        if aged or self._gathering.stored >= OBIS_MAX:
            self._roll()
        tist = self._gathering.tist
        is_dated = 0 < sighting.modified <= tist
        if not is_dated:
            self.counts["late"] += 1
        mtime = sighting.modified if is_dated else tist
        found = last.found if last and last.found is not None else mtime
        head = {"e": event_of(last), "id": sighting.id, "found": found}
        if not self._gathering.waiting:
            self._put_at = self._clocks.monotonic()
        line = {**head, **sighting.line_values()}
        self._gathering.put(Stored(data=sighting.data, mtime=mtime, checksums=sums, line=line))

    def _roll(self) -> None:
        """Go on in the next gathering: one folder holds so many names and no more."""
        self._end()
        tist = self._gathering.tist + 1
        self._gathering = self._begin(tist if self._replays else max(tist, self._clocks.now()))
        self.gatherings.append(self._gathering.tist)

    def _end(self) -> None:
        self._gathering.end(seconds=self._clocks.monotonic() - self._began)
        self.counts.update(self._gathering.counts)
        self._began = self._clocks.monotonic()

    def _commit(self) -> None:
        self._gathering.commit()
        self._put_at = self._clocks.monotonic()

    def _settle(self) -> None:
        """Note by number what has one now."""
        for obi, last in self._records.last_many(Kind.TOBI, self._fresh).items():
            self._seen.add(last.number, self._fresh[obi][1])
        self._fresh.clear()

    def _lose(self) -> None:
        """Note what is gone, as far as it is believed."""
        for line in losses(self._records, self._source, self._rule, self._was_seen,
                           self._gathering.tist):  # fmt: skip
            if line["e"] == "withheld" and line["count"]:
                self.withheld[line["archive"]] = line["count"]
            self._gathering.note(line)
            if self._gathering.waiting >= GROUP:
                self._commit()

    def _was_seen(self, number: int) -> bool:
        return bool(self._seen.place(number))


def _spooled(spool: IO[bytes]) -> Iterator[Sighting]:
    spool.seek(0)
    try:
        while True:
            yield pickle.load(spool)  # noqa: S301 - this process wrote it, in a nameless file
    except EOFError:
        return
