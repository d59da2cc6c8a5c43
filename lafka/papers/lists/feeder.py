"""Hands out the lines of a list so that many hosts are busy, however the list is sorted.

The lines wait in a SQLite file, by host; only the hosts that have lines out are in memory, so
ten million lines and millions of hosts fit. The file is a queue, made anew from the list at each
run, and no ledger: nothing in it is ever synced, or read by another run.

Three tables: ``line`` holds the lines by number, ``waiting`` says which host they are for, and
``turn`` holds the hosts that may be served, in rotation. A host stands in ``turn`` once, if and
only if it has lines waiting and fewer than ``per_host`` out. Lines that need no request wait
under host 0 and have no turn.

A host is kept as its 64-bit hash, which makes ``waiting`` a third as large: its pages, touched
at random where each line has another host, then fit the cache for millions of hosts. Should two
hosts ever share a hash, they share their places too, and nothing else happens.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from contextlib import contextmanager
from threading import Event, Lock
from typing import TYPE_CHECKING

from lafka.errors import StorageTrouble
from lafka.papers.lists.futlis import Futli, Line
from lafka.pids import Pid

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

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
BEGIN EXCLUSIVE;
"""


class Feeder:
    """Lines of a list, interleaved by host.

    One thread may load while another takes; each call holds the lock for some milliseconds at
    most. StorageTrouble, from any call, where the file cannot be made or the disk is full.
    """

    def __init__(self, path: Path, *, per_host: int = 1) -> None:
        """Keep the lines in *path*, a new file; hand out at most *per_host* lines of a host."""
        self._path = path
        self.per_host = per_host
        self._lock = Lock()
        self._closing = Event()
        self._batch: list[_Stored] = []
        self._batch_bytes = 0
        self._out: dict[int, set[int]] = {}
        # Hosts that have per_host lines out and more waiting.
        self._held: set[int] = set()
        self._turns = 0
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
        """How many hosts have lines waiting, busy or not."""
        return self._turns + len(self._held)

    @property
    def exhausted(self) -> bool:
        """Whether the list is loaded and each of its lines was taken."""
        return self.loaded and not self.waiting_lines

    def load(self, lines: Iterable[Line]) -> bool:
        """Store *lines*; a line can be taken as soon as it is read. Whether all were stored.

        Ends early when the feeder is closed. An error of *lines* passes through, and what was
        read before it can be taken; ``loaded`` is set then too, as nothing will follow.
        """
        try:
            for line in lines:
                if self._closing.is_set():
                    return False
                self._add((_place(line), line.number, _packed(line)))
            return True
        finally:
            with self._lock:
                self.loaded = True
                self._store_batch()

    def _add(self, stored: _Stored) -> None:
        with self._lock:
            self._batch.append(stored)
            self._batch_bytes += len(stored[2])
            self.total += 1
            self.waiting_lines += 1
            if len(self._batch) >= _BATCH_LINES or self._batch_bytes >= _BATCH_BYTES:
                self._store_batch()

    def take(self, limit: int = 1) -> list[Line]:
        """Up to *limit* lines that can be asked for now; each keeps a place of its host.

        Lines that need no request come first, then one of each host that has a place, the host
        that was served longest ago first. Lines of one host come in the order of the list.
        """
        with self._lock:
            if self._closing.is_set():
                return []
            if self._turns + self._free_lines < limit:
                self._store_batch()
            with self._storage():
                lines = self._take_free(limit)
                while len(lines) < limit and self._turns:
                    lines += self._take_turns(limit - len(lines))
            self.waiting_lines -= len(lines)
            return lines

    def release(self, line: Line) -> None:
        """Give back the place of a line that was taken; nothing for any other line."""
        host = _place(line)
        with self._lock:
            numbers = self._out.get(host)
            if not numbers or line.number not in numbers or self._closing.is_set():
                return
            numbers.remove(line.number)
            if not numbers:
                del self._out[host]
            if host in self._held:
                self._held.remove(host)
                with self._storage():
                    self._queue([(host,)])

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
        added = self._db.executemany(
            "INSERT INTO turn (host) SELECT ?"
            " WHERE NOT EXISTS (SELECT 1 FROM waiting WHERE host = ?)",
            ((host, host) for host in hosts),
        )
        self._turns += max(added.rowcount, 0)

    def _queue(self, hosts: list[tuple[int]]) -> None:
        self._db.executemany("INSERT INTO turn (host) VALUES (?)", hosts)
        self._turns += len(hosts)

    def _is_full(self, host: int) -> bool:
        return len(self._out.get(host, ())) >= self.per_host

    def _take_free(self, limit: int) -> list[Line]:
        if not self._free_lines:
            return []
        lines = [self._pop(_FREE, number) for number in self._numbers(_FREE, limit)]
        self._free_lines -= len(lines)
        return lines

    def _take_turns(self, limit: int) -> list[Line]:
        """One line of each of the next *limit* hosts."""
        turns = self._db.execute(
            "SELECT turn, host FROM turn ORDER BY turn LIMIT ?", (limit,)
        ).fetchall()
        self._db.execute("DELETE FROM turn WHERE turn <= ?", (turns[-1][0],))
        self._turns -= len(turns)
        lines = []
        again = []
        for _, host in turns:
            number, *more = self._numbers(host, 2)
            lines.append(self._pop(host, number))
            self._out.setdefault(host, set()).add(number)
            if more and self._is_full(host):
                self._held.add(host)
            elif more:
                again.append((host,))
        self._queue(again)
        return lines

    def _numbers(self, host: int, limit: int) -> list[int]:
        """Numbers of the first waiting lines of *host*."""
        query = "SELECT number FROM waiting WHERE host = ? ORDER BY number LIMIT ?"
        return [number for (number,) in self._db.execute(query, (host, limit))]

    def _pop(self, host: int, number: int) -> Line:
        query = "SELECT data FROM line WHERE number = ?"
        (data,) = self._db.execute(query, (number,)).fetchone()
        self._db.execute("DELETE FROM line WHERE number = ?", (number,))
        self._db.execute("DELETE FROM waiting WHERE host = ? AND number = ?", (host, number))
        return _unpacked(number, data)

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


