# ruff: noqa: S608 - statements are put together from names above, never from values
"""An index made from nothing: each row is written once, as it stays, in the order of its table.

Lines of feeds first, into a table that is sorted by pid and then goes; then paper by paper what
its suwaf and its lines say. What is known from before need not be looked for, no row is changed
again, and nothing is read by chance: a million papers are made so in a fraction of the time that
it takes to add them to what is there. Equal, row by row, to an index that was brought up to date.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from lafka.index.feeds import PUT_ASKED, FeedRows
from lafka.index.lines import Days
from lafka.index.papers import (
    ADD_FUT,
    ADD_LIVED,
    ADD_PAPER,
    NEW_WORDS,
    Account,
    Hosts,
    PaperRows,
)
from lafka.index.reading import COLUMNS, Futs, Paper, Reader
from lafka.index.rows import AskedRow, Line, Named, folded, host_of
from lafka.papers import Archive

_MAKE = f"CREATE TEMP TABLE told (pid, url, run, {', '.join(COLUMNS)})"
_ADD = f"INSERT INTO temp.told VALUES ({', '.join('?' * (3 + len(COLUMNS)))})"
_SORT = "CREATE INDEX temp.told_pid ON told (pid)"
_TOLD = "SELECT * FROM temp.told WHERE pid = ? ORDER BY rowid"
_ALONE = (
    "CREATE TEMP TABLE alone AS SELECT DISTINCT pid FROM temp.told t"
    " WHERE NOT EXISTS (SELECT 1 FROM main.paper WHERE pid = t.pid)"
)
_BATCH = 1_000
"""Papers whose rows are written together."""
_PIECE = 1 << 19
"""Bytes of a feed that are read in one go."""
_VALUES = attrgetter(*AskedRow.__slots__)

Told = dict[str, list[tuple[Any, ...]]]
"""What feeds say of a paper: the rows of ``told`` of each futli, in the order of the feeds."""


class Anew:
    """Fills an index that is empty, in one transaction, which the caller begins and ends."""

    def __init__(
        self,
        db: sqlite3.Connection,
        archive: Archive,
        hosts: Hosts,
        papers: PaperRows,
        *,
        account: Account,
    ) -> None:
        self._db = db
        self._archive = archive
        self._hosts = hosts
        self._papers = papers
        self._account = account
        self._names: Mapping[int, str] = {}
        self._numbers: Mapping[str, int] = {}
        self._legacy: frozenset[str] = frozenset()
        self._paper = self._futli = 0
        self._rows: dict[str, list[tuple[Any, ...]]] = {
            statement: [] for statement in (ADD_PAPER, ADD_LIVED, ADD_FUT, PUT_ASKED, NEW_WORDS)
        }

    # Feeds ----------------------------------------------------------------------------------

    def read_feeds(self, feeds: FeedRows, reader: Reader) -> None:
        """Put the lines of all feeds where :meth:`take` finds them; count them by day."""
        for table in ("told", "alone"):
            self._db.execute(f"DROP TABLE IF EXISTS temp.{table}")
        self._db.execute(_MAKE)
        names = feeds.read_reports()
        self._names, self._numbers, self._legacy = feeds.names, feeds.numbers, feeds.legacy
        days, ends = Days(self._db), dict[str, int]()
        for name, number, start, stop in self._pieces(names):
            end, count, rows, counts, sentences = reader.lines(name, number, start, stop)
            self._db.executemany(_ADD, rows)
            for day, run, host, archive, outcome, *values in counts:
                days.put((day, run, self._hosts.number(host), archive, outcome), values)
            for sentence in sentences:
                self._account.tell(sentence)
            self._account.lines += count
            ends[name] = max(end, ends.get(name, 0))
        days.write()
        for name, end in ends.items():
            if end:
                feeds.read_to(name, end)
        self._db.execute(_SORT)

    def _pieces(self, names: Sequence[str]) -> Iterator[tuple[str, int, int, int]]:
        """The feeds in order, some lines at a time."""
        for name in names:
            feed = self._archive.root / "runs" / f"{name}.jsonl"
            size = feed.stat().st_size if feed.exists() else 0
            for start in range(0, size, _PIECE):
                yield name, self._numbers[name], start, min(size, start + _PIECE)

    def _told(self, pid: str) -> Told:
        told: Told = {}
        for row in self._db.execute(_TOLD, (pid,)):
            told.setdefault(row[1], []).append(row)
        return told

    def _folded(self, told: Sequence[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        """The rows of ``asked`` that lines of one futli make."""
        if len(told) == 1:  # as most are
            _, _, run, time, outcome, *rest = told[0]
            yield time, run, outcome, 1, time, run, *rest, self._futli
            return
        lines = [
            (self._names[run], Line(pid=pid, futli=url, **dict(zip(COLUMNS, values, strict=True))))
            for pid, url, run, *values in told
        ]
        for row in folded(lines, self._legacy):
            time, name, outcome, times, until, last, *rest = _VALUES(row)
            runs = self._numbers[name], self._numbers[last]
            yield time, runs[0], outcome, times, until, runs[1], *rest, self._futli

    # Papers ---------------------------------------------------------------------------------

    def take(self, paper: Paper) -> None:
        """Write what the suwaf of *paper*, and what was told, says of it."""
        values, pid, futlis, opened = paper
        self._put(values, pid, futlis, set(opened))
        self._account.papers += 1

    def finish(self) -> None:
        """Write what is left, and the papers that feeds alone name."""
        self._write()
        self._db.execute(_ALONE)
        for (pid,) in self._db.execute("SELECT pid FROM temp.alone ORDER BY pid"):
            named = Named.of(self._archive.pid(pid))
            values = (*[None] * 6, 0, *[None] * 3, named.archive, named.series, named.year)
            self._put(values, pid, {}, set())
        self._write()
        for table in ("told", "alone"):
            self._db.execute(f"DROP TABLE temp.{table}")

    def _put(
        self, values: Sequence[Any], pid: str, futlis: dict[str, Futs], opened: Collection[str]
    ) -> None:
        self._paper += 1
        self._rows[ADD_PAPER].append((*values, pid, self._paper))
        told = self._told(pid)
        urls = dict.fromkeys((*futlis, *sorted(opened), *told))
        for url in urls:
            self._put_futli(url, futlis.get(url, ()), told.get(url, ()), url in opened)
        words = " ".join(sorted(urls)) if urls else None
        self._rows[NEW_WORDS].append((self._paper, pid, words))
        if len(self._rows[ADD_PAPER]) >= _BATCH:
            self._write()

    def _put_futli(
        self,
        url: str,
        futs: Sequence[tuple[Any, ...]],
        told: Sequence[tuple[Any, ...]],
        opened: bool,
    ) -> None:
        self._futli += 1
        asked = [*self._folded(told)] if told else []
        self._rows[PUT_ASKED] += asked
        # time, until, outcome, times, requests, landing, last run, run
        asks = [(one[0], one[4], one[2], one[3], one[6], one[10], one[5], one[1]) for one in asked]
        lived = self._papers.told(asks, [fut[0] for fut in futs if not fut[-1]])
        host = self._hosts.number(host_of(url))
        self._rows[ADD_LIVED].append((*lived, self._paper, url, host, opened, self._futli))
        self._rows[ADD_FUT] += [(self._futli, *fut) for fut in futs]

    def _write(self) -> None:
        for statement, rows in self._rows.items():
            self._db.executemany(statement, rows)
            rows.clear()
