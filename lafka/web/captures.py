"""Captures by URL and time, from the index of all records of the paper WARCs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from itertools import islice
from typing import Literal
from urllib.parse import quote

from lafka.errors import BadArgument, BadPid, NotHeld
from lafka.papers import Pid
from lafka.warc import Entry, StoredRecord, Volume
from lafka.warc.indexes.sqlite import SqliteIndex
from lafka.web.site import Site, Withheld

_TYPES = ("response", "revisit", "resource")
Known = dict[str, Pid | Literal[False] | None]
"""Papers by volume: False for one that is withheld, None for what is no paper's."""
MOST = 100_000
"""Captures of a URL that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """An entry of the index and the paper that it is of; ``time`` to the second, as addresses."""

    entry: Entry
    pid: Pid
    time: datetime

    @property
    def digits(self) -> str:
        digits = self.entry.date.digits14 if self.entry.date else ""
        # A leap second is no second of a clock.
        return digits if digits[-2:] < "60" else f"{self.time:%Y%m%d%H%M%S}"


def padded(digits: str) -> str:
    """Return the 14 digits of a time of which *digits* are the beginning; ``BadArgument``."""
    filled = digits + "00000101000000"[len(digits) :]
    if len(digits) == 7 and digits[-1] == "3":
        filled = f"{digits}0000000"  # no month has a 31st and each but one a 30th
    try:
        if not re.fullmatch(r"[0-9]{14}", filled):
            raise ValueError
        datetime.strptime(filled, "%Y%m%d%H%M%S")
    except ValueError:
        raise BadArgument(f"{digits[:20]} is no time of any calendar") from None
    return filled


class Captures:
    """The captures of *site* that may be given out."""

    def __init__(self, site: Site) -> None:
        self._site = site

    @contextmanager
    def index(self) -> Iterator[SqliteIndex]:
        """The index as it is now; ``NotIndexed`` where there is none yet, ``BadIndex``."""
        self._site.captures_index()
        index = SqliteIndex(self._site.captures)
        try:
            with index.moment():
                yield index
        finally:
            index.close()

    def of(self, url: str) -> list[Captured]:
        """Captures of *url*, oldest first, one a second; ``NotHeld``, ``Withheld``."""
        known: Known = {}
        captured = partial(self.captured, known=known)
        index = self._site.captures_index()
        with index.moment():
            entries = index.search(url=url, types=_TYPES)
            found = [*islice(filter(None, map(captured, entries)), MOST)]
        if not found:
            if False in known.values():
                raise Withheld("withheld")
            raise NotHeld("no capture of this URL is here")
        by_second = {one.time: one for one in sorted(found, key=lambda one: one.entry.time)}
        return [by_second[time] for time in sorted(by_second)]

    def original(self, captured: Captured) -> Captured | None:
        """The first capture of the same URL that has the bytes which *captured*, a revisit, had."""
        entry = captured.entry
        if entry.type != "revisit" or not entry.digest:
            return None
        index = self._site.captures_index()
        with index.moment():
            same = index.search(url=entry.url, digest=entry.digest, types=("response", "resource"))
            return next(filter(None, map(partial(self.captured, known={}), same)), None)

    def captured(self, entry: Entry, known: Known) -> Captured | None:
        """*entry* with its paper; None where it is withheld, undated, or of no paper.

        *known* grows by the volumes that one question meets.
        """
        if entry.date is None or entry.offset is None:
            return None
        if entry.volume not in known:
            pid = self._pid(entry)
            is_withheld = pid is not None and self._site.is_withheld(pid)
            known[entry.volume] = False if is_withheld else pid
        if not (paper := known[entry.volume]):
            return None
        time = entry.date.datetime.replace(microsecond=0)
        return Captured(entry=entry, pid=paper, time=time)

    def _pid(self, entry: Entry) -> Pid | None:
        name = self._name(entry)
        with suppress(BadPid, ValueError):
            if name.endswith(".warc"):
                path = name.removesuffix(".warc")
                scheme = self._site.archive.scheme
                return scheme.inverse(path) or self._site.archive.pid_at(
                    self._site.archive.root / "warc" / name
                )
        return None

    def address(self, entry: Entry) -> str:
        """Return where the entry's WARC is below ``/warc/``: its path, escaped for a URL."""
        return quote(self._name(entry))

    def _name(self, entry: Entry) -> str:
        """Return the path of the entry's WARC below ``warc/``."""
        index, root = self._places
        path = os.path.normpath(f"{index}/{entry.volume}")
        return path.removeprefix(root) if path.startswith(root) else ""

    @cached_property
    def _places(self) -> tuple[str, str]:
        """The folder of the index, and ``warc/`` with its slash, without links."""
        root = os.path.realpath(self._site.archive.root / "warc")
        return os.path.realpath(self._site.index), f"{root}/"

    @contextmanager
    def record(self, captured: Captured) -> Iterator[StoredRecord]:
        """The record of *captured*; of a revisit what it refers to. ``NotHeld``, ``BadWarc``."""
        end = self._site.suwaf(captured.pid).end
        entry = captured.entry
        assert entry.offset is not None
        if entry.offset >= end:
            raise NotHeld(f"{captured.pid}: its suwaf does not know of this capture")
        with self._site.volume(captured.pid, end) as volume:
            record = volume.at(entry.offset)
            if record.type != "revisit":
                yield record
                return
            found = self._referred(volume, record)
            if found is None:
                raise NotHeld("what this capture refers to is not here")
            yield found

    def _referred(self, volume: Volume, record: StoredRecord) -> StoredRecord | None:
        """Return what *record*, a revisit, had: by id, else by digest, in the same WARC."""
        wanted = record.fields.first("WARC-Refers-To")
        digest = record.fields.first("WARC-Payload-Digest")
        for other in volume.records(("response", "resource")):
            if wanted and other.id == wanted:
                return other
            if not wanted and digest and other.fields.first("WARC-Payload-Digest") == digest:
                return other
        return None
