"""Tables -> SVG, by Altair and vl-convert: text a screen reader can read, no script, no network.

The one module that knows them; they are the extra ``lafka[report]``.
"""

from __future__ import annotations

import json
import re
from html import escape
from importlib import import_module
from typing import Any

from lafka.errors import BadArgument, printable
from lafka.papers import Group
from lafka.reports.tables import Cell, Plot, PlotKind, Table

MOST = 40
"""Bars, or days, that are drawn; the table has the others."""
_WIDTH, _HEIGHT = 640, 240
_CONFIG: dict[str, Any] = {
    "font": "sans-serif",
    "view": {"stroke": None},
    # A browser's letters are wider than those that the drawing was measured with.
    "padding": {"left": 20, "right": 20, "top": 5, "bottom": 16},
    "axis": {"labelLimit": 220, "labelFontSize": 11, "titleFontSize": 11, "labelOverlap": "greedy",
             "labelSeparation": 8},
    # Okabe and Ito's colours, which people see apart who are blind to some.
    "range": {"category": ["#0072b2", "#e69f00", "#d55e00", "#cc79a7", "#56b4e9", "#999999",
                           "#009e73"]},
}  # fmt: skip
_TIMES = ("day", "month", "year")
_GROUPS = dict(zip(map(str, Group), _CONFIG["range"]["category"], strict=False))
"""A group has one colour in all plots."""
_SCRIPT = re.compile(r"<(?:script|foreignObject)\b|\son\w+=|href=", re.IGNORECASE)


def needed() -> None:
    """``BadArgument`` where the extra is not installed."""
    try:
        import_module("altair")
        import_module("vl_convert")
    except ImportError:
        raise BadArgument(
            "an HTML report needs Altair and vl-convert: pip install 'lafka[report]'"
        ) from None


def svg(table: Table) -> str:
    """The plot of *table*, an ``<svg>``; empty where it has none, or nothing to draw."""
    if table.plot is None or not table.rows:
        return ""
    alt, convert = import_module("altair"), import_module("vl_convert")
    chart = _chart(alt, table, table.plot)
    drawn = str(convert.vegalite_to_svg(json.dumps(chart)))
    if _SCRIPT.search(drawn):  # never yet; what a page of ours must not have
        raise ValueError(f"the plot of {table.key} has something that acts")
    label = escape(_description(table, table.plot))
    return drawn.replace("<svg ", f'<svg role="graphics-document" aria-label="{label}" ', 1)


def _chart(alt: Any, table: Table, plot: Plot) -> dict[str, Any]:
    rows = table.rows[:MOST] if plot.kind is not PlotKind.STEPS else table.rows
    if plot.x in _TIMES:  # tables begin with the newest, time goes from left to right
        rows = tuple(sorted(rows, key=lambda row: str(row[0])))
    data = [
        {"x": _label(row[table.columns.index(plot.x)]), "y": row[table.columns.index(name)] or 0,
         "part": name.replace("_", " ")} | _color(table, plot, row)
        for row in rows for name in plot.y
    ]  # fmt: skip
    chart = alt.Chart(alt.Data(values=data), title="", description=_description(table, plot))
    parts = dict.fromkeys(one["part"] for one in data)
    chart = _marked(alt, chart, plot, [*parts], len(rows)).properties(width=_WIDTH)
    made: dict[str, Any] = chart.to_dict()
    return made | {"config": _CONFIG}


def _marked(alt: Any, chart: Any, plot: Plot, parts: list[Any], count: int) -> Any:
    value = alt.Y("y:Q", title=" and ".join(plot.y) if len(plot.y) == 1 else None)
    if plot.kind is PlotKind.STEPS:
        steps = chart.mark_line(interpolate="step-after", strokeWidth=2)
        scale = alt.Scale(domain=[0, 1])
        return steps.encode(x=alt.X("x:Q", title=plot.x), y=value.scale(scale)).properties(
            height=_HEIGHT
        )
    color = alt.value("#0072b2")
    if len(plot.y) > 1 or plot.color:
        color = alt.Color("part:N", title=plot.color or None)
        if _GROUPS.keys() >= {*parts}:
            shown = [name for name in _GROUPS if name in parts]
            colors = [_GROUPS[name] for name in shown]
            color = color.scale(alt.Scale(domain=shown, range=colors))
    in_order = alt.X("x:O", title=None if plot.x in _TIMES else plot.x, sort=None)
    if plot.kind is PlotKind.LINES:
        lines = chart.mark_line(point=True)
        dash = alt.StrokeDash("part:N", title=None)  # not by colour alone
        return lines.encode(x=in_order, y=value, color=color, strokeDash=dash).properties(
            height=_HEIGHT
        )
    bars = chart.mark_bar()
    if plot.x in _TIMES:
        return bars.encode(x=in_order, y=value, color=color).properties(height=_HEIGHT)
    along = alt.Y("x:N", title=None, sort=None, axis=alt.Axis(labelOverlap=False))
    across = alt.X("y:Q", title=plot.y[0] if len(plot.y) == 1 else None)
    if "share" not in plot.y:
        across = across.axis(alt.Axis(tickMinStep=1))  # counts have no halves
    high = {"step": 16 if count > 12 else 22}
    return bars.encode(y=along, x=across, color=color).properties(height=high)


def _color(table: Table, plot: Plot, row: tuple[Cell, ...]) -> dict[str, Cell]:
    return {"part": row[table.columns.index(plot.color)]} if plot.color else {}


def _label(cell: Cell) -> Cell:
    return cell if not isinstance(cell, str) else "".join(c for c in cell if c.isprintable())[:60]


def _description(table: Table, plot: Plot) -> str:
    more = f", the first {MOST} rows" if len(table.rows) > MOST else ""
    title = printable(table.title)
    return f"{title}: {', '.join(plot.y)} by {plot.x}{more}; the table below has the figures."
