# ruff: noqa: S608 - statements are put together from texts of this file, never from values
"""The links that are lost, by what they have in common, and what a maintainer can mend of them.

Hosts that fail, wait, close, have moved. CitEc tells maintainers by a word of its own what became
of each document (http://citec.repec.org/maintainers.html); they know these.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, log, sqrt

from lafka.index.rows import STATES
from lafka.papers import Group, Outcome
from lafka.reports.questions import Rows, share
from lafka.reports.tables import (
    BY_AGE,
    BY_HOST,
    BY_SERIES,
    BY_YEAR,
    STATE_COLUMNS,
    STORED,
    Cell,
    Plot,
    PlotKind,
    ReportSpan,
    Table,
    counted,
)
from lafka.storage import outputs

_NORMAL_95 = 1.959964
"""The standard normal distribution has 95 % within so many deviations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SurvivalStep:
    """At an age of ``days``: how many were known to live until then, and were lost then.

    ``share``: of all links, that is estimated to live longer; ``variance``: Greenwood's sum.
    """

    days: int
    at_risk: int
    lost: int
    share: float
    variance: float = 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds of 95 %, on the scale of log-log (Kalbfleisch and Prentice 1980)."""
        if not 0 < self.share < 1:
            return self.share, self.share
        far = exp(_NORMAL_95 * sqrt(self.variance) / -log(self.share))
        return self.share**far, self.share ** (1 / far)


def curve(lives: Iterable[tuple[int, bool, int]]) -> list[SurvivalStep]:
    """The steps of the curve, at each age at which links were lost, youngest first.

    *lives*: days lived, whether it was lost then, and of how many links that is so. What was
    censored at an age was still at risk at that age.
    """
    lost: dict[int, int] = defaultdict(int)
    ended: dict[int, int] = defaultdict(int)
    for days, is_lost, count in lives:
        ended[max(0, days)] += count
        lost[max(0, days)] += count * is_lost
    at_risk, share, variance, steps = sum(ended.values()), 1.0, 0.0, []
    for days in sorted(ended):
        if lost[days]:
            share *= 1 - lost[days] / at_risk
            variance += lost[days] / (at_risk * max(1, at_risk - lost[days]))
            steps.append(SurvivalStep(days=days, at_risk=at_risk, lost=lost[days], share=share,
                                      variance=variance))  # fmt: skip
        at_risk -= ended[days]
    return steps


def headline(db: sqlite3.Connection) -> str:
    """Return what became of all links, in a sentence; empty where none ever led to a fut."""
    question = f"SELECT sum(once), sum(lost) FROM {counted(db, BY_HOST)}"
    once, lost = db.execute(question).fetchone()
    if not once:
        return ""
    are = "is" if lost == 1 else "are"
    links = outputs.counted(once, "link")
    told = f"Of {links} that once led to a full text {lost:,} {are} lost"
    most = db.execute(
        f"SELECT h.name, sum(c.lost) FROM {counted(db, BY_HOST)} c JOIN host h ON h.id = c.host"
        " GROUP BY h.id HAVING sum(c.lost) > 0 ORDER BY 2 DESC, 1 LIMIT 2"
    ).fetchall()
    if sum(count for _, count in most) < lost:
        two = " and ".join(name for name, _ in most)
        told += f"; {sum(count for _, count in most):,} of them at {two}"
    return f"{told}."


_BY = {
    "archive": ("c.archive", BY_SERIES, ""),
    "series": ("c.archive || ':' || c.series", BY_SERIES, ""),
    "year": ("coalesce(CAST(c.year AS TEXT), 'not known')", BY_YEAR, ""),
    "host": ("h.name", BY_HOST, "JOIN host h ON h.id = c.host"),
}
"""The name of what is counted by, what was counted for it, and whose name it is."""
_AGES = (
    (30, "under 30 days"), (90, "30 to 90 days"), (365, "90 days to a year"),
    (730, "one to two years"), (1825, "two to five years"), (10**9, "over five years"),
)  # fmt: skip


def by(db: sqlite3.Connection, span: ReportSpan, key: str) -> Table:  # noqa: ARG001
    """Futlis by *key*: ``archive``, ``series``, ``year`` or ``host``; most lost first, years in
    their order.
    """
    column, counts, joined = _BY[key]
    states = ", ".join(f"sum(c.{state})" for state in STATE_COLUMNS)
    order = "1" if key == "year" else "sum(c.lost) DESC, sum(c.futlis) DESC, 1"
    rows: Rows = tuple(
        (*row, share(row[3 + STATES.index("lost")], row[2]))
        for row in db.execute(
            f"SELECT {column}, sum(c.futlis), sum(c.once), {states}, sum(c.unasked)"
            f" FROM {counted(db, counts)} c {joined}"
            f" GROUP BY 1 ORDER BY {order}"
        )
    )
    columns = (key, "futlis", "once_had", *STATE_COLUMNS, "never_asked_again", "share")
    return Table(
        key=f"rot_by_{key}", title=f"Link rot by {key}", columns=columns, rows=rows,
        plot=Plot(kind=PlotKind.BARS, x=key, y=("lost",)) if key != "year" else
        Plot(kind=PlotKind.BARS, x=key, y=("share",)),
        note="share: of the futlis that once had a fut, those that are lost now.",
    )  # fmt: skip


def by_age(db: sqlite3.Connection, span: ReportSpan) -> Table:
    """Futlis that once had a fut, by the time since they last had it."""
    found: dict[str, list[int]] = {name: [0] * len(STATES) for _, name in _AGES}
    for days, state, count in db.execute(
        f"SELECT age, state, sum(futlis) FROM {counted(db, BY_AGE, span.as_of)} GROUP BY 1, 2"
    ):
        name = next(name for most, name in _AGES if (days or 0) < most)
        found[name][STATES.index(state)] += count
    rows = tuple(
        (name, sum(counts), *counts, share(counts[STATES.index("lost")], sum(counts)))
        for name, counts in found.items()
    )
    return Table(
        key="rot_by_age", title="Link rot by the time since a fut was last had",
        columns=("age", "once_had", *STATE_COLUMNS, "share"), rows=rows,
    )  # fmt: skip


def survival(db: sqlite3.Connection, span: ReportSpan) -> Table:
    """The survival curve of futlis that once had a fut."""
    lives = db.execute(
        f"SELECT days, is_lost, sum(futlis) FROM {counted(db, BY_AGE, span.as_of)} GROUP BY 1, 2"
    ).fetchall()
    known = sum(count for _, _, count in lives)
    steps = curve((days or 0, bool(lost), count) for days, lost, count in lives)
    first = [SurvivalStep(days=0, at_risk=known, lost=0, share=1.0)] if known else []
    rows: Rows = tuple(
        (one.days, one.at_risk, one.lost, *(round(each, 6) for each in (one.share, *one.interval)))
        for one in (*first, *steps)
    )
    return Table(
        key="survival", title="How long links live", rows=rows,
        columns=("days", "at_risk", "lost", "share", "lower", "upper"),
        plot=Plot(kind=PlotKind.STEPS, x="days", y=("share",)),
        note="Kaplan and Meier's estimate: the share of links that live longer than so many days"
        " after their first fut, with its interval of 95 % (Greenwood, on the scale of log-log)."
        " A link counts as long as it was known to live, and no longer; it is taken for lost at the"
        " first ask that failed, which may be long after it was.",
    )  # fmt: skip


def hosts(db: sqlite3.Connection, span: ReportSpan) -> Table:  # noqa: ARG001  the last is the last
    """Hosts by futlis whose last outcome is no fut, in groups; with bytes."""
    groups = [group for group in Group if group is not Group.OURS]
    sums = ", ".join(f"sum((c.outcome IN ({_words(group)})) * c.futlis)" for group in groups)
    found = db.execute(
        f"SELECT h.name, sum(c.futlis), {sums},"
        " sum((c.outcome IN ('login', 'refused')) * c.futlis),"
        " sum((c.outcome = 'bot-challenge') * c.futlis), sum((c.outcome = 'robots') * c.futlis)"
        f" FROM {counted(db, BY_HOST)} c JOIN host h ON h.id = c.host GROUP BY h.id"
        " ORDER BY sum((coalesce(c.outcome, '') <> 'fut') * c.futlis) DESC, 2 DESC, h.name"
    )
    sizes = dict(db.execute(
        f"SELECT h.name, sum(f.size) FROM {counted(db, STORED)} f JOIN host h ON h.id = f.host"
        " GROUP BY f.host"
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


def dead_hosts(db: sqlite3.Connection, span: ReportSpan) -> Table:  # noqa: ARG001
    """Hosts where every futli that was asked fails."""
    rows = db.execute(
        "SELECT h.name, sum(c.futlis), sum(c.once), max(c.asked), min(c.outcome), max(c.outcome)"
        f" FROM {counted(db, BY_HOST)} c JOIN host h ON h.id = c.host"
        " WHERE c.was_asked AND h.name <> '' GROUP BY h.id HAVING sum(c.living) = 0 AND"
        f" sum(c.outcome IN ({_words(Group.PAGE_ONLY)})) = 0 ORDER BY 2 DESC, h.name"
    )
    return Table(
        key="dead_hosts", title="Hosts where every link fails", rows=tuple(rows),
        columns=("host", "futlis", "once_had", "asked", "outcome", "other_outcome"),
    )  # fmt: skip


def moved_hosts(db: sqlite3.Connection, span: ReportSpan) -> Table:  # noqa: ARG001
    """Hosts whose links lead to another host, or from http to https."""
    rows = db.execute(
        "SELECT h.name, d.name, futlis, to_https FROM (SELECT host, final_host, count(*) AS futlis,"
        " sum(secure AND url LIKE 'http:%') AS to_https FROM futli WHERE final_host IS NOT NULL"
        " GROUP BY 1, 2) JOIN host h ON h.id = host JOIN host d ON d.id = final_host"
        " ORDER BY 3 DESC, 1, 2"
    )
    return Table(key="moved_hosts", title="Hosts that have moved", rows=tuple(rows),
                 columns=("host", "final_host", "futlis", "to_https"))  # fmt: skip


def waits(db: sqlite3.Connection, span: ReportSpan) -> Table:
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


_READY, _FORMAT, _DOWN, _RESTRICTED, _UNDONE = (
    "ready", "incompatibleformat", "downerror", "restricted", "undownloaded",
)  # fmt: skip
_OF_GROUPS = {
    Group.HELD: _READY,
    Group.PAGE_ONLY: _FORMAT,
    Group.NOT_THERE: _DOWN,
    Group.CLOSED: _RESTRICTED,
    Group.TROUBLE: _DOWN,
    Group.OURS: _UNDONE,
}
CITEC = {outcome: _OF_GROUPS[outcome.group] for outcome in Outcome} | {
    Outcome.BOT_CHALLENGE: _RESTRICTED,
    Outcome.BAD_CERTIFICATE: _DOWN,
    Outcome.BAD_URL: _DOWN,
    Outcome.OTHER_TYPE: _FORMAT,
    Outcome.TOO_BIG: _UNDONE,
    Outcome.DAMAGED: _UNDONE,
}
"""Each outcome's word of CitEc: that of its group, but for a few."""
_OURS = (Outcome.FUT, Outcome.EXCLUDED, Outcome.DAMAGED, Outcome.BAD_PID)


