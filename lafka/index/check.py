"""Whether an index equals one made anew, row by row.

Numbers of rows, times of folders and ``as_of`` are left aside, and titles.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from lafka.index import tables
from lafka.index.build import Builder, Place, drafted
from lafka.index.papers import Account
from lafka.papers import Archive
from lafka.warc.errors import BadIndex

ROWS = {
    "meta": "SELECT key, value FROM meta WHERE key NOT IN ('as_of', 'lafka') ORDER BY key",
    "folder": "SELECT path, ino FROM folder ORDER BY path",
    "run": "SELECT name, state, reason, started, finished, host, list, lines, requests, new, held,"
    " bytes, seconds, legacy, feed_offset, feed_tail, report_mtime_ns, report_size FROM run"
    " ORDER BY name",
    "host": "SELECT name FROM host ORDER BY name",
    "waits": "SELECT r.name, h.name, w.kind, w.times, w.longest, w.time, w.why FROM waits w"
    " JOIN run r ON r.id = w.run JOIN host h ON h.id = w.host ORDER BY 1, 2, 3",
    "paper": "SELECT pid, archive, series, p.year, f.path, p.path, p.mtime_ns, p.size, p.ino,"
    " warc_bytes, futs, first, last, problem FROM paper p LEFT JOIN folder f ON f.id = p.folder"
    " ORDER BY pid",
    "futli": "SELECT p.pid, l.url, h.name, l.open, l.state, l.outcome, l.asked, l.asks,"
    " l.requests, l.first_had, l.had, l.lost_since, l.lost_by, l.fails, l.back_since, d.name,"
    " l.secure, l.reread"
    " FROM futli l JOIN paper p ON p.id = l.paper JOIN host h ON h.id = l.host"
    " LEFT JOIN host d ON d.id = l.final_host ORDER BY 1, 2",
    "fut": "SELECT p.pid, l.url, f.time, f.s, f.l, f.digest, f.url, f.found_by, f.label FROM fut f"
    " JOIN futli l ON l.id = f.futli JOIN paper p ON p.id = l.paper ORDER BY 1, 2, 3",
    "asked": "SELECT p.pid, l.url, a.time, r.name, a.outcome, a.times, a.until, e.name, a.requests,"
    " a.new, a.digests, a.found_by, a.landing, a.tried, a.first_right, a.capped, a.error"
    " FROM asked a JOIN futli l ON l.id = a.futli JOIN paper p ON p.id = l.paper"
    " JOIN run r ON r.id = a.run JOIN run e ON e.id = a.last_run ORDER BY 1, 2, 3, 4",
    "daily": "SELECT d.day, r.name, h.name, d.archive, d.outcome, d.lines, d.held,"
    " d.requests, d.new, d.bytes FROM daily d JOIN run r ON r.id = d.run"
    " JOIN host h ON h.id = d.host ORDER BY 1, 2, 3, 4, 5",
    "words": "SELECT p.pid, w.pid, w.url FROM words w LEFT JOIN paper p ON p.id = w.rowid"
    " ORDER BY 1",
}
"""Each table's rows by names, not numbers, in a total order; titles apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A row that only one of two indexes has: ``index`` or ``anew``."""

    table: str
    side: str
    row: tuple[Any, ...]

    def as_json(self) -> dict[str, Any]:
        row = [value.hex() if isinstance(value, bytes) else value for value in self.row]
        return {"table": self.table, "only": self.side, "row": row}


def differences(one: sqlite3.Connection, other: sqlite3.Connection) -> Iterator[Difference]:
    """The rows in which two indexes differ; memory is that of the rows between two equal ones."""
    for table, question in ROWS.items():
        mine: dict[tuple[Any, ...], int] = {}
        for here, there in zip_longest(one.execute(question), other.execute(question)):
            if here == there and not mine:
                continue
            for row, step in ((here, 1), (there, -1)):
                if row is not None and not (count := mine.get(row, 0) + step):
                    del mine[row]
                elif row is not None:
                    mine[row] = count
        for row, count in sorted(mine.items(), key=repr):
            yield Difference(table=table, side="index" if count > 0 else "anew", row=row)


def check(archive: Archive, place: Place) -> Iterator[Difference]:
    """Where the index at *place* differs from one made anew of *archive*, as it is now.

    ``BadIndex`` where a page of it is damaged, ``ArchiveBusy``, ``StorageTrouble``.
    """
    with place.locked():
        try:
            yield from _compared(archive, place)
        finally:
            tables.remove(place.draft)


def _compared(archive: Archive, place: Place) -> Iterator[Difference]:
    account = Account()
    with drafted(place) as anew:
        Builder(anew, archive, place, account=account).run()
        index = tables.open_to_read(place.database)
        with tables.telling(place.database):
            try:
                _sound(index, place.database)
                yield from differences(index, anew)
            finally:
                index.close()


def _sound(db: sqlite3.Connection, path: Path) -> None:
    told = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if told != "ok":
        raise BadIndex(path, told)
