"""A report as CSV, as JSON, and for a terminal.

Spreadsheets run a cell of a CSV that begins like a formula, whoever wrote it (OWASP, CSV
injection): such a text gets an apostrophe in front. On a terminal a report has at most forty lines.
"""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from lafka.errors import printable
from lafka.reports.report import Report
from lafka.reports.tables import Cell, Table

FORMAT = 1
LINES = 40
_WIDEST = 48
_SHORT = ("summary", "outcomes", "flow")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(table: Table) -> bytes:
    """Return all rows of *table* below the names of its columns."""
    target = io.StringIO(newline="")
    writer = csv.writer(target, lineterminator="\r\n")
    writer.writerow(table.columns)
    writer.writerows([_without_formula(cell) for cell in row] for row in table.rows)
    return target.getvalue().encode("utf-8", "backslashreplace")


def _without_formula(cell: Cell) -> Cell:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def values(whole: Report) -> dict[str, Any]:
    """Return the object: a list of rows for each table; of ``what`` and ``value`` an object."""
    told: dict[str, Any] = {
        "format": FORMAT,
        "as_of": whole.span.as_of,
        "since": whole.span.since or None,
        "until": whole.span.until or None,
        "archive": whole.archive or None,
    }
    return told | {table.key: _rows(table) for table in whole.tables}


def _rows(table: Table) -> Any:
    if table.columns == ("what", "value"):
        return {str(what): value for what, value in table.rows}
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def as_json(whole: Report) -> bytes:
    """Return the report in UTF-8, one blank deep for each level, control characters escaped."""
    text = json.dumps(values(whole), ensure_ascii=False, indent=1)
    safe = "".join(c if c.isprintable() or c == "\n" else _escaped(c) for c in text)
    return safe.encode() + b"\n"


def _escaped(letter: str) -> str:
    return json.dumps(letter)[1:-1] if ord(letter) > 126 else f"\\u{ord(letter):04x}"


def as_text(whole: Report) -> str:
    """Return the summary, outcomes and what is new; of a report of one table, that."""
    tables = [table for table in whole.tables if len(whole.tables) == 1 or table.key in _SHORT]
    lines: list[str] = []
    for table in tables:
        left = LINES - len(lines) - 3
        if left < 2:
            break
        lines += _text_lines(table.cut(left))
    return "\n".join(lines[:LINES])


def _text_lines(table: Table) -> list[str]:
    head = list(table.columns)
    texts = [head, *([shown(cell, name) for cell, name in zip(row, head, strict=True)]
                     for row in table.rows)]  # fmt: skip
    widths = [min(_WIDEST, max(map(len, column))) for column in zip(*texts, strict=True)]
    rows = [_text_row(row, widths) for row in texts]
    more = [f"... and {table.left_out} more"] if table.left_out else []
    return [f"{printable(table.title)}:", *rows, *more]


def _text_row(row: list[str], widths: list[int]) -> str:
    cells = [text if len(text) <= width else f"{text[: width - 1]}…"
             for text, width in zip(row, widths, strict=True)]  # fmt: skip
    return "  " + "  ".join(map(str.ljust, cells, widths)).rstrip()


def shown(cell: Cell, column: str = "") -> str:
    """Return a cell as text: shares in per cent, numbers in groups of three, text escaped."""
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:.1%}" if column == "share" else f"{cell:,.2f}"
    return f"{cell:,}" if isinstance(cell, int) else printable(cell)
