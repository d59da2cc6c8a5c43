# ruff: noqa: S608 - statements are put together from names above, never from values
"""Suwafs -> the rows of papers, futlis and futs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from lafka.errors import printable
from lafka.index.rows import (
    AskRun,
    LinkEvent,
    Named,
    digest_bytes,
    host_of,
    life,
    step_times,
)
from lafka.index.scan import Count, PaperRow
from lafka.index.tables import spaced
from lafka.papers import Pid
from lafka.storage.outputs import counted

_COLUMNS = (
    "id, folder, path, mtime_ns, size, ino, warc_bytes, futs, first, last, problem, archive,"
    " series, year, pid"
)
_ADD_PAPER = f"INSERT INTO paper ({_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
_SET_PAPER = (
    f"UPDATE paper SET ({_COLUMNS}) = (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,"
    "CASE WHEN title_from = 'redif' THEN coalesce(?14, year) ELSE ?14 END,?15) WHERE id = ?1"
)
_ADD_FUTLI = "INSERT INTO futli (id, paper, url, host, open) VALUES (?, ?, ?, ?, ?)"
_THERE = "SELECT pid, id FROM paper WHERE pid IN (SELECT value FROM json_each(?))"
_ADD_FUT = "INSERT INTO fut VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_SET_LIFE = (
    "UPDATE futli SET (state, outcome, asked, asks, requests, first_had, had, lost_since, lost_by,"
    " fails, fails_since, back_since, final_host, secure) = (?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
    " WHERE id = ?"
)
_ASKED_COLUMNS = "time, until, outcome, times, requests, landing, last_run, run"
_ASKED = f"SELECT {_ASKED_COLUMNS} FROM asked WHERE futli = ? ORDER BY time"
_ADD_WORDS = (
    "INSERT INTO words (rowid, pid, title, authors, url) SELECT id, pid, spaced(title),"
    " spaced(authors),"
    " (SELECT group_concat(url, ' ') FROM (SELECT url FROM futli WHERE paper = p.id ORDER BY url))"
    " FROM paper p"
)
_ALL_ASKED = f"SELECT futli, {_ASKED_COLUMNS} FROM asked ORDER BY futli, time"
_ALL_FUTS = "SELECT futli, time FROM fut WHERE label IS NULL ORDER BY futli, time"
_LIVES = 5_000
"""Lives that are held in memory before they are written."""


class HostRows:
    """The numbers of hosts, made as they are asked for."""

    _MOST = 100_000

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._known: dict[str, int] = {}

    def number(self, name: str) -> int:
        if (number := self._known.get(name)) is None:
            row = self._db.execute("SELECT id FROM host WHERE name = ?", (name,)).fetchone()
            number = int(row[0]) if row else self._add(name)
            if len(self._known) >= self._MOST:
                self._known.clear()
            self._known[name] = number
        return number

    def _add(self, name: str) -> int:
        number = self._db.execute("INSERT INTO host (name) VALUES (?)", (name,)).lastrowid
        assert number is not None
        return number

    def forget(self) -> None:
        """After a transaction that was given up, or rows that were deleted."""
        self._known.clear()


@dataclass(slots=True)
class IndexTally:
    """The outcome of bringing an index up to date; ``sentences`` are about what could not be."""

    papers: int = 0
    gone: int = 0
    lines: int = 0
    runs: int = 0
    passed_over: int = 0
    sentences: list[str] = field(default_factory=list)
    reread: int = 0
    captures: int = 0
    titles: int = 0

    @property
    def changed(self) -> int:
        """The number of things that are not as they were."""
        return self.papers + self.gone + self.lines + self.runs + self.reread

    def in_figures(self) -> str:
        """Return what was read, for people."""
        parts = [f"{counted(self.papers, 'paper')} read, {self.gone} gone"]
        parts += [f"{counted(self.runs, 'run')} changed", counted(self.lines, "line")]
        parts += [counted(self.titles, "title")] if self.titles else []
        parts += [f"{self.captures} records of WARCs"] if self.captures else []
        others = self.passed_over - len(self.sentences)
        parts += [f"{others} more that are none were passed over"] if others > 0 else []
        return ", ".join(parts)

    def note(self, sentence: str, most: int = 20) -> None:
        self.passed_over += 1
        if len(self.sentences) < most:
            self.sentences.append(printable(sentence))


class PaperRows:
    """Writes what suwafs say; the caller begins and ends transactions.

    *anew*: into an index that was empty, in which lives and words are made by :meth:`finish`.
    """

    def __init__(self, db: sqlite3.Connection, hosts: HostRows, *, anew: bool = False) -> None:
        self._db = db
        self._hosts = hosts
        self._anew = anew
        self._unworded: set[int] = set()
        self._runs: dict[int, tuple[str, bool]] = {}
        db.create_function("spaced", 1, spaced, deterministic=True)
        self.learn()

    def learn(self) -> None:
        """Take notice of which runs there are, and which asked a gateway."""
        rows = self._db.execute("SELECT id, name, legacy FROM run")
        self._runs = {number: (name, bool(legacy)) for number, name, legacy in rows}

    def take(self, folder: int, papers: Sequence[PaperRow]) -> None:
        """Make the rows of *papers* those of their suwafs in *folder*;
        of two of a pid the last stands.
        """
        every = {values[-1]: (values, links) for values, links in papers}
        there = dict(self._db.execute(_THERE, (json.dumps([*every]),)).fetchall())
        self._add(folder, [told for pid, told in every.items() if pid not in there])
        for pid, number in there.items():
            self._renew(number, folder, *every[pid])

    def _add(self, folder: int, papers: Sequence[PaperRow]) -> None:
        """Add *papers* that are not there, a statement for each table."""
        paper, first = self._next("paper"), self._next("futli")
        rows, futlis, futs = [], list[tuple[Any, ...]](), list[tuple[Any, ...]]()
        for number, (values, links) in enumerate(papers, paper):
            rows.append((number, folder, *values))
            for url, is_open, held in links:
                futli = first + len(futlis)
                futlis.append((futli, number, url, self._hosts.number(host_of(url)), is_open))
                futs += _fut_rows(futli, held)
        for statement, some in ((_ADD_PAPER, rows), (_ADD_FUTLI, futlis), (_ADD_FUT, futs)):
            self._db.executemany(statement, some)
        self.settle(row[0] for row in futlis)
        for number, *_ in rows:
            self.words(number)

    def _next(self, table: str) -> int:
        found = self._db.execute(f"SELECT coalesce(max(id), 0) + 1 FROM {table}").fetchone()
        return int(found[0])

    def _renew(
        self, number: int, folder: int, values: Sequence[Any], links: Sequence[Sequence[Any]]
    ) -> None:
        """Make the rows of a paper that is there those of its suwaf."""
        self._db.execute(_SET_PAPER, (number, folder, *values))
        opened = {url for url, is_open, _ in links if is_open}
        there = dict(self._futlis(number))
        before = set(there)
        for url, futli in there.items():
            self._db.execute("DELETE FROM fut WHERE futli = ?", (futli,))
            self._db.execute("UPDATE futli SET open = ? WHERE id = ?", (url in opened, futli))
        for url, is_open, held in links:
            if url not in there:
                there[url] = self._add_futli(number, url, is_open=is_open)
            self._db.executemany(_ADD_FUT, _fut_rows(there[url], held))
        self.settle(there.values())
        self._drop_unknown(there.values())
        if {url for url, _ in self._futlis(number)} != before:  # nothing else is searched
            self.words(number)

    def _futlis(self, paper: int) -> list[tuple[str, int]]:
        return self._db.execute("SELECT url, id FROM futli WHERE paper = ?", (paper,)).fetchall()

    def _add_futli(self, paper: int, url: str, *, is_open: bool = False) -> int:
        host = self._hosts.number(host_of(url))
        done = self._db.execute(_ADD_FUTLI, (None, paper, url, host, is_open))
        assert done.lastrowid is not None
        return done.lastrowid

    def only_asked(self, pid: Pid) -> None:
        """See that the paper *pid* is there, which may be known from feeds alone."""
        named = Named.of(pid)
        self._db.execute(
            "INSERT OR IGNORE INTO paper (pid, archive, series, year) VALUES (?, ?, ?, ?)",
            (str(pid), named.archive, named.series, named.year),
        )

    def new_futli(self, paper: int, url: str) -> int:
        """The number of a futli that is not there yet, and is from now on."""
        self._unworded.add(paper)
        return self._add_futli(paper, url)

    # What is gone ---------------------------------------------------------------------------

    def remove(self, paper: int) -> None:
        """The suwaf of *paper* is gone: what feeds say of it stays."""
        futlis = [number for _, number in self._futlis(paper)]
        self._db.executemany("DELETE FROM fut WHERE futli = ?", ((one,) for one in futlis))
        self._db.executemany("UPDATE futli SET open = 0 WHERE id = ?", ((one,) for one in futlis))
        self._db.execute(
            "UPDATE paper SET (folder, path, mtime_ns, size, ino, warc_bytes, futs, first, last,"
            " problem) = (NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL) WHERE id = ?",
            (paper,),
        )
        self.settle(futlis)
        self.drop_unknown(paper)

    def drop_unknown(self, paper: int) -> None:
        """Delete the futlis of *paper* that nothing tells of, and it where nothing is left."""
        self._drop_unknown(number for _, number in self._futlis(paper))
        self._db.execute("DELETE FROM words WHERE rowid = ?", (paper,))
        gone = self._db.execute(
            "DELETE FROM paper WHERE id = ?1 AND path IS NULL"
            " AND NOT EXISTS (SELECT 1 FROM futli WHERE paper = ?1)", (paper,)
        )  # fmt: skip
        if not gone.rowcount:
            self.words(paper)

    def _drop_unknown(self, futlis: Iterable[int]) -> None:
        self._db.executemany(
            "DELETE FROM futli WHERE id = ?1 AND NOT open"
            " AND NOT EXISTS (SELECT 1 FROM fut WHERE futli = ?1)"
            " AND NOT EXISTS (SELECT 1 FROM asked WHERE futli = ?1)",
            ((one,) for one in futlis),
        )

    # What follows from the rest -------------------------------------------------------------

    def words(self, paper: int) -> None:
        """Make what is searched for of *paper* what it has now."""
        if not self._anew:
            self._db.execute("DELETE FROM words WHERE rowid = ?", (paper,))
            self._db.execute(f"{_ADD_WORDS} WHERE id = ?", (paper,))

    def words_of_new(self) -> None:
        """As :meth:`words`, of the papers to which :meth:`new_futli` has added."""
        for paper in self._unworded:
            self.words(paper)
        self._unworded.clear()

    def settle(self, futlis: Iterable[int]) -> None:
        """Make the lives of *futlis* follow from their asks and futs."""
        if not self._anew:
            for futli in futlis:
                self._db.execute("DELETE FROM event WHERE futli = ?", (futli,))
                self._put_lives([(futli, *self._life(futli))])

    def _put_lives(self, lives: Sequence[tuple[int, tuple[Any, ...], list[LinkEvent]]]) -> None:
        self._db.executemany(_SET_LIFE, ((*columns, futli) for futli, columns, _ in lives))
        self._db.executemany("INSERT INTO event VALUES (?, ?, ?, ?, ?)", (
            (futli, one.time, one.kind, one.outcome, one.had)
            for futli, _, events in lives for one in events
        ))  # fmt: skip

    def finish(self) -> None:
        """Make all that follows from the rest, in the order of its tables, of an index *anew*."""
        if not self._anew:
            return
        lives = self._all_lives()
        while some := list(islice(lives, _LIVES)):
            self._put_lives(some)
        self._db.execute(f"{_ADD_WORDS} ORDER BY id")

    def _all_lives(self) -> Iterator[tuple[int, tuple[Any, ...], list[LinkEvent]]]:
        """Yield the life of each futli of which there is an ask or a fut."""
        every = merge(self._db.execute(_ALL_ASKED), self._db.execute(_ALL_FUTS), key=itemgetter(0))
        for futli, group in groupby(every, key=itemgetter(0)):
            told = [row[1:] for row in group]
            asked = self._in_order([row for row in told if len(row) > 1])
            yield futli, *self._life_columns(asked, [row[0] for row in told if len(row) == 1])

    def _in_order(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Asks by time, then by the name of their run."""
        return sorted(rows, key=lambda row: (row[0], self._runs[row[7]][0]))

    def _life(self, futli: int) -> tuple[tuple[Any, ...], list[LinkEvent]]:
        rows = self._db.execute(_ASKED, (futli,)).fetchall() if self._runs else []
        futs = self._db.execute(
            "SELECT time FROM fut WHERE futli = ? AND label IS NULL", (futli,)
        ).fetchall()
        return self._life_columns(self._in_order(rows), [time for (time,) in futs])

    def _life_columns(
        self, rows: Sequence[tuple[Any, ...]], futs: Sequence[str]
    ) -> tuple[tuple[Any, ...], list[LinkEvent]]:
        """The columns of ``_SET_LIFE`` but the last, and the events, of asks *rows* and *futs*."""
        own = [row for row in rows if not self._runs[row[6]][1]]
        asks = [AskRun(*row[:4]) for row in own]
        lived = life(asks, futs)
        ends = [(row[1], row[2]) for row in own] + [(time, "fut") for time in futs]
        outcome = max(ends, key=lambda one: one[0].removesuffix("Z"), default=(None, None))[1]
        return (
            lived.state, outcome, lived.asked, lived.asks, sum(row[4] for row in own),
            lived.first_had, lived.had, lived.lost_since, lived.lost_by, lived.fails,
            lived.fails_since, lived.back_since, *self._led_to(own),
        ), lived.events  # fmt: skip

    def _led_to(self, own: Sequence[tuple[Any, ...]]) -> tuple[int | None, bool | None]:
        """The host that a futli last led to, where it is another; whether it came to https."""
        landing = next((row[5] for row in reversed(own) if row[5] is not None), None)
        if not landing:
            return None, None
        return self._hosts.number(landing.partition("://")[2]), landing.startswith("https:")


