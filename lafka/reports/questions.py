# ruff: noqa: S608 - statements are put together from texts of our own, never from values
"""One function a table of the archive as a whole: SQL in, rows out, in a total order."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from lafka.papers import Group, Outcome
from lafka.reports.tables import BY_HOST, STORED, Cell, Plot, PlotKind, ReportSpan, Table, counted

Rows = tuple[tuple[Cell, ...], ...]
_FORECAST_DAYS = 90


def _rows(db: sqlite3.Connection, question: str, *values: object) -> Rows:
    return tuple(db.execute(question, values).fetchall())


def _one(db: sqlite3.Connection, question: str, *values: object) -> tuple[Cell, ...]:
    row: tuple[Cell, ...] = db.execute(question, values).fetchone()
    return row


def share(part: Cell, whole: Cell) -> float | None:
    """*part* of *whole*, rounded so that it can be compared; None of nothing."""
    if not isinstance(part, int | float) or not isinstance(whole, int | float) or not whole:
        return None
    return round(part / whole, 6)


def summary(db: sqlite3.Connection, span: ReportSpan) -> Table:
    """The holdings of the archive."""
    papers, with_fut, futs, size, damaged = _one(
        db, "SELECT count(*), coalesce(sum(futs > 0), 0), coalesce(sum(futs), 0),"
        " coalesce(sum(warc_bytes), 0), count(problem) FROM paper"
    )  # fmt: skip
    futlis, once, lost, unasked = _one(
        db, f"SELECT coalesce(sum(futlis), 0), coalesce(sum(once), 0), coalesce(sum(lost), 0),"
        f" coalesce(sum(unasked), 0) FROM {counted(db, BY_HOST)}"
    )  # fmt: skip
    (runs,) = _one(db, "SELECT count(*) FROM run")
    rows: Rows = (
        ("as_of", span.as_of), ("papers", papers), ("papers_with_fut", with_fut),
        ("papers_with_fut_share", share(with_fut, papers)), ("futlis", futlis), ("futs", futs),
        ("warc_bytes", size), ("runs", runs), ("futlis_once_had", once), ("futlis_lost", lost),
        ("futlis_lost_share", share(lost, once)), ("futlis_never_asked_again", unasked),
        ("futs_pulled", _pulled(db)), ("damaged_suwafs", damaged),
    )  # fmt: skip
    return Table(
        key="summary", title="Summary", columns=("what", "value"), rows=rows,
        note="A futli that was never asked again is not known to live: its fut is held, no more.",
    )  # fmt: skip


def _pulled(db: sqlite3.Connection) -> Cell:
    if not _rows(db, "SELECT 1 FROM run WHERE legacy LIMIT 1"):
        return 0  # no need to look through all that was asked
    return _one(db, "SELECT coalesce(sum(new), 0) FROM asked"
                " WHERE run IN (SELECT id FROM run WHERE legacy)")[0]  # fmt: skip


def runs(db: sqlite3.Connection, span: ReportSpan) -> Table:
    """Runs, those that are not done first."""
    rows = _rows(
        db, "SELECT name, state, started, finished, lines, requests, new, held, bytes, seconds,"
        " legacy FROM run WHERE coalesce(started, name) >= ? AND coalesce(started, '') <= ?"
        " ORDER BY state IS 'finished', name DESC", span.since, span.end
    )  # fmt: skip
    columns = ("run", "state", "started", "finished", "lines", "requests", "new", "held", "bytes",
               "seconds", "legacy")  # fmt: skip
    return Table(key="runs", title="Runs", columns=columns, rows=rows,
                 note="Those that are not finished come first.")  # fmt: skip


def outcomes(db: sqlite3.Connection, span: ReportSpan) -> Table:  # noqa: ARG001  the last is the last
    """Futlis by their last outcome, in groups."""
    found: dict[str, int] = dict(db.execute(
        f"SELECT outcome, sum(futlis) FROM {counted(db, BY_HOST)} WHERE outcome IS NOT NULL"
        " GROUP BY outcome"
    ))  # fmt: skip
    whole = sum(found.values())
    order = [(group, word) for group in Group for word in group.outcomes if str(word) in found]
    rows = tuple(
        (str(word), str(group), found[str(word)], share(found[str(word)], whole))
        for group, word in order
    )
    return Table(
        key="outcomes", title="Outcomes", columns=("outcome", "group", "futlis", "share"),
        rows=rows, plot=Plot(kind=PlotKind.BARS, x="outcome", y=("futlis",), color="group"),
        note="Each futli by the last word that was said of it; what was never asked has none.",
    )  # fmt: skip


def outcomes_by_day(db: sqlite3.Connection, span: ReportSpan) -> Table:
    """Lines of feeds by day and group of outcomes, the newest day first."""
    counted: dict[str, dict[Group, int]] = {}
    for day, outcome, lines in _rows(
        db, "SELECT day, outcome, sum(lines) FROM daily WHERE day >= ? AND day <= ?"
        " GROUP BY day, outcome ORDER BY day DESC", span.since[:10], span.end[:10]
    ):  # fmt: skip
        groups = counted.setdefault(str(day), dict.fromkeys(Group, 0))
        groups[Outcome(str(outcome)).group] += int(lines or 0)
    rows: Rows = tuple(
        (day, sum(groups.values()), *groups.values()) for day, groups in counted.items()
    )
    columns = tuple(str(group).replace(" ", "_") for group in Group)
    return Table(key="outcomes_by_day", title="Outcomes by day", columns=("day", "lines", *columns),
                 rows=rows, plot=Plot(kind=PlotKind.STACKED, x="day", y=columns))  # fmt: skip


_EVENTS = "SELECT substr(time, 1, 7), count(*) FROM event WHERE time >= ?1 AND time <= ?2"


def _months(found: Iterable[str]) -> list[str]:
    """Return all months from the first to the last of *found*, the newest first."""
    numbers = [int(month[:4]) * 12 + int(month[5:]) - 1 for month in found]
    first, last = min(numbers, default=0), max(numbers, default=-1)
    return [f"{n // 12:04}-{n % 12 + 1:02}" for n in range(last, first - 1, -1)]


def flow(db: sqlite3.Connection, span: ReportSpan) -> Table:
    """Count what is new, held, changed, lost and back, by month, the newest first."""
    parts = {
        "new": "SELECT substr(first_had, 1, 7) AS month, count(*) FROM futli"
        " WHERE first_had >= ?1 AND first_had <= ?2 GROUP BY 1",
        "held": "SELECT substr(day, 1, 7), sum(held) FROM daily"
        " WHERE day >= substr(?1, 1, 10) AND day <= ?2 GROUP BY 1",
        # Of the few that have several: a window over all takes thrice as long.
        "changed": "WITH several AS (SELECT futli FROM fut WHERE label IS NULL GROUP BY futli"
        " HAVING count(*) > 1) SELECT substr(time, 1, 7), count(*) FROM (SELECT time, digest,"
        " lag(digest) OVER (PARTITION BY futli ORDER BY time) AS before FROM fut"
        " WHERE label IS NULL AND futli IN several)"
        " WHERE before <> digest AND time >= ?1 AND time <= ?2 GROUP BY 1",
        "lost": f"{_EVENTS} AND kind = 'lost' GROUP BY 1",
        "back": f"{_EVENTS} AND kind = 'back' GROUP BY 1",
    }
    counts: list[dict[str, int]] = [
        dict(db.execute(question, (span.since, span.end))) for question in parts.values()
    ]
    months = _months(month for found in counts for month in found)
    rows: Rows = tuple((month, *(found.get(month, 0) for found in counts)) for month in months)
    return Table(
        key="flow", title="New, held, changed, lost, back", columns=("month", *parts), rows=rows,
        plot=Plot(kind=PlotKind.LINES, x="month", y=("new", "changed", "lost", "back")),
        note="new: futlis that had their first fut; held: lines passed by as held; changed: another"
        " fut than before; lost, back: each time that a link was lost, or came back.",
    )  # fmt: skip


def finders(db: sqlite3.Connection, span: ReportSpan) -> Table:
    """The finders that led to futs."""
    futs = "FROM fut WHERE label IS NULL AND time >= ?1 AND time <= ?2"
    # Digests that come again are looked for in their index: few are, and to sort them all is slow.
    again: dict[Cell, int] = dict(db.execute(
        "SELECT found_by, sum(times - 1) FROM (SELECT coalesce(found_by, 'futli') AS found_by,"
        f" count(*) AS times {futs} AND digest IN (SELECT digest FROM fut GROUP BY digest"
        " HAVING count(*) > 1) GROUP BY 1, digest) GROUP BY 1", (span.since, span.end)
    ))  # fmt: skip
    found = db.execute(
        f"SELECT coalesce(found_by, 'futli'), count(*), min(time), max(time) {futs} GROUP BY 1",
        (span.since, span.end),
    )  # fmt: skip
    rows = [(name, visits - again.get(name, 0), visits, *times) for name, visits, *times in found]
    rows.sort(key=lambda row: (-row[1], row[0]))
    whole = sum(row[1] for row in rows)
    return Table(
        key="finders", title="What led to the futs",
        columns=("found_by", "futs", "visits", "first", "last", "share"),
        rows=tuple((*row, share(row[1], whole)) for row in rows),
        plot=Plot(kind=PlotKind.BARS, x="found_by", y=("futs",)),
        note="futs: different ones, of which share is; visits: how often they were had. futli: the"
        " link itself is the PDF.",
    )  # fmt: skip


def pages(db: sqlite3.Connection, span: ReportSpan) -> Table:  # noqa: ARG001  the last of each row
    """Pages without a fut, by host: what a new rule could win."""
    rows = _rows(
        db, "SELECT h.name, count(*), sum(a.capped), sum(a.tried), sum(a.first_right),"
        " sum(a.outcome = 'splap-only') FROM asked a JOIN futli l ON l.id = a.futli"
        " JOIN host h ON h.id = l.host WHERE a.tried IS NOT NULL GROUP BY h.id"
        " ORDER BY 6 DESC, h.name"
    )  # fmt: skip
    return Table(
        key="pages", title="Pages, by host",
        columns=("host", "pages", "capped", "requests", "first_right", "without_fut"), rows=rows,
        note="first_right: the first link that was asked for was the fut; capped: links were left"
        " that LAFKA_LINKS_MAX did not allow.",
    )  # fmt: skip


def growth(db: sqlite3.Connection, span: ReportSpan) -> Table:
    """Papers, different futs and bytes by the month in which they were first had."""
    rows = _rows(
        db, "SELECT substr(time, 1, 7), count(DISTINCT paper), sum(is_fut), sum(size)"
        f" FROM {counted(db, STORED)} GROUP BY 1 ORDER BY 1 DESC"
    )  # fmt: skip
    there = {str(row[0]): row for row in rows}
    rows = tuple(there.get(month, (month, 0, 0, 0)) for month in _months(there))
    return Table(
        key="growth", title="Size and growth", columns=("month", "papers", "futs", "bytes"),
        rows=rows, plot=Plot(kind=PlotKind.BARS, x="month", y=("bytes",)),
        note=_forecast(db, span),
    )  # fmt: skip


def _forecast(db: sqlite3.Connection, span: ReportSpan) -> str:
    size, futs, late = _one(
        db, "SELECT sum(size), count(*), coalesce(sum(CASE WHEN julianday(time) > julianday(?) - ?"
        f" THEN size END), 0) FROM {counted(db, STORED)}", span.as_of, _FORECAST_DAYS
    )  # fmt: skip
    if not isinstance(size, int) or not isinstance(futs, int) or not isinstance(late, int):
        return "No fut is held."
    year = late * 365 // _FORECAST_DAYS
    return (
        f"The mean fut has {size // futs} bytes. If futs came as in the last {_FORECAST_DAYS} days,"
        f" a straight line, a year would add {year} bytes."
    )


def efficiency(db: sqlite3.Connection, span: ReportSpan) -> Table:
    """Return the cost of a fut in requests."""
    end = span.end[:10]
    lines, held, requests, new, size = _one(
        db, "SELECT coalesce(sum(lines), 0), coalesce(sum(held), 0), coalesce(sum(requests), 0),"
        " coalesce(sum(new), 0), coalesce(sum(bytes), 0) FROM daily WHERE day >= ? AND day <= ?",
        span.since[:10], end,
    )  # fmt: skip
    vain, vain_lines = _one(
        db, "SELECT coalesce(sum(requests), 0), coalesce(sum(lines), 0) FROM daily"
        " WHERE outcome <> 'fut' AND day >= ? AND day <= ?", span.since[:10], end
    )  # fmt: skip
    count, seconds = _one(db, "SELECT count(seconds), coalesce(sum(seconds), 0) FROM run")
    rows: Rows = (
        ("lines", lines), ("lines_held", held), ("requests", requests), ("futs_new", new),
        ("bytes_new", size), ("requests_a_fut", share(requests, new)),
        ("requests_a_line_without_fut", share(vain, vain_lines)),
        ("seconds_a_run", share(seconds, count)),
    )  # fmt: skip
    return Table(key="efficiency", title="What a fut costs", columns=("what", "value"), rows=rows)
