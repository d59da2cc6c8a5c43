"""The values that pages and API show: frozen, read from suwafs, paper WARCs and the index.

Of a paper the suwaf and the WARC are asked themselves, so that a page is never behind; what came of
asks, hosts and runs is the index's to say.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lafka.errors import LafkaError, NotHeld, StorageTrouble
from lafka.index import tables
from lafka.index.build import FIGURES
from lafka.papers import Fut, Pid, Suwaf
from lafka.payloads import kind_of
from lafka.warc import BadIndex, StoredRecord, WarcError
from lafka.web.site import NotIndexed, Site

logger = logging.getLogger(__name__)

_TOLD = ("response", "revisit", "resource", "conversion")
_PREFIX = 4 << 10
CAPTURES_MAX = 2_000
"""Captures of a paper that are told; its WARC has all."""
ROWS_MAX = 1_000

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownVersion:
    """A fut of a futli at a time; ``same_as`` is the time of an earlier one with these bytes."""

    futli: str
    time: str
    size: int
    digest: str
    url: str
    found_by: str
    label: str
    same_as: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCapture:
    """A record of the paper's WARC that holds an answer; ``number`` is its place, from 1.

    ``media_type`` is what was said, ``kind`` what it is: ``pdf``, ``html``, ``other``, ``empty``.
    """

    number: int
    record: str
    type: str
    time: str
    url: str
    status: int | None
    media_type: str
    kind: str
    size: int
    pulled_from: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asks:
    """The outcome of a futli: the state and words of the index."""

    url: str
    state: str
    outcome: str | None = None
    asked: str | None = None
    asks: int = 0
    had: str | None = None
    lost_since: str | None = None
    lost_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """A moment of a paper's life: ``kind`` is ``first``, ``changed``, ``same``, ``lost`` or
    ``back``; the first three have a ``version``, the others a link ``url`` and its ``outcome``.
    """

    time: str
    kind: str
    version: ShownVersion | None = None
    url: str = ""
    outcome: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPaper:
    """A paper as the archive has it; ``indexed`` is false where only its suwaf is known.

    ``note``: why captures are not shown, where they cannot be read.
    """

    pid: Pid
    title: str | None
    authors: str | None
    year: int | None
    archive: str
    series: str
    futlis: tuple[Asks, ...]
    versions: tuple[ShownVersion, ...]
    captures: tuple[ShownCapture, ...]
    withheld: bool
    indexed: bool
    timeline: tuple[TimelineEntry, ...] = ()
    note: str = ""

    @property
    def names(self) -> list[str]:
        """Its authors, one by one."""
        return self.authors.split("; ") if self.authors else []


def paper(site: Site, text: str) -> ShownPaper:
    """The paper *text*; ``NotHeld`` where neither archive nor index knows it, ``BadPid``."""
    pid = site.pid(text)
    row = _indexed(site, pid)
    suwaf = _suwaf(site, pid)
    if row is None and suwaf is None:
        raise NotHeld(f"{pid}: not in the archive")
    withheld = site.is_withheld(pid)
    shown = tuple(versions(suwaf)) if suwaf else ()
    answers, note = _captures(site, pid, suwaf) if suwaf and not withheld else ((), "")
    return ShownPaper(
        pid=pid,
        title=row["title"] if row else None,
        authors=row["authors"] if row else None,
        year=row["year"] if row else None,
        archive=row["archive"] if row else "",
        series=row["series"] if row else "",
        futlis=tuple(_asks(site, row, suwaf)),
        versions=shown,
        captures=answers,
        withheld=withheld,
        indexed=row is not None,
        timeline=tuple(_timeline(shown, _events(site, row))),
        note=note,
    )


def _captures(site: Site, pid: Pid, suwaf: Suwaf) -> tuple[tuple[ShownCapture, ...], str]:
    """The captures of *pid*; where its WARC cannot be read, what is known without it, and why."""
    found: list[ShownCapture] = []
    try:
        found.extend(captures(site, pid, suwaf))
    except (LafkaError, WarcError, OSError) as error:
        logger.error("%s: %s", pid, error)
        return tuple(found), "Its WARC is missing or damaged here: what follows may not be all."
    return tuple(found), ""


def _events(site: Site, row: Row | None) -> list[Row]:
    """Each time that a link of the paper was lost or came back."""
    query = (
        "SELECT e.time, e.kind, e.outcome, l.url FROM event e JOIN futli l ON l.id = e.futli"
        " WHERE l.paper = ? ORDER BY e.time LIMIT ?"
    )
    return rows(site, query, row["id"], ROWS_MAX) if row else []


def _timeline(shown: Sequence[ShownVersion], events: list[Row]) -> list[TimelineEntry]:
    """Return the events of a paper, the newest first."""
    seen: set[str] = set()
    entries = []
    for version in reversed(shown):
        is_first = version.futli not in seen
        seen.add(version.futli)
        kind = "same" if version.same_as else "first" if is_first else "changed"
        entries.append(TimelineEntry(time=version.time, kind=kind, version=version))
    entries += [TimelineEntry(**event) for event in events]
    return sorted(entries, key=lambda one: one.time.removesuffix("Z"), reverse=True)


def _suwaf(site: Site, pid: Pid) -> Suwaf | None:
    try:
        return site.suwaf(pid)
    except NotHeld:
        return None


def _indexed(site: Site, pid: Pid) -> Row | None:
    try:
        found = rows(site, "SELECT * FROM paper WHERE pid = ?", str(pid))
    except (BadIndex, StorageTrouble):
        return None  # the paper itself is there all the same
    return found[0] if found else None


def _asks(site: Site, row: Row | None, suwaf: Suwaf | None) -> Iterator[Asks]:
    """Yield what is known of each futli: the index's word, else what the suwaf shows."""
    if row is not None:
        yield from _futlis(site, row["id"])
    elif suwaf is not None:
        for url, times in suwaf.futlis.items():
            yield Asks(url=url, state="held" if times else "never")


