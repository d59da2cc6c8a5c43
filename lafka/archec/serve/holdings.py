"""An obi store as what a gateway serves: found through the records, never by a path that is asked.

The records are read as they are at each question, so that a gathering that lives shows, and opened
again where a rebuild has put others in their place.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from lafka.archec.records import Kind, Obi, Records, State
from lafka.archec.records.sqlite import NAME
from lafka.archec.serve.queries import incidences, known_obi, the_id
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.journals import Withdrawals
from lafka.archec.store.lines import Line
from lafka.errors import KeeperError, NotHeld
from lafka.payloads import MEDIA_TYPES, SNIFF, kind_of
from lafka.urls.addresses import Elsewhere, Held, HeldFile, History, Version, Withdrawn

_TEMPLATE = "text/plain"


class StoreHoldings:
    """The obi store *store* with the records that *opened* opens, read-only; for one thread."""

    def __init__(self, store: ObiStore, opened: Callable[[], Records]) -> None:
        self._store, self._open = store, opened
        self._opened: Records | None = None
        self._path = store.root / NAME
        self._file = self._stamp()
        self._line = lru_cache(maxsize=4096)(self._line_of)
        self._withdrawals = Withdrawals(store)

    def _records(self) -> Records:
        """The records as they are now: asked for once a question."""
        stamp = self._stamp()
        if self._opened is not None and stamp != self._file:
            self.close()
        if self._opened is None:
            self._file = stamp
            self._opened = self._open()
        return self._opened

    def _stamp(self) -> tuple[int, int]:
        """Return which file the database is, where it is one of the store."""
        try:
            state = self._path.stat()
        except FileNotFoundError:
            return 0, 0
        return state.st_dev, state.st_ino

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def the_id(self, text: str) -> str:
        return the_id(text)

    def history(self, name: str, *, full: bool = False) -> History | None:
        records = self._records()
        obi = known_obi(records, name)
        if obi is None or not obi.versions:
            return None
        lost = obi.lost if obi.state is State.LOST else None
        facts = {"found": obi.found, "noted": obi.noted, "lost": lost, "deletions": obi.past}
        return History(
            id=obi.id,
            versions=tuple(_told_versions(records, obi) if full else _versions(obi)),
            lost=lost,
            facts=facts if full else {},
        )

    def held(self, name: str, tist: int) -> Held:
        records = self._records()
        obi = known_obi(records, name)
        key = dict(obi.versions).get(tist) if obi else None
        if obi is None or key is None:
            raise NotHeld(f"{name}: nothing was noted at {tist}")
        if why := self._withdrawals.why(obi.id, tist):
            return Withdrawn(why=why)
        if obi.kind is Kind.FOBI and (way := self._way(records, obi.id, tist)):
            return way
        content = records.contents(obi.kind, [key]).get(key)
        path = self._store.find(tist, obi.id)
        file = _opened_file(path, obi.kind, key, content.sha256 if content else "")
        if content is None or file.size == content.length:
            return file
        os.close(file.fd)
        raise KeeperError(path, f"{file.size} bytes, and not the {content.length} of its journal")

    def _way(self, records: Records, name: str, tist: int) -> Elsewhere | None:
        """Return where a URL that redirected led to; None where it gave the bytes itself."""
        path = self._store.path(tist, name)
        if os.path.lexists(path) and not path.is_symlink():
            return None
        # A symlink; or none, where the redirect added or took a slash at the end alone (D14).
        way = (self._line(name, tist) or {}).get("way") or [name]
        answered = records.history(way[-1]) if way[-1] != name else None
        there = [at for at, _ in answered.versions if at <= tist] if answered else []
        # Else it is content that the store held already.
        return Elsewhere(id=way[-1], tist=there[-1]) if there else None

    def _line_of(self, name: str, tist: int) -> Line | None:
        stored = (line for line in self._lines(tist, name) if "md5" in line)
        return next(stored, None)

    def _lines(self, journal: int, name: str) -> Iterator[Line]:
        """The lines about *name*, found without reading the others as JSON."""
        wanted = json.dumps(name, ensure_ascii=False).encode()
        with self._store.journal(journal).open("rb") as file:
            for data in file:
                if wanted in data and data.endswith(b"\n"):
                    line = json.loads(data)
                    if line.get("id") == name:
                        yield line

    def refipos(self, name: str, at: int | None) -> Iterable[Mapping[str, Any]] | None:
        if "://" in name:
            raise NotHeld(f"{name[:200]}: a URL, and refipos are of templates")
        records = self._records()
        if records.history(name) is None:
            raise NotHeld(f"{name[:200]}: not in the store")
        return [asdict(one) | {"key": one.key} for one in records.refipos(name, at)]

    def listed(self) -> None:
        """No list: ``lafka futlis`` makes one."""
        return

    def about(self) -> Mapping[str, Any]:
        return {
            "gateway": "an ArchEc obi store, by Memento (RFC 7089)",
            "store": str(self._store.root),
            "counts": self._records().counts("kind"),
        }

    def health(self) -> Mapping[str, Any]:
        known = self._records().gatherings()
        return {"gateway": "archec", "gatherings": len(known),
                "last": known[-1].tist if known else None}  # fmt: skip


def _versions(obi: Obi) -> Iterator[Version]:
    return (Version(tist=tist) for tist, _ in obi.versions)


def _told_versions(records: Records, obi: Obi) -> Iterator[Version]:
    """The versions with what is told of each."""
    events = dict(one for one in incidences(obi) if one[1] != "deletion")
    contents = records.contents(obi.kind, (key for _, key in obi.versions))
    for tist, key in obi.versions:
        facts: dict[str, Any] = {"incidence": events[tist], "md5": key}
        if content := contents.get(key):
            facts |= {"sha256": content.sha256, "length": content.length}
        yield Version(tist=tist, facts=facts)


def _opened_file(path: Path, kind: Kind, key: str, sha256: str) -> HeldFile:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise KeeperError(path, error.strerror or "cannot be read") from None
    try:
        media_type = _TEMPLATE if kind is Kind.TOBI else _by_bytes(os.pread(fd, SNIFF, 0))
        size = os.fstat(fd).st_size
    except BaseException:
        os.close(fd)
        raise
    return HeldFile(fd=fd, size=size, md5=key, sha256=sha256, media_type=media_type)


def _by_bytes(opening: bytes) -> str:
    return MEDIA_TYPES.get(kind_of(opening), "application/octet-stream")
