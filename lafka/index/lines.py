"""Feeds line by line, and the counts of their lines by day: what both ways to an index need.

A feed is append-only: whole lines are read from a byte on, a torn last one waits.
"""

from __future__ import annotations

import sqlite3
from typing import Any, BinaryIO

from lafka.index.rows import Line

_DAILY = (
    "INSERT INTO daily VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET lines ="
    " lines + excluded.lines, held = held + excluded.held, requests = requests + excluded.requests,"
    " new = new + excluded.new, bytes = bytes + excluded.bytes"
)
_MOST_DAYS = 50_000
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


class Days:
    """Adds lines to the counts of ``daily``; they are there after :meth:`write`."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._counts: dict[tuple[Any, ...], list[int]] = {}

    def add(self, line: Line, run: int, host: int, archive: str) -> None:
        """Count *line* of the run and host of these numbers."""
        key = line.time[:10], run, host, archive, line.outcome
        counts = self._counts.get(key)
        if counts is None:
            if len(self._counts) >= _MOST_DAYS:
                self.write()
            counts = self._counts[key] = [0, 0, 0, 0, 0]
        counts[0] += 1
        counts[1] += line.is_held
        counts[2] += line.requests
        counts[3] += line.new
        counts[4] += line.size

    def write(self) -> None:
        counts = sorted(self._counts.items())
        self._db.executemany(_DAILY, ((*key, *values) for key, values in counts))
        self._counts.clear()