def _place(line: Line) -> int:
    """The hash of the host that has to be asked, _FREE where none has."""
    return hash(line.futli.host) if line.futli and line.outcome is None else _FREE


# Bytes that are in no UTF-8, not even with surrogates: no text is mistaken for them.
_END = b"\xff"
_NONE = b"\xfe"
_AS_CAME = b"\xfd"


def _packed(line: Line) -> bytes:
    fields = [line.pid_text, line.url_text, line.outcome, line.problem]
    packed = [_NONE if field is None else _bytes(field) for field in fields]
    if futli := line.futli:
        packed += [
            _AS_CAME if futli.pid.text == line.pid_text else _bytes(futli.pid.text),
            _bytes(futli.pid.path),
            _AS_CAME if futli.url == line.url_text else _bytes(futli.url),
        ]
    return _END.join(packed)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _unpacked(number: int, data: bytes) -> Line:
    pid_text, url_text, outcome, problem, *futli = data.split(_END)
    return Line(
        number=number,
        pid_text=_text(pid_text),
        url_text=_text(url_text),
        outcome=None if outcome == _NONE else _text(outcome),
        problem=None if problem == _NONE else _text(problem),
        futli=_futli(*futli, pid_text=pid_text, url_text=url_text) if futli else None,
    )


def _futli(pid: bytes, path: bytes, url: bytes, *, pid_text: bytes, url_text: bytes) -> Futli:
    return Futli(
        pid=Pid(text=_text(pid_text if pid == _AS_CAME else pid), path=_text(path)),
        url=_text(url_text if url == _AS_CAME else url),
    )


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
