# ruff: noqa: S608 - statements are put together from names and question marks, never from values
"""The records in one SQLite file: the default, and the standard library's.

WAL with synchronous NORMAL: a power cut may take the last transactions away, never more, and the
journals have what is lost then.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, compress, repeat
from operator import attrgetter, is_not
from pathlib import Path
from typing import Any

from lafka.archec.records import (
    PASSED_AT,
    VERSION,
    Content,
    DataProblem,
    GatheringRecord,
    Kind,
    LatestVersion,
    Obi,
    Pointer,
    Present,
    Records,
    Refipo,
    State,
    in_batches,
    told_as_away,
)  # fmt: skip
from lafka.archec.records.folding import Changes, fold, ids, opened
from lafka.archec.store.lines import Line
from lafka.errors import BadStore, RecordsAway

NAME = "records.sqlite"
_ASKED = 500  # variables of a statement, below every SQLite's limit
_WRITTEN = 4096
_PAGE = 10_000
_CACHE = "PRAGMA cache_size = -32768"  # KiB, whatever the size of the database

# Pages of 4 KiB in the log: less often than by default, for most pages are written group by group.
_CHECKPOINT = "PRAGMA wal_autocheckpoint = 8000"
_KINDS = {Kind.TOBI: 0, Kind.FOBI: 1}
_KIND_OF = {number: kind for kind, number in _KINDS.items()}
# So that a kind can be a value of a statement.
sqlite3.register_adapter(Kind, _KINDS.__getitem__)
_COLUMNS = (
    "key, kind, id, found, noted, lost, type, archive, series, host, payload, bytes, state, due,"
    " interval, missed, etag, modified, soft, seen, churn, answered"
)
_MD5_TEXT = "lower(hex(substr(md5, 1, 16))) || CAST(substr(md5, 17) AS TEXT)"
_PASSED = "CREATE TABLE IF NOT EXISTS passed (key BLOB PRIMARY KEY, told BLOB) WITHOUT ROWID"
_SCHEMA = f"""
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
{_PASSED};
CREATE TABLE problem (run TEXT, archive TEXT, file TEXT, line INTEGER, code TEXT, sentence TEXT);
CREATE VIEW mi AS SELECT id, tist, {_MD5_TEXT} AS md5 FROM m JOIN obi USING (key) WHERE kind = 0;
CREATE VIEW mo AS SELECT id, tist, {_MD5_TEXT} AS md5 FROM m JOIN obi USING (key) WHERE kind = 1;
CREATE VIEW vi AS SELECT lower(hex(md5)) || CASE n WHEN 1 THEN '' ELSE '-' || n END AS md5, tist, id
  FROM v JOIN obi USING (key) WHERE v.kind = 0;
CREATE VIEW vo AS SELECT lower(hex(md5)) || CASE n WHEN 1 THEN '' ELSE '-' || n END AS md5, tist, id
  FROM v JOIN obi USING (key) WHERE v.kind = 1;
