"""Journals of gatherings: the truth behind the records, one JSON object a line, append-only.

A line that is synced is acknowledged. A journal without an ``end`` line whose lock nobody holds is
that of a gathering that was killed; :mod:`lafka.archec.gather.recovery` ends it.

Each line carries the chain of all before it; that of the ``end`` is the journal's *seal*. The first
line of a journal names in ``after`` the seals before it, so history has one chain from the first
journal that has one (docs/formats.md).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from lafka.archec.store.lines import Line, fault
from lafka.errors import BadJournal, StorageTrouble, TornJournal
from lafka.storage.drafts import LENGTH, NO_CHAIN, chained_lines, is_next, split_chain
from lafka.storage.folders import DRAFT, sync_folder
from lafka.storage.locks import lock_file
from lafka.warc.format.sources import write_all
from lafka.warc.writing.names import rename_new

if TYPE_CHECKING:
    from lafka.archec.store.folders import ObiStore

WITHDRAW = "withdraw"
"""The source that the first line of a journal of withdrawals names."""
_SETTLED = 2 * 10**9
"""Nanoseconds after which a folder that changes again has another mtime."""
_NAME = re.compile(r"([1-9][0-9]{8,10})\.jsonl")
_KINDS = 2
"""Kinds of gatherings: of templates, of files."""
_TAIL = 1 << 16
_CHUNK = 4096
_PIECE = 1 << 20
_REMEDY = "put this journal back from a copy, or: lafka archec mend"
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

        ``BadJournal`` where one before it is damaged. It has its name only when its lock is held,
        and its first line and *lines* are synced. The caller has the lock of the head's kind, so a
        draft that is there is a dead one's.
        """
        draft = draft_of(path, str(head["kind"]))
        draft.unlink(missing_ok=True)
        first = {**head, "after": seals_before(path, str(head["kind"]))}
        fd = lock_file(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND)
        assert fd is not None  # nobody else makes it
        try:
            journal = cls(path, fd)
            for _, chunk in in_chunks(((0, line) for line in chain([first], lines)), _CHUNK):
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
        data = "\n".join([*map(_encode, lines), ""]).encode()
        before = _chain_at(self._fd, self.size)
        if before is not None:  # else it was begun when lines had none
            data, _ = chained_lines(data, before)
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


def kept_aside(journal: Path) -> Path:
    """Return where a damaged journal is kept when another one has its place."""
    return journal.with_name(f"{journal.name}.torn-0")


def read(path: Path, start: int = 0) -> Iterator[tuple[int, Line]]:
    """The lines from byte *start* on without their chains, each with the place behind it.

    ``TornJournal`` where the last line is one that a kill left; ``BadJournal`` with line and byte
    where one is no line of a journal, not what its chain proves, or stands behind its end: all
    before it was given. ``StorageTrouble``.
    """
    is_over = False
    try:
        with path.open("rb") as file:
            before = _chain_at(file.fileno(), start)
            file.seek(start)
            place = start
            for data in file:
                if is_over:
                    raise _damage(path, place, "bytes behind its end")
                text, own = split_chain(data)
                line = _parsed(text, data, place, path)
                if not place and own is None:
                    before = None
                if own is None if before is not None else b'"chain": "sha256:' in data:
                    raise _damage(path, place, "a line that has not the chain of the others")
                if own is not None and before is not None and not is_next(text, own, before):
                    reason = "not as it was written, or a line before it is not"
                    raise _damage(path, place, reason)
                before = own
                is_over = line.get("e") == "end"
                place += len(data)
                yield place, line
    except OSError as error:
        raise StorageTrouble(path, error) from error


def _chain_at(fd: int, place: int) -> bytes | None:
    """The chain of the line before byte *place*; None where the lines have none."""
    return split_chain(os.pread(fd, LENGTH, place - LENGTH))[1] if place else NO_CHAIN


def _parsed(text: bytes, data: bytes, place: int, path: Path) -> Line:
    """The line *data*, which is *text* without its chain."""
    if not data.endswith(b"\n"):
        if place and not _is_overwritten(data):
            raise TornJournal(path, f"line {_number(path, place)}: a torn line", place)
        raise _damage(path, place, "a line without its end")
    try:
        line = _decoded(text)
    except (ValueError, RecursionError):
        raise _damage(path, place, "a line that is not JSON") from None
    if reason := fault(line, place):
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
    return line if text[end:] in ("", "\n") else json.loads(text)


def head(path: Path) -> Line:
    """The first line; ``BadJournal`` where there is none."""
    for _, line in read(path):
        return line
    raise BadJournal(path, f"an empty journal; {_REMEDY}", 0)