def _futlis(site: Site, paper: int) -> Iterator[Asks]:
    query = (
        "SELECT url, state, outcome, asked, asks, had, lost_since, lost_by FROM futli"
        " WHERE paper = ? ORDER BY url LIMIT ?"
    )
    for row in rows(site, query, paper, ROWS_MAX):
        yield Asks(**row)


def versions(suwaf: Suwaf) -> Iterator[ShownVersion]:
    """The futs of *suwaf*, the newest first."""
    first: dict[str, str] = {}
    found = []
    for time, futli, fut in _by_time(suwaf):
        same = first.setdefault(fut.digest, time)
        found.append(ShownVersion(
            futli=futli, time=time, size=fut.l, digest=fut.digest, url=fut.url,
            found_by=fut.origin.found_by, label=fut.label, same_as=same if same != time else "",
        ))  # fmt: skip
    yield from reversed(found)


def contents(suwaf: Suwaf) -> dict[str, tuple[str, str, Fut]]:
    """Return when and by which futli the bytes of each digest came first, and the fut."""
    return {one[2].digest: one for one in reversed(_by_time(suwaf))}


def _by_time(suwaf: Suwaf) -> list[tuple[str, str, Fut]]:
    """Time, futli and fut of each visit, the oldest first."""
    every = ((time, futli, fut) for futli, times in suwaf.futlis.items()
             for time, fut in times.items())  # fmt: skip
    return sorted(every, key=lambda one: (one[0].removesuffix("Z"), one[1]))


def captures(site: Site, pid: Pid, suwaf: Suwaf) -> Iterator[ShownCapture]:
    """The answers in the WARC of *pid*, in its order, which is that of each trail."""
    with site.volume(pid, suwaf.end) as volume:
        for number, record in enumerate(volume.records(_TOLD), 1):
            if number > CAPTURES_MAX:
                return
            yield _capture(number, record)


def _capture(number: int, record: StoredRecord) -> ShownCapture:
    head = record.http
    fields = head.fields if head else record.fields
    place = record.payload_place
    return ShownCapture(
        number=number,
        record=record.id.strip("<>"),
        type=record.type,
        time=record.date.text if record.date else "",
        url=record.url,
        status=head.status if head else None,
        media_type=(fields.first("Content-Type") or "").partition(";")[0].strip(),
        kind=str(kind_of(_beginning(record), fields.first("Content-Type") or "")),
        size=place[1] if place else record.block_length,
        pulled_from=record.fields.first("WARC-Source-URI") or "",
    )


