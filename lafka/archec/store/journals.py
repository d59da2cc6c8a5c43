"""Journals of gatherings: the truth behind the records, one JSON object a line, append-only.

A line that is synced is acknowledged. A journal without an ``end`` line whose lock nobody holds is
that of a gathering that was killed; :mod:`lafka.archec.gather.recovery` ends it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lafka.errors import BadJournal, StorageTrouble, TornJournal
from lafka.storage.folders import DRAFT, sync_folder
from lafka.storage.locks import lock_file
from lafka.warc.format.sources import write_all
from lafka.warc.writing.names import rename_new

if TYPE_CHECKING:
    from lafka.archec.store.folders import ObiStore

FORMAT = 1
Line = Mapping[str, Any]
"""An object of a journal: the first has ``gathering``, each other one ``e``, what it tells."""
STORED = ("appearance", "change")
EVENTS = (*STORED, "deletion", "visit", "miss", "withheld", "withdrawn", "end")
WITHDRAW = "withdraw"
"""The source that the first line of a journal of withdrawals names."""
_SETTLED = 2 * 10**9
"""Nanoseconds after which a folder that changes again has another mtime."""
_TAIL = 1 << 16
_CHUNK = 4096
_PIECE = 1 << 20
_REMEDY = "put this journal back from a copy"
_encode = json.JSONEncoder(ensure_ascii=False).encode
_decode = json.JSONDecoder().raw_decode


class Journal:
    """The journal of a gathering that lives: locked, and synced at each ``append``."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self.is_sure = True
        self._fd = fd
        self.size = os.fstat(fd).st_size

    @classmethod
    def begin(cls, path: Path, head: Line, lines: Iterable[Line] = ()) -> Journal:
        """The new journal at *path* with its first line; ``FileExistsError`` where it is taken.

        It has its name only when its lock is held, and its first line and *lines* are synced. The
        caller has the lock of the head's kind, so a draft that is there is a dead one's.
        """
        draft = draft_of(path, str(head["kind"]))
        draft.unlink(missing_ok=True)
        fd = lock_file(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND)
        assert fd is not None  # nobody else makes it
        try:
            journal = cls(path, fd)
            for _, chunk in in_chunks(((0, line) for line in chain([head], lines)), _CHUNK):
                journal._write(chunk)
            rename_new(draft, path)
            sync_folder(path.parent)
        except BaseException:
            draft.unlink(missing_ok=True)
            os.close(fd)
            raise
        return journal

    @classmethod
    def dead(cls, path: Path) -> Journal | None:
        """The journal of a gathering that was killed, locked; None where it ended or lives."""
        fd = lock_file(path, os.O_RDWR | os.O_APPEND, wait=False)
        if fd is None:
            return None
        try:
            if not is_ended(path):
                os.fdatasync(fd)  # what the dead one wrote, before anything stands behind it
                return cls(path, fd)
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)
        return None

    def append(self, lines: Sequence[Line]) -> None:
        """Acknowledge *lines*; ``OSError`` where that failed.

        Then none of them is there, unless ``is_sure`` has become false: what a failed sync left
        could not be taken back, so it may be on the disk or not.
        """
        size = self.size
        try:
            self._write(lines)
        except OSError:
            self.is_sure = False
            self.cut(size)
            self.is_sure = True
            raise

    def _write(self, lines: Sequence[Line]) -> None:
        data = "".join(f"{_encode(line)}\n" for line in lines).encode()
        write_all(self._fd, data)
        os.fdatasync(self._fd)
        self.size += len(data)

    def cut(self, size: int) -> None:
        """Leave *size* bytes of it."""
        os.ftruncate(self._fd, size)
        os.fdatasync(self._fd)
        self.size = size

    def read(self, size: int, offset: int) -> bytes:
        return os.pread(self._fd, size, offset)

    def close(self) -> None:
        """Let go of it and of its lock; once more does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def draft_of(journal: Path, kind: str) -> Path:
    """Return what a journal of that kind is called until it has its name: one, for one run makes
    it.
    """
    return journal.with_name(f"{DRAFT}{kind}")


def read(path: Path, start: int = 0) -> Iterator[tuple[int, Line]]:
    """The lines from byte *start* on, each with the place behind it.

    ``TornJournal`` where the last line is one that a kill left; ``BadJournal`` with line and byte
    where one is no line of a journal, or stands behind its end: all before it was given.
    ``StorageTrouble``.
    """
    is_over = False
    try:
        with path.open("rb") as file:
            file.seek(start)
            place = start
            for data in file:
                if is_over:
                    raise _damage(path, place, "bytes behind its end")
                line = _parsed(data, place, path)
                is_over = line.get("e") == "end"
                place += len(data)
                yield place, line
    except OSError as error:
        raise StorageTrouble(path, error) from error


def _parsed(data: bytes, place: int, path: Path) -> Line:
    if not data.endswith(b"\n"):
        if place and not _is_overwritten(data):
            raise TornJournal(path, f"line {_number(path, place)}: a torn line", place)
        raise _damage(path, place, "a line without its end")
    try:
        line = _decoded(data)
    except (ValueError, RecursionError):
        raise _damage(path, place, "a line that is not JSON") from None
    if reason := _fault(line, place):
        raise _damage(path, place, reason)
    assert isinstance(line, dict)
    return line


def _is_overwritten(data: bytes) -> bool:
    """Return whether the last line is whole but for its line end: a kill puts nothing in that
    place.
    """
    text = data.decode("utf-8", "ignore")
    try:
        _, end = _decode(text)
    except (ValueError, RecursionError):
        return False
    return bool(text[end:].strip("\0"))  # of zeros a power cut is the cause


def _damage(path: Path, place: int, reason: str) -> BadJournal:
    return BadJournal(path, f"line {_number(path, place)}: {reason}; {_REMEDY}", place)


def _number(path: Path, place: int) -> int:
    """The number of the line at byte *place*, the first one is 1."""
    number = 1
    with path.open("rb") as file:
        while place > 0 and (data := file.read(min(place, _PIECE))):
            number += data.count(b"\n")
            place -= len(data)
    return number


def _decoded(data: bytes) -> object:
    text = data.decode()
    try:
        line, end = _decode(text)
    except ValueError:  # blanks before it, which we do not write
        line, end = None, 0
    return line if end == len(text) - 1 else json.loads(text)


def _fault(line: object, place: int) -> str:
    if not isinstance(line, dict):
        return "a line that is no object"
    if not place:
        if line.get("format") != FORMAT:
            return f"a journal of another format, not of format {FORMAT}"
        return "" if isinstance(line.get("gathering"), int) else "a first line without a tist"
    event = line.get("e")
    if event in STORED:
        if _is_text(line, "id", "md5", "sha256") and _is_number(line, "length", "found"):
            return ""
        return f"an {event} without its id, checksums, length or time"
    if event not in EVENTS:
        return f"a line of no known kind: {str(event)[:50]!r}"
    if event in ("deletion", "visit", "miss", "withdrawn") and not _is_text(line, "id"):
        return f"a {event} without an id"
    return ""


def _is_text(line: Line, *keys: str) -> bool:
    for key in keys:  # noqa: SIM110 - of each line of all journals, four times as fast
        if not isinstance(line.get(key), str):
            return False
    return True


def _is_number(line: Line, *keys: str) -> bool:
    for key in keys:  # noqa: SIM110 - as above
        if not isinstance(line.get(key), int):
            return False
    return True


def head(path: Path) -> Line:
    """The first line; ``BadJournal`` where there is none."""
    for _, line in read(path):
        return line
    raise BadJournal(path, f"an empty journal; {_REMEDY}", 0)


def prove(path: Path, tist: int, start: int = 0) -> None:
    """Read the journal of *tist* from byte *start* on.

    ``BadJournal`` where it is damaged: more than a torn last line, which recovery cuts off.
    """
    if not start and head(path)["gathering"] != tist:
        raise _damage(path, 0, "the first line of another gathering")
    for _ in whole(path, start):
        pass


def whole(path: Path, start: int = 0) -> Iterator[tuple[int, Line]]:
    """The lines as :func:`read` gives them, up to one that a kill has torn."""
    with suppress(TornJournal):
        yield from read(path, start)


def is_ended(path: Path) -> bool:
    """Return whether its last line is an ``end``: the gathering is over, or its recovery."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL))
        tail = file.read()
    if not tail.endswith(b"\n"):
        return False
    try:
        line = json.loads(tail[:-1].rpartition(b"\n")[2])
    except (ValueError, RecursionError):
        return False
    return isinstance(line, dict) and line.get("e") == "end"


