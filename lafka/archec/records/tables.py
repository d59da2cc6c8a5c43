# ruff: noqa: S608 - names of this module, never values
"""The tables of SQLite, and what stands in their rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from lafka.archec.records import VERSION, Content, GatheringRecord, Kind, Last, Obi, Refipo, State

KINDS = {Kind.TOBI: 0, Kind.FOBI: 1}
_KIND_OF = {number: kind for kind, number in KINDS.items()}
COLUMNS = (
    "key", "kind", "id", "found", "noted", "lost", "type", "archive", "series", "host", "payload",
    "bytes", "state", "due", "interval", "missed", "etag", "modified", "soft", "seen", "churn",
    "answered",
)  # fmt: skip
POINTED = "key, kind, id, host, state, due"
"""What a fobi has that nobody asked for yet: more than half of the rows, and few of the columns."""
APPEARED = "key, kind, id, found, noted, type, archive, series, bytes, state"
"""The columns of a tobi that has appeared and not changed since."""
_MD5_TEXT = "lower(hex(substr(md5, 1, 16))) || CAST(substr(md5, 17) AS TEXT)"
PASSED = "CREATE TABLE IF NOT EXISTS passed (key BLOB PRIMARY KEY, told BLOB) WITHOUT ROWID"
SCHEMA = f"""
CREATE TABLE obi (key INTEGER PRIMARY KEY, kind INTEGER, id TEXT, found INTEGER, noted INTEGER,
  lost INTEGER, type TEXT, archive TEXT, series TEXT, host TEXT, payload TEXT, bytes INTEGER,
  state TEXT, due INTEGER, interval INTEGER, missed TEXT, etag TEXT, modified TEXT, soft INTEGER,
  seen INTEGER, churn INTEGER, answered TEXT, UNIQUE (kind, id));
CREATE TABLE m (key INTEGER, tist INTEGER, md5 BLOB, PRIMARY KEY (key, tist)) WITHOUT ROWID;
CREATE TABLE v (kind INTEGER, md5 BLOB, n INTEGER, key INTEGER, tist INTEGER, sha256 BLOB,
  text_sha256 BLOB, length INTEGER, PRIMARY KEY (kind, md5, n)) WITHOUT ROWID;
CREATE TABLE loss (key INTEGER, tist INTEGER, PRIMARY KEY (key, tist)) WITHOUT ROWID;
CREATE TABLE refipo (tobi INTEGER, n INTEGER, second INTEGER, since INTEGER, until INTEGER,
  fobi INTEGER, raw TEXT, format TEXT, function TEXT, size INTEGER, restriction TEXT,
  PRIMARY KEY (tobi, n, second, since)) WITHOUT ROWID;
CREATE TABLE gathering (tist INTEGER PRIMARY KEY, kind TEXT, source TEXT, run TEXT, ended INTEGER,
  killed INTEGER, counts TEXT, withheld TEXT, applied INTEGER);
{PASSED};
CREATE TABLE problem (run TEXT, archive TEXT, file TEXT, line INTEGER, code TEXT, sentence TEXT);
CREATE VIEW mi AS SELECT id, tist, {_MD5_TEXT} AS md5 FROM m JOIN obi USING (key) WHERE kind = 0;
CREATE VIEW mo AS SELECT id, tist, {_MD5_TEXT} AS md5 FROM m JOIN obi USING (key) WHERE kind = 1;
CREATE VIEW vi AS SELECT lower(hex(md5)) || CASE n WHEN 1 THEN '' ELSE '-' || n END AS md5, tist, id
  FROM v JOIN obi USING (key) WHERE v.kind = 0;
CREATE VIEW vo AS SELECT lower(hex(md5)) || CASE n WHEN 1 THEN '' ELSE '-' || n END AS md5, tist, id
  FROM v JOIN obi USING (key) WHERE v.kind = 1;
