"""The one template of several of a handle that counts, whatever order they come in.

The one in its own folder does, else the first in byte order of path, then offset. What is claimed
lies in a nameless database on disk, so memory is bounded however many templates there are.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, NamedTuple

from lafka.errors import StorageTrouble

if TYPE_CHECKING:
    from collections.abc import Iterator

_TABLES = (
    """CREATE TABLE claim (handle TEXT PRIMARY KEY, outside INTEGER, path TEXT, at INTEGER,
    line INTEGER, digest BLOB, held TEXT) WITHOUT ROWID""",
    "CREATE TABLE beaten (handle TEXT, path TEXT, line INTEGER, digest BLOB)",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A template's claim to its handle.

    ``outside`` says that it does not stand in its own folder; ``path``, ``at`` and ``line`` are
    where it stands; ``digest`` is equal for templates of one text.
    """

    handle: str
    outside: bool
    path: str
    at: int
    line: int
    digest: bytes

    @property
    def rank(self) -> tuple[bool, str, int]:
        """The lowest counts."""
        return self.outside, self.path, self.at


class Duplicate(NamedTuple):
    """A template that does not count, and where the one stands that does, whose text is another."""

    handle: str
    path: str
    line: int
    counts: str
    counts_line: int


class Claims:
    """The best claim to each handle so far, and what is held back of it."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._execute("PRAGMA journal_mode = OFF")
        for table in _TABLES:
            self._execute(table)
        self._execute("BEGIN")  # one for all: nobody else reads it, and it is gone in the end

    def close(self) -> None:
        """Drop everything; nothing is left on disk."""
        self._database.close()

    def put(self, claim: Claim, held: Any = None) -> bool:
        """Take up *claim* and, as JSON, what is *held* of it; whether it is the best so far."""
        row = (claim.handle, *claim.rank, claim.line, claim.digest, json.dumps(held))
        if self._execute("INSERT OR IGNORE INTO claim VALUES (?, ?, ?, ?, ?, ?, ?)", row).rowcount:
            return True
        other = self._claim(claim.handle)
        best = claim.rank < other.rank
        beaten = other if best else claim
        if best:
            self._execute("REPLACE INTO claim VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        told = (beaten.handle, beaten.path, beaten.line, beaten.digest)
        self._execute("INSERT INTO beaten VALUES (?, ?, ?, ?)", told)
        return best

    def duplicates(self) -> Iterator[Duplicate]:
        """The templates that were beaten by one of another text, by path and line."""
        yield from map(
            Duplicate._make,
            self._execute(
                "SELECT handle, beaten.path, beaten.line, claim.path, claim.line"
                " FROM beaten JOIN claim USING (handle) WHERE beaten.digest <> claim.digest"
                " ORDER BY beaten.path, beaten.line"
            ),
        )

    def held(self) -> Iterator[tuple[str, Any]]:
        """Handle and what is held, of those of which anything is, the best claims first."""
        rows = self._execute(
            "SELECT handle, held FROM claim WHERE held <> 'null' ORDER BY outside, path, at"
        )
        for handle, held in rows:
            yield handle, json.loads(held)

    def _execute(self, statement: str, values: tuple[object, ...] = ()) -> sqlite3.Cursor:
        try:
            return self._database.execute(statement, values)
        except sqlite3.Error as error:
            raise StorageTrouble(gettempdir(), OSError(0, f"no room to sort: {error}")) from None

    def _claim(self, handle: str) -> Claim:
        query = "SELECT outside, path, at, line, digest FROM claim WHERE handle = ?"
        outside, path, at, line, digest = self._execute(query, (handle,)).fetchone()
        return Claim(
            handle=handle, outside=bool(outside), path=path, at=at, line=line, digest=digest
        )
