# ruff: noqa: S608 - statements are put together from names and question marks, never from values
"""The records in one SQLite file: the default, and the standard library's.

WAL with synchronous NORMAL: a power cut may take the last transactions away, never more, and the
journals have what is lost then.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from lafka.archec.records import (
    GROUPS,
    VERSION,
    Content,
    DataProblem,
    GatheringRecord,
    Kind,
    Last,
    Obi,
    Pointer,
    Present,
    Records,
    Refipo,
    in_batches,
    in_groups,
    told_as_away,
)  # fmt: skip
from lafka.archec.records.folding import Changes, fold, ids, opened
from lafka.archec.records.tables import (
    APPEARED,
    COLUMNS,
    INDEXES,
    KINDS,
    PASSED,
    POINTED,
    SCHEMA,
    blob_of,
    count_of,
    gathering_of,
    has_only_appeared,
    is_only_pointed_at,
    last_of,
    md5_of,
    obi_of,
    refipo_of,
    row_of_appeared,
    row_of_content,
    row_of_gathering,
    row_of_obi,
    row_of_pointed,
    row_of_refipo,
)
from lafka.archec.store.lines import Line
from lafka.errors import BadStore, RecordsAway

NAME = "records.sqlite"
_ASKED = 500  # variables of a statement, below every SQLite's limit
_PAGE = 10_000
_AT = b""  # the key of the cache that has its tist
_CACHE = "PRAGMA cache_size = -32768"  # KiB, whatever the size of the database

# Pages of 4 KiB in the log: less often than by default, for most pages are written group by group.
_CHECKPOINT = "PRAGMA wal_autocheckpoint = 8000"


_told = told_as_away(sqlite3.Error)


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
            self._db.executescript(f"BEGIN; {INDEXES} COMMIT;")
            self._is_anew = False

    def away(self, error: Exception) -> RecordsAway:
        return RecordsAway(f"{self.path}: {error}; the journals have all that is in it")

    @_told
    def apply(self, journal: int, upto: int, lines: Sequence[Line]) -> None:
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            gathering = self._gathering(journal) or opened(lines[0])
            if upto > gathering.applied:
                known = self._known(ids(lines))
                self._save(fold(gathering, upto, lines, known))

    def _gathering(self, tist: int) -> GatheringRecord | None:
        row = self._db.execute("SELECT * FROM gathering WHERE tist = ?", [tist]).fetchone()
        return gathering_of(row) if row else None

    def _known(self, obis: Iterable[str]) -> dict[str, Obi]:
        found = {}
        for some in in_batches(obis, _ASKED):
            # Both kinds, so that the index of (kind, id) is of use.
            marks = ",".join("?" * len(some))
            asked = f"SELECT {','.join(COLUMNS)} FROM obi WHERE kind IN (0, 1) AND id IN ({marks})"
            found.update({obi.id: obi for obi in map(obi_of, self._db.execute(asked, some))})
        return found

    def _number(self, obis: Iterable[Obi]) -> None:
        """Number the new ones of *obis* in their order, in which they are written."""
        number = self._db.execute("SELECT coalesce(max(key), 0) FROM obi").fetchone()[0]
        for obi in obis:
            if not obi.number:
                number += 1
                obi.number = number

    def _save(self, changes: Changes) -> None:
        appeared: list[Obi] = []
        pointed: list[Obi] = []
        others: list[Obi] = []
        for obi in changes.obis.values():
            if obi.number:
                others.append(obi)
            elif is_only_pointed_at(obi):
                pointed.append(obi)
            else:
                (appeared if has_only_appeared(obi) else others).append(obi)
        self._number((*appeared, *others, *pointed))
        keys = {obi.id: obi.number for obi in changes.obis.values()}
        many = self._db.executemany
        many(f"INSERT INTO obi ({APPEARED}) VALUES (?,?,?,?,?,?,?,?,?,?)",
             map(row_of_appeared, appeared))  # fmt: skip
        marks = ",".join("?" * len(COLUMNS))
        many(f"REPLACE INTO obi VALUES ({marks})", map(row_of_obi, others))
        many(f"INSERT INTO obi ({POINTED}) VALUES (?,?,?,?,?,?)", map(row_of_pointed, pointed))
        many("REPLACE INTO m VALUES (?,?,?)",
             ((keys[obi], tist, blob_of(md5)) for obi, tist, md5 in changes.versions))  # fmt: skip
        many("REPLACE INTO loss VALUES (?,?)",
             ((keys[obi], tist) for obi, tist in changes.losses))  # fmt: skip
        many("REPLACE INTO v VALUES (?,?,?,?,?,?,?,?)",
             (row_of_content(content, keys) for content in changes.contents.values()))  # fmt: skip
        many("UPDATE refipo SET until = ? WHERE tobi = ? AND until IS NULL AND since < ?",
             ((tist, keys[obi], tist) for obi, tist in changes.closed))  # fmt: skip
        many("REPLACE INTO refipo VALUES (?,?,?,?,?,?,?,?,?,?,?)",
             [row_of_refipo(refipo, keys) for refipo in changes.refipos])  # fmt: skip
        many("REPLACE INTO gathering VALUES (?,?,?,?,?,?,?,?,?)",
             [row_of_gathering(changes.gathering)])  # fmt: skip

    @_told
    def applied(self, journal: int) -> int:
        gathering = self._gathering(journal)
        return gathering.applied if gathering else 0

    @_told
    def last_many(self, kind: Kind, obis: Iterable[str]) -> dict[str, Last]:
        found = {}
        for some in in_batches(obis, _ASKED):
            marks = ",".join("?" * len(some))
            asked = f"""SELECT o.id, o.key, o.found, o.noted, o.lost, m.md5, v.text_sha256, v.sha256
              FROM obi o LEFT JOIN m ON m.key = o.key AND m.tist = o.noted
              LEFT JOIN v ON v.kind = o.kind AND v.md5 = substr(m.md5, 1, 16)
                AND v.n = coalesce(nullif(CAST(substr(m.md5, 18) AS TEXT), ''), 1)
              WHERE o.kind = ? AND o.id IN ({marks})"""
            for row in self._db.execute(asked, (KINDS[kind], *some)):
                found[row[0]] = last_of(row)
        return found

    @_told
    def numbers(self, kind: Kind, obis: Iterable[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for some in in_batches(obis, _ASKED):
            marks = ",".join("?" * len(some))
            asked = f"SELECT id, key FROM obi WHERE kind = ? AND id IN ({marks})"
            found.update(self._db.execute(asked, (KINDS[kind], *some)))
        return found

    @_told
    def numbered(self, kind: Kind, numbers: Iterable[int]) -> dict[int, str]:
        found: dict[int, str] = {}
        for some in in_batches(numbers, _ASKED):
            marks = ",".join("?" * len(some))
            asked = f"SELECT key, id FROM obi WHERE kind = ? AND key IN ({marks})"
            found.update(self._db.execute(asked, (KINDS[kind], *some)))
        return found

    @_told
    def present_page(self, kind: Kind, after: str) -> list[Present]:
        asked = f"""SELECT id, key, coalesce(archive, '') FROM obi WHERE kind = ? AND id > ?
          AND noted IS NOT NULL AND lost IS NULL ORDER BY id LIMIT {_PAGE}"""
        return self._db.execute(asked, [KINDS[kind], after]).fetchall()

    def held_many(self, kind: Kind, md5s: Iterable[str]) -> dict[str, list[Content]]:
        found: dict[str, list[Content]] = {}
        for some in in_batches(md5s, _ASKED):
            for one in self._contents(kind, some):
                found.setdefault(one.md5[:32], []).append(one)
        return found

    def contents(self, kind: Kind, keys: Iterable[str]) -> dict[str, Content]:
        wanted = set(keys)
        found = {}
        for some in in_batches({key[:32] for key in wanted}, _ASKED):
            found.update({one.md5: one for one in self._contents(kind, some) if one.md5 in wanted})
        return found

    @_told
    def _contents(self, kind: Kind, md5s: Sequence[str]) -> Sequence[Content]:
        """Those with one of *md5s*, 32 hex digits each; of several texts that share one in turn."""
        marks = ",".join("?" * len(md5s))
        asked = f"""SELECT md5, n, v.tist, id, sha256, text_sha256, length
          FROM v JOIN obi USING (key) WHERE v.kind = ? AND md5 IN ({marks}) ORDER BY md5, n"""
        rows = self._db.execute(asked, [KINDS[kind], *map(bytes.fromhex, md5s)])
        return [
            Content(kind=kind, md5=md5.hex() if n == 1 else f"{md5.hex()}-{n}", tist=tist, id=obi,
                    sha256=sha256.hex(), text_sha256=text.hex(), length=length)
            for md5, n, tist, obi, sha256, text, length in rows
        ]  # fmt: skip

    @_told
    def history(self, obi: str) -> Obi | None:
        found = self._known([obi]).get(obi)
        return self._whole([found])[0] if found else None

    def _whole(self, obis: Sequence[Obi]) -> Sequence[Obi]:
        """*obis* with their versions and losses."""
        of = {obi.number: obi for obi in obis}
        for some in in_batches(of, _ASKED):
            marks = ",".join("?" * len(some))
            asked = f"SELECT key, tist, md5 FROM m WHERE key IN ({marks}) ORDER BY tist"
            for key, tist, md5 in self._db.execute(asked, some):
                of[key].versions.append((tist, md5_of(md5)))
            asked = f"SELECT key, tist FROM loss WHERE key IN ({marks}) ORDER BY tist"
            for key, tist in self._db.execute(asked, some):
                of[key].past.append(tist)
        return obis

    def refipos(self, tobi: str, at: int | None = None) -> list[Refipo]:
        if at is None:
            return self._refipos("t.kind = 0 AND t.id = ? AND until IS NULL", tobi)
        when = "since <= ? AND (until IS NULL OR until > ?)"
        return self._refipos(f"t.kind = 0 AND t.id = ? AND {when}", tobi, at, at)

    def pointing_at(self, fobi: str) -> list[Refipo]:
        return self._refipos("f.kind = 1 AND f.id = ?", fobi)

    @_told
    def pointers(self, fobis: Iterable[str]) -> dict[str, list[Pointer]]:
        found: dict[str, list[Pointer]] = {}
        for some in in_batches(fobis, _ASKED):
            marks = ",".join("?" * len(some))
            asked = f"""SELECT f.id, t.id, until IS NULL FROM obi f JOIN refipo r ON r.fobi = f.key
              JOIN obi t ON t.key = tobi WHERE f.kind = 1 AND f.id IN ({marks})"""
            for fobi, tobi, now in self._db.execute(asked, some):
                found.setdefault(fobi, []).append((tobi, bool(now)))
        return found

    @_told
    def _refipos(self, where: str, *values: Any) -> list[Refipo]:
        asked = f"""SELECT t.id, n, second, since, until, f.id, raw, format, function, size,
          restriction FROM refipo r JOIN obi t ON t.key = tobi JOIN obi f ON f.key = fobi
          WHERE {where} ORDER BY t.id, n, second, since"""
        return [refipo_of(row) for row in self._db.execute(asked, values)]

    @_told
    def due(self, now: int, limit: int, after: tuple[int, str] | None = None) -> list[Obi]:
        # The index has no ids, which would be a third copy of them: those due at once are sorted.
        asked = f"""SELECT {",".join(COLUMNS)} FROM obi WHERE due <= ? AND (due, id) > (?, ?)
          ORDER BY due, id LIMIT ?"""
        return list(map(obi_of, self._db.execute(asked, [now, *(after or (0, "")), limit])))

    @_told
    def counts(self, by: str) -> list[dict[str, Any]]:
        names = (*GROUPS[by], "kind")
        columns = ", ".join(names)
        asked = f"""SELECT {columns}, sum(noted IS NOT NULL AND lost IS NULL),
          sum(lost IS NOT NULL), count(*), sum((SELECT count(*) FROM m WHERE m.key = obi.key))
          FROM obi GROUP BY {columns}"""
        return in_groups((count_of(names, row) for row in self._db.execute(asked)), by)

    @_told
    def page(self, kind: Kind, obi: str, *, is_behind: bool) -> Sequence[Obi]:
        than = ">" if is_behind else ">="
        asked = f"""SELECT {",".join(COLUMNS)} FROM obi WHERE kind = ? AND id {than} ?
          ORDER BY id LIMIT {_ASKED}"""
        return self._whole(list(map(obi_of, self._db.execute(asked, [KINDS[kind], obi]))))

    @_told
    def gatherings(self) -> list[GatheringRecord]:
        rows = self._db.execute("SELECT * FROM gathering ORDER BY tist")
        return list(map(gathering_of, rows))

    @_told
    def keep_problems(self, run: str, told: Iterable[DataProblem]) -> None:
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("DELETE FROM problem")
            rows = ((run, one.archive, one.file, one.line, one.code, one.sentence) for one in told)
            self._db.executemany("INSERT INTO problem VALUES (?,?,?,?,?,?)", rows)

    @_told
    def problems(self, archive: str | None = None) -> list[DataProblem]:
        asked = """SELECT archive, file, line, code, sentence FROM problem
          WHERE ?1 IS NULL OR archive = ?1 ORDER BY file, line, code"""
        return [
            DataProblem(archive=row[0], file=row[1], line=row[2], code=row[3], sentence=row[4])
            for row in self._db.execute(asked, [archive])
        ]

    @_told
    def problem_counts(self) -> list[tuple[str, str, int]]:
        asked = "SELECT archive, code, count(*) FROM problem GROUP BY 1, 2 ORDER BY 1, 2"
        return list(self._db.execute(asked))

    @_told
    def passed_at(self) -> int:
        made = self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'passed'").fetchone()
        return int(self._passed(_AT) or 0) if made else 0

    @_told
    def passed(self, key: bytes) -> bytes | None:
        return self._passed(key)

    def _passed(self, key: bytes) -> bytes | None:
        row = self._db.execute("SELECT told FROM passed WHERE key = ?", [key]).fetchone()
        return row[0] if row else None

    @_told
    def keep_passed(
        self, tist: int, kept: Container[bytes], added: Iterable[tuple[bytes, bytes]]
    ) -> None:
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            keys = self._db.execute("SELECT key FROM passed").fetchall()
            gone = [key for key in keys if key[0] not in kept]
            self._db.executemany("DELETE FROM passed WHERE key = ?", gone)
            rows = chain(added, [(_AT, str(tist).encode())])
            self._db.executemany("REPLACE INTO passed VALUES (?,?)", rows)

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
            db.executescript(f"BEGIN IMMEDIATE; {SCHEMA} {INDEXES} COMMIT;")
        else:
            _check(path, version)
            db.execute(PASSED)  # a cache, which a database of before does not have
    except sqlite3.DatabaseError as error:
        raise BadStore(f"{path}: {error}; lafka archec rebuild makes it again") from None
    return db


def _anew(path: Path) -> sqlite3.Connection:
    """A database under a name that counts for nothing yet: a kill leaves it to be made again."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = OFF")
    db.execute("PRAGMA synchronous = OFF")
    db.execute(_CACHE)
    db.executescript(f"BEGIN; {SCHEMA} COMMIT;")
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
