"""A run over RePEc data: what is new, changed or gone goes into the store (``lafka tobi``).

Memory stays flat: what was seen is eight bytes a tobi in a file without a name.
"""

from __future__ import annotations

import mmap
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import IO, NamedTuple

from lafka.archec.gather.found_templates import Sighting, in_order, sightings
from lafka.archec.gather.gathering import AGE_MAX, GROUP, OBIS_MAX, Gathering, NewObi
from lafka.archec.gather.loss_rules import LossCheck
from lafka.archec.gather.sources import RedifSource
from lafka.archec.gather.unchanged_files import OutcomeRow, UnchangedFiles, UnchangedTobis
from lafka.archec.records import Kind, LatestVersion, Records, event_of, found_of
from lafka.archec.redif.vocabulary import Problem
from lafka.archec.store import texts
from lafka.archec.store.lines import version

BATCH = 1024
"""Tobis that are looked up in the records together."""
WAIT = 1.0
"""Seconds that a tobi waits at most for others to share its syncs."""
_PLACE_BITS = 32
_LINE = (1 << _PLACE_BITS) - 1
_STORED = 1 << 63


@dataclass(slots=True)
class SeenIndex:
    """The tobis that this run has seen, by their numbers in the records, and where.

    A place is a file and a line of it, and whether the tobi was stored by this run: 8 bytes in a
    file without a name.
    """

    files: list[str] = field(default_factory=list)
    _file: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    _map: mmap.mmap | None = None
    _places: memoryview = field(default_factory=lambda: memoryview(b"").cast("Q"))

    def add(self, number: int, place: int, *, stored: bool = False) -> None:
        self._grow(number)
        self._places[number] = place | _STORED * stored

    def add_all(self, file: str, tobis: Sequence[tuple[int, int]]) -> Iterator[SeenBefore]:
        """Add *tobis* of a file, by number and line; not those that were seen already, which are
        given.
        """
        self._grow(max(tobis)[0])
        places, base = self._places, self.pack(file, 0)
        for number, line in tobis:
            if place := places[number]:
                yield SeenBefore(number, line, place & ~_STORED, bool(place & _STORED))
            else:
                places[number] = base + line

    def place(self, number: int) -> int:
        """Return where it was seen; 0 where it was not."""
        return self._places[number] & ~_STORED if number < len(self._places) else 0

    def pack(self, file: str, line: int) -> int:
        """A place as a number; never 0."""
        if not self.files or self.files[-1] != file:
            self.files.append(file)
        return len(self.files) << _PLACE_BITS | min(line, _LINE)

    def kept_file(self, place: int) -> str:
        file, line = self.files[(place >> _PLACE_BITS) - 1], place & _LINE
        return f"{file}, line {line}"

    def _grow(self, number: int) -> None:
        if number < len(self._places):
            return
        size = max(1 << 16, 16 * (number + 1))
        self._file.truncate(size)
        self._unmap()
        self._map = mmap.mmap(self._file.fileno(), size)
        self._places = memoryview(self._map).cast("Q")

    def _unmap(self) -> None:
        self._places.release()
        if self._map is not None:
            self._map.close()

    def close(self) -> None:
        self._unmap()
        self._file.close()


class SeenBefore(NamedTuple):
    """A tobi that was seen before, and where; whether this run has *stored* it since."""

    number: int
    line: int
    place: int
    stored: bool


@dataclass(slots=True)
class _PendingTobi:
    """A tobi that was put: its text, where it stood, and rows that wait for its number."""

    text: str
    place: int
    rows: list[OutcomeRow | None] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """``now`` is seconds UTC, ``monotonic`` measures: arguments, so that tests have time."""

    now: Callable[[], int]
    monotonic: Callable[[], float]


Begin = Callable[[int], Gathering]
"""Makes the gathering that takes the first free tist from that one on."""
Check = Callable[..., LossCheck]
"""Makes the check of what was not seen, by ``was_seen`` and ``tist``."""


