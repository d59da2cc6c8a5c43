"""Hands out the lines of a list so that many hosts are busy, however the list is sorted.

What a line is, a :class:`Form` says: a futli of a list, a file that is due.

The lines wait in a SQLite file, by host; only the hosts that have lines out are in memory, so
ten million lines and millions of hosts fit. The file is a queue, made anew from the list at each
run, and no ledger: nothing in it is ever synced, or read by another run.

Four tables: ``line`` holds the lines by number, ``waiting`` says which host they are for, and
``turn`` and ``answering`` hold the hosts that may be served, in rotation by one number: those that
have answered stand in the second. A host stands in one of the two once, if and only if it has
lines waiting and fewer than ``per_host`` out, or ``probes`` where it is not known to answer. Lines
that need no request wait under host 0 and have no turn.

A host is kept as its 64-bit hash, which makes ``waiting`` a third as large: its pages, touched
at random where each line has another host, then fit the cache for millions of hosts. Should two
hosts ever share a hash, they share their places too, and nothing else happens.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock
from typing import Generic, Protocol, TypeVar

from lafka.errors import StorageTrouble

_BATCH_LINES = 2_000
_BATCH_BYTES = 4 << 20

# hash("") is 0, and a URL without host has nobody to wait for.
_FREE = 0

# One transaction that never ends: nothing is written but what the cache cannot hold.
_OPEN = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA secure_delete = OFF;
PRAGMA cache_size = -49152;
CREATE TABLE line (number INTEGER PRIMARY KEY, data BLOB);
CREATE TABLE waiting (host INTEGER, number INTEGER, PRIMARY KEY (host, number)) WITHOUT ROWID;
CREATE TABLE turn (turn INTEGER PRIMARY KEY, host INTEGER);
CREATE TABLE answering (turn INTEGER PRIMARY KEY, host INTEGER);
BEGIN EXCLUSIVE;
"""
_NEXT_TURNS = """
SELECT * FROM (SELECT turn, host, 0 FROM turn ORDER BY turn LIMIT ?)
UNION ALL
SELECT * FROM (SELECT turn, host, 1 FROM answering ORDER BY turn LIMIT ?)
ORDER BY 1 LIMIT ?
"""


class ListLine(Protocol):
    """A line of a list: ``number`` is its own, ``host`` whom to ask, empty for nobody."""

    @property
    def number(self) -> int: ...

    @property
    def host(self) -> str: ...


AnyLine = TypeVar("AnyLine", bound=ListLine)


class Form(Protocol[AnyLine]):
    """The stored form of lines: ``unpack(line.number, pack(line)) == line``."""

    def pack(self, line: AnyLine) -> bytes: ...

    def unpack(self, number: int, data: bytes) -> AnyLine: ...