PRAGMA user_version = {VERSION};
"""
_INDEXES = """
CREATE INDEX obi_due ON obi (due) WHERE due IS NOT NULL;
CREATE INDEX obi_archive ON obi (archive, series) WHERE archive IS NOT NULL;
CREATE INDEX obi_noted ON obi (noted) WHERE noted IS NOT NULL;
CREATE INDEX obi_lost ON obi (lost) WHERE lost IS NOT NULL;
CREATE INDEX refipo_fobi ON refipo (fobi);
CREATE INDEX problem_archive ON problem (archive, code);
"""


@told_as_away(sqlite3.Error)
class SqliteRecords(Records):
    """The records in the file at *path*, made where there is none.

    ``BadStore`` where it is of another version, or no database; ``RecordsAway``.
    """

    def __init__(self, path: Path, *, read_only: bool = False, anew: bool = False) -> None:
        self.path = path
        self._db = _anew(path) if anew else _connected(path, read_only=read_only)
        self._is_anew = anew

    def finish(self) -> None:
        """Make the indexes of a database that is made *anew*: keeping them would cost more."""
        if self._is_anew:
            self._db.executescript(f"BEGIN; {_INDEXES} COMMIT;")
            self._is_anew = False

    def away(self, error: Exception) -> RecordsAway:
        return RecordsAway(f"{self.path}: {error}; the journals have all that is in it")

    def apply(self, journal: int, upto: int, lines: Sequence[Line]) -> None:
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            gathering = self.gathering(journal) or opened(lines[0])
            if upto > gathering.applied:
                self._save(fold(gathering, upto, lines, self._known(ids(lines))))

    def gathering(self, tist: int) -> GatheringRecord | None:
        row = self._db.execute("SELECT * FROM gathering WHERE tist = ?", [tist]).fetchone()
        return _gathering_of(row) if row else None

    def _each(self, asked: str, values: Iterable[Any], *first: Any) -> Iterator[Any]:
        """Rows of *asked*, in which ``{}`` stands for *values*, asked for by batches."""
        for some in in_batches(values, _ASKED):
            yield from self._db.execute(asked.format(",".join("?" * len(some))), (*first, *some))

    def _known(self, obis: Iterable[str]) -> dict[str, Obi]:
        # Both kinds, so that the index of (kind, id) is of use.
        asked = f"SELECT {_COLUMNS} FROM obi WHERE kind IN (0, 1) AND id IN ({{}})"
        return {obi.id: obi for obi in map(_obi_of, self._each(asked, obis))}

    def _save(self, changes: Changes) -> None:
        number = self._db.execute("SELECT coalesce(max(key), 0) FROM obi").fetchone()[0]
        # Tobis first: those of a group, which are asked for together, lie side by side.
        obis = sorted(changes.obis.values(), key=attrgetter("kind"), reverse=True)
        for obi in obis:
            if not obi.number:
                number += 1
                obi.number = number
        keys = {obi.id: obi.number for obi in obis}
        self._write("obi", map(_row_of_obi, obis))
        self._write("m", ((keys[obi], tist, _blob(md5)) for obi, tist, md5 in changes.versions))
        self._write("loss", ((keys[obi], tist) for obi, tist in changes.losses))
        self._write("v", (_row_of_content(one, keys) for one in changes.contents.values()))
        self._db.executemany(
            "UPDATE refipo SET until = ? WHERE tobi = ? AND until IS NULL AND since < ?",
            ((tist, keys[obi], tist) for obi, tist in changes.closed),
        )
        self._write("refipo", (_row_of_refipo(one, keys) for one in changes.refipos))
        self._write("gathering", [_row_of_gathering(changes.gathering)])

    def _write(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Write *rows*, each with a key of its own, over those that have their keys.

        What is None stands in the statement: sqlite3 asks for each None, as for each bytes and each
        member of an enumeration, whether anybody adapts it, which takes longer than to write it.
        """
        for some in in_batches(rows, _WRITTEN):
            told: dict[tuple[bool, ...], list[tuple[Any, ...]]] = {}
            for row in some:
                is_told = tuple(map(is_not, row, repeat(None)))
                told.setdefault(is_told, []).append(tuple(compress(row, is_told)))
            for is_told, values in told.items():
                marks = ",".join("?" if one else "NULL" for one in is_told)
                self._db.executemany(f"REPLACE INTO {table} VALUES ({marks})", values)

    def last_many(self, kind: Kind, obis: Iterable[str]) -> dict[str, LatestVersion]:
        asked = """SELECT o.id, o.key, o.found, o.noted, o.lost, m.md5, v.text_sha256, v.sha256
          FROM obi o LEFT JOIN m ON m.key = o.key AND m.tist = o.noted
          LEFT JOIN v ON v.kind = o.kind AND v.md5 = substr(m.md5, 1, 16)
            AND v.n = coalesce(nullif(CAST(substr(m.md5, 18) AS TEXT), ''), 1)
          WHERE o.kind = ? AND o.id IN ({})"""
        return {
            row[0]: LatestVersion(
                number=row[1], found=row[2], noted=row[3], lost=row[4],
                md5=_md5(row[5]) if row[5] else None, text_sha256=row[6].hex() if row[6] else None,
                sha256=row[7].hex() if row[7] else None,
            )
            for row in self._each(asked, obis, kind)
        }  # fmt: skip

    def numbers(self, kind: Kind, obis: Iterable[str]) -> dict[str, int]:
        return dict(self._each("SELECT id, key FROM obi WHERE kind = ? AND id IN ({})", obis, kind))

    def numbered(self, kind: Kind, numbers: Iterable[int]) -> dict[int, str]:
        asked = "SELECT key, id FROM obi WHERE kind = ? AND key IN ({})"
        return dict(self._each(asked, numbers, kind))

    def present_page(self, kind: Kind, after: str) -> list[Present]:
        asked = f"""SELECT id, key, coalesce(archive, '') FROM obi WHERE kind = ? AND id > ?
          AND noted IS NOT NULL AND lost IS NULL ORDER BY id LIMIT {_PAGE}"""
        return self._db.execute(asked, [kind, after]).fetchall()

    def held_many(self, kind: Kind, md5s: Iterable[str]) -> dict[str, list[Content]]:
        found: dict[str, list[Content]] = {}
        for one in self._contents(kind, md5s):
            found.setdefault(one.md5[:32], []).append(one)
        return found

    def contents(self, kind: Kind, keys: Iterable[str]) -> dict[str, Content]:
        wanted = set(keys)
        found = self._contents(kind, {key[:32] for key in wanted})
        return {one.md5: one for one in found if one.md5 in wanted}

    def _contents(self, kind: Kind, md5s: Iterable[str]) -> Iterator[Content]:
        """All that share each MD5, in the order of their keys."""
        asked = """SELECT md5, n, v.tist, id, sha256, text_sha256, length FROM v
          JOIN obi USING (key) WHERE v.kind = ? AND md5 IN ({})"""
        for row in self._each(asked, map(bytearray.fromhex, md5s), kind):
            yield Content(
                kind=kind, md5=row[0].hex() if row[1] == 1 else f"{row[0].hex()}-{row[1]}",
                tist=row[2], id=row[3], sha256=row[4].hex(), text_sha256=row[5].hex(),
                length=row[6],
            )  # fmt: skip

    def history(self, obi: str) -> Obi | None:
        found = self._known([obi]).get(obi)
        return self._whole([found])[0] if found else None

    def _whole(self, obis: Sequence[Obi]) -> Sequence[Obi]:
        """*obis* with their versions and losses."""
        of = {obi.number: obi for obi in obis}
        asked = "SELECT key, tist, md5 FROM m WHERE key IN ({}) ORDER BY tist"
        for key, tist, md5 in self._each(asked, of):
            of[key].versions.append((tist, _md5(md5)))
        asked = "SELECT key, tist FROM loss WHERE key IN ({}) ORDER BY tist"
        for key, tist in self._each(asked, of):
            of[key].past.append(tist)
        return obis

    def pointers(self, fobis: Iterable[str]) -> dict[str, list[Pointer]]:
        asked = """SELECT f.id, t.id, until IS NULL FROM obi f JOIN refipo r ON r.fobi = f.key
          JOIN obi t ON t.key = tobi WHERE f.kind = 1 AND f.id IN ({})"""
        found: dict[str, list[Pointer]] = {}
        for fobi, tobi, now in self._each(asked, fobis):
            found.setdefault(fobi, []).append((tobi, bool(now)))
        return found

    def refipos_of(self, kind: Kind, obi: str) -> list[Refipo]:
        asked = f"""SELECT t.id, n, second, since, until, f.id, raw, format, function, size,
          restriction FROM refipo r JOIN obi t ON t.key = tobi JOIN obi f ON f.key = fobi
          WHERE {kind[0]}.kind = ? AND {kind[0]}.id = ? ORDER BY t.id, n, second, since"""
        return [
            Refipo(
                tobi=row[0], n=row[1], second=bool(row[2]), since=row[3], until=row[4],
                fobi=row[5], raw=row[6] or row[5], format=row[7], function=row[8], size=row[9],
                restriction=row[10],
            )
            for row in self._db.execute(asked, [kind, obi])
        ]  # fmt: skip

    def due(self, now: int, limit: int, after: tuple[int, str] | None = None) -> list[Obi]:
        # The index has no ids, which would be a third copy of them: those due at once are sorted.
        asked = f"""SELECT {_COLUMNS} FROM obi WHERE due <= ? AND (due, id) > (?, ?)
          ORDER BY due, id LIMIT ?"""
        return list(map(_obi_of, self._db.execute(asked, [now, *(after or (0, "")), limit])))

    def counted(self, names: Sequence[str]) -> Iterator[dict[str, Any]]:
        columns = ", ".join((*names, "kind"))
        asked = f"""SELECT sum(noted IS NOT NULL AND lost IS NULL), sum(lost IS NOT NULL), count(*),
          sum((SELECT count(*) FROM m WHERE m.key = obi.key)), {columns}
          FROM obi GROUP BY {columns}"""
        for *counts, kind in self._db.execute(asked):
            named = zip(("live", "lost", "obis", "versions", *names), counts, strict=True)
            yield {**dict(named), "kind": str(_KIND_OF[kind])}

    def page(self, kind: Kind, obi: str, *, is_behind: bool) -> Sequence[Obi]:
        than = ">" if is_behind else ">="
        asked = f"""SELECT {_COLUMNS} FROM obi WHERE kind = ? AND id {than} ?
          ORDER BY id LIMIT {_ASKED}"""
        return self._whole(list(map(_obi_of, self._db.execute(asked, [kind, obi]))))

    def gatherings(self) -> list[GatheringRecord]:
        rows = self._db.execute("SELECT * FROM gathering ORDER BY tist")
        return list(map(_gathering_of, rows))

    def keep_problems(self, run: str, told: Iterable[DataProblem]) -> None:
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("DELETE FROM problem")
            values = attrgetter(*DataProblem.__slots__)
            self._write("problem", ((run, *values(one)) for one in told))

    def problems(self, archive: str | None = None) -> list[DataProblem]:
        asked = """SELECT archive, file, line, code, sentence FROM problem
          WHERE ?1 IS NULL OR archive = ?1 ORDER BY file, line, code"""
        rows = self._db.execute(asked, [archive])
        return [DataProblem(**dict(zip(DataProblem.__slots__, row, strict=True))) for row in rows]

    def problem_counts(self) -> list[tuple[str, str, int]]:
        asked = "SELECT archive, code, count(*) FROM problem GROUP BY 1, 2 ORDER BY 1, 2"
        return list(self._db.execute(asked))

    def passed(self, key: bytes) -> bytes | None:
        row = self._db.execute("SELECT told FROM passed WHERE key = ?", [key]).fetchone()
        return row[0] if row else None

    def keep_passed(
        self, tist: int, kept: Container[bytes], added: Iterable[tuple[bytes, bytes]]
    ) -> None:
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            keys = self._db.execute("SELECT key FROM passed").fetchall()
            gone = [key for key in keys if key[0] not in kept]
            self._db.executemany("DELETE FROM passed WHERE key = ?", gone)
            self._write("passed", chain(added, [(PASSED_AT, str(tist).encode())]))

    def faults(self) -> Iterator[str]:
        try:
            found = [row[0] for row in self._db.execute("PRAGMA integrity_check(20)")]
        except sqlite3.Error as error:
            found = [str(error)]
        return (one for one in found if one != "ok")

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._db.close()


