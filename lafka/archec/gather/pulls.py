"""Files pulled into the obi store from where they were archived already, without the web.

What is offered is a URL that a refipo points at, when it was asked, what answered, and its bytes.
The tist noted is that of the gathering, as always; when the answer came stands in ``time`` and is
the mtime of the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from lafka.archec.gather.gathering import GROUP, OBIS_MAX, Gathering, NewObi
from lafka.archec.gather.tobis import Clocks
from lafka.archec.records import Kind, Records, event_of, found_of
from lafka.archec.redif import uris
from lafka.archec.store import pages, tists
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.lines import VisitLine, first_line, version
from lafka.errors import BadUrl, KeeperError, NotHeld
from lafka.payloads import SNIFF, kind_of
from lafka.payloads import Kind as PayloadKind

_BYTES = 64 << 20
"""Bytes that are stored together, at most one file more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedCapture:
    """A capture elsewhere: *url* was asked at *time*, *answered* gave what *read* reads.

    ``read`` may raise ``NotHeld`` or ``KeeperError``, which is told.
    """

    url: str
    answered: str
    time: datetime
    read: Callable[[], bytes]


@dataclass(slots=True)
class PullReport:
    """The outcome of it: counts of lines by event, and of offers that were passed over."""

    tists: list[int] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """An offer that the store lacks: the way from what was asked to what answered."""

    way: tuple[str, ...]
    tist: int
    offer: OfferedCapture


def pull(
    store: ObiStore, records: Records, offers: Iterable[OfferedCapture], *, source: str, run: str,
    clocks: Clocks,
) -> PullReport:  # fmt: skip
    """Take what of *offers* is newer than what *store* has of URLs that its templates point at.

    One version of a URL a gathering, oldest first. The caller has the lock of fobis, and has
    recovered. ``StorageTrouble``, ``RecordsAway``: the same command goes on.
    """
    report = PullReport()
    head = first_line(Kind.FOBI, run, source={"archive": source})
    for wanted in _rounds(_wanted(records, offers, report)):
        _Round(store, records, head, clocks, report).take(wanted)
    return report


def _wanted(
    records: Records, offers: Iterable[OfferedCapture], report: PullReport
) -> Iterator[_Wanted]:
    for offer in offers:
        report.counts["offered"] += 1
        try:
            way = tuple(dict.fromkeys(uris.normalise(url) for url in (offer.url, offer.answered)))
        except BadUrl:
            report.counts["bad-url"] += 1
            continue
        obi, tist = records.history(way[0]), tists.of_time(offer.time)
        if obi is None:
            report.counts["unknown"] += 1
        elif tist <= max(obi.noted or 0, obi.seen or 0):
            report.counts["older"] += 1
        else:
            yield _Wanted(way=way, tist=tist, offer=offer)


def _rounds(wanted: Iterable[_Wanted]) -> list[list[_Wanted]]:
    """The first version of each URL, then the second: a gathering has one file of an obi."""
    versions: dict[str, list[_Wanted]] = {}
    for one in wanted:
        versions.setdefault(one.way[0], []).append(one)
    rounds: list[list[_Wanted]] = []
    for found in versions.values():
        for place, one in enumerate(sorted(found, key=lambda one: one.tist)):
            if place == len(rounds):
                rounds.append([])
            rounds[place].append(one)
    return rounds


class _Round:
    """Gatherings of offers of which no two are of one URL."""

    def __init__(
        self, store: ObiStore, records: Records, head: dict[str, Any], clocks: Clocks,
        report: PullReport,
    ) -> None:  # fmt: skip
        self._store, self._records, self._head = store, records, head
        self._clocks, self._report = clocks, report
        self._gathering: Gathering | None = None
        self._touched: set[str] = set()  # by what is not in the records yet
        self._stored: set[str] = set()  # in this gathering
        self._bytes = 0
        self._began = 0.0

    def take(self, wanted: Iterable[_Wanted]) -> None:
        try:
            for one in wanted:
                try:
                    data = one.offer.read()
                except (KeeperError, NotHeld) as error:
                    self._report.problems.append(str(error))
                    continue
                self._put(one, data)
            self._end()
        finally:
            if self._gathering is not None:
                self._gathering.close()

    def _put(self, one: _Wanted, data: bytes) -> None:
        gathering = self._ready(one)
        kind = kind_of(data[:SNIFF])
        sums = pages.of_file(data, is_page=kind is PayloadKind.HTML)
        time, way = f"{one.offer.time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}", list(one.way)
        for uri in reversed(one.way):  # who answered first: the others lead to it
            obi, last = self._records.history(uri), self._records.last(Kind.FOBI, uri)
            if obi and obi.lost is None and last and last.text_sha256 == sums.text_sha256:
                gathering.note(VisitLine(e="visit", id=uri, time=time, way=way, status=200))
                continue
            line = version(
                event_of(last), uri, sums, length=len(data), found=found_of(obi, gathering.tist),
                time=time, way=way, status=200, kind=str(kind),
            )  # fmt: skip
            gathering.put(NewObi(data=data, mtime=one.tist, line=line))
            self._stored.add(uri)
        self._bytes += len(data)

    def _ready(self, one: _Wanted) -> Gathering:
        """The gathering for *one*; the records have what was taken, where that matters to it."""
        if self._gathering is not None and (
            self._stored & set(one.way) or self._gathering.stored + len(one.way) > OBIS_MAX
        ):
            self._end()
        if self._gathering is None:
            self._begin()
        assert self._gathering is not None
        full = self._bytes > _BYTES or self._gathering.waiting >= GROUP
        if full or self._touched & set(one.way):
            self._gathering.commit()
            self._touched, self._bytes = set(), 0
        self._touched |= set(one.way)
        return self._gathering

    def _begin(self) -> None:
        known = [one.tist for one in self._records.gatherings() if one.kind == Kind.FOBI]
        tist = max(self._clocks.now(), max(known, default=0) + 1)
        self._began = self._clocks.monotonic()
        self._gathering = Gathering.begin(
            self._store, self._records, Kind.FOBI, self._head, not_before=tist
        )
        self._report.tists.append(self._gathering.tist)

    def _end(self) -> None:
        if self._gathering is None:
            return
        self._gathering.end(seconds=self._clocks.monotonic() - self._began)
        self._report.counts.update(self._gathering.counts)
        self._gathering = None
        self._touched, self._stored, self._bytes = set(), set(), 0
