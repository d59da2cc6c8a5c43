"""A report as it was asked for: its form by the name of the file, and the file, whole or not."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lafka.errors import BadArgument
from lafka.reports import recheck, render_csv, render_html, render_json, render_text
from lafka.reports.told import as_of, bound
from lafka.reports.whole import BY, Whole, report

FORMS = (".html", ".csv", ".json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options of a report; made by :meth:`of`. ``output``: a file's name, empty for a
    terminal.
    """

    output: str = ""
    since: str | None = None
    until: str | None = None
    by: str = ""
    archive: str = ""
    top: int = 50
    recheck: str | None = None

    @classmethod
    def of(cls, opts: Any) -> Asked:
        """The options of a command; ``BadArgument`` where they make no sense."""
        asked = cls(output=opts.output, since=opts.since, until=opts.until, by=opts.by,
                    archive=opts.archive, top=opts.top, recheck=opts.recheck)  # fmt: skip
        for time in (asked.since, asked.until, asked.recheck):
            bound("2026-01-01T00:00:00Z", time)
        if asked.by and asked.by not in BY:
            raise BadArgument(f"--by {asked.by}: no table, which are {', '.join(BY)}")
        if asked.by and asked.archive:
            raise BadArgument("--by tells of all archives, --archive of one: say one of them")
        if asked.top < 1:
            raise BadArgument(f"--top {asked.top}: at least 1")
        form = asked.form
        if asked.recheck is None and asked.output and form not in FORMS:
            raise BadArgument(f"{asked.output}: ends with none of {', '.join(FORMS)}")
        if form == ".html" and asked.recheck is None:
            from lafka.reports.plots import needed  # noqa: PLC0415

            needed()
        return asked

    @property
    def form(self) -> str:
        return Path(self.output).suffix.lower()


def answer(db: sqlite3.Connection, asked: Asked) -> bytes:
    """The bytes of what is asked for; all of it is of one moment of the index."""
    db.execute("BEGIN")
    try:
        if asked.recheck is not None:
            listed = recheck.lines(db, bound(as_of(db), asked.recheck))
            return "".join(f"{pid}\t{futli}\n" for pid, futli in listed).encode()
        by = asked.by or ("archive" if asked.form == ".csv" and not asked.archive else "")
        whole = report(db, since=asked.since, until=asked.until, by=by, archive=asked.archive)
    finally:
        db.execute("COMMIT")
    return rendered(whole, asked)


def rendered(whole: Whole, asked: Asked) -> bytes:
    """*whole* in the form of the output's name."""
    if asked.form == ".html":
        from lafka.reports.plots import svg  # noqa: PLC0415  an extra

        return render_html.render(whole, top=asked.top, plot=svg)
    if asked.form == ".csv":
        return render_csv.render(whole.tables[0])
    if asked.form == ".json":
        return render_json.render(whole)
    return render_text.render(whole).encode() + b"\n"
