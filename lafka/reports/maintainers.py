"""What the maintainer of one RePEc archive can mend, and CitEc's word for it.

CitEc tells maintainers by a word of its own what became of each document
(http://citec.repec.org/maintainers.html); they know these.
"""

from __future__ import annotations

import sqlite3

from lafka.papers import Group, Outcome
from lafka.reports.tables import Span, Table

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
    Outcome.OTHER_TYPE: _FORMAT,
    Outcome.TOO_BIG: _UNDONE,
    Outcome.DAMAGED: _UNDONE,
}
"""Each outcome's word of CitEc: that of its group, but for a few."""
_OURS = (Outcome.FUT, Outcome.EXCLUDED, Outcome.DAMAGED, Outcome.BAD_PID)


def to_mend(db: sqlite3.Connection, span: Span, archive: str) -> Table:
    """The futlis of *archive* whose last word is no fut, those that were lost first."""
    ours = ", ".join(f"'{outcome}'" for outcome in _OURS)
    found = db.execute(
        "SELECT p.pid, l.url, l.outcome, l.state, coalesce(l.lost_since, a.time), l.asked, a.error"  # noqa: S608  words of ours
        " FROM paper p JOIN futli l ON l.paper = p.id LEFT JOIN asked a ON a.futli = l.id"
        " AND a.time = (SELECT max(time) FROM asked WHERE futli = l.id)"
        f" WHERE p.archive = ? AND l.outcome NOT IN ({ours}) AND coalesce(l.asked, '') >= ?"
        " AND coalesce(l.asked, '') <= ? GROUP BY l.id"
        " ORDER BY l.lost_since IS NULL, l.outcome, p.pid, l.url",
        (archive, span.since, span.end),
    )
    rows = tuple((*row[:3], CITEC[Outcome(row[2])], *row[3:]) for row in found)
    return Table(
        key="to_mend", title=f"Links of {archive} that lead to no full text", rows=rows,
        columns=("pid", "futli", "outcome", "citec", "state", "since", "asked", "error"),
        note="since: the first of the failing asks. citec: the word that CitEc has for it.",
    )  # fmt: skip