def in_chunks(lines: Iterable[tuple[int, Line]], size: int) -> Iterator[tuple[int, list[Line]]]:
    """*lines* as lists of at most *size*, each with the place behind its last one."""
    chunk: list[Line] = []
    place = 0
    for place, line in lines:
        chunk.append(line)
        if len(chunk) == size:
            yield place, chunk
            chunk = []
    if chunk:
        yield place, chunk


class Withdrawals:
    """The withdrawals of *store* as they are at each question; only their journals are read.

    Of a damaged one what is whole counts: the check tells of it. ``StorageTrouble``.
    """

    def __init__(self, store: ObiStore) -> None:
        self._store = store
        self._stamp = -1
        self._looked_at: set[int] = set()
        self._open: set[int] = set()  # that may get further lines
        self._why: dict[tuple[str, int | None], str] = {}

    def why(self, obi: str, tist: int) -> str:
        """Return why the version of *obi* noted at *tist* was taken down; empty where it
        was not.
        """
        self._look()
        return self._why.get((obi, tist)) or self._why.get((obi, None), "")

    def _look(self) -> None:
        """Take in what came since; a folder of journals that is as it was has no new ones."""
        stamp = self._store.journal(0).parent.stat().st_mtime_ns
        if stamp != self._stamp:
            fresh = set(self._store.journals()) - self._looked_at
            self._open |= {tist for tist in fresh if self._is_withdrawal(tist)}
            self._looked_at |= fresh
            is_settled = time.time_ns() - stamp > _SETTLED
            self._stamp = stamp if is_settled else -1
        for tist in sorted(self._open):
            self._read(tist)

    def _is_withdrawal(self, tist: int) -> bool:
        with suppress(BadJournal):
            return head(self._store.journal(tist)).get("source") == WITHDRAW
        return False

    def _read(self, tist: int) -> None:
        path = self._store.journal(tist)
        ended = is_ended(path)  # before it is read: what comes later is no line of it
        with suppress(BadJournal):
            for _, line in read(path):
                if line.get("e") == "withdrawn":
                    told = str(line.get("why") or "no reason is told")
                    self._why[line["id"], line.get("tist")] = told
        if ended:
            self._open.discard(tist)