PRAGMA user_version = {VERSION};
"""
INDEXES = """
CREATE INDEX obi_due ON obi (due) WHERE due IS NOT NULL;
CREATE INDEX obi_archive ON obi (archive, series) WHERE archive IS NOT NULL;
CREATE INDEX obi_noted ON obi (noted) WHERE noted IS NOT NULL;
CREATE INDEX obi_lost ON obi (lost) WHERE lost IS NOT NULL;
CREATE INDEX refipo_fobi ON refipo (fobi);
CREATE INDEX problem_archive ON problem (archive, code);
"""


def blob_of(md5: str) -> bytes:
    """An MD5 key as 16 bytes, and ``-2`` behind them where it has that."""
    return bytes.fromhex(md5[:32]) + md5[32:].encode()


def md5_of(blob: bytes) -> str:
    return blob[:16].hex() + blob[16:].decode()


def row_of_obi(obi: Obi) -> tuple[Any, ...]:
    return (
        obi.number, KINDS[obi.kind], obi.id, obi.found, obi.noted, obi.lost, obi.type,
        obi.archive, obi.series, obi.host, obi.payload, obi.length, str(obi.state), obi.due,
        obi.interval, json.dumps(obi.missed) if obi.missed else None, obi.etag, obi.modified,
        obi.soft or None, obi.seen, obi.churn or None, obi.answered,
    )  # fmt: skip


def is_only_pointed_at(obi: Obi) -> bool:
    """Return whether *obi* is a fobi of which ``POINTED`` tells all."""
    return obi.kind is Kind.FOBI and obi.noted is None and obi.seen is None


def row_of_pointed(obi: Obi) -> tuple[Any, ...]:
    return obi.number, KINDS[obi.kind], obi.id, obi.host, str(obi.state), obi.due


def has_only_appeared(obi: Obi) -> bool:
    """Return whether *obi* is a tobi of which ``APPEARED`` tells all."""
    is_there = obi.noted is not None and obi.lost is None
    return is_there and obi.kind is Kind.TOBI and obi.seen is None and obi.due is None


def row_of_appeared(obi: Obi) -> tuple[Any, ...]:
    return (
        obi.number, KINDS[obi.kind], obi.id, obi.found, obi.noted, obi.type, obi.archive,
        obi.series, obi.length, str(obi.state),
    )  # fmt: skip


def obi_of(row: Sequence[Any]) -> Obi:
    return Obi(
        number=row[0], kind=_KIND_OF[row[1]], id=row[2], found=row[3], noted=row[4], lost=row[5],
        type=row[6], archive=row[7], series=row[8], host=row[9], payload=row[10], length=row[11],
        state=State(row[12]), due=row[13], interval=row[14],
        missed=json.loads(row[15]) if row[15] else [], etag=row[16], modified=row[17],
        soft=bool(row[18]), seen=row[19], churn=row[20] or 0,
        answered=row[21],
    )  # fmt: skip


def last_of(row: Sequence[Any]) -> Last:
    return Last(
        number=row[1], found=row[2], noted=row[3], lost=row[4],
        md5=md5_of(row[5]) if row[5] else None, text_sha256=row[6].hex() if row[6] else None,
        sha256=row[7].hex() if row[7] else None,
    )  # fmt: skip


def row_of_content(content: Content, keys: dict[str, int]) -> tuple[Any, ...]:
    n = int(content.md5[33:] or 1)
    return (
        KINDS[content.kind], bytes.fromhex(content.md5[:32]), n, keys[content.id], content.tist,
        bytes.fromhex(content.sha256), bytes.fromhex(content.text_sha256), content.length,
    )  # fmt: skip


def row_of_refipo(refipo: Refipo, keys: dict[str, int]) -> tuple[Any, ...]:
    raw = None if refipo.raw == refipo.fobi else refipo.raw
    return (
        keys[refipo.tobi], refipo.n, int(refipo.second), refipo.since, refipo.until,
        keys[refipo.fobi], raw, refipo.format, refipo.function, refipo.size, refipo.restriction,
    )  # fmt: skip


def refipo_of(row: Sequence[Any]) -> Refipo:
    return Refipo(
        tobi=row[0], n=row[1], second=bool(row[2]), since=row[3], until=row[4], fobi=row[5],
        raw=row[6] or row[5], format=row[7], function=row[8], size=row[9], restriction=row[10],
    )  # fmt: skip


def row_of_gathering(gathering: GatheringRecord) -> tuple[Any, ...]:
    return (
        gathering.tist, gathering.kind, json.dumps(gathering.source), gathering.run,
        gathering.ended, gathering.killed, json.dumps(gathering.counts),
        json.dumps(gathering.withheld), gathering.applied,
    )  # fmt: skip


def gathering_of(row: Sequence[Any]) -> GatheringRecord:
    return GatheringRecord(
        tist=row[0], kind=row[1], source=json.loads(row[2]), run=row[3], ended=bool(row[4]),
        killed=bool(row[5]), counts=json.loads(row[6]), withheld=json.loads(row[7]),
        applied=row[8],
    )  # fmt: skip


def count_of(names: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    *groups, live, lost, obis, versions = row
    told = dict(zip(names, groups, strict=True)) | {"kind": str(_KIND_OF[groups[-1]])}
    return told | {"live": live, "lost": lost, "obis": obis, "versions": versions}
