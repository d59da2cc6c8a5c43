"""The tables of a report, in order."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from lafka.reports import maintainers, questions, rot
from lafka.reports.counting import forget
from lafka.reports.tables import Span, Table, as_of

Question = Callable[[sqlite3.Connection, Span], Table]
QUESTIONS: tuple[Question, ...] = (
    questions.summary,
    questions.outcomes,
    questions.outcomes_by_day,
    questions.flow,
    partial(rot.by, key="archive"),
    partial(rot.by, key="host"),
    partial(rot.by, key="series"),
    partial(rot.by, key="year"),
    rot.by_age,
    rot.survival,
    rot.hosts,
    rot.dead_hosts,
    rot.moved_hosts,
    rot.waits,
    questions.finders,
    questions.pages,
    questions.growth,
    questions.efficiency,
    questions.runs,
)
BY: dict[str, Question] = {
    "archive": partial(rot.by, key="archive"),
    "series": partial(rot.by, key="series"),
    "host": partial(rot.by, key="host"),
    "outcome": questions.outcomes,
    "year": partial(rot.by, key="year"),
    "found_by": questions.finders,
    "run": questions.runs,
}
"""What ``--by`` names: one table each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A report: its span, the archive that it is for (empty: all), its tables, whose word it is."""

    span: Span
    title: str
    source: str = "the index"
    archive: str = ""
    tables: tuple[Table, ...] = ()


def report(
    db: sqlite3.Connection,
    *,
    since: str | None = None,
    until: str | None = None,
    by: str = "",
    archive: str = "",
) -> Report:
    """All tables, or the one of *by*; for *archive* what its maintainer can mend.

    Same index, same arguments: the same. ``BadArgument`` where a time is none.
    """
    span = Span.of(as_of(db), since, until)
    title = f"Report on the archive {archive}" if archive else "Report on the archive"
    forget(db)
    tables = tuple(_asked(db, span, by, archive))
    forget(db)
    return Report(span=span, title=title, archive=archive, tables=tables)


def _asked(db: sqlite3.Connection, span: Span, by: str, archive: str) -> Iterator[Table]:
    if archive:
        yield maintainers.to_mend(db, span, archive.lower())
    elif by:
        yield BY[by](db, span)
    else:
        yield from (question(db, span) for question in QUESTIONS)