def prove(path: Path, tist: int, start: int = 0, *, lacking: Container[str] = ()) -> None:
    """Read the journal of *tist* from byte *start* on, and what its first line says of others.

    ``BadJournal`` where it is damaged: more than a torn last line, which recovery cuts off; or
    where one before it is not the one that it names, or is not there nor among the *lacking*.
    """
    if not start:
        first = head(path)
        if first["gathering"] != tist:
            raise _damage(path, 0, "the first line of another gathering")
        _prove_before(path, first, lacking)
    for _ in whole(path, start):
        pass


def missing(folder: Path) -> dict[str, str]:
    """The tists and seals of journals that others in *folder* name, and that are not there."""
    found: dict[str, str] = {}
    for path in folder.iterdir() if folder.is_dir() else ():
        if _NAME.fullmatch(path.name):
            found |= head(path).get("after", {})
    return {tist: seal for tist, seal in found.items() if not (folder / f"{tist}.jsonl").exists()}


def _prove_before(path: Path, first: Line, lacking: Container[str]) -> None:
    """Hold the journals before *path* to its *first* line."""
    for tist, seal in first.get("after", {}).items():
        other = path.with_name(f"{tist}.jsonl")
        if tist in lacking:
            continue
        if not other.exists():
            reason = f"missing, and the first line of {path.name} names it; {_REMEDY}"
            raise BadJournal(other, reason)
        if seal not in seals(other):
            place = _last_place(other)
            raise _damage(other, place, f"not the end that the first line of {path.name} names")
    before = next((one for one, kind in _before(path) if kind == first.get("kind")), None)
    if before is None or first.get("derived"):
        return
    if "after" not in first and is_chained(before):
        raise _damage(path, 0, f"no chain, which {before.name} before it has")
    is_named = "after" not in first or before.stem in first["after"]
    if not is_named and not head(before).get("derived"):
        raise _damage(path, 0, f"it does not name {before.name}, which stands before it")


def seals_before(path: Path, kind: str) -> dict[str, str]:
    """Return what the first line of a journal of *kind* at *path* says of those before it.

    Tists and seals: of each kind the last one that has an end; of its own kind, where none has a
    chain yet, all of them. ``BadJournal``.
    """
    found: dict[str, str] = {}
    done: set[str] = set()
    for other, its in _before(path):
        if its not in done and is_ended(other):
            found[other.stem] = seals(other)[0]
            if its != kind or is_chained(other):
                done.add(its)
        if len(done) == _KINDS:
            break
    return found


def _before(path: Path) -> Iterator[tuple[Path, str]]:
    """The journals of tists before that of *path*, each with its kind, the last one first."""
    tist = int(path.stem)
    names = (found for one in path.parent.iterdir() if (found := _NAME.fullmatch(one.name)))
    for other in sorted((int(name[1]) for name in names if int(name[1]) < tist), reverse=True):
        place = path.with_name(f"{other}.jsonl")
        yield place, str(head(place).get("kind"))


def is_chained(path: Path) -> bool:
    """Return whether the lines of the journal carry a chain."""
    with path.open("rb") as file:
        return split_chain(file.readline())[1] is not None


def seals(path: Path) -> list[str]:
    """The seal of the journal: the chain of its last line, of one without chains its SHA-256.

    Behind it the seal of the journal in whose place it was derived from files, if it was.
    """
    digest, line = hashlib.sha256(), b""
    with path.open("rb") as file:
        chain = _chain_at(file.fileno(), os.fstat(file.fileno()).st_size)
        if chain is None:
            for line in file:
                digest.update(line)
            chain = digest.digest()
        else:
            line = _last_line(path)
    try:
        instead = json.loads(line).get("instead")
    except (ValueError, AttributeError):
        instead = None
    return [f"sha256:{chain.hex()}", *([str(instead)] if instead else [])]


def _last_line(path: Path) -> bytes:
    """The last line, of at most 64 KiB."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
        return file.read().rstrip(b"\n").rpartition(b"\n")[2]


def _last_place(path: Path) -> int:
    """The byte at which the last line begins."""
    return max(0, path.stat().st_size - len(_last_line(path)) - 1)


def whole(path: Path, start: int = 0) -> Iterator[tuple[int, Line]]:
    """The lines as :func:`read` gives them, up to one that a kill has torn."""
    with suppress(TornJournal):
        yield from read(path, start)


def is_ended(path: Path) -> bool:
    """Return whether its last line is an ``end``: the gathering is over, or its recovery."""
    try:
        line = json.loads(_last_line(path))
    except (ValueError, RecursionError):
        return False
    return isinstance(line, dict) and line.get("e") == "end" and _has_line_end(path)


def _has_line_end(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
        return file.read() == b"\n"


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