def to_mend(db: sqlite3.Connection, span: ReportSpan, archive: str) -> Table:
    """The futlis of *archive* whose last word is no fut, those that were lost first."""
    ours = ", ".join(f"'{outcome}'" for outcome in _OURS)
    found = db.execute(
        "SELECT p.pid, p.title, l.url, l.outcome, l.state, l.had, coalesce(l.fails_since, a.time),"
        " l.asked, CASE WHEN l.had IS NOT NULL AND p.path IS NOT NULL THEN 'warc/'"
        " || substr(p.path, 7, length(p.path) - 11) || '.warc' END, a.error"
        " FROM paper p JOIN futli l ON l.paper = p.id LEFT JOIN asked a ON a.futli = l.id"
        " AND a.time = (SELECT max(time) FROM asked WHERE futli = l.id)"
        f" WHERE p.archive = ? AND l.outcome NOT IN ({ours}) AND coalesce(l.asked, '') >= ?"
        " AND coalesce(l.asked, '') <= ? GROUP BY l.id"
        " ORDER BY l.lost_since IS NULL, l.outcome, p.pid, l.url",
        (archive, span.since, span.end),
    )
    rows = tuple((*row[:4], CITEC[Outcome(row[3])], *row[4:]) for row in found)
    return Table(
        key="to_mend", title=f"Links of {archive} that lead to no full text", rows=rows,
        columns=("pid", "title", "futli", "outcome", "citec", "state", "had", "since", "asked",
                 "kept", "error"),
        note="had: when it last led to a full text, which is kept in the file kept. since: the"
        " first of the failing asks. citec: the word that CitEc has for it.",
    )  # fmt: skip
