"""The tables of a report, in order; its forms; and the list of links to recheck."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from lafka.errors import BadArgument
from lafka.index.papers import leave, stand_at
from lafka.reports import plots, questions, rot
from lafka.reports.maintainers import as_atom, as_letter, differences, load_report
from lafka.reports.rendering import as_csv, as_html, as_json, as_text
from lafka.reports.tables import ReportSpan, Table, TableReport, as_of, bound, forget
from lafka.runs.sources import meant
from lafka.storage.outputs import ending_of, file_at

Question = Callable[[sqlite3.Connection, ReportSpan], Table]
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


def report(
    db: sqlite3.Connection,
    *,
    since: str | None = None,
    until: str | None = None,
    by: str = "",
    archive: str = "",
) -> TableReport:
    """All tables, or the one of *by*; for *archive* what its maintainer can mend.

    Same index, same arguments: the same. ``BadArgument`` where a time is none.
    """
    span = ReportSpan.of(as_of(db), since, until)
    title = f"Report on the archive {archive}" if archive else "Report on the archive"
    forget(db)
    try:
        if span.until:
            stand_at(db, span.end)
        _check_there(db, span, archive)
        tables = tuple(
            _with_span_note(table, span) for table in _selected_tables(db, span, by, archive)
        )
        lead = "" if archive or by else rot.headline(db)
    finally:
        forget(db)
        leave(db)
    return TableReport(span=span, title=title, archive=archive, lead=lead, tables=tables)


_SPANNED = ("outcomes_by_day", "flow", "finders", "efficiency", "runs", "waits", "to_mend")
"""Tables of what happened since a time; the others tell how it stands at the end of the span."""


def _with_span_note(table: Table, span: ReportSpan) -> Table:
    """*table*, whose note says so where ``since`` does not bound it."""
    if not span.since or table.key in _SPANNED:
        return table
    note = f"How it stood at {span.as_of}: --since does not bound this table."
    return replace(table, note=f"{table.note} {note}".strip())


def _check_there(db: sqlite3.Connection, span: ReportSpan, archive: str) -> None:
    """Raise ``BadArgument`` where nothing is known of what is asked for."""
    known = "SELECT 1 FROM paper WHERE archive = ? LIMIT 1"
    if archive and not db.execute(known, (archive.lower(),)).fetchone():
        raise BadArgument(f"--archive {archive}: the index has no paper of such an archive")
    if span.until and not db.execute("SELECT 1 FROM futli LIMIT 1").fetchone():
        raise BadArgument(f"--until {span.until}: nothing is known of so early a time")


def _selected_tables(
    db: sqlite3.Connection, span: ReportSpan, by: str, archive: str
) -> Iterator[Table]:
    if archive:
        yield rot.to_mend(db, span, archive.lower())
    elif by:
        yield BY[by](db, span)
    else:
        yield from (question(db, span) for question in QUESTIONS)


FORMS = (".html", ".csv", ".json", ".txt", ".atom")
OF_AN_ARCHIVE = (".txt", ".atom")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """The options of a report; made by :meth:`of`. ``output``: its name, empty for a terminal.
    What is no file is told what a terminal is, where its name does not say more.
    """

    output: str = ""
    since: str | None = None
    until: str | None = None
    by: str = ""
    archive: str = ""
    top: int = 50
    recheck: str | None = None
    before: str = ""

    @classmethod
    def of(cls, opts: Any) -> ReportOptions:
        """The options of a command; ``BadArgument`` where they make no sense."""
        asked = cls(output=opts.output, since=opts.since, until=opts.until, by=opts.by,
                    archive=opts.archive, top=opts.top, recheck=opts.recheck,
                    before=opts.before)  # fmt: skip
        if asked.by and asked.by not in BY:
            known = f"{', '.join(BY)}{meant(asked.by, BY)}"
            raise BadArgument(f"--by {asked.by}: no table, which are {known}")
        for time in (asked.since, asked.until, asked.recheck):
            bound("2026-01-01T00:00:00Z", time)
        if asked.by and asked.archive:
            raise BadArgument("--by tells of all archives, --archive of one: say one of them")
        if asked.top < 1:
            raise BadArgument(f"--top {asked.top}: at least 1")
        form = asked.form
        is_file = asked.output and file_at(asked.output)
        if asked.recheck is None and is_file and form not in FORMS:
            raise BadArgument(f"{asked.output}: ends with none of {', '.join(FORMS)}")
        if form in OF_AN_ARCHIVE and not asked.archive and asked.recheck is None:
            raise BadArgument(f"{asked.output}: a letter and a feed are of one archive: --archive")
        if form == ".html" and asked.recheck is None:
            plots.needed()
        return asked

    @property
    def form(self) -> str:
        return ending_of(self.output)


def answer(db: sqlite3.Connection, asked: ReportOptions) -> bytes:
    """The bytes of what is asked for; all of it is of one moment of the index."""
    before = load_report(Path(asked.before)) if asked.before else None
    db.execute("BEGIN")
    try:
        if asked.recheck is not None:
            listed = recheck_lines(db, bound(as_of(db), asked.recheck))
            return "".join(f"{pid}\t{futli}\n" for pid, futli in listed).encode()
        by = asked.by or ("archive" if asked.form == ".csv" and not asked.archive else "")
        whole = report(db, since=asked.since, until=asked.until, by=by, archive=asked.archive)
    finally:
        db.execute("COMMIT")
    if asked.by and (asked.since or asked.until) and not whole.tables[0].rows:
        raise BadArgument(f"--by {asked.by}: nothing is known of that span")
    if before is not None:
        whole = replace(whole, tables=(*whole.tables, *differences(whole, before)))
    return rendered(whole, asked)


def rendered(whole: TableReport, asked: ReportOptions) -> bytes:
    """*whole* in the form of the output's name."""
    if asked.form == ".html":
        return as_html(whole, top=asked.top, plot=plots.svg)
    if asked.form == ".csv":
        return as_csv(whole.tables[0])
    if asked.form == ".json":
        return as_json(whole)
    if asked.form == ".txt":
        return as_letter(whole)
    if asked.form == ".atom":
        return as_atom(whole)
    return as_text(whole).encode() + b"\n"


_BREAKS = re.compile(r"[\t\r\n]")


def recheck_lines(db: sqlite3.Connection, before: str) -> Iterator[tuple[str, str]]:
    """Return pid and futli of links that were last known before the time *before*, hosts in turn.

    Oldest first within a host. What no line of a list can hold is left out.
    """
    rows = db.execute(
        "SELECT p.pid, l.url FROM (SELECT *, max(had, coalesce(asked, '')) AS known,"
        " row_number() OVER (PARTITION BY host ORDER BY max(had, coalesce(asked, '')), url, paper)"
        " AS turn FROM futli WHERE had IS NOT NULL AND max(had, coalesce(asked, '')) < ?) l"
        " JOIN paper p ON p.id = l.paper JOIN host h ON h.id = l.host"
        " ORDER BY l.turn, h.name, p.pid, l.url", (before,)
    )  # fmt: skip
    return ((pid, futli) for pid, futli in rows if not _BREAKS.search(f"{pid}{futli}"))
