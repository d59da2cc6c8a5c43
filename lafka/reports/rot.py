# ruff: noqa: S608 - statements are put together from texts of this file, never from values
"""Which links are lost, by what they have in common; hosts that fail, wait, close, have moved."""

from __future__ import annotations

import sqlite3

from lafka.index.links import STATES
from lafka.papers import Group
from lafka.reports.questions import Rows, share
from lafka.reports.survival import curve
from lafka.reports.told import Cell, Plot, PlotKind, Span, Table

_BY = {
    "archive": ("p.archive", "JOIN paper p ON p.id = l.paper"),
    "series": ("p.archive || ':' || p.series", "JOIN paper p ON p.id = l.paper"),
    "year": ("coalesce(CAST(p.year AS TEXT), 'not known')", "JOIN paper p ON p.id = l.paper"),
    "host": ("h.name", "JOIN host h ON h.id = l.host"),
}
_STATE_COLUMNS = tuple(state.replace("-", "_") for state in STATES)
_AGES = (
    (30, "under 30 days"), (90, "30 to 90 days"), (365, "90 days to a year"),
    (730, "one to two years"), (1825, "two to five years"), (10**9, "over five years"),
)  # fmt: skip


def by(db: sqlite3.Connection, span: Span, key: str) -> Table:  # noqa: ARG001  states are of now
    """Futlis by *key*: ``archive``, ``series``, ``year`` or ``host``; most lost first."""
    column, joined = _BY[key]
    states = ", ".join(f"sum(l.state = '{state}')" for state in STATES)
    rows: Rows = tuple(
        (*row, share(row[3 + STATES.index("lost")], row[2]))
        for row in db.execute(
            f"SELECT {column}, count(*), count(l.had), {states},"
            f" sum(l.state = 'held' AND l.asks <= 1) FROM futli l {joined}"
            f" GROUP BY 1 ORDER BY count(l.lost_since) DESC, count(*) DESC, 1"
        )
    )
    columns = (key, "futlis", "once_had", *_STATE_COLUMNS, "never_asked_again", "share")
    return Table(
        key=f"rot_by_{key}", title=f"Link rot by {key}", columns=columns, rows=rows,
        plot=Plot(kind=PlotKind.BARS, x=key, y=("lost",)) if key != "year" else
        Plot(kind=PlotKind.BARS, x=key, y=("share",)),
        note="share: of the futlis that once had a fut, those that are lost now.",
    )  # fmt: skip


def by_age(db: sqlite3.Connection, span: Span) -> Table:
    """Futlis that once had a fut, by the time since they last had it."""
    counted: dict[str, list[int]] = {name: [0] * len(STATES) for _, name in _AGES}
    for days, state, count in db.execute(
        "SELECT CAST(julianday(?) - julianday(had) AS INTEGER), state, count(*) FROM futli"
        " WHERE had IS NOT NULL GROUP BY 1, 2", (span.as_of,)
    ):  # fmt: skip
        name = next(name for most, name in _AGES if (days or 0) < most)
        counted[name][STATES.index(state)] += count
    rows = tuple(
        (name, sum(counts), *counts, share(counts[STATES.index("lost")], sum(counts)))
        for name, counts in counted.items()
    )
    return Table(
        key="rot_by_age", title="Link rot by the time since a fut was last had",
        columns=("age", "once_had", *_STATE_COLUMNS, "share"), rows=rows,
    )  # fmt: skip


def survival(db: sqlite3.Connection, span: Span) -> Table:  # noqa: ARG001  of all that is known
    """The survival curve of futlis that once had a fut."""
    lives = db.execute(
        "SELECT CAST(julianday(coalesce(lost_since, had)) - julianday(first_had) AS INTEGER),"
        " lost_since IS NOT NULL, count(*) FROM futli WHERE had IS NOT NULL GROUP BY 1, 2"
    )
    steps = curve((days or 0, bool(lost), count) for days, lost, count in lives)
    rows = tuple((one.days, one.at_risk, one.lost, round(one.share, 6)) for one in steps)
    return Table(
        key="survival", title="How long links live", rows=rows,
        columns=("days", "at_risk", "lost", "share"),
        plot=Plot(kind=PlotKind.STEPS, x="days", y=("share",)),
        note="Kaplan and Meier's estimate: the share of links that live longer than so many days"
        " after their first fut. A link counts as long as it was known to live, and no longer.",
    )  # fmt: skip


