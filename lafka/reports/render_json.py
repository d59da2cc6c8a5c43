"""A report as JSON: everything, keys as docs/reference.md has them."""

from __future__ import annotations

import json
from typing import Any

from lafka.reports.told import Table
from lafka.reports.whole import Whole

FORMAT = 1


def values(whole: Whole) -> dict[str, Any]:
    """The object: a list of rows for each table; of ``what`` and ``value`` an object."""
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


def render(whole: Whole) -> bytes:
    """UTF-8, one blank deep for each level; what no terminal should get is escaped."""
    text = json.dumps(values(whole), ensure_ascii=False, indent=1)
    safe = "".join(c if c.isprintable() or c == "\n" else _escaped(c) for c in text)
    return safe.encode() + b"\n"


def _escaped(letter: str) -> str:
    return json.dumps(letter)[1:-1] if ord(letter) > 126 else f"\\u{ord(letter):04x}"
