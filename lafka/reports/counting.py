# ruff: noqa: S608 - statements are put together from texts of this file, never from values
"""What several tables of a report ask of all futlis or futs, counted once, in tables of a moment.

A question over millions of rows sorts them by what it counts by, and that is what a report costs.
So they are counted by all that is asked of them together, and questions add up what came of it.
The tables are temporary ones of the connection; :func:`forget` ends them with their report.
"""

from __future__ import annotations

import sqlite3

from lafka.index.links import STATES

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
    STORED: "SELECT l.paper, l.host, min(f.time) AS time, f.l AS size FROM fut f"
    " JOIN futli l ON l.id = f.futli GROUP BY l.paper, f.s",
}


def counted(db: sqlite3.Connection, name: str, *values: object) -> str:
    """The table *name*, ``temp.by_host`` say, which is made where it is not there yet."""
    if not db.execute("SELECT 1 FROM temp.sqlite_schema WHERE name = ?", (name,)).fetchone():
        db.execute(f"CREATE TEMP TABLE {name} AS {_MADE[name]}", values)
    return f"temp.{name}"


def forget(db: sqlite3.Connection) -> None:
    """What was counted is of another moment from now on."""
    for name in _MADE:
        db.execute(f"DROP TABLE IF EXISTS temp.{name}")