class TobiRun:
    """One run over *source*; ``gather`` gives what came of it.

    *begin* makes the gatherings, the first from *tist* on; *tell* takes each problem; *check*
    judges what was not seen. *replays*: the next ones take the seconds behind it, whatever the
    clock says.
    """

    def __init__(
        self, records: Records, source: RedifSource, begin: Begin, *, tist: int,
        clocks: Clocks, tell: Callable[[Problem], None], passing: UnchangedFiles, check: Check,
        replays: bool = False,
    ) -> None:  # fmt: skip
        self.counts: Counter[str] = Counter()
        self.withheld: dict[str, int] = {}
        self._records, self._source, self._begin = records, source, begin
        self._clocks, self._tell = clocks, tell
        self._passing, self._check, self._replays = passing, check, replays
        self._seen = SeenIndex()
        # What was put and has no number yet, of the group that is on its way and of the next one.
        self._begun: dict[str, _PendingTobi] = {}
        self._fresh: dict[str, _PendingTobi] = {}
        self._began = self._put_at = clocks.monotonic()
        self._gathering = begin(tist)
        self.gatherings = [self._gathering.tist]

    def gather(self) -> Counter[str]:
        """Go through the source; how many of each event, and ``same``, ``withheld``, ``late``.

        ``StorageTrouble``, ``RecordsAway``: what was acknowledged is kept, and the same run again
        goes on.
        """
        try:
            found = sightings(self._source, self._tell, self._passing)
            with closing(in_order(found, self._source)) as ordered:
                self._look(ordered)
            self._commit()
            self._lose()
            self._end()
        finally:
            self._gathering.close()
            self._seen.close()
        return self.counts

    def _look(self, found: Iterable[Sighting | UnchangedTobis]) -> None:
        batch: list[Sighting | UnchangedTobis] = []
        for sighting in found:
            if not batch and isinstance(sighting, UnchangedTobis):
                self._pass(sighting)
                continue
            batch.append(sighting)
            late = self._clocks.monotonic() - self._put_at > WAIT
            if len(batch) == BATCH or (late and self._gathering.waiting):
                self._judge_all(batch)
                batch = []
        self._judge_all(batch)

    def _judge_all(self, batch: Sequence[Sighting | UnchangedTobis]) -> None:
        ids = {sighting.id for sighting in batch if isinstance(sighting, Sighting)}
        last = self._records.last_many(Kind.TOBI, ids)
        sums = [
            None if isinstance(one, UnchangedTobis) else texts.of_template(one.data)
            for one in batch
        ]
        self._expect(batch, sums, last)
        for sighting, own in zip(batch, sums, strict=True):
            if isinstance(sighting, UnchangedTobis):
                self._pass(sighting)
            elif own:
                self._judge(sighting, own, last.get(sighting.id))
        late = self._clocks.monotonic() - self._put_at > WAIT
        if self._gathering.waiting >= GROUP - BATCH or late:
            self._begin_commit()

    def _expect(
        self, batch: Sequence[Sighting | UnchangedTobis], sums: Sequence[texts.Checksums | None],
        last: Mapping[str, LatestVersion],
    ) -> None:  # fmt: skip
        new = []
        for sighting, own in zip(batch, sums, strict=True):
            if own and isinstance(sighting, Sighting):
                known = last.get(sighting.id)
                if not known or known.text_sha256 != own.text_sha256:
                    new.append(own.md5)
        if new:
            self._gathering.expect(new)

    def _judge(self, sighting: Sighting, sums: texts.Checksums, last: LatestVersion | None) -> None:
        before = self._before(sighting, last)
        if before:
            self._compare(sighting, sums.text_sha256, before, last)
            return
        place = self._seen.pack(sighting.file, sighting.line)
        if last and last.lost is None and last.text_sha256 == sums.text_sha256:
            self._seen.add(last.number, place)
            self.counts["same"] += 1
            self._passing.found(sighting.row, last.number)
            return
        self._put(sighting, sums, last)
        if last:
            self._seen.add(last.number, place, stored=True)
        self._fresh[sighting.id] = _PendingTobi(sums.text_sha256, place, [sighting.row])

    def _before(self, sighting: Sighting, last: LatestVersion | None) -> _PendingTobi | None:
        """The same tobi where this run has seen it already."""
        if fresh := self._fresh.get(sighting.id) or self._begun.get(sighting.id):
            return fresh
        place = self._seen.place(last.number) if last else 0
        return _PendingTobi(last.text_sha256 or "", place) if last and place else None

    def _compare(
        self, sighting: Sighting, text: str, had: _PendingTobi, last: LatestVersion | None
    ) -> None:
        if text != had.text:
            self._duplicate(sighting.id, sighting.file, sighting.line, had.place)
            self._passing.spoil(sighting.row)
        elif last:
            self._passing.found(sighting.row, last.number)
        else:
            had.rows.append(sighting.row)

    def _duplicate(self, obi: str, file: str, line: int, place: int) -> None:
        sentence = f"{obi} has another text in {self._seen.kept_file(place)}, which is kept"
        self._tell(Problem(file=file, line=line, code="duplicate-handle", sentence=sentence))

    def _pass(self, passage: UnchangedTobis) -> None:
        """Note what is as it was when the last run ended, so that nothing but a tobi that this
        run has stored has another text.
        """
        again = list(self._seen.add_all(passage.file, passage.tobis))
        if same := len(passage.tobis) - len(again):
            self.counts["same"] += same
        if beaten := {one.number: one for one in again if one.stored}:
            for number, obi in self._records.numbered(Kind.TOBI, beaten).items():
                one = beaten[number]
                self._duplicate(obi, passage.file, one.line, one.place)
        self._passing.passed(passage, is_beaten=bool(beaten))

    def _put(self, sighting: Sighting, sums: texts.Checksums, last: LatestVersion | None) -> None:
        aged = self._clocks.monotonic() - self._began > AGE_MAX
        if aged or self._gathering.stored >= OBIS_MAX:
            self._roll()
        tist = self._gathering.tist
        is_dated = 0 < sighting.modified <= tist
        if not is_dated:
            self.counts["late"] += 1
        mtime = sighting.modified if is_dated else tist
        if not self._gathering.waiting:
            self._put_at = self._clocks.monotonic()
        line = version(
            event_of(last), sighting.id, sums, length=len(sighting.data),
            found=found_of(last, mtime), **sighting.line_values(),
        )  # fmt: skip
        self._gathering.put(NewObi(data=sighting.data, mtime=mtime, line=line))

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

    def _begin_commit(self) -> None:
        """Let the disk take the group while the next one is made; the one before is stored."""
        self._gathering.begin_commit()
        self._put_at = self._clocks.monotonic()
        self._settle(self._begun)
        self._begun, self._fresh = self._fresh, {}

    def _commit(self) -> None:
        self._gathering.commit()
        for put in (self._begun, self._fresh):
            self._settle(put)

    def _settle(self, put: dict[str, _PendingTobi]) -> None:
        """Note by number what has one now."""
        for obi, number in self._records.numbers(Kind.TOBI, put).items():
            fresh = put[obi]
            self._seen.add(number, fresh.place, stored=True)
            for row in fresh.rows:
                self._passing.found(row, number)
        put.clear()

    def _lose(self) -> None:
        """Note what is gone, as far as it is believed."""
        check = self._check(was_seen=self._was_seen, tist=self._gathering.tist)
        for line in check.lines():
            self._gathering.note(line)
            if self._gathering.waiting >= GROUP:
                self._gathering.commit()
        self.withheld = dict(check.withheld)
        for file, numbers in check.held.items():
            if numbers:
                self._passing.hold(file, numbers)

    def _was_seen(self, number: int) -> bool:
        return bool(self._seen.place(number))