class HostFeeder(Generic[AnyLine]):
    """Lines of a list, interleaved by host.

    One thread may load while another takes; each call holds the lock for some milliseconds at
    most. StorageTrouble, from any call, where the file cannot be made or the disk is full.
    """

    def __init__(
        self,
        path: Path,
        form: Form[AnyLine],
        *,
        per_host: int = 1,
        probes: int | None = None,
    ) -> None:
        """Keep the lines in *path*, a new file; hand out at most *per_host* lines of a host.

        Of one that is not known to answer, *probes*; as many where that is None.
        """
        self._form = form
        self._path = path
        self.per_host = per_host
        self._probes = per_host if probes is None else probes
        self._lock = Lock()
        self._closing = Event()
        self._batch: list[_Stored] = []
        self._batch_bytes = 0
        self._out: dict[int, set[int]] = {}
        # Hosts that have as many lines out as they may and more waiting.
        self._held: set[int] = set()
        # Hosts that have lines out and are known to answer.
        self._answering: set[int] = set()
        self._turn = 0
        self._turns = 0  # of hosts that are not known to answer
        self._answering_turns = 0
        self._free_lines = 0
        self.total = 0
        self.loaded = False
        self.waiting_lines = 0
        with self._storage():
            _create(path)
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._db.executescript(_OPEN)
            # The file has no name from here on: whatever kills the run, nothing is left.
            path.unlink()

    @property
    def waiting_hosts(self) -> int:
        """The number of hosts that have lines waiting, busy or not."""
        return self._turns + self._answering_turns + len(self._held)

    @property
    def exhausted(self) -> bool:
        """True where the list is loaded and each of its lines was taken."""
        return self.loaded and not self.waiting_lines

    def load(self, lines: Iterable[AnyLine]) -> bool:
        """Store *lines*; a line can be taken as soon as it is read. Whether all were stored.

        Ends early when the feeder is closed. An error of *lines* passes through, and what was
        read before it can be taken; ``loaded`` is set then too, as nothing will follow.
        """
        try:
            for line in lines:
                if self._closing.is_set():
                    return False
                self._add((hash(line.host), line.number, self._form.pack(line)))
            return True
        finally:
            with self._lock:
                self.loaded = True
                self._store_batch()

    def pass_by(self, count: int) -> None:
        """Count lines of the list that ended without being stored here."""
        with self._lock:
            self.total += count

    def _add(self, stored: _Stored) -> None:
        with self._lock:
            self._batch.append(stored)
            self._batch_bytes += len(stored[2])
            self.total += 1
            self.waiting_lines += 1
            if len(self._batch) >= _BATCH_LINES or self._batch_bytes >= _BATCH_BYTES:
                self._store_batch()

    def take(self, limit: int = 1, *, new: int | None = None) -> list[AnyLine]:
        """Up to *limit* lines that can be asked for now; each keeps a place of its host.

        Lines that need no request come first, then one of each host that has a place, the host
        that was served longest ago first; at most *new* of hosts that are not known to answer.
        Lines of one host come in the order of the list.
        """
        left = limit if new is None else new
        with self._lock:
            if self._closing.is_set():
                return []
            if self._turns + self._answering_turns + self._free_lines < limit:
                self._store_batch()
            with self._storage():
                lines = self._take_free(limit)
                while taken := self._take_turns(limit - len(lines), left):
                    lines += taken
                    left -= sum(hash(line.host) not in self._answering for line in taken)
            self.waiting_lines -= len(lines)
            return lines

    def answers(self, line: AnyLine) -> bool:
        """Return whether the host of a line that was taken is known to answer."""
        return hash(line.host) in self._answering

    def release(self, line: AnyLine, *, answered: bool | None = None) -> None:
        """Give back the place of a line that was taken; nothing for any other line.

        *answered*: whether its host has answered, None where it was not asked. What is known of
        it is kept as long as it has lines here.
        """
        host = hash(line.host)
        with self._lock:
            numbers = self._out.get(host)
            if not numbers or line.number not in numbers or self._closing.is_set():
                return
            numbers.remove(line.number)
            if answered is not None:
                (self._answering.add if answered else self._answering.discard)(host)
            if host in self._held and not self._is_full(host):
                self._held.remove(host)
                with self._storage():
                    self._queue([host])
            if not numbers:
                del self._out[host]
                self._answering.discard(host)

    def drop(self, numbers: range) -> int:
        """Forget the waiting lines of *numbers*, those that are not taken; how many there were."""
        dropped = 0
        bounds = numbers.start, numbers.stop, _BATCH_LINES
        query = "SELECT number, data FROM line WHERE number >= ? AND number < ? LIMIT ?"
        while True:
            with self._lock:
                if self._closing.is_set():
                    return dropped
                self._store_batch()
                with self._storage():
                    rows = self._db.execute(query, bounds).fetchall()
                    self._drop_rows(rows)
            if not rows:
                return dropped
            dropped += len(rows)

    def _drop_rows(self, rows: list[tuple[int, bytes]]) -> None:
        places = [(hash(self._form.unpack(n, data).host), n) for n, data in rows]
        self._db.executemany("DELETE FROM waiting WHERE host = ? AND number = ?", places)
        self._db.executemany("DELETE FROM line WHERE number = ?", ((n,) for _, n in places))
        self._free_lines -= sum(host == _FREE for host, _ in places)
        self.waiting_lines -= len(places)
        self.total -= len(places)
        gone = {host for host, _ in places if not self._numbers(host, 1)}
        self._held -= gone
        marks = ",".join("?" * len(gone))
        of_gone = f"WHERE host IN ({marks})"
        self._turns -= self._db.execute(f"DELETE FROM turn {of_gone}", [*gone]).rowcount  # noqa: S608
        deleted = self._db.execute(f"DELETE FROM answering {of_gone}", [*gone])  # noqa: S608
        self._answering_turns -= deleted.rowcount

    def holds(self, numbers: range) -> bool:
        """Return whether a line of *numbers* waits."""
        query = "SELECT 1 FROM line WHERE number >= ? AND number < ? LIMIT 1"
        with self._lock:
            if self._closing.is_set():
                return False
            self._store_batch()
            with self._storage():
                return bool(self._db.execute(query, (numbers.start, numbers.stop)).fetchall())

    def close(self) -> None:
        """Forget all lines and stop a load in another thread at its next line."""
        self._closing.set()
        with self._lock:
            self._db.close()

    def _store_batch(self) -> None:
        batch, self._batch, self._batch_bytes = self._batch, [], 0
        if not batch or self._closing.is_set():
            return
        # In the order in which the list names them.
        hosts = dict.fromkeys(host for host, _, _ in batch)
        if _FREE in hosts:
            self._free_lines += sum(host == _FREE for host, _, _ in batch)
            del hosts[_FREE]
        full = {host for host in hosts.keys() & self._out.keys() if self._is_full(host)}
        self._held |= full
        with self._storage():
            self._queue_new(host for host in hosts if host not in full)
            self._db.executemany("INSERT INTO line VALUES (?, ?)", (stored[1:] for stored in batch))
            places = sorted(stored[:2] for stored in batch)
            self._db.executemany("INSERT INTO waiting VALUES (?, ?)", places)

    def _queue_new(self, hosts: Iterable[int]) -> None:
        """Give a turn to each of *hosts* that has none, being without waiting lines."""
        hosts = list(hosts)
        known = self._answering.intersection(hosts)
        self._turns += self._added("turn", (host for host in hosts if host not in known))
        self._answering_turns += self._added("answering", known)

    def _added(self, table: str, hosts: Iterable[int]) -> int:
        """Return how many of *hosts* have a turn now that had none."""
        added = self._db.executemany(
            f"INSERT INTO {table} SELECT ?, ?"  # noqa: S608  # one of our own two
            " WHERE NOT EXISTS (SELECT 1 FROM waiting WHERE host = ?)",
            ((self._next_turn(), host, host) for host in hosts),
        )
        return max(added.rowcount, 0)

    def _queue(self, hosts: list[int]) -> None:
        for host in hosts:
            row = self._next_turn(), host
            if host in self._answering:
                self._db.execute("INSERT INTO answering VALUES (?, ?)", row)
                self._answering_turns += 1
            else:
                self._db.execute("INSERT INTO turn VALUES (?, ?)", row)
                self._turns += 1

    def _next_turn(self) -> int:
        self._turn += 1
        return self._turn

    def _is_full(self, host: int) -> bool:
        most = self.per_host if host in self._answering else self._probes
        return len(self._out.get(host, ())) >= most

    def _take_free(self, limit: int) -> list[AnyLine]:
        if not self._free_lines:
            return []
        lines = [self._pop(_FREE, number) for number in self._numbers(_FREE, limit)]
        self._free_lines -= len(lines)
        return lines

    def _take_turns(self, limit: int, new: int) -> list[AnyLine]:
        """One line of each of the next *limit* hosts, at most *new* not known to answer."""
        most = (min(new, self._turns), self._answering_turns, limit)
        turns = self._db.execute(_NEXT_TURNS, most).fetchall() if any(most[:2]) else []
        lines = []
        again = []
        for _, host, answers in turns:
            if answers:
                self._answering.add(host)
            number, *more = self._numbers(host, 2)
            lines.append(self._pop(host, number))
            self._out.setdefault(host, set()).add(number)
            if more and self._is_full(host):
                self._held.add(host)
            elif more:
                again.append(host)
        self._forget(turns)
        self._queue(again)
        return lines

    def _forget(self, turns: list[tuple[int, int, int]]) -> None:
        """Delete *turns*, which are the first of each of the two tables."""
        new = [turn for turn, _, answers in turns if not answers]
        answering = [turn for turn, _, answers in turns if answers]
        if new:
            self._db.execute("DELETE FROM turn WHERE turn <= ?", (new[-1],))
        if answering:
            self._db.execute("DELETE FROM answering WHERE turn <= ?", (answering[-1],))
        self._turns -= len(new)
        self._answering_turns -= len(answering)

    def _numbers(self, host: int, limit: int) -> list[int]:
        """Numbers of the first waiting lines of *host*."""
        query = "SELECT number FROM waiting WHERE host = ? ORDER BY number LIMIT ?"
        return [number for (number,) in self._db.execute(query, (host, limit))]

    def _pop(self, host: int, number: int) -> AnyLine:
        query = "SELECT data FROM line WHERE number = ?"
        (data,) = self._db.execute(query, (number,)).fetchone()
        self._db.execute("DELETE FROM line WHERE number = ?", (number,))
        self._db.execute("DELETE FROM waiting WHERE host = ? AND number = ?", (host, number))
        return self._form.unpack(number, data)

    @contextmanager
    def _storage(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            full = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
            code = errno.ENOSPC if full else errno.EIO
            raise StorageTrouble(self._path, OSError(code, str(error))) from error
        except OSError as error:
            raise StorageTrouble(self._path, error) from error


_Stored = tuple[int, int, bytes]


def _create(path: Path) -> None:
    """An empty file, that nobody else has, for SQLite to take; ``FileExistsError``."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    os.close(os.open(path, flags, 0o644))
