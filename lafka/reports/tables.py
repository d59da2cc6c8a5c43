"""A table of a report, and the span of time that it is of."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from lafka.errors import BadArgument
from lafka.index.links import moment

Cell = str | int | float | None
_SHAPE = "0000-00-00T00:00:00Z"
_AGE = re.compile(r"(\d{1,5})d")


class PlotKind(StrEnum):
    """How a table is drawn: bars of its first column, stacked bars by two, lines, or steps."""

    BARS = "bars"
    STACKED = "stacked"
    LINES = "lines"
    STEPS = "steps"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """The columns of a table that are drawn: *x* across, *y* up, *color* tells lines apart.

    Where *y* has several columns each is a line, or a part of a bar.
    """

    kind: PlotKind
    x: str
    y: tuple[str, ...]
    color: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The result of one question.

    ``key`` names it in JSON, ``title`` for people, ``note`` says how to read it; ``columns`` are
    names of the index or of the glossary. ``left_out``: rows that there are beyond these. A column
    called ``share`` is a part of one.
    """

    key: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    left_out: int = 0
    plot: Plot | None = None

    def cut(self, most: int) -> Table:
        """The first *most* rows, and how many were left out."""
        over = max(0, len(self.rows) - most)
        return replace(self, rows=self.rows[:most], left_out=self.left_out + over) if over else self


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A span of time, both ends included; ``as_of`` is that of the index, the only clock there is.

    ``since`` and ``until`` are times as in the index, or beginnings of one; empty: no bound.
    """

    as_of: str
    since: str = ""
    until: str = ""

    @property
    def end(self) -> str:
        """Not before any time that begins with ``until``."""
        return f"{self.until}~"

    @classmethod
    def of(cls, as_of: str, since: str | None, until: str | None) -> Span:
        """*since* and *until* as an operator gives them: beginnings of a time, or ``30d``.

        ``BadArgument`` where one is neither.
        """
        return cls(as_of=as_of, since=bound(as_of, since), until=bound(as_of, until))


def bound(as_of: str, text: str | None) -> str:
    """What *text* means, where the index is of *as_of*; ``BadArgument``."""
    if not text:
        return ""
    if age := _AGE.fullmatch(text):
        return (moment(as_of) - timedelta(days=int(age[1]))).strftime("%Y-%m-%dT%H:%M:%SZ")
    if len(text) < 4 or not _SHAPE.startswith(re.sub("[0-9]", "0", text)) or not _is_time(text):
        raise BadArgument(f"{text}: neither 30d nor a beginning of 2026-11-20T10:11:12Z")
    return text


def _is_time(text: str) -> bool:
    whole = text.rstrip("-T:") + "0000-01-01T00:00:00Z"[len(text.rstrip("-T:")) :]
    try:
        datetime.fromisoformat(whole.removesuffix("Z"))
    except ValueError:
        return False
    return True


def as_of(db: sqlite3.Connection) -> str:
    """When the index was brought up to date; ``BadArgument`` where it never was."""
    row = db.execute("SELECT value FROM meta WHERE key = 'as_of'").fetchone()
    if row is None:
        raise BadArgument("the index is not whole yet: lafka index brings it up to date")
    return str(row[0])
