"""Holdings of a list with files: legacy papers that stand in no obi store.

A line is pid, URL, time and the path of a file below a folder, with tabs between them. What cannot
be served is told with the number of its line, and the others are served.
"""

from __future__ import annotations

import hashlib
import os
import re
from bisect import insort
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from stat import S_ISREG
from typing import Any
from urllib.parse import urldefrag, urlsplit

from w3lib.url import safe_url_string

from lafka.errors import BadArgument, BadList, BadUrl, KeeperError, NotHeld
from lafka.payloads import MEDIA_TYPES, SNIFF, kind_of
from lafka.urls import check_url
from lafka.urls.addresses import HeldFile, History, Version

FIRST = int(datetime(1991, 1, 1, tzinfo=UTC).timestamp())
"""Before it there was no web."""
LAST = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp())
HEAD = ("pid", "url", "time", "path")
_TIST = re.compile(r"[0-9]{9,12}")
_CHUNK = 1 << 20


class RefusedLine(Exception):
    """A line cannot be served; why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedLine:
    """A line of the list that can be served; ``time`` in seconds UTC, ``path`` resolved."""

    number: int
    pid: str
    url: str
    time: int
    path: Path


class ListHoldings:
    """The holdings of the list *path*, below the folder *root*; ``refused``: a sentence a line.

    ``BadList`` where the list cannot be read, ``BadArgument`` where *root* is no folder.
    """

    def __init__(self, path: Path, root: Path) -> None:
        if not root.is_dir():
            raise BadArgument(f"--root {root}: no folder is there")
        self._name, self._root = path, root.resolve()
        self.refused: list[str] = []
        self._urls: dict[str, str] = {}
        self._versions: dict[str, list[tuple[int, int, Path]]] = {}  # time, line, file
        self._listed: dict[str, None] = {}
        self._sums: dict[tuple[int, ...], tuple[str, str]] = {}
        for number, line in enumerate(_lines(path), 1):
            try:
                self._add(number, line)
            except RefusedLine as error:
                self.refused.append(f"{path}:{number}: {error}")

    def _add(self, number: int, line: bytes) -> None:
        row = self._row(number, line)
        if row is None:
            return
        key = _key(row.url)
        versions = self._versions.setdefault(key, [])
        for time, before, file in versions:
            if time == row.time and file != row.path:
                raise RefusedLine(f"another file for the URL and the time of line {before}")
            if time == row.time:
                break
        else:
            insort(versions, (row.time, number, row.path))
        self._urls.setdefault(key, row.url)
        self._listed[f"{row.pid}\t{row.url}"] = None

    def _row(self, number: int, line: bytes) -> ServedLine | None:
        """Return what a line says, None for a blank one and for a head; ``Refused``."""
        try:
            text = line.decode().rstrip("\r\n")
        except UnicodeDecodeError:
            raise RefusedLine("not UTF-8") from None
        columns = [column.strip() for column in text.removeprefix("\ufeff").split("\t")]
        if not any(columns) or (number == 1 and tuple(columns) == HEAD):
            return None
        if len(columns) != len(HEAD) or not all(columns):
            raise RefusedLine(f"{len(columns)} columns, not pid, URL, time, path with tabs between")
        pid, url, time, path = columns
        try:
            check_url(url)
        except BadUrl as error:
            raise RefusedLine(str(error)) from None
        return ServedLine(number=number, pid=pid, url=url, time=_time(time), path=self._file(path))

    def _file(self, name: str) -> Path:
        """The file *name* below the root; ``Refused``."""
        if "\0" in name:
            raise RefusedLine("a path with a zero byte")
        try:
            path = (self._root / name).resolve(strict=True)
            state = path.stat()
        except (OSError, RuntimeError) as error:
            reason = getattr(error, "strerror", None) or "a loop of links"
            raise RefusedLine(f"{name[:200]!r}: {reason}") from None
        if not path.is_relative_to(self._root):
            raise RefusedLine(f"{name[:200]!r} lies outside {self._root}")
        if not S_ISREG(state.st_mode):
            raise RefusedLine(f"{name[:200]!r} is no file")
        if not state.st_size:
            raise RefusedLine(f"{name[:200]!r} has no bytes")
        return path

    # As holdings ---------------------------------------------------------------------------

    def the_id(self, text: str) -> str:
        try:
            check_url(text)
        except BadUrl as error:
            raise BadArgument(f"{text[:200]!r}: {error}") from None
        return self._urls.get(_key(text), text)

    def history(self, name: str, *, full: bool = False) -> History | None:  # noqa: ARG002
        versions = self._versions.get(_key(name))
        if not versions:
            return None
        found = [Version(tist=time, facts={"line": number}) for time, number, _ in versions]
        return History(id=name, versions=found)

    def held(self, name: str, tist: int) -> HeldFile:
        at = {time: path for time, _, path in self._versions.get(_key(name), [])}
        if tist not in at:
            raise NotHeld(f"{name}: nothing of {tist}")
        path = at[tist]
        if path.resolve() != path:  # a link was put there since
            raise KeeperError(path, "is a link by now")
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise KeeperError(path, error.strerror or "cannot be read") from None
        try:
            return self._described(fd)
        except BaseException:
            os.close(fd)
            raise

    def _described(self, fd: int) -> HeldFile:
        state = os.fstat(fd)
        stamp = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)
        if stamp not in self._sums:
            self._sums[stamp] = _sums(fd)
        md5, sha256 = self._sums[stamp]
        kind = kind_of(os.pread(fd, SNIFF, 0))
        media_type = MEDIA_TYPES.get(kind, "application/octet-stream")
        return HeldFile(fd=fd, size=state.st_size, md5=md5, sha256=sha256, media_type=media_type)

    def refipos(self, name: str, at: int | None) -> Iterable[Mapping[str, Any]] | None:  # noqa: ARG002
        """None: there are no templates here."""
        return None

    def listed(self) -> Iterator[str]:
        return iter(self._listed)

    def about(self) -> Mapping[str, Any]:
        versions = sum(map(len, self._versions.values()))
        return {"gateway": "a list with files, by Memento (RFC 7089)", "list": str(self._name),
                "urls": len(self._versions), "versions": versions,
                "refused": len(self.refused)}  # fmt: skip

    def health(self) -> Mapping[str, Any]:
        return {"gateway": "list", "urls": len(self._versions)}

    def close(self) -> None:
        """Nothing is open."""


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from file
    except OSError as error:
        raise BadList(f"{path}: {error.strerror}") from None


def _key(url: str) -> str:
    """By what a URL is found: as it goes over the wire, host in lower case, no fragment."""
    try:
        parts = urlsplit(urldefrag(safe_url_string(url))[0])
    except ValueError:
        return url
    return parts._replace(netloc=parts.netloc.lower(), path=parts.path or "/").geturl()


def _time(text: str) -> int:
    """Seconds UTC: a unix time stamp, or an ISO 8601 date or time; ``Refused``."""
    try:
        if _TIST.fullmatch(text):
            time = int(text)
        else:
            found = datetime.fromisoformat(text)
            time = int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        raise RefusedLine(f"{text[:60]!r} is no time such as 1998-03-01") from None
    if not FIRST <= time <= LAST:
        raise RefusedLine(f"{text[:60]!r} is not from 1991 on")
    return time


def _sums(fd: int) -> tuple[str, str]:
    md5, sha256 = hashlib.md5(usedforsecurity=False), hashlib.sha256()
    place = 0
    while data := os.pread(fd, _CHUNK, place):
        md5.update(data)
        sha256.update(data)
        place += len(data)
    return md5.hexdigest(), sha256.hexdigest()