def _beginning(record: StoredRecord) -> bytes:
    if record.type == "revisit":
        return b""
    return next(record.payload(decoded=True), b"")[:_PREFIX]


# ---- From the index


def rows(site: Site, query: str, *values: Any) -> list[Row]:
    """The rows of *query* as mappings; ``BadIndex``, ``StorageTrouble``."""
    db = site.db()
    with tables.reraising(site.index / tables.NAME):
        found = db.execute(query, values)
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found]


def check_whole(site: Site) -> None:
    """``NotIndexed`` where the index has no figures yet; ``BadIndex``, ``StorageTrouble``."""
    if not rows(site, "SELECT 1 FROM meta WHERE key = ?", FIGURES):
        raise NotIndexed("the index is not whole yet: lafka index brings it up to date")


def summary(site: Site) -> Row:
    """Figures of the whole archive, as the index noted them; ``NotIndexed`` where it has not."""
    check_whole(site)
    noted = {row["key"]: row["value"] for row in rows(site, "SELECT key, value FROM meta")}
    figures: Row = json.loads(noted[FIGURES])
    return {**figures, "as_of": noted.get("as_of", "")}


_RUN = (
    "name, state, reason, started, finished, host, list, lines, requests, new, held, bytes, seconds"
)


def runs(site: Site, limit: int = 50) -> list[Row]:
    """The newest runs."""
    query = f"SELECT {_RUN} FROM run ORDER BY name DESC LIMIT ?"  # noqa: S608  columns of ours
    return list(map(_public, rows(site, query, limit)))


def _public(run: Row) -> Row:
    """*run* without the folder of its list, which is the operator's."""
    return {**run, "list": run["list"] and run["list"].rpartition("/")[2]}


def run(site: Site, name: str) -> Row:
    """One run with its outcomes and hosts; ``NotHeld``."""
    found = rows(site, f"SELECT id, {_RUN} FROM run WHERE name = ?", name)  # noqa: S608
    if not found:
        raise NotHeld(f"{name}: no run is called so")
    number = found[0].pop("id")
    outcomes = rows(
        site,
        "SELECT outcome, sum(lines) lines, sum(requests) requests, sum(new) new FROM daily"
        " WHERE run = ? GROUP BY outcome ORDER BY lines DESC, outcome", number,
    )  # fmt: skip
    return {**_public(found[0]), "outcomes": outcomes}


def host(site: Site, name: str) -> Row:
    """Return what came of a host's futlis; ``NotHeld``."""
    found = rows(site, "SELECT id, name FROM host WHERE name = ?", name.lower())
    if not found:
        raise NotHeld(f"{name}: no futli is at this host")
    number = found[0]["id"]
    states = rows(
        site, "SELECT state, count(*) futlis FROM futli WHERE host = ? GROUP BY state"
        " ORDER BY futlis DESC, state", number,
    )  # fmt: skip
    outcomes = rows(
        site, "SELECT coalesce(outcome, '') outcome, count(*) futlis FROM futli WHERE host = ?"
        " GROUP BY outcome ORDER BY futlis DESC, outcome", number,
    )  # fmt: skip
    return {"name": found[0]["name"], "states": states, "outcomes": outcomes}


def has_papers(site: Site, archive: str, series: str = "") -> bool:
    """Return whether a paper is of this archive, and of this series of it where one is named."""
    found = "SELECT 1 FROM paper WHERE archive = ?1 AND ?2 IN (series, '') LIMIT 1"
    return bool(rows(site, found, archive, series))


def archive(site: Site, code: str) -> Row:
    """The series of an archive with their figures; ``NotHeld``."""
    found = rows(
        site, "SELECT series, count(*) papers, sum(futs > 0) with_fut FROM paper"
        " WHERE archive = ? GROUP BY series ORDER BY series LIMIT ?", code, ROWS_MAX,
    )  # fmt: skip
    if not found:
        raise NotHeld(f"{code}: no paper is of this archive")
    return {"code": code, "series": found}