def _fut_rows(futli: int, held: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    return ((futli, *one[:3], digest_bytes(one[3]), *one[4:]) for one in held)


_DAILY = (
    "INSERT INTO daily VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET lines ="
    " lines + excluded.lines, held = held + excluded.held, requests = requests + excluded.requests,"
    " new = new + excluded.new, bytes = bytes + excluded.bytes"
)


def add_days(db: sqlite3.Connection, hosts: HostRows, run: int, counts: Iterable[Count]) -> None:
    """Add *counts* of lines of *run* to those that are there."""
    rows = [(day, run, hosts.number(host), archive, outcome, *values)
            for (day, host, archive, outcome), values in counts]  # fmt: skip
    db.executemany(_DAILY, sorted(rows))


_PAST = (
    "CREATE TEMP TABLE fut AS SELECT * FROM main.fut WHERE time <= :end",
    "CREATE TEMP TABLE asked AS SELECT * FROM main.asked WHERE time <= :end",
    "CREATE TEMP TABLE event AS SELECT * FROM main.event WHERE time <= :end",
    (
        "CREATE TEMP TABLE run AS SELECT * FROM main.run WHERE started <= :end"
        " OR id IN (SELECT last_run FROM main.asked WHERE time <= :end)"
        " OR id IN (SELECT run FROM daily WHERE day <= substr(:end, 1, 10))"
    ),
    "CREATE TEMP TABLE host (id INTEGER PRIMARY KEY, name TEXT)",
    "INSERT INTO host SELECT * FROM main.host",
    (
        "CREATE TEMP TABLE futli AS SELECT * FROM main.futli"
        " WHERE id IN (SELECT futli FROM temp.fut) OR id IN (SELECT futli FROM temp.asked)"
    ),
    (
        "CREATE TEMP TABLE paper AS SELECT * FROM main.paper"
        " WHERE id IN (SELECT paper FROM temp.futli)"
    ),
    *(f"CREATE INDEX temp.past_{table} ON {table} (futli)" for table in ("fut", "asked", "event")),
    "CREATE UNIQUE INDEX temp.past_futli ON futli (id)",
    "CREATE INDEX temp.past_paper ON futli (paper)",
    (
        "UPDATE paper SET futs = (SELECT count(DISTINCT digest) FROM fut f"
        " JOIN futli l ON l.id = f.futli WHERE l.paper = paper.id AND label IS NULL)"
        " WHERE last > :end"
    ),
)
PAST = ("fut", "asked", "event", "run", "host", "futli", "paper")
"""Tables that :func:`stand_at` makes."""
_CHANGED = (
    "SELECT id FROM futli WHERE id IN (SELECT futli FROM main.asked WHERE until > :end)"
    " OR id IN (SELECT futli FROM main.fut WHERE time > :end)"
)


def stand_at(db: sqlite3.Connection, end: str) -> None:
    """Put temporary tables before those of the index, as they stood at *end*, till :func:`leave`.

    *end* sorts as times do. Sizes and problems of WARCs stay those of now, for nothing says what
    they were.
    """
    leave(db)
    for statement in _PAST:
        db.execute(statement, {"end": end} if ":end" in statement else {})
    for futli, time, run, steps in db.execute(
        "SELECT futli, time, run, steps FROM asked WHERE until > ?", (end,)
    ).fetchall():
        known = [one for one in step_times(time, steps) if one <= end]
        db.execute("UPDATE asked SET (until, times, last_run) = (?, ?, run)"
                   " WHERE (futli, time, run) = (?, ?, ?)",
                   (known[-1], len(known), futli, time, run))  # fmt: skip
    changed = [number for (number,) in db.execute(_CHANGED, {"end": end})]
    PaperRows(db, HostRows(db)).settle(changed)


def leave(db: sqlite3.Connection) -> None:
    """Drop what :func:`stand_at` made, if it did: the index is that of now again."""
    for table in PAST:
        db.execute(f"DROP TABLE IF EXISTS temp.{table}")
