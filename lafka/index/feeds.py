# ruff: noqa: S608 - statements are put together from names above, never from values
"""Reports of runs and outcome feeds -> the rows of runs, waits, asks and days.

A feed is append-only, so it is read from where the last reading ended; a torn last line waits.
Where one shrank, changed before that place, or is gone, all feeds are read anew: what it said is in
the rows of many futlis. Where a line is older than what is known of its futli, the lines of that
futli are gathered from all feeds once more.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, BinaryIO

from lafka.errors import BadPid, BadReport, StorageTrouble
from lafka.index.papers import HostRows, IndexTally, PaperRows, add_days
from lafka.index.rows import AskedRow, BadLine, FeedLine, folded, stored
from lafka.index.scan import Asked, Count, Reading, not_read
from lafka.papers import Archive
from lafka.runs.reports import Report

TAIL = 4096
"""Bytes before the place up to which a feed was read, whose digest tells that they are the same."""
_ASKED_COLUMNS = (
    "time, run, outcome, times, until, last_run, requests, new, digests, found_by, landing, tried,"
    " first_right, capped, error, steps"
)
_PUT_ASKED = f"REPLACE INTO asked ({_ASKED_COLUMNS}, futli) VALUES ({', '.join('?' * 17)})"
_LAST_ASKED = (
    f"SELECT futli, {_ASKED_COLUMNS} FROM json_each(?) w JOIN asked a ON futli = w.value"
    " AND time >= coalesce((SELECT time FROM asked WHERE futli = w.value"
    " ORDER BY time DESC LIMIT 1 OFFSET 7), '')"
)
_PLACES = (
    "SELECT l.id, l.reread FROM temp.place w LEFT JOIN paper p ON p.pid = w.pid"
    " LEFT JOIN futli l ON l.paper = p.id AND l.url = w.url ORDER BY w.rowid"
)
_PLACE = (
    "SELECT p.id, l.id, l.reread FROM paper p"
    " LEFT JOIN futli l ON l.paper = p.id AND l.url = ? WHERE p.pid = ?"
)
_DEAD = ".dead.jsonl"  # messages of a topic that were no requests: no feed
_VALUES = attrgetter(*AskedRow.__slots__)
_RUN_COLUMNS = (
    "state", "reason", "started", "finished", "host", "list", "lines", "requests", "new", "held",
    "bytes", "seconds", "legacy", "report_mtime_ns", "report_size",
)  # fmt: skip
_SET_RUN = (
    f"UPDATE run SET ({', '.join(_RUN_COLUMNS)}) = (:{', :'.join(_RUN_COLUMNS)})"
    f" WHERE name = :name AND ({', '.join(_RUN_COLUMNS)}) IS NOT (:{', :'.join(_RUN_COLUMNS)})"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _KnownRun:
    """A run as the index has it."""

    number: int
    offset: int
    tail: bytes | None
    times: tuple[int | None, int | None]
    is_open: bool
    legacy: bool

    @classmethod
    def of(cls, row: Sequence[Any]) -> _KnownRun:
        """The run of a *row* of ``_KNOWN_COLUMNS``."""
        number, offset, tail, mtime_ns, size, is_open, legacy = row
        return cls(number=number, offset=offset, tail=tail, times=(mtime_ns, size),
                   is_open=bool(is_open), legacy=bool(legacy))  # fmt: skip


_KNOWN_COLUMNS = "id, feed_offset, feed_tail, report_mtime_ns, report_size, reason IS NULL, legacy"


class FeedRows:
    """Brings the rows of runs up to date; *step* ends a transaction and begins the next."""

    def __init__(
        self,
        db: sqlite3.Connection,
        archive: Archive,
        hosts: HostRows,
        papers: PaperRows,
        *,
        reading: Reading,
        account: IndexTally,
        step: Callable[[], None],
        batch: int,
    ) -> None:
        self._db = db
        self._archive = archive
        self._folder = archive.root / "runs"
        self._hosts = hosts
        self._papers = papers
        self._reading = reading
        self._account = account
        self._step = step
        self._batch = batch
        # Of runs, when their reports are read: names by number and the other way round, and those
        # that asked a gateway for legacy data.
        self._names: dict[int, str] = {}
        self._numbers: dict[str, int] = {}
        self._legacy: frozenset[str] = frozenset()

    def refresh(self) -> None:
        """Read what is new in reports and feeds. ``StorageTrouble``."""
        self._db.execute("CREATE TEMP TABLE IF NOT EXISTS place (pid TEXT, url TEXT)")
        names = self._read_reports()
        unread = (one for name in names for one in self._unread(name))
        for (name, end, count), lines in self._reading.all("lines", unread):
            self._take(name, *lines)
            self._note_read(name, end)
            self._account.lines += count
            self._step()
        self._read_again()

    def _read_reports(self) -> list[str]:
        """Read what is new in reports; the names of all runs, whose feeds come next."""
        names = self._runs()
        if self._are_others(names):
            self._forget_all(names)
        for name in names:
            self._read_report(name)
        self._learn()
        if self._legacy_changed:
            self._forget_all(names)
            self._learn()
        return names

    def _runs(self) -> list[str]:
        """The names of runs that have a feed or a report, oldest first."""
        try:
            found = {path.name for path in self._folder.iterdir() if path.is_file()}
        except FileNotFoundError:
            found = set()
        except OSError as error:
            raise StorageTrouble(self._folder, error) from error
        found = {name for name in found if not name.endswith(_DEAD)}
        stems = {name.rpartition(".")[0] for name in found if name.endswith((".json", ".jsonl"))}
        return sorted(stem for stem in stems if stem and not stem.startswith(".") and _plain(stem))

    def _known(self) -> dict[str, _KnownRun]:
        rows = self._db.execute(f"SELECT name, {_KNOWN_COLUMNS} FROM run").fetchall()
        return {name: _KnownRun.of(row) for name, *row in rows}

    # What was read before, and is not as it was ---------------------------------------------

    def _are_others(self, names: list[str]) -> bool:
        """Return whether a feed lacks bytes that were read, or a run is gone."""
        known = self._known()
        return bool(known.keys() - {*names}) or any(
            run.offset and run.tail != self._tail(name, run.offset) for name, run in known.items()
        )

    def _tail(self, name: str, offset: int) -> bytes | None:
        with suppress(FileNotFoundError), self._feed(name).open("rb") as feed:
            feed.seek(max(0, offset - TAIL))
            data = feed.read(min(TAIL, offset))
            if len(data) == min(TAIL, offset):
                return hashlib.sha256(data).digest()
        return None

    def _feed(self, name: str) -> Path:
        return self._folder / f"{name}.jsonl"

    def _forget_all(self, names: list[str]) -> None:
        """As if no feed had ever been read, in one step."""
        asked = [row[0] for row in self._db.execute("SELECT DISTINCT futli FROM asked")]
        papers = {
            row[0] for row in self._db.execute(
                "SELECT DISTINCT paper FROM futli WHERE id IN (SELECT futli FROM asked)")
        }  # fmt: skip
        for table in ("asked", "daily", "waits"):
            self._db.execute(f"DELETE FROM {table}")
        self._db.execute("UPDATE futli SET reread = 0 WHERE reread > 0")
        self._db.execute("UPDATE run SET (feed_offset, feed_tail) = (0, NULL)")
        self._db.execute("UPDATE run SET (report_mtime_ns, report_size) = (-1, -1)")
        for name in self._known().keys() - {*names}:
            self._db.execute("DELETE FROM run WHERE name = ?", (name,))
        self._account.runs += 1
        self._papers.settle(asked)
        for paper in papers:
            self._papers.drop_unknown(paper)
        for name in names:
            self._read_report(name)
        self._step()

    # Reports --------------------------------------------------------------------------------

    _legacy_changed = False

    def _read_report(self, name: str) -> None:
        known = self._known_run(name)
        path = self._folder / f"{name}.json"
        try:
            status = path.stat()
        except FileNotFoundError:
            times: tuple[int | None, int | None] = (None, None)
        else:
            times = (status.st_mtime_ns, status.st_size)
        if times == known.times and not (known.is_open and times[0] is not None):
            return
        values = self._said(path, times)
        self._legacy_changed |= bool(known.offset) and known.legacy != bool(values["legacy"])
        self._account.runs += self._db.execute(_SET_RUN, {**values, "name": name}).rowcount

    def _known_run(self, name: str) -> _KnownRun:
        self._db.execute("INSERT OR IGNORE INTO run (name) VALUES (?)", (name,))
        known = f"SELECT {_KNOWN_COLUMNS} FROM run WHERE name = ?"
        return _KnownRun.of(self._db.execute(known, (name,)).fetchone())

    def _said(self, path: Path, times: tuple[int | None, int | None]) -> dict[str, Any]:
        """The columns of a run by its report; where that is damaged the reason says so."""
        columns: dict[str, Any] = dict.fromkeys(_RUN_COLUMNS)
        columns |= {"legacy": 0, "report_mtime_ns": times[0], "report_size": times[1]}
        run = self._known_run(path.stem).number
        self._db.execute("DELETE FROM waits WHERE run = ?", (run,))
        if times[0] is None:
            return columns
        try:
            report = Report.load(path)
        except FileNotFoundError:
            return columns
        except BadReport as error:
            return columns | {"state": "damaged", "reason": stored(error.message)}
        columns |= _of_report(report)
        waits = list(_waits(report.values))
        self._db.executemany(
            "REPLACE INTO waits VALUES (?, ?, ?, ?, ?, ?, ?)",
            ((run, self._hosts.number(host), *rest) for host, *rest in waits),
        )
        return columns

    def _learn(self) -> None:
        rows = self._db.execute("SELECT id, name, legacy FROM run").fetchall()
        self._names = {number: name for number, name, _ in rows}
        self._numbers = {name: number for number, name, _ in rows}
        self._legacy = frozenset(name for _, name, legacy in rows if legacy)
        self._papers.learn()

    # Feeds ----------------------------------------------------------------------------------

    def _unread(self, name: str) -> Iterator[Asked[tuple[str, int, int]]]:
        """Yield what is new in the feed of run *name*, in parts of whole lines: where each ends,
        how many they are, and the question for them.
        """
        path, start = self._feed(name), self._known_run(name).offset
        with suppress(FileNotFoundError), path.open("rb") as feed:
            while lines := _some_lines(feed, start, self._batch):
                size = sum(map(len, lines))
                asked = {"feed": str(path), "start": start, "size": size}
                start += size
                yield (name, start, len(lines)), asked, len(lines)

    def _note_read(self, name: str, offset: int) -> None:
        """Note that the feed of run *name* is read up to *offset*."""
        self._db.execute(
            "UPDATE run SET (feed_offset, feed_tail) = (?, ?) WHERE name = ?",
            (offset, self._tail(name, offset), name),
        )

    def _take(
        self, name: str, told: list[Sequence[Any]], counts: list[Count], bad: list[str]
    ) -> None:
        """The rows of what was read of the feed of run *name*, as ``ReadLines`` has it."""
        for reason in bad:
            self._account.note(not_read(self._feed(name), reason))
        add_days(self._db, self._hosts, self._numbers[name], counts)
        lines = [FeedLine(*values) for values in told]
        places = zip(self._places(lines), lines, strict=True)
        asked = [(futli, line) for futli, line in places if futli]
        self._papers.settle(self._fold(name, asked))
        self._papers.words_of_new()

    def _places(self, lines: Sequence[FeedLine]) -> Iterator[int]:
        """The futli of each of *lines*; 0 where there is none for it, or all its lines wait to be
        read again.
        """
        self._db.execute("DELETE FROM temp.place")
        pairs = ((line.pid, line.futli) for line in lines)
        self._db.executemany("INSERT INTO temp.place VALUES (?, ?)", pairs)
        for line, (futli, waits) in zip(lines, self._db.execute(_PLACES).fetchall(), strict=True):
            if futli is None:  # or a line before it has brought it
                yield self._asked_at(line.pid, line)
            else:
                yield 0 if waits else futli

    def _asked_at(self, text: str, line: FeedLine) -> int:
        """As :meth:`_places`, of a *line* whose paper, or that of the pid *text*, may be new."""
        row = self._db.execute(_PLACE, (line.futli, text)).fetchone()
        if row is None:
            try:
                pid = self._archive.pid(text)
            except BadPid:
                return 0
            self._papers.only_asked(pid)
            return self._asked_at(str(pid), line)
        paper, futli, waits = row
        if futli is None:
            return self._papers.new_futli(paper, line.futli)
        return 0 if waits else int(futli)

    def _fold(self, name: str, asked: Iterable[tuple[int, FeedLine]]) -> set[int]:
        """Add each line that was *asked* to the asks of its futli; the futlis that changed.

        Where one is older than the last of them, all lines of the futli wait to be read again.
        """
        last, waiting = self._last({futli for futli, _ in asked}), set[int]()
        put: dict[tuple[int, str, str], AskedRow] = {}
        for futli, line in asked:
            before = last.get(futli)
            if futli in waiting or (before and before.place >= (line.time, name)):
                waiting.add(futli)
                continue
            apart = before and (name in self._legacy) != (before.last_run in self._legacy)
            if before and before.is_same(line, apart=bool(apart)):
                row = before.with_line(name, line)
            else:
                row = AskedRow.of(name, line)
            last[futli] = put[futli, row.time, row.run] = row
        wait = "UPDATE futli SET reread = 1 WHERE id = ?"
        self._db.executemany(wait, ((futli,) for futli in waiting))
        self._put((futli, row) for (futli, *_), row in sorted(put.items(), key=itemgetter(0)))
        return {futli for futli, *_ in put}

    def _last(self, futlis: Iterable[int]) -> dict[int, AskedRow]:
        """The last row of each of *futlis* that has one."""
        last: dict[int, AskedRow] = {}
        for futli, *values in self._db.execute(_LAST_ASKED, (json.dumps([*futlis]),)):
            row = self._asked(values)
            if futli not in last or last[futli].place < row.place:
                last[futli] = row
        return last

    def _asked(self, row: Sequence[Any]) -> AskedRow:
        time, run, outcome, times, until, last_run, *rest = row
        names = self._names[run], self._names[last_run]
        return AskedRow(time, names[0], outcome, times, until, names[1], *rest)

    def _put(self, rows: Iterable[tuple[int, AskedRow]]) -> None:
        self._db.executemany(_PUT_ASKED, itertools.starmap(self._values, rows))

    def _values(self, futli: int, row: AskedRow) -> tuple[Any, ...]:
        time, run, outcome, times, until, last_run, *rest = _VALUES(row)
        runs = self._numbers[run], self._numbers[last_run]
        return (time, runs[0], outcome, times, until, runs[1], *rest, futli)

    # Lines that came out of order -----------------------------------------------------------

    def _read_again(self) -> None:
        """Gather the lines of futlis whose lines come out of order, from all feeds."""
        if not self._db.execute("SELECT 1 FROM futli WHERE reread > 0").fetchone():
            return
        self._db.execute("DROP TABLE IF EXISTS temp.again")
        self._db.execute("CREATE TEMP TABLE again (futli INTEGER, run TEXT, line BLOB)")
        for name in sorted(self._numbers):
            self._gather(name)
        self._db.execute("CREATE INDEX temp.again_futli ON again (futli)")
        futlis = [row[0] for row in self._db.execute("SELECT id FROM futli WHERE reread > 0")]
        for futli in futlis:
            rows = self._db.execute(
                "SELECT run, line FROM again WHERE futli = ? ORDER BY rowid", (futli,)
            )
            lines = [(run, FeedLine.of(line)) for run, line in rows]
            self._db.execute("DELETE FROM asked WHERE futli = ?", (futli,))
            self._put((futli, row) for row in folded(lines, self._legacy))
        self._db.execute("UPDATE futli SET reread = 0 WHERE reread > 0")
        self._papers.settle(futlis)
        self._account.reread += len(futlis)
        self._step()
        self._db.execute("DROP TABLE temp.again")

    def _gather(self, name: str) -> None:
        known, offset = self._known_run(name), 0
        with suppress(FileNotFoundError), self._feed(name).open("rb") as feed:
            while lines := _some_lines(feed, offset, self._batch, known.offset):
                offset += sum(map(len, lines))
                self._db.executemany(
                    "INSERT INTO again SELECT id, ?, ? FROM futli WHERE reread > 0 AND url = ?"
                    " AND paper = (SELECT id FROM paper WHERE pid = ?)",
                    filter(None, (self._wanted(name, data) for data in lines)),
                )

    def _wanted(self, name: str, data: bytes) -> tuple[str, bytes, str, str] | None:
        try:
            line = FeedLine.of(data)
            if not line.is_asked:
                return None
            return name, data, line.futli, str(self._archive.pid(line.pid))
        except (BadLine, BadPid):
            return None


def _some_lines(feed: BinaryIO, offset: int, most: int, end: int | None = None) -> list[bytes]:
    """At most *most* whole lines from *offset* on, no more than up to *end*."""
    feed.seek(offset)
    lines = [*itertools.islice(feed, most)]
    if lines and not lines[-1].endswith(b"\n"):
        lines.pop()
    if end is None:
        return lines
    starts = itertools.accumulate(map(len, lines), initial=offset)
    return [line for start, line in zip(starts, lines, strict=False) if start < end]


def _plain(name: str) -> bool:
    return name.isprintable() and "�" not in name


def _of_report(report: Report) -> dict[str, Any]:
    values = report.values
    futs, list_ = _object(values.get("futs")), _object(values.get("list"))
    arguments = _object(values.get("arguments"))
    return {
        "state": report.state,
        "reason": report.reason,
        **{name: _text(values.get(name)) for name in ("started", "finished", "host")},
        "list": _text(list_.get("path")),
        **{name: _whole(values.get(name)) for name in ("lines", "requests")},
        **{name: _whole(futs.get(name)) for name in ("new", "held", "bytes")},
        "seconds": _number(values.get("seconds")),
        "legacy": int(bool(arguments.get("legacy"))),
    }


def _waits(values: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Hosts that asked to wait, were set aside, or failed at the end."""
    hosts = _object(values.get("hosts"))
    for key, kind in (("parked", "parked"), ("set_aside", "set-aside"), ("failing", "failing")):
        for host in hosts.get(key) or ():
            if isinstance(host, dict) and isinstance(host.get("host"), str):
                times = _whole(host.get("times", host.get("failures"))) or 0
                until = _text(host.get("until") or host.get("time"))
                name, longest = stored(host["host"]).lower(), _number(host.get("longest"))
                yield name, kind, times, longest, until, _text(host.get("why"))


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return stored(value) if isinstance(value, str) else None


def _whole(value: object) -> int | None:
    return value if type(value) is int and abs(value) < 1 << 62 else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
