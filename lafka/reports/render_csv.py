"""One table as CSV (RFC 4180, UTF-8) that no spreadsheet executes.

Spreadsheets run a cell that begins like a formula, whoever wrote it (OWASP, CSV injection): such a
text gets an apostrophe in front.
"""

from __future__ import annotations

import csv
import io

from lafka.reports.told import Cell, Table

_RUN = ("=", "+", "-", "@", "\t", "\r")


def render(table: Table) -> bytes:
    """All rows of *table* below the names of its columns."""
    target = io.StringIO(newline="")
    writer = csv.writer(target, lineterminator="\r\n")
    writer.writerow(table.columns)
    writer.writerows([_safe(cell) for cell in row] for row in table.rows)
    return target.getvalue().encode("utf-8", "backslashreplace")


def _safe(cell: Cell) -> Cell:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_RUN) else cell
