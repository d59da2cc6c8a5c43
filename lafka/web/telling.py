"""Values that pages and API tell: frozen, read from suwafs, paper WARCs and the index.

Of a paper the suwaf and the WARC are asked themselves, so that a page is never behind; what came of
asks, hosts and runs is the index's to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lafka.errors import NotHeld, StorageTrouble
from lafka.index import tables
from lafka.papers import Pid, Suwaf
from lafka.payloads import kind_of
from lafka.warc import BadIndex, StoredRecord
from lafka.web.site import Site

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
class ShownPaper:
    """A paper as the archive has it; ``indexed`` is false where only its suwaf is known."""

    pid: Pid
    title: str | None
    year: int | None
    archive: str
    series: str
    futlis: tuple[Asks, ...]
    versions: tuple[ShownVersion, ...]
    captures: tuple[ShownCapture, ...]
    withheld: bool
    indexed: bool


def paper(site: Site, text: str) -> ShownPaper:
    """The paper *text*; ``NotHeld`` where neither archive nor index knows it, ``BadPid``."""
    pid = site.pid(text)
    row = _indexed(site, pid)
    suwaf = _suwaf(site, pid)
    if row is None and suwaf is None:
        raise NotHeld(f"{pid}: not in the archive")
    withheld = site.is_withheld(pid)
    return ShownPaper(
        pid=pid,
        title=row["title"] if row else None,
        year=row["year"] if row else None,
        archive=row["archive"] if row else "",
        series=row["series"] if row else "",
        futlis=tuple(_asks(site, row, suwaf)),
        versions=tuple(versions(suwaf)) if suwaf else (),
        captures=tuple(captures(site, pid, suwaf)) if suwaf and not withheld else (),
        withheld=withheld,
        indexed=row is not None,
    )


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
    every = sorted(
        (
            (time, futli, fut)
            for futli, times in suwaf.futlis.items()
            for time, fut in times.items()
        ),
        key=lambda one: (one[0].removesuffix("Z"), one[1]),
    )
    found = []
    for time, futli, fut in every:
        same = first.setdefault(fut.digest, time)
        found.append(ShownVersion(
            futli=futli, time=time, size=fut.l, digest=fut.digest, url=fut.url,
            found_by=fut.origin.found_by, label=fut.label, same_as=same if same != time else "",
        ))  # fmt: skip
    yield from reversed(found)


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


def summary(site: Site) -> Row:
    """Figures of the whole archive."""
    counts = rows(
        site,
        "SELECT (SELECT count(*) FROM paper) papers,"
        " (SELECT count(*) FROM paper WHERE futs > 0) papers_with_fut,"
        " (SELECT count(*) FROM futli) futlis, (SELECT count(*) FROM fut) futs,"
        " (SELECT coalesce(sum(warc_bytes), 0) FROM paper) bytes,"
        " (SELECT count(*) FROM run) runs",
    )[0]
    as_of = rows(site, "SELECT value FROM meta WHERE key = 'as_of'")
    states = rows(site, "SELECT state, count(*) count FROM futli GROUP BY state ORDER BY state")
    return {
        **counts,
        "as_of": as_of[0]["value"] if as_of else "",
        "states": {row["state"]: row["count"] for row in states},
    }


_RUN = (
    "name, state, reason, started, finished, host, list, lines, requests, new, held, bytes, seconds"
)


def runs(site: Site, limit: int = 50) -> list[Row]:
    """The newest runs."""
    query = f"SELECT {_RUN} FROM run ORDER BY name DESC LIMIT ?"  # noqa: S608  columns of ours
    return rows(site, query, limit)


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
    return {**found[0], "outcomes": outcomes}


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


def archive(site: Site, code: str) -> Row:
    """The series of an archive with their figures; ``NotHeld``."""
    found = rows(
        site, "SELECT series, count(*) papers, sum(futs > 0) with_fut FROM paper"
        " WHERE archive = ? GROUP BY series ORDER BY series LIMIT ?", code, ROWS_MAX,
    )  # fmt: skip
    if not found:
        raise NotHeld(f"{code}: no paper is of this archive")
    return {"code": code, "series": found}


def series(site: Site, code: str, name: str, after: str = "") -> Row:
    """Papers of a series, those behind the pid *after*, a page of them; ``NotHeld``."""
    found = rows(
        site, "SELECT pid, title, year, futs, first, last FROM paper WHERE archive = ?"
        " AND series = ? AND pid > ? ORDER BY pid LIMIT 51", code, name, after,
    )  # fmt: skip
    if not found:
        raise NotHeld(f"{code} {name}: no paper is of this series")
    more = found[49]["pid"] if len(found) > 50 else ""
    return {"code": code, "name": name, "papers": found[:50], "after": more}
