"""The index of an archive's filesets: which request had a hit, and what was told of it.

It says where to look; the summary says what is there. It can be thrown away: then a request is
asked for its landing page again, and its fileset found to exist. Beside it stand the attempts: how
often a message was begun that has not ended.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lafka.errors import StorageTrouble
from lafka.filesets.archive.filesets import Filesets
from lafka.storage.folders import make_folders
from lafka.warc.indexes.sqlite import write_ahead

NAME = "index.sqlite"
_TABLES = """
CREATE TABLE IF NOT EXISTS hits (
    ingest_type TEXT NOT NULL,
    base_url TEXT NOT NULL,
    fileset TEXT NOT NULL,
    version TEXT NOT NULL,
    time TEXT NOT NULL,
    result TEXT NOT NULL,
    told INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (ingest_type, base_url)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS attempts (
    message TEXT NOT NULL PRIMARY KEY,
    begins INTEGER NOT NULL
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A request's last hit: its result, when that was, and whether it was acknowledged."""

    fileset: str
    version: str
    time: str
    result: dict[str, Any]
    told: bool


class HitIndex:
    """The index below *filesets*; its methods block, and threads take turns."""

    def __init__(self, filesets: Filesets) -> None:
        self._filesets = filesets
        self._path = filesets.folder / NAME
        self._turn = threading.Lock()
        self._open: sqlite3.Connection | None = None

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        with self._turn:
            try:
                if self._open is None:
                    self._open = _opened(self._path)
                with self._open:
                    yield self._open
            except sqlite3.Error as error:
                raise StorageTrouble(self._path, OSError(str(error))) from error

    def former(self, ingest_type: str, base_url: str) -> Hit | None:
        """The last hit of a request, where its version is still held as a whole."""
        with self._database() as database:
            row = database.execute(
                "SELECT fileset, version, time, result, told FROM hits"
                " WHERE ingest_type = ? AND base_url = ?",
                (ingest_type, base_url),
            ).fetchone()
        if row is None:
            return None
        fileset, version, time, result, told = row
        if not self._is_held(fileset, version):
            return None
        return Hit(
            fileset=fileset, version=version, time=time, result=json.loads(result), told=bool(told)
        )

    def _is_held(self, fileset: str, version: str) -> bool:
        """Return whether every file of the version stands where the summary says."""
        try:
            held = self._filesets.summary(fileset).versions.get(version)
            if held is None or not held.complete:
                return False
            warc = self._filesets.warc_path(self._filesets.pid(fileset))
            return warc.is_file() and not self._filesets.lost(held.files.values())
        except (OSError, LookupError, ValueError):
            return False

    def note(self, result: Mapping[str, Any], fileset: str, version: str, time: str) -> None:
        """Note *result*, a hit; it is not told yet."""
        request = result["request"]
        text = json.dumps(result, ensure_ascii=False).encode("utf-8", "surrogatepass")
        with self._database() as database:
            database.execute(
                "INSERT OR REPLACE INTO hits VALUES (?, ?, ?, ?, ?, ?, 0)",
                (request["ingest_type"], request["base_url"], fileset, version, time,
                 text.decode("utf-8", "replace")),
            )  # fmt: skip

    def tell(self, keys: list[tuple[str, str]]) -> None:
        """Note that the hits of requests, type and URL, were acknowledged."""
        with self._database() as database:
            database.executemany(
                "UPDATE hits SET told = 1 WHERE ingest_type = ? AND base_url = ?", keys
            )

    def begin(self, message: str, below: int) -> int:
        """Count that *message* is begun, unless it was *below* times before; how often it was.

        Begins that ended, or came any further, are not counted. A kill undoes none.
        """
        with self._database() as database:
            rows = database.execute("SELECT begins FROM attempts WHERE message = ?", (message,))
            before = int((rows.fetchone() or (0,))[0])
            if before < below:
                database.execute(
                    "INSERT OR REPLACE INTO attempts VALUES (?, ?)", (message, before + 1)
                )
        return before

    def forget(self, messages: Iterable[str]) -> None:
        """Count the begins of *messages* no more."""
        with self._database() as database:
            database.executemany(
                "DELETE FROM attempts WHERE message = ?", [(message,) for message in messages]
            )

    def close(self) -> None:
        with self._turn:
            if self._open is not None:
                self._open.close()
                self._open = None


def _opened(path: Path) -> sqlite3.Connection:
    make_folders(path.parent)
    database = sqlite3.connect(path, check_same_thread=False, timeout=60)
    write_ahead(database)
    database.execute("PRAGMA synchronous = NORMAL")  # of a lost row only a landing page is asked
    database.executescript(_TABLES)
    return database
