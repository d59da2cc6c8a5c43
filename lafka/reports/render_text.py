"""A report for a terminal: at most forty lines."""

from __future__ import annotations

from lafka.errors import printable
from lafka.reports.told import Cell, Table
from lafka.reports.whole import Whole

LINES = 40
_WIDEST = 48
_SHORT = ("summary", "outcomes", "flow")


def render(whole: Whole) -> str:
    """The summary, outcomes and what is new; of a report of one table, that."""
    tables = [table for table in whole.tables if len(whole.tables) == 1 or table.key in _SHORT]
    lines: list[str] = []
    for table in tables:
        left = LINES - len(lines) - 3
        if left < 2:
            break
        lines += _lines(table.cut(left))
    return "\n".join(lines[:LINES])


def _lines(table: Table) -> list[str]:
    head = list(table.columns)
    texts = [head, *([shown(cell, name) for cell, name in zip(row, head, strict=True)]
                     for row in table.rows)]  # fmt: skip
    widths = [min(_WIDEST, max(map(len, column))) for column in zip(*texts, strict=True)]
    rows = [_row(row, widths) for row in texts]
    more = [f"... and {table.left_out} more"] if table.left_out else []
    return [f"{printable(table.title)}:", *rows, *more]


def _row(row: list[str], widths: list[int]) -> str:
    cells = [text if len(text) <= width else f"{text[: width - 1]}…"
             for text, width in zip(row, widths, strict=True)]  # fmt: skip
    return "  " + "  ".join(map(str.ljust, cells, widths)).rstrip()


def shown(cell: Cell, column: str = "") -> str:
    """A cell as text: shares in per cent, numbers in groups of three, foreign text escaped."""
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:.1%}" if column == "share" else f"{cell:,.2f}"
    return f"{cell:,}" if isinstance(cell, int) else printable(cell)
