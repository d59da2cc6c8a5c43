"""The file of pids that are left out of a crawl."""

from __future__ import annotations

import re
from fnmatch import translate
from pathlib import Path
from typing import TYPE_CHECKING

from lafka.errors import BadList, BadPid
from lafka.papers.lists.listfiles import BOM, reason

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lafka.pids import Pid, Scheme

_WILD = re.compile(r"[*?\[]")


class Excludes:
    """Pids that are not asked for.

    One pid or shell pattern (``*``, ``?``, ``[...]``) a line, blank lines and ``#`` comments
    aside. A pid is made canonical by the scheme. So is a pattern that has the form of a pid
    (``repec:PRA:mprapa:*``); one that has not (``RePEc:pra:*``) is compared as it stands, case
    and all, with canonical pids.
    """

    def __init__(self, entries: Iterable[str], scheme: Scheme) -> None:
        """BadPid at the first entry that is neither a pid nor a pattern."""
        self._pids: dict[str, str] = {}
        # By literal beginning, so that a pid meets few patterns however many there are.
        self._patterns: dict[str, list[_Pattern]] = {}
        self._lengths: set[int] = set()
        for entry in entries:
            self._add(entry, scheme)

    @classmethod
    def load(cls, path: str | Path, scheme: Scheme) -> Excludes:
        """Read *path*; BadList where it cannot be read, or names the line that is bad."""
        try:
            lines = Path(path).read_bytes().removeprefix(BOM).split(b"\n")
        except (OSError, ValueError) as error:
            raise BadList(f"{path}: {reason(error)}") from None
        excludes = cls((), scheme)
        for number, line in enumerate(lines, start=1):
            try:
                entry = line.decode().strip()
                if entry and not entry.startswith("#"):
                    excludes._add(entry, scheme)
            except UnicodeDecodeError:
                raise BadList(f"{path}, line {number}: not UTF-8") from None
            except BadPid as error:
                raise BadList(f"{path}, line {number}: {error}") from None
        return excludes

    def _add(self, entry: str, scheme: Scheme) -> None:
        wild = _WILD.search(entry)
        try:
            canonical = str(scheme.pid(entry))
        except BadPid:
            if not wild:
                raise
            canonical = entry
        # A bracket or a question mark may also be a character of the pid.
        self._pids[canonical] = entry
        if wild := _WILD.search(canonical):
            pattern = _Pattern(entry, canonical)
            self._patterns.setdefault(canonical[: wild.start()], []).append(pattern)
            self._lengths.add(wild.start())

    def match(self, pid: Pid) -> str | None:
        """The entry, as it stands in the file, that names *pid*; None where none does."""
        text = str(pid)
        if entry := self._pids.get(text):
            return entry
        for length in sorted(self._lengths):
            for pattern in self._patterns.get(text[:length], ()):
                if pattern.matches(text):
                    return pattern.entry
        return None


class _Pattern:
    __slots__ = ("_canonical", "_compiled", "_only_beginning", "entry")

    def __init__(self, entry: str, canonical: str) -> None:
        self.entry = entry
        self._canonical = canonical
        self._only_beginning = canonical.endswith("*") and not _WILD.search(canonical[:-1])
        self._compiled: re.Pattern[str] | None = None

    def matches(self, text: str) -> bool:
        """Return whether *text*, which has the literal beginning of the pattern, matches
        it whole.
        """
        if self._only_beginning:
            return True
        # Compiled when first met: to compile a hundred thousand would take half a minute.
        self._compiled = self._compiled or re.compile(translate(self._canonical))
        return self._compiled.match(text) is not None
