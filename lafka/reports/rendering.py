"""A report as CSV, as JSON, as one file of HTML without script, and for a terminal.

Spreadsheets run a cell of a CSV that begins like a formula, whoever wrote it (OWASP, CSV
injection): such a text gets an apostrophe in front. On a terminal a report has at most forty lines.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from lafka.errors import printable
from lafka.reports.tables import Cell, Table, TableReport
from lafka.storage.outputs import csv_cell, in_bytes

FORMAT = 1
LINES = 40
_WIDEST = 48
_SHARES = ("share", "lower", "upper")
_BYTES = ("bytes", "warc_bytes", "bytes_new")
_SHORT = ("difference", "summary", "outcomes", "flow")


def as_csv(table: Table) -> bytes:
    """Return all rows of *table* below the names of its columns."""
    target = io.StringIO(newline="")
    writer = csv.writer(target, lineterminator="\r\n")
    writer.writerow(table.columns)
    writer.writerows([csv_cell(cell) for cell in row] for row in table.rows)
    return target.getvalue().encode("utf-8", "backslashreplace")


def values(whole: TableReport) -> dict[str, Any]:
    """Return the object: a list of rows for each table; of ``what`` and ``value`` an object."""
    frame: dict[str, Any] = {
        "format": FORMAT,
        "as_of": whole.span.as_of,
        "since": whole.span.since or None,
        "until": whole.span.until or None,
        "archive": whole.archive or None,
    }
    return frame | {table.key: _rows(table) for table in whole.tables}


def _rows(table: Table) -> Any:
    if table.columns == ("what", "value"):
        return {str(what): value for what, value in table.rows}
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def as_json(whole: TableReport) -> bytes:
    """Return the report in UTF-8, one blank deep for each level, control characters escaped."""
    text = json.dumps(values(whole), ensure_ascii=False, indent=1)
    safe = "".join(c if c.isprintable() or c == "\n" else _escaped(c) for c in text)
    return safe.encode() + b"\n"


def _escaped(letter: str) -> str:
    return json.dumps(letter)[1:-1] if ord(letter) > 126 else f"\\u{ord(letter):04x}"


def as_text(whole: TableReport) -> str:
    """Return the summary, outcomes and what is new; of a report of one table, that."""
    tables = [table for table in whole.tables if len(whole.tables) == 1
              or whole.archive or table.key in _SHORT]  # fmt: skip
    lines = [printable(whole.lead)] if whole.lead else []
    for table in tables:
        left = LINES - len(lines) - 3
        if left < 2:
            break
        lines += _text_lines(table.cut(left))
    return "\n".join(lines[:LINES])


def _text_lines(table: Table) -> list[str]:
    head = list(table.columns)
    texts = [head, *([shown(cell, name) for cell, name in zip(row, _names(table, row), strict=True)]
                     for row in table.rows)]  # fmt: skip
    widths = [min(_WIDEST, max(map(len, column))) for column in zip(*texts, strict=True)]
    rows = [_text_row(row, widths) for row in texts]
    more = [f"... and {table.left_out} more"] if table.left_out else []
    return [f"{printable(table.title)}:", *rows, *more]


def _names(table: Table, row: tuple[Cell, ...]) -> tuple[str, ...]:
    """The name by which each cell is shown: that of its column, of a value that of its row."""
    return ("what", str(row[0])) if table.columns == ("what", "value") else table.columns


def _text_row(row: list[str], widths: list[int]) -> str:
    cells = [text if len(text) <= width else f"{text[: width - 1]}…"
             for text, width in zip(row, widths, strict=True)]  # fmt: skip
    return "  " + "  ".join(map(str.ljust, cells, widths)).rstrip()


def shown(cell: Cell, column: str = "") -> str:
    """Return a cell as text: shares in per cent, numbers in groups of three, text escaped."""
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:.1%}" if column in _SHARES else f"{cell:,.2f}"
    if isinstance(cell, int) and column in _BYTES:
        return in_bytes(cell)
    return f"{cell:,}" if isinstance(cell, int) else printable(cell)


POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
STYLE = Path(__file__).with_name("report.css").read_text("utf-8")


def as_html(whole: TableReport, *, top: int = 50, plot: Callable[[Table], str]) -> bytes:
    """Return the page: at most *top* rows a table, and how many are left out; *plot* draws one."""
    sections = [_section(table, top, plot) for table in whole.tables]
    title = printable(whole.title)
    links = "".join(
        f'<li><a href="#{escape(table.key)}">{_text(table.title)}</a></li>'
        for table in whole.tables
    )
    parts = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">\n',
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
        '<meta name="referrer" content="no-referrer">\n',
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        f"<header><h1>{escape(title)}</h1>\n{_lead(whole)}<p>{_of(whole)}</p></header>\n",
        f'<nav aria-label="Tables"><ul>{links}</ul></nav>\n<main>\n',
        *sections,
        "</main>\n</body>\n</html>\n",
    )
    return "".join(parts).encode("utf-8", "backslashreplace")


def _lead(whole: TableReport) -> str:
    return f'<p class="lead">{_text(whole.lead)}</p>\n' if whole.lead else ""


def _of(whole: TableReport) -> str:
    span = whole.span
    bounds = [
        f"since {span.since}" if span.since else "",
        f"until {span.until}" if span.until else "",
    ]
    limited = f", {' '.join(filter(None, bounds))}" if any(bounds) else ""
    return escape(f"As {whole.source} had it at {span.as_of}{limited}.")


def _section(table: Table, top: int, plot: Callable[[Table], str]) -> str:
    cut = table.cut(top)
    drawn = plot(cut)
    figure = f'<div class="wide" tabindex="0" role="group" aria-label="Plot">{drawn}</div>\n'
    left = f"<p>{cut.left_out:,} more rows are left out here; the CSV has all.</p>\n"
    return (
        f'<section aria-labelledby="{escape(table.key)}">\n'
        f'<h2 id="{escape(table.key)}">{_text(table.title)}</h2>\n'
        f"{f'<p>{_text(table.note)}</p>{chr(10)}' if table.note else ''}"
        f"{figure if drawn else ''}{_table(cut)}{left if cut.left_out else ''}</section>\n"
    )


def _table(table: Table) -> str:
    if not table.rows:
        return "<p>Nothing.</p>\n"
    head = "".join(
        f'<th scope="col">{_text(name.replace("_", " "))}</th>' for name in table.columns
    )
    rows = "".join(_row(row, _names(table, row)) for row in table.rows)
    return (
        f'<div class="wide" tabindex="0" role="group" aria-label="{_text(table.title)}">'
        f"<table><caption>{_text(table.title)}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{rows}</tbody></table></div>\n"
    )


def _row(row: tuple[Cell, ...], columns: tuple[str, ...]) -> str:
    first = f'<th scope="row">{_cell(row[0], columns[0])}</th>'
    rest = "".join(
        f'<td class="n">{_cell(cell, name)}</td>' if isinstance(cell, int | float) else
        f"<td>{_cell(cell, name)}</td>"
        for cell, name in zip(row[1:], columns[1:], strict=True)
    )  # fmt: skip
    return f"<tr>{first}{rest}</tr>\n"


def _cell(cell: Cell, column: str) -> str:
    return escape(shown(cell, column))


def _text(text: str) -> str:
    return escape(printable(text))
