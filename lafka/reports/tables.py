# ruff: noqa: S608 - statements are put together from texts of this file, never from values
"""A table of a report, the span of time that it is of, and the counts that several tables need.

A question over millions of rows sorts them by what it counts by, and that is what a report costs.
So they are counted by all that is asked of them together, and questions add up what came of it.
The tables of counts are temporary ones of the connection; :func:`forget` ends them with their
report.
"""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from lafka.errors import BadArgument
from lafka.index.rows import STATES, moment
from lafka.warc.format.dates import to_seconds

Cell = str | int | float | None
_SHAPE = "0000-00-00T00:00:00Z"
_AGE = re.compile(r"(\d{1,5})d")


class PlotKind(StrEnum):
    """The drawing of a table: bars of its first column, stacked bars by two, lines, or steps."""

    BARS = "bars"
    STACKED = "stacked"
    LINES = "lines"
    STEPS = "steps"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """The columns of a table that are drawn: *x* across, *y* up, *color* tells lines apart.

    Where *y* has several columns each is a line, or a part of a bar.
    """

    kind: PlotKind
    x: str
    y: tuple[str, ...]
    color: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The result of one question.

    ``key`` names it in JSON, ``title`` for people, ``note`` says how to read it; ``columns`` are
    names of the index or of the glossary. ``left_out``: rows that there are beyond these. A column
    called ``share`` is a part of one.
    """

    key: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    left_out: int = 0
    plot: Plot | None = None

    def cut(self, most: int) -> Table:
        """The first *most* rows, and how many were left out."""
        over = max(0, len(self.rows) - most)
        return replace(self, rows=self.rows[:most], left_out=self.left_out + over) if over else self


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSpan:
    """A span of time, both ends included; ``as_of`` is that of the index, the only clock there is.

    ``since`` and ``until`` are times as in the index, or beginnings of one; empty: no bound.
    """

    as_of: str
    since: str = ""
    until: str = ""

    @property
    def end(self) -> str:
        """Not before any time that begins with ``until``."""
        return f"{self.until}~"

    @classmethod
    def of(cls, as_of: str, since: str | None, until: str | None) -> ReportSpan:
        """*since* and *until* as an operator gives them: beginnings of a time, or ``30d``.

        ``BadArgument`` where one is neither.
        """
        span = cls(as_of=as_of, since=bound(as_of, since), until=bound(as_of, until))
        if span.since[: len(as_of)] > as_of[: len(span.since)]:
            raise BadArgument(f"--since {since}: the index is of {as_of} and knows nothing later")
        if span.until and span.since > span.end:
            raise BadArgument(f"--since {since} is after --until {until}")
        return replace(span, as_of=min(as_of, last_of(span.until))) if span.until else span


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReport:
    """A report: its span, the archive that it is for (empty: all), its tables, whose word it is.

    ``lead``: what is to be known first, in a sentence.
    """

    span: ReportSpan
    title: str
    source: str = "the index"
    archive: str = ""
    lead: str = ""
    tables: tuple[Table, ...] = ()


def bound(as_of: str, text: str | None) -> str:
    """Return the time that *text* means, where the index is of *as_of*; ``BadArgument``."""
    if not text:
        return ""
    if age := _AGE.fullmatch(text):
        return to_seconds(moment(as_of) - timedelta(days=int(age[1])))
    if len(text) < 4 or not _SHAPE.startswith(re.sub("[0-9]", "0", text)) or not _is_time(text):
        raise BadArgument(f"{text}: neither 30d nor a beginning of 2026-11-20T10:11:12Z")
    return text


def last_of(text: str) -> str:
    """Return the last second of the times that begin with *text*, a year at least."""
    for day in ("31", "30", "29", "28"):
        whole = text + f"0000-12-{day}T23:59:59Z"[len(text) :]
        if _is_time(whole):
            return whole
    return text


def _is_time(text: str) -> bool:
    whole = text.rstrip("-T:") + "0000-01-01T00:00:00Z"[len(text.rstrip("-T:")) :]
    try:
        datetime.fromisoformat(whole.removesuffix("Z"))
    except ValueError:
        return False
    return True


def as_of(db: sqlite3.Connection) -> str:
    """Return the time of which the index is; ``BadArgument`` where it is of none."""
    row = db.execute("SELECT value FROM meta WHERE key = 'as_of'").fetchone()
    if row is None:
        raise BadArgument("the index is not whole yet: lafka index brings it up to date")
    return str(row[0])


STATE_COLUMNS = tuple(state.replace("-", "_") for state in STATES)
_STATES = ", ".join(
    f"sum(l.state = '{state}') AS {column}"
    for state, column in zip(STATES, STATE_COLUMNS, strict=True)
)
_COUNTS = (
    f"{_STATES}, count(*) AS futlis, count(l.had) AS once, count(l.lost_since) AS lost,"
    " sum(l.state = 'held' AND l.asks <= 1) AS unasked"
)
BY_HOST, BY_SERIES, BY_YEAR, BY_AGE, STORED = (
    "by_host", "by_series", "by_year", "by_age", "stored",
)  # fmt: skip
_MADE = {
    BY_HOST: f"SELECT l.host, l.outcome, l.asks > 0 AS was_asked, {_COUNTS},"
    " max(l.asked) AS asked, sum(l.fails = 0) AS living FROM futli l GROUP BY 1, 2, 3",
    BY_SERIES: f"SELECT p.archive, p.series, {_COUNTS} FROM futli l"
    " JOIN paper p ON p.id = l.paper GROUP BY 1, 2",
    BY_YEAR: f"SELECT p.year, {_COUNTS} FROM futli l JOIN paper p ON p.id = l.paper GROUP BY 1",
    BY_AGE: "SELECT CAST(julianday(?) - julianday(had) AS INTEGER) AS age,"
    " CAST(julianday(coalesce(lost_since, had)) - julianday(first_had) AS INTEGER) AS days,"
    " lost_since IS NOT NULL AS is_lost, state, count(*) AS futlis FROM futli"
    " WHERE had IS NOT NULL GROUP BY 1, 2, 3, 4",
    # What stands in a WARC once, though it was had more than once: as of the first time.
    STORED: "SELECT l.paper, l.host, min(f.time) AS time, f.l AS size,"
    " max(f.label IS NULL) AS is_fut FROM fut f"
    " JOIN futli l ON l.id = f.futli GROUP BY l.paper, f.s",
}


def counted(db: sqlite3.Connection, name: str, *values: object) -> str:
    """The table *name*, ``temp.by_host`` say, which is made where it is not there yet."""
    if not db.execute("SELECT 1 FROM temp.sqlite_schema WHERE name = ?", (name,)).fetchone():
        db.execute(f"CREATE TEMP TABLE {name} AS {_MADE[name]}", values)
    return f"temp.{name}"


def forget(db: sqlite3.Connection) -> None:
    """Drop the counts: they are of another moment from now on."""
    for name in _MADE:
        db.execute(f"DROP TABLE IF EXISTS temp.{name}")
