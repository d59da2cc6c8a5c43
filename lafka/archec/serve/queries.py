"""Queries about an obi: its bytes at a time, its versions, what points where."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lafka.archec.records import Kind, Obi, Records
from lafka.archec.redif import handles, uris
from lafka.archec.store import pages, texts, tists
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.journals import read
from lafka.errors import BadArgument, BadHandle, BadUrl, NotHeld
from lafka.payloads import SNIFF, kind_of
from lafka.payloads import Kind as PayloadKind


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
            | ({"md5": keys[tist], **self._told(tist)} if event != "deletion" else {})
            for tist, event in incidences(self._obi)
        )
        return [json.dumps(_timed(one)) for one in told]

    def _told(self, tist: int) -> dict[str, Any]:
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


def _timed(told: dict[str, Any]) -> dict[str, Any]:
    return {**told, "noted": f"{tists.to_time(told['tist']):%Y-%m-%dT%H:%M:%SZ}"}


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
