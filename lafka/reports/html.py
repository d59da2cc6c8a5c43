"""A report as one HTML file: no script, nothing fetched, plots as SVG, a table under each."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from lafka.errors import printable
from lafka.reports.rendering import shown
from lafka.reports.report import Report
from lafka.reports.tables import Cell, Table

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
STYLE = """\
:root { color-scheme: light; }
body { font: 1rem/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; margin: 0 auto;
  max-width: 72rem; padding: 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; }
nav ul { columns: 18rem; padding-left: 1.25rem; }
.wide { overflow-x: auto; }
svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .25rem 0; }
th, td { border-bottom: 1px solid #767676; padding: .2rem .6rem; text-align: left;
  vertical-align: top; overflow-wrap: anywhere; }
.n { text-align: right; }
a { color: #0b4f8a; } a:focus-visible, .wide:focus-visible { outline: 3px solid #0b4f8a; }
@page { size: A4; margin: 15mm; }
@media print { body { max-width: none; padding: 0; font-size: 9pt; } nav { display: none; }
  .wide { overflow: visible; } tr, svg { break-inside: avoid; }
  thead { display: table-header-group; } }
"""


def as_html(whole: Report, *, top: int = 50, plot: Callable[[Table], str]) -> bytes:
    """Return the page: at most *top* rows a table, and how many are left out; *plot* draws one."""
    told = [_section(table, top, plot) for table in whole.tables]
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
        f"<header><h1>{escape(title)}</h1>\n<p>{_of(whole)}</p></header>\n",
        f'<nav aria-label="Tables"><ul>{links}</ul></nav>\n<main>\n',
        *told,
        "</main>\n</body>\n</html>\n",
    )
    return "".join(parts).encode("utf-8", "backslashreplace")


def _of(whole: Report) -> str:
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
    rows = "".join(_row(row, table.columns) for row in table.rows)
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
