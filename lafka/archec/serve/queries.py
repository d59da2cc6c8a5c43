"""The history of an obi: its bytes at a time, its versions, what points where.

A gateway finds obis through the records, never by a path that is asked. The records are read as
they are at each question, so that a gathering that lives shows, and opened again where a rebuild
has put others in their place.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from lafka.archec.records import Kind, Obi, Records, State
from lafka.archec.records.sqlite import NAME
from lafka.archec.redif import handles, uris
from lafka.archec.store import pages, texts, tists
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.journals import Withdrawals, read
from lafka.archec.store.lines import Line
from lafka.errors import BadArgument, BadHandle, BadUrl, KeeperError, NotHeld
from lafka.payloads import MEDIA_TYPES, SNIFF, kind_of
from lafka.payloads import Kind as PayloadKind
from lafka.urls.addresses import (
    Held,
    HeldFile,
    History,
    Version,
    VersionElsewhere,
    VersionWithdrawn,
)


def the_id(text: str) -> str:
    """The id of the obi that *text* names: a URL normalised, a handle canonical.

    ``BadArgument``.
    """
    try:
        return uris.normalise(text) if "://" in text else handles.parse(text).text
    except (BadHandle, BadUrl) as error:
        raise BadArgument(str(error)) from None


def known_obi(records: Records, name: str) -> Obi | None:
    """The obi that *name* means: one that has versions, else one that was only pointed at."""
    # A redirect to the same URL with or without a slash has no place of its own (D14).
    names = (name, name.removesuffix("/"), f"{name}/") if "://" in name else (name,)
    known = [found for each in names if (found := records.history(each))]
    return next((one for one in known if one.versions), known[0] if known else None)


class ObiQuery:
    """A look at the obi *obi*; ``NotHeld`` where the store never had it."""

    def __init__(self, store: ObiStore, records: Records, obi: str) -> None:
        self._store, self._records = store, records
        found = known_obi(records, obi)
        if found is None:
            raise NotHeld(f"{obi}: not in the store at {store.root}")
        self._obi = found
        self._id = self._obi.id

    def tist(self, at: int | None = None) -> int:
        """The tist of the version that was there at *at*, or is the last; ``NotHeld``."""
        noted = _noted(self._obi, at)
        if not noted:
            when = "" if at is None else f" at {tists.to_time(at):%Y-%m-%d}"
            raise NotHeld(f"{self._id}: nothing of it was in the store{when}")
        if at is not None and (lost := _lost(self._obi, noted[-1], at)):
            raise NotHeld(f"{self._id}: lost at {lost[-1]}, before that time")
        return noted[-1]

    def read(self, at: int | None = None) -> bytes:
        """The bytes; those of a lost one too, where no time is said."""
        return self._store.read(self.tist(at), self._id)

    def path(self, at: int | None = None) -> Path:
        return self._store.path(self.tist(at), self._id)

    def versions(self) -> list[str]:
        """A JSON line for each version and loss, oldest first."""
        keys = dict(self._obi.versions)
        told = (
            {"e": event, "tist": tist}
            | ({"md5": keys[tist], **self._journal_values(tist)} if event != "deletion" else {})
            | {"noted": tists.to_text(tist)}
            for tist, event in incidences(self._obi)
        )
        return [json.dumps(one) for one in told]

    def _journal_values(self, tist: int) -> dict[str, Any]:
        """Return what else the journal says of the version."""
        for _, line in read(self._store.journal(tist)):
            if line.get("id") == self._id and "md5" in line:
                names = ("sha256", "length", "found", "held", "time", "file", "recovered")
                return {name: line[name] for name in names if name in line}
        return {}

    def diff(self, one: int, other: int) -> Iterator[str]:
        """Return what changed from the version at *one* to that at *other*: lines, as ``diff -u``
        has.

        Of templates and pages their text; of anything else digests and lengths.
        """
        times = [self.tist(one), self.tist(other)]
        both = [self._lines(self._store.read(tist, self._id)) for tist in times]
        names = [f"{self._id}@{tist}" for tist in times]
        return difflib.unified_diff(both[0], both[1], names[0], names[1])

    def _lines(self, data: bytes) -> list[str]:
        if self._obi.kind is Kind.TOBI:
            return texts.template_text(data).decode().splitlines(keepends=True)
        if kind_of(data[:SNIFF]) is PayloadKind.HTML:
            return [f"{word}\n" for word in pages.page_text(data).decode().split()]
        sums = pages.of_file(data, is_page=False)
        return [f"md5 {sums.md5}\n", f"sha256 {sums.sha256}\n", f"length {len(data)}\n"]

    def refipos(self, at: int | None = None) -> list[str]:
        return [json.dumps(asdict(one)) for one in self._records.refipos(self._id, at)]

    def pointing(self) -> list[str]:
        return [json.dumps(asdict(one)) for one in self._records.pointing_at(self._id)]


def standing(obi: Obi, at: int | None = None) -> int | None:
    """The tist of the version that stands at *at*, or now; None where none does, or it is lost."""
    noted = _noted(obi, at)
    if not noted or _lost(obi, noted[-1], at):
        return None
    return noted[-1]


def _noted(obi: Obi, at: int | None) -> list[int]:
    return [tist for tist, _ in obi.versions if at is None or tist <= at]


def _lost(obi: Obi, noted: int, at: int | None) -> list[int]:
    return [tist for tist in obi.past if noted < tist and (at is None or tist <= at)]


def incidences(obi: Obi) -> list[tuple[int, str]]:
    """Return what became of *obi*, oldest first: tists with appearance, change or deletion."""
    if not obi.past:  # of most obis there is one version, and that is all
        return [(tist, "change" if n else "appearance") for n, (tist, _) in enumerate(obi.versions)]
    events = [(tist, "deletion") for tist in obi.past]
    before = 0
    for place, (tist, _) in enumerate(obi.versions):
        again = any(before < lost <= tist for lost in obi.past)
        events.append((tist, "appearance" if not place or again else "change"))
        before = tist
    return sorted(events, key=lambda one: one[0])


def listed(
    store: ObiStore, records: Records, event: str, begin: int, end: int
) -> Iterator[dict[str, Any]]:
    """Obis with that *event* from tist *begin* up to before *end*, oldest first.

    ``noted`` is any appearance or change; ``found`` a first sight whose tist found is in the time.
    """
    wanted = {"noted": ("appearance", "change"), "changed": ("change",), "lost": ("deletion",),
              "found": ("appearance",)}[event]  # fmt: skip
    if event == "found":
        yield from _found(records, begin, end)
        return
    for tist in store.journals():
        if not begin <= tist < end:
            continue
        for _, line in read(store.journal(tist)):
            if line.get("e") in wanted:
                names = ("id", "md5", "length", "found", "type", "why")
                yield {"tist": tist, "e": line["e"]} | {n: line[n] for n in names if n in line}


def _found(records: Records, begin: int, end: int) -> Iterator[dict[str, Any]]:
    within = [
        (obi.found, obi.id)
        for kind in Kind
        for obi in records.walk(kind)
        if obi.found is not None and begin <= obi.found < end
    ]
    for found, obi_id in sorted(within):
        yield {"found": found, "id": obi_id}


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
            versions=tuple(_described_versions(records, obi) if full else _versions(obi)),
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
            return VersionWithdrawn(why=why)
        if obi.kind is Kind.FOBI and (way := self._way(records, obi.id, tist)):
            return way
        content = records.contents(obi.kind, [key]).get(key)
        path = self._store.find(tist, obi.id)
        file = _opened_file(path, obi.kind, key, content.sha256 if content else "")
        if content is None or file.size == content.length:
            return file
        os.close(file.fd)
        raise KeeperError(path, f"{file.size} bytes, and not the {content.length} of its journal")

    def _way(self, records: Records, name: str, tist: int) -> VersionElsewhere | None:
        """Return where a URL that redirected led to; None where it gave the bytes itself."""
        path = self._store.path(tist, name)
        if os.path.lexists(path) and not path.is_symlink():
            return None
        # A symlink; or none, where the redirect added or took a slash at the end alone (D14).
        way = (self._line(name, tist) or {}).get("way") or [name]
        answered = records.history(way[-1]) if way[-1] != name else None
        there = [at for at, _ in answered.versions if at <= tist] if answered else []
        # Else it is content that the store held already.
        return VersionElsewhere(id=way[-1], tist=there[-1]) if there else None

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


def _described_versions(records: Records, obi: Obi) -> Iterator[Version]:
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
