"""The records of a store: opened by the setting, held to its journals, brought up to them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lafka.archec.records import Gathering, Records
from lafka.archec.records.garbage import rarely_collected
from lafka.archec.records.sqlite import NAME, SqliteRecords
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.journals import Line, head, in_chunks, read
from lafka.errors import BadArgument, BadJournal, BadStore, StorageTrouble
from lafka.storage.folders import draft_of, put_in_place

LINES = 4096
"""Lines of a journal that are applied together."""


def open_records(store: ObiStore, database: str = "", *, read_only: bool = False) -> Records:
    """The records of *store*: ``records.sqlite`` in it, or the MongoDB that *database* names.

    ``BadArgument``; ``BadStore`` where they are of another version or of another store;
    ``RecordsAway``.
    """
    records = _opened(store, database, read_only=read_only)
    try:
        _check_owner(store, records)
    except BaseException:
        records.close()
        raise
    return records


def _opened(store: ObiStore, database: str, *, read_only: bool) -> Records:
    if not database:
        return SqliteRecords(store.root / NAME, read_only=read_only)
    if not database.startswith(("mongodb://", "mongodb+srv://")):
        raise BadArgument(
            f"LAFKA_CACHING_DATABASE {database.rpartition('@')[2]!r} is not like"
            " mongodb://host:port/name"
        )
    try:
        from lafka.archec.records.mongo import MongoRecords  # noqa: PLC0415
    except ImportError:
        raise BadArgument("MongoDB needs the package pymongo: pip install lafka[mongo]") from None
    return MongoRecords(database, read_only=read_only)


def _check_owner(store: ObiStore, records: Records) -> None:
    """``BadStore`` where the records know of gatherings that this store has not seen."""
    for gathering in records.gatherings():
        path = store.journal(gathering.tist)
        size = path.stat().st_size if path.exists() else 0
        if size < gathering.applied or not _is_of(path, gathering):
            raise BadStore(
                f"{store.root}: the database is of another store, or of a newer state of this one:"
                f" it knows the gathering {gathering.tist}; scrapy archec rebuild makes it again"
            )


def _is_of(path: Path, gathering: Gathering) -> bool:
    return not gathering.applied or str(head(path).get("run")) == gathering.run


def catch_up(store: ObiStore, records: Records) -> None:
    """Apply what the journals have and *records* lack; of a torn journal what is whole.

    ``BadStore`` where a journal older than what is applied was put there since.
    """
    newest: dict[str, int] = {}
    for gathering in records.gatherings():
        newest[gathering.kind] = max(gathering.tist, newest.get(gathering.kind, 0))
    for tist in store.journals():
        start = records.applied(tist)
        path = store.journal(tist)
        if start == path.stat().st_size:
            continue
        if not start and tist < newest.get(str(head(path).get("kind")), 0):
            raise BadStore(
                f"{path}: older than what the database has, which scrapy archec rebuild makes again"
            )
        apply_journal(store, records, tist, start)


def apply_journal(store: ObiStore, records: Records, tist: int, start: int = 0) -> None:
    """Apply the journal of *tist* from byte *start* on; of a torn one what is whole."""
    for upto, lines in in_chunks(_whole(store.journal(tist), start), LINES):
        records.apply(tist, upto, lines)


def _whole(path: Path, start: int) -> Iterator[tuple[int, Line]]:
    """The lines up to the first that is none: recovery, or the check, tells of that one."""
    with suppress(BadJournal):
        yield from read(path, start)


@contextmanager
def anew(store: ObiStore, database: str = "") -> Iterator[Records]:
    """Empty records, to be filled; when that is done they are the store's.

    A MongoDB is emptied first: it has no name under which it could be replaced.
    """
    if database:
        from lafka.archec.records.mongo import MongoRecords  # noqa: PLC0415

        emptied = MongoRecords(database, anew=True)
        try:
            yield emptied
        finally:
            emptied.close()
        return
    path = store.root / NAME
    draft = draft_of(path)
    try:
        _remove(draft)
        records = SqliteRecords(draft, anew=True)
        try:
            with rarely_collected():
                yield records
            records.finish()
        finally:
            records.close()
        _replace(draft, path)
    except OSError as error:
        raise StorageTrouble(path, error) from error


def _replace(draft: Path, path: Path) -> None:
    # Closed, it is one file without a log beside it; its bytes are synced before its name.
    with draft.open("rb+") as file:
        os.fsync(file.fileno())
    _remove(path)
    put_in_place(draft, path)


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
