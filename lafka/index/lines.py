"""Feeds line by line, and the counts of their lines by day: what both ways to an index need.

A feed is append-only: whole lines are read from a byte on, a torn last one waits.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from io import BytesIO
from operator import add
from typing import Any, BinaryIO

from lafka.index.rows import Line

_DAILY = (
    "INSERT INTO daily VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET lines ="
    " lines + excluded.lines, held = held + excluded.held, requests = requests + excluded.requests,"
    " new = new + excluded.new, bytes = bytes + excluded.bytes"
)
_MOST_DAYS = 25_000
"""Counts that are held in memory before they are written, sorted as their table is."""


def some_lines(feed: BinaryIO, offset: int, most: int, end: int | None = None) -> list[bytes]:
    """At most *most* whole lines from *offset* on, no more than up to *end*."""
    feed.seek(offset)
    lines: list[bytes] = []
    while len(lines) < most and (end is None or offset < end):
        line = feed.readline()
        if not line.endswith(b"\n"):
            break
        offset += len(line)
        lines.append(line)
    return lines


def lines_between(feed: BinaryIO, start: int, stop: int) -> tuple[list[bytes], int]:
    """The whole lines that begin at the byte *start* or behind, before *stop*; where they end.

    The end is 0 where there is none: so a feed is shared out without a look into it.
    """
    feed.seek(max(0, start - 1))
    if start and not feed.readline().endswith(b"\n"):
        return [], 0
    begin = feed.tell()
    data = feed.read(max(0, stop - begin))
    if data and not data.endswith(b"\n"):
        data += feed.readline()
    size = data.rfind(b"\n") + 1
    return list(BytesIO(data[:size])), begin + size if size else 0


class Counts:
    """Counts of lines by day, run, host, archive and outcome: lines, held, requests, new, bytes."""

    def __init__(self) -> None:
        self.counts: dict[tuple[Any, ...], list[int]] = {}

    def add(self, line: Line, run: int, host: int | str, archive: str) -> None:
        """Count *line* of *run*; *host* by its number or, everywhere here, its name."""
        counts = self._of((line.time[:10], run, host, archive, line.outcome))
        counts[0] += 1
        counts[1] += line.is_held
        counts[2] += line.requests
        counts[3] += line.new
        counts[4] += line.size

    def _of(self, key: tuple[Any, ...]) -> list[int]:
        if (counts := self.counts.get(key)) is None:
            counts = self.counts[key] = [0, 0, 0, 0, 0]
        return counts


class Days(Counts):
    """Adds lines to the counts of ``daily``; they are there after :meth:`write`."""

    def __init__(self, db: sqlite3.Connection) -> None:
        super().__init__()
        self._db = db

    def _of(self, key: tuple[Any, ...]) -> list[int]:
        if len(self.counts) >= _MOST_DAYS and key not in self.counts:
            self.write()
        return super()._of(key)

    def put(self, key: tuple[Any, ...], values: Sequence[int]) -> None:
        """Add *values*, which were counted elsewhere."""
        counts = self._of(key)
        counts[:] = map(add, counts, values)

    def write(self) -> None:
        counts = sorted(self.counts.items())
        self._db.executemany(_DAILY, ((*key, *values) for key, values in counts))
        self.counts.clear()
