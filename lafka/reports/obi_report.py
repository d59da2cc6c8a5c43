"""A report on an obi store: what its records add up to, as tables, in the forms of reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lafka.archec.records import Records
from lafka.archec.redif.vocabulary import CODES
from lafka.archec.statistics import FOBI_COLUMNS, TOBI_COLUMNS, Scope, Statistics, statistics
from lafka.archec.store import tists
from lafka.errors import BadArgument
from lafka.reports import plots
from lafka.reports.rendering import as_csv, as_html, as_json
from lafka.reports.tables import Cell, Plot, PlotKind, ReportSpan, Table, TableReport
from lafka.storage.outputs import ending_of

FORMS = ("json", "csv", "html")
Rows = Iterable[tuple[tuple[str, ...], Mapping[str, int]]]
_NOTE = (
    "Fobis count in each archive and series whose templates ever pointed at them. soft: a page"
    " where a file was; it is not live. refipos, due: now. churning: another content at each visit."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObiReportOptions:
    """The options of a report; made by :meth:`of`."""

    form: str
    by: str
    top: int
    scope: Scope

    @classmethod
    def of(cls, opts: Any) -> ObiReportOptions:
        """The options of the command; ``BadArgument`` where they make no sense."""
        form = opts.format or ending_of(opts.output).lstrip(".") or "json"
        if form not in FORMS:
            raise BadArgument(f"{opts.output}: ends with none of .{', .'.join(FORMS)}")
        if opts.top < 1:
            raise BadArgument(f"--top {opts.top}: at least 1")
        if form == "html":
            plots.needed()
        since = tists.parse(opts.since) if opts.since else 0
        scope = Scope(archive=(opts.archive or "").lower(), since=since)
        by = opts.by or ("archive" if form == "csv" else "")
        return cls(form=form, by=by, top=opts.top, scope=scope)


def answer(records: Records, asked: ObiReportOptions) -> bytes:
    """The bytes of what is asked for; the same store gives the same."""
    figures = statistics(records, asked.scope)
    archive = asked.scope.archive
    questions = (BY[asked.by],) if asked.by else QUESTIONS
    since = tists.to_text(asked.scope.since) if asked.scope.since else ""
    whole = TableReport(
        span=ReportSpan(as_of=tists.to_text(figures.as_of), since=since),
        title=f"Report on the obi store: {archive}" if archive else "Report on the obi store",
        source="the obi store",
        archive=archive,
        tables=tuple(question(figures) for question in questions),
    )
    if asked.form == "html":
        return as_html(whole, top=asked.top, plot=plots.svg)
    return as_csv(whole.tables[0]) if asked.form == "csv" else as_json(whole)


def _summary(figures: Statistics) -> Table:
    names = (*TOBI_COLUMNS, *FOBI_COLUMNS)
    return Table(key="summary", title="Summary", columns=("what", "value"), note=_NOTE,
                 rows=tuple((name, figures.whole[name]) for name in names))  # fmt: skip


def _archives(figures: Statistics) -> Table:
    odd: Counter[str] = Counter()
    for (archive, _), count in figures.problems.items():
        odd[archive] += count
    groups = {(archive,): {**tally, "problems": odd[archive]}
              for archive, tally in figures.archives.items()}  # fmt: skip
    columns = (*TOBI_COLUMNS, *FOBI_COLUMNS, "problems")
    return _grouped("archives", "Archives", ("archive",), groups.items(), columns)


def _series(figures: Statistics) -> Table:
    columns = (*TOBI_COLUMNS, *FOBI_COLUMNS)
    return _grouped("series", "Series", ("archive", "series"), figures.series.items(), columns)


def _hosts(figures: Statistics) -> Table:
    groups = [((host,), tally) for host, tally in figures.hosts.items()]
    return _grouped("hosts", "Hosts", ("host",), groups, FOBI_COLUMNS)


def _grouped(
    key: str, title: str, names: tuple[str, ...], groups: Rows, columns: tuple[str, ...]
) -> Table:
    """A row a group, those with the most failing links first."""
    ordered = sorted(groups, key=lambda one: (-_failing(one[1]), one[0]))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (*group, *(tally.get(name, 0) for name in columns)) for group, tally in ordered
    )
    plot = Plot(kind=PlotKind.STACKED, x=names[-1], y=("live", "soft", "lost", "never"))
    return Table(key=key, title=title, columns=(*names, *columns), rows=rows, plot=plot)


def _failing(tally: Mapping[str, int]) -> int:
    return sum(tally.get(name, 0) for name in ("lost", "never", "soft"))


def _rot(figures: Statistics) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (str(one.year), one.fobis, one.years, one.n, one.live, round(one.live / one.n, 6))
        for one in figures.rot()
    )
    return Table(
        key="link_rot", title="Link rot by the year of the first get", rows=rows,
        columns=("year", "fobis", "years", "n", "live", "share"),
        plot=Plot(kind=PlotKind.LINES, x="years", y=("share",), color="year"),
        note="Of the fobis first got in that year that templates pointed at, so many years after"
        " the day of each: n are that old by now, live those not known to be lost then.",
    )  # fmt: skip


def _never(figures: Statistics) -> Table:
    rows = sorted(figures.never.items(), key=lambda one: (-one[1], one[0]))
    return Table(key="never_got", title="Fobis that were never got, by their last outcome",
                 columns=("outcome", "fobis"), rows=tuple(rows),
                 plot=Plot(kind=PlotKind.BARS, x="outcome", y=("fobis",)))  # fmt: skip


def _problems(figures: Statistics) -> Table:
    rows = tuple(
        (archive, code, count, CODES.get(code, ""))
        for (archive, code), count in sorted(figures.problems.items())
    )
    return Table(key="problems", title="What was odd in the data at the last run of tobi",
                 columns=("archive", "code", "places", "meaning"), rows=rows)  # fmt: skip


QUESTIONS: tuple[Callable[[Statistics], Table], ...] = (
    _summary, _archives, _series, _hosts, _rot, _never, _problems,
)  # fmt: skip
BY: dict[str, Callable[[Statistics], Table]] = {
    "archive": _archives,
    "series": _series,
    "host": _hosts,
    "year": _rot,
    "outcome": _never,
    "code": _problems,
}
"""What ``--by`` names: one table each."""