def _connected(path: Path, *, read_only: bool) -> sqlite3.Connection:
    try:
        if read_only:
            return _for_reading(path)
        db = sqlite3.connect(path, isolation_level=None, timeout=60.0)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute(_CACHE)
        db.execute(_CHECKPOINT)
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if not version and not db.execute("SELECT 1 FROM sqlite_master").fetchone():
            db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} {_INDEXES} COMMIT;")
        else:
            _check(path, version)
            db.execute(_PASSED)  # a cache, which a database of before does not have
    except sqlite3.DatabaseError as error:
        raise BadStore(f"{path}: {error}; lafka archec rebuild makes it again") from None
    return db


def _anew(path: Path) -> sqlite3.Connection:
    """A database under a name that counts for nothing yet: a kill leaves it to be made again."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = OFF")
    db.execute("PRAGMA synchronous = OFF")
    db.execute(_CACHE)
    db.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
    return db


def _for_reading(path: Path) -> sqlite3.Connection:
    if not path.exists():
        raise BadStore(f"{path}: no database; lafka archec rebuild makes it from the journals")
    # On a disk that cannot be written WAL needs the promise that nobody else writes either.
    for mode in ("mode=ro", "mode=ro&immutable=1"):
        db = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None)
        try:
            _check(path, db.execute("PRAGMA user_version").fetchone()[0])
            db.execute("SELECT 1 FROM gathering LIMIT 1").fetchone()
        except sqlite3.OperationalError:
            db.close()
            continue
        return db
    raise BadStore(f"{path}: cannot be read")


def _check(path: Path, version: int) -> None:
    if version != VERSION:
        raise BadStore(
            f"{path}: a database of version {version}, not {VERSION}; lafka archec rebuild"
            " makes it from the journals"
        )


def _blob(md5: str) -> bytearray:
    """An MD5 key as 16 bytes, and ``-2`` behind them where it has that."""
    return bytearray.fromhex(md5[:32]) + md5[32:].encode()


def _md5(blob: bytes) -> str:
    return blob[:16].hex() + blob[16:].decode()


def _row_of_obi(obi: Obi) -> tuple[Any, ...]:
    return (
        obi.number, _KINDS[obi.kind], obi.id, obi.found, obi.noted, obi.lost, obi.type,
        obi.archive, obi.series, obi.host, obi.payload, obi.length, obi.state.value, obi.due,
        obi.interval, json.dumps(obi.missed) if obi.missed else None, obi.etag, obi.modified,
        obi.soft or None, obi.seen, obi.churn or None, obi.answered,
    )  # fmt: skip


def _obi_of(row: Sequence[Any]) -> Obi:
    return Obi(
        number=row[0], kind=_KIND_OF[row[1]], id=row[2], found=row[3], noted=row[4], lost=row[5],
        type=row[6], archive=row[7], series=row[8], host=row[9], payload=row[10], length=row[11],
        state=State(row[12]), due=row[13], interval=row[14],
        missed=json.loads(row[15]) if row[15] else [], etag=row[16], modified=row[17],
        soft=bool(row[18]), seen=row[19], churn=row[20] or 0,
        answered=row[21],
    )  # fmt: skip


def _row_of_content(content: Content, keys: dict[str, int]) -> tuple[Any, ...]:
    n = int(content.md5[33:] or 1)
    return (
        _KINDS[content.kind], bytearray.fromhex(content.md5[:32]), n, keys[content.id],
        content.tist, bytearray.fromhex(content.sha256), bytearray.fromhex(content.text_sha256),
        content.length,
    )  # fmt: skip


def _row_of_refipo(refipo: Refipo, keys: dict[str, int]) -> tuple[Any, ...]:
    raw = None if refipo.raw == refipo.fobi else refipo.raw
    return (
        keys[refipo.tobi], refipo.n, int(refipo.second), refipo.since, refipo.until,
        keys[refipo.fobi], raw, refipo.format, refipo.function, refipo.size, refipo.restriction,
    )  # fmt: skip


def _row_of_gathering(gathering: GatheringRecord) -> tuple[Any, ...]:
    return (
        gathering.tist, gathering.kind, json.dumps(gathering.source), gathering.run,
        gathering.ended, gathering.killed, json.dumps(gathering.counts),
        json.dumps(gathering.withheld), gathering.applied,
    )  # fmt: skip


def _gathering_of(row: Sequence[Any]) -> GatheringRecord:
    return GatheringRecord(
        tist=row[0], kind=row[1], source=json.loads(row[2]), run=row[3], ended=bool(row[4]),
        killed=bool(row[5]), counts=json.loads(row[6]), withheld=json.loads(row[7]),
        applied=row[8],
    )  # fmt: skip