def hosts(db: sqlite3.Connection, span: Span) -> Table:  # noqa: ARG001  the last is the last
    """Hosts by futlis whose last outcome is no fut, in groups; with bytes."""
    groups = [group for group in Group if group is not Group.OURS]
    sums = ", ".join(f"sum(l.outcome IN ({_words(group)}))" for group in groups)
    found = db.execute(
        f"SELECT h.name, count(*), {sums}, sum(l.outcome IN ('login', 'refused')),"
        " sum(l.outcome = 'bot-challenge'), sum(l.outcome = 'robots') FROM futli l"
        " JOIN host h ON h.id = l.host GROUP BY h.id"
        " ORDER BY count(*) - sum(coalesce(l.outcome, '') = 'fut') DESC, count(*) DESC, h.name"
    )
    sizes = dict(db.execute(
        "SELECT h.name, sum(size) FROM (SELECT l.host AS host, f.l AS size FROM fut f"
        " JOIN futli l ON l.id = f.futli GROUP BY l.paper, f.s) JOIN host h ON h.id = host"
        " GROUP BY host"
    ))  # fmt: skip
    rows: Rows = tuple((*row, sizes.get(row[0], 0)) for row in found)
    columns = tuple(str(group).replace(" ", "_") for group in groups)
    return Table(
        key="hosts", title="Hosts", rows=rows,
        columns=("host", "futlis", *columns, "paywalls", "challenges", "robots", "bytes"),
        plot=Plot(kind=PlotKind.STACKED, x="host", y=columns),
        note="By futlis whose last word is no fut. paywalls: login and refused.",
    )  # fmt: skip


def _words(group: Group) -> str:
    return ", ".join(f"'{outcome}'" for outcome in group.outcomes)


def dead_hosts(db: sqlite3.Connection, span: Span) -> Table:  # noqa: ARG001
    """Hosts where every futli that was asked fails."""
    rows = db.execute(
        "SELECT h.name, count(*), count(l.had), max(l.asked), min(l.outcome), max(l.outcome)"
        " FROM futli l JOIN host h ON h.id = l.host WHERE l.asks > 0 AND h.name <> ''"
        " GROUP BY h.id HAVING sum(l.fails = 0) = 0 AND"
        f" sum(l.outcome IN ({_words(Group.PAGE_ONLY)})) = 0 ORDER BY count(*) DESC, h.name"
    )
    return Table(
        key="dead_hosts", title="Hosts where every link fails", rows=tuple(rows),
        columns=("host", "futlis", "once_had", "asked", "outcome", "other_outcome"),
    )  # fmt: skip


def moved_hosts(db: sqlite3.Connection, span: Span) -> Table:  # noqa: ARG001
    """Hosts whose links lead to another host, or from http to https."""
    rows = db.execute(
        "SELECT h.name, d.name, count(*), sum(l.secure AND l.url LIKE 'http:%') FROM futli l"
        " JOIN host h ON h.id = l.host JOIN host d ON d.id = l.final_host GROUP BY l.host,"
        " l.final_host ORDER BY 3 DESC, 1, 2"
    )
    return Table(key="moved_hosts", title="Hosts that have moved", rows=tuple(rows),
                 columns=("host", "final_host", "futlis", "to_https"))  # fmt: skip


def waits(db: sqlite3.Connection, span: Span) -> Table:
    """Hosts that asked to wait, or were set aside, by the reports of runs."""
    found: list[tuple[Cell, ...]] = db.execute(
        "SELECT h.name, w.kind, count(*), sum(w.times), max(w.longest), max(w.time), max(w.why)"
        " FROM waits w JOIN host h ON h.id = w.host JOIN run r ON r.id = w.run"
        " WHERE coalesce(r.started, '') >= ? AND coalesce(r.started, '') <= ?"
        " GROUP BY h.id, w.kind ORDER BY 4 DESC, 1, 2",
        (span.since, span.end),
    ).fetchall()
    return Table(key="waits", title="Hosts that ask to wait, or were set aside", rows=tuple(found),
                 columns=("host", "kind", "runs", "times", "longest", "time", "why"))  # fmt: skip
