"""The site that is served: an archive, its index, what is withheld, and its origins."""

from __future__ import annotations

import hmac
import os
import re
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from stat import S_ISREG
from time import time
from typing import TypeVar
from urllib.parse import quote

from lafka.errors import NotHeld, OperatorError, ShortWarc, StorageTrouble
from lafka.index import tables
from lafka.papers import Archive, Excludes, Fut, Pid, Suwaf, pieces
from lafka.storage.folders import opened_below
from lafka.warc import Volume
from lafka.warc.converting.packing import Piece
from lafka.warc.indexes.sqlite import SqliteIndex

LIFETIME = 3600
"""Seconds: as long as somebody looks at a replayed page, whose worker reads it bit by bit."""
_TOKEN = re.compile(r"([0-9]{1,12})-([0-9a-f]{64})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Makes and checks tokens, each for one paper."""

    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    clock: Callable[[], float] = time

    def token(self, pid: Pid) -> str:
        """Return a token for *pid*, its end in front."""
        end = int(self.clock()) + LIFETIME
        return f"{end}-{self._digest(pid, end)}"

    def check(self, pid: Pid, token: str) -> None:
        """Raise ``NotHeld`` where *token* is not one for *pid*, or is past its end."""
        found = _TOKEN.fullmatch(token)
        if found is None or not hmac.compare_digest(found[2], self._digest(pid, int(found[1]))):
            raise NotHeld("no such page")
        if int(found[1]) < self.clock():
            raise NotHeld("this address has ended: open the replay from the page of the paper")

    def _digest(self, pid: Pid, end: int) -> str:
        return hmac.new(self.secret, f"{end} {pid}".encode(), "sha256").hexdigest()


_SHARING = """
SELECT q.pid FROM paper p JOIN futli l ON l.paper = p.id JOIN futli m ON m.url = l.url
  JOIN paper q ON q.id = m.paper WHERE p.pid = ?1 AND q.id <> p.id
UNION SELECT q.pid FROM paper p JOIN futli l ON l.paper = p.id JOIN fut f ON f.futli = l.id
  JOIN fut g ON g.digest = f.digest JOIN futli m ON m.id = g.futli
  JOIN paper q ON q.id = m.paper WHERE p.pid = ?1 AND q.id <> p.id
"""
_T = TypeVar("_T")


class Withheld(NotHeld):
    """A paper whose bytes are not given out: HTTP 451."""


class NotIndexed(OperatorError):
    """Nothing can be said of captures yet, nor that one is not here: HTTP 503."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origins:
    """The origins of our pages and of the bytes of others, without a slash at the end.

    *replayweb*: where ReplayWeb.page is, if the operator has one served; a ``*`` in it stands for
    a name of each paper's own.
    """

    pages: str
    bytes: str
    replayweb: str = ""

    def replayweb_for(self, pid: Pid) -> str:
        """Return the origin at which *pid* is replayed."""
        return self.replayweb.replace("*", sha256(str(pid).encode()).hexdigest()[:40])


@dataclass
class Site:
    """An *archive* with its index in the folder *index*.

    *withheld* is a file of pids and patterns, read again when it changes. For many threads.
    """

    archive: Archive
    index: Path
    origins: Origins
    withheld: Path | None = None
    tokens: Tokens = field(default_factory=Tokens)
    _local: threading.local = field(default_factory=threading.local, repr=False)
    _excludes: tuple[tuple[int, int], Excludes] | None = field(default=None, repr=False)
    _watch: tuple[object, sqlite3.Connection] | None = field(default=None, repr=False)
    _watching: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def captures(self) -> Path:
        """The index of all records, by URL and time."""
        return self.index / "captures.sqlite"

    def db(self) -> sqlite3.Connection:
        """The connection of this thread to the index; a new one where the file is another by now.

        ``BadIndex``, ``StorageTrouble``.
        """
        return self._kept("db", self.index / tables.NAME, tables.open_to_read)

    def version(self) -> tuple[object, int]:
        """Return what is another after each change of the index; ``BadIndex``, ``StorageTrouble``.

        One connection asks for all threads, as SQLite's count of changes is each connection's own.
        """
        path = self.index / tables.NAME
        with self._watching, tables.reraising(path):
            now = _identity(path)
            if self._watch is None or self._watch[0] != now:
                if self._watch:
                    self._watch[1].close()
                self._watch = None
                self._watch = now, tables.open_to_read(path)
            return now, self._watch[1].execute("PRAGMA data_version").fetchone()[0]

    def captures_index(self) -> SqliteIndex:
        """The index of captures, as :meth:`db`; ``NotIndexed`` where there is none yet."""
        if not self.captures.is_file():
            raise NotIndexed("captures are not indexed: lafka index --captures does it")
        return self._kept("captures", self.captures, SqliteIndex)

    def _kept(self, name: str, path: Path, opened: Callable[[Path], _T]) -> _T:
        """Return what *opened* gave this thread for *path*, as long as the file is the same."""
        held = getattr(self._local, name, None)
        now = _identity(path)
        if held is not None and held[0] == now:
            kept: _T = held[1]
            return kept
        if held is not None:
            held[1].close()
            setattr(self._local, name, None)
        made = opened(path)
        setattr(self._local, name, (now, made))
        return made

    def pid(self, text: str) -> Pid:
        """The pid *text*; ``BadPid``."""
        return self.archive.pid(text)

    def open_pid(self, text: str) -> Pid:
        """The pid *text* of a paper whose bytes may be given out; ``BadPid``, ``Withheld``."""
        pid = self.pid(text)
        if self.is_withheld(pid):
            raise Withheld(f"{pid}: withheld")
        return pid

    def is_withheld(self, pid: Pid) -> bool:
        """Return whether *pid* is in the file of those withheld, as it is now, or has a link or
        the bytes of one that is; ``BadList``, ``BadIndex``.
        """
        if self.withheld is None:
            return False
        stat = self.withheld.stat()
        stamp = (stat.st_mtime_ns, stat.st_size)
        if self._excludes is None or self._excludes[0] != stamp:
            self._excludes = stamp, Excludes.load(self.withheld, self.archive.scheme)
        excludes = self._excludes[1]
        if excludes.match(pid) is not None:
            return True
        with tables.reraising(self.index / tables.NAME):
            sharing = self.db().execute(_SHARING, (str(pid),)).fetchall()
        return any(excludes.match(self.pid(other)) is not None for (other,) in sharing)

    # ---- What is read of a paper: no symbolic link below warc/ or suwaf/ is followed

    def suwaf_bytes(self, pid: Pid) -> bytes:
        """The suwaf of *pid* as it stands there; ``NotHeld``, ``StorageTrouble``."""
        try:
            fd = opened_below(self.archive.root, ("suwaf", *f"{pid.path}.json".split("/")))
            with open(fd, "rb") as file:  # noqa: PTH123  a descriptor
                return file.read()
        except FileNotFoundError:
            raise NotHeld(f"{pid}: not in the archive") from None
        except OSError as error:
            raise StorageTrouble(self.archive.suwaf_path(pid), error) from error

    def suwaf(self, pid: Pid) -> Suwaf:
        """The suwaf of *pid*; ``NotHeld``, ``BadSuwaf``, ``StorageTrouble``."""
        return Suwaf.of_bytes(self.suwaf_bytes(pid), self.archive.suwaf_path(pid), pid)

    def warc(self, pid: Pid, size: int) -> int:
        """A descriptor of the WARC of *pid*, of at least *size* bytes, which the caller closes.

        ``NotHeld`` where there is none, ``ShortWarc`` where it is shorter: zeros are never sent.
        """
        path = self.archive.warc_path(pid)
        try:
            fd = opened_below(self.archive.root, ("warc", *f"{pid.path}.warc".split("/")))
        except FileNotFoundError:
            raise NotHeld(f"{path.name}: the WARC is missing") from None
        status = os.fstat(fd)
        if S_ISREG(status.st_mode) and status.st_size >= size:
            return fd
        os.close(fd)
        if not S_ISREG(status.st_mode):
            raise NotHeld(f"{path.name}: not a file")
        raise ShortWarc(path, "is shorter than its suwaf says", status.st_size)

    @contextmanager
    def volume(self, pid: Pid, end: int) -> Iterator[Volume]:
        """The records of the WARC of *pid* up to *end*; as :meth:`warc`."""
        fd = self.warc(pid, end)
        try:
            with Volume(self.archive.warc_path(pid), fd=fd, part=(0, end)) as volume:
                yield volume
        finally:
            os.close(fd)

    def fut(self, pid: Pid, fut: Fut) -> bytes:
        """The bytes of *fut*; as :meth:`warc`."""
        fd = self.warc(pid, fut.s + fut.l)
        try:
            return os.pread(fd, fut.l, fut.s)
        finally:
            os.close(fd)

    def piece(self, pid: Pid) -> list[Piece]:
        """Return what is packed of *pid*; ``NotHeld``, ``BadSuwaf``, ``ShortWarc``."""
        os.close(self.warc(pid, self.suwaf(pid).end))
        return list(pieces(self.archive, [pid]))

    # ---- Addresses

    def page_of(self, pid: Pid | str) -> str:
        return f"{self.origins.pages}/papers/{quote(str(pid), safe='')}"

    def fut_at(self, pid: Pid | str, futli: str = "", time: str = "") -> str:
        told = {"futli": futli, "time": time}
        query = "&".join(f"{name}={quote(text, safe='')}" for name, text in told.items() if text)
        place = f"{self.origins.bytes}/futs/{quote(str(pid), safe='')}"
        return f"{place}?{query}" if query else place

    def splap_at(self, pid: Pid | str, record: str) -> str:
        return f"{self.origins.bytes}/splaps/{quote(str(pid), safe='')}/{quote(record, safe='')}"

    def warc_at(self, pid: Pid) -> str:
        return f"{self.origins.bytes}/warc/{quote(pid.path, safe='/')}.warc"

    def wacz_at(self, pid: Pid | str) -> str:
        return f"{self.origins.bytes}/wacz/{quote(str(pid), safe='')}.wacz"

    def replay_at(self, pid: Pid, url: str) -> str:
        """Return an address that soon ends, where ReplayWeb.page begins with *url* of *pid*."""
        way = f"{self.tokens.token(pid)}/{quote(str(pid), safe='')}"
        return f"{self.origins.replayweb_for(pid)}/papers/{way}?url={quote(url, safe='')}"


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino
