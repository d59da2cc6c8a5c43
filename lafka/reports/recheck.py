"""Links that once had a fut and were not asked for long: a list for ``scrapy crawl futli``."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator

_BREAKS = re.compile(r"[\t\r\n]")


def lines(db: sqlite3.Connection, before: str) -> Iterator[tuple[str, str]]:
    """Pid and futli of links that were last known before the time *before*, hosts in turn.

    Oldest first within a host. What no line of a list can hold is left out.
    """
    rows = db.execute(
        "SELECT p.pid, l.url FROM (SELECT *, max(had, coalesce(asked, '')) AS known,"
        " row_number() OVER (PARTITION BY host ORDER BY max(had, coalesce(asked, '')), url, paper)"
        " AS turn FROM futli WHERE had IS NOT NULL AND max(had, coalesce(asked, '')) < ?) l"
        " JOIN paper p ON p.id = l.paper JOIN host h ON h.id = l.host"
        " ORDER BY l.turn, h.name, p.pid, l.url", (before,)
    )  # fmt: skip
    return ((pid, futli) for pid, futli in rows if not _BREAKS.search(f"{pid}{futli}"))
