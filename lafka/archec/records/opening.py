"""The records of a store: opened by the setting, held to its journals, brought up to them.

A journal that is gone or has another length is damage, and nothing that a new database mends: that
one would know less. So the error names the journal, and nothing is made again of the rest.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from lafka.archec.records import GatheringRecord, Kind, Obi, Records, in_batches
from lafka.archec.records.folding import told_of
from lafka.archec.records.sqlite import NAME, SqliteRecords
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.journals import head, in_chunks, missing, prove, whole
from lafka.archec.store.lines import STORED
from lafka.errors import BadArgument, BadJournal, BadStore, RecordsAway, StorageTrouble
from lafka.storage.folders import draft_of, put_in_place

if TYPE_CHECKING:
    from lafka.archec.records.mongo import MongoRecords


_OBJECTS = 100_000


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Look for cycles rarely while the block lasts.

    A batch of templates makes next to none, and holds so many objects that by Python's own measure
    all of them, and all that was imported, are looked through again and again: a sixth of the CPU
    of a rebuild.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def check_owner(
    store: ObiStore, known: Sequence[GatheringRecord], *, is_replaced: bool = False,
    derives: bool = False,
) -> None:  # fmt: skip
    """Raise where the database that knows *known* is not of the journals of *store*.

    ``BadStore`` where it is another store's; ``BadJournal`` where a journal is not as it was when
    the database took it in. One that *is_replaced* may know a journal that was derived anew since;
    where the store *derives* journals from its files, they may be missing.
    """
    for gathering in known:
        path = store.journal(gathering.tist)
        if path.exists():
            _check_journal(store, path, gathering, is_replaced=is_replaced)
        elif not derives:
            raise _missing(store, path, known)
        elif not _is_here(store, gathering) and any(map(gathering.counts.get, STORED)):
            raise _foreign(store, gathering)


def _missing(
    store: ObiStore, path: Path, known: Sequence[GatheringRecord]
) -> BadStore | BadJournal:
    if not any(_is_here(store, one) for one in known):
        return _foreign(store, known[0])
    return BadJournal(
        path,
        "missing, and the database knows its gathering; put this journal back from a copy,"
        " or: lafka archec mend",
    )


def _check_journal(
    store: ObiStore, path: Path, gathering: GatheringRecord, *, is_replaced: bool
) -> None:
    if not gathering.applied:
        return
    if not _is_of(path, gathering):
        if not head(path).get("derived"):
            raise _foreign(store, gathering)
        if not is_replaced:
            raise BadStore(
                f"{path}: derived from files since the database was made, which lafka archec"
                " rebuild makes again"
            )
        return
    size = path.stat().st_size
    if size < gathering.applied or (gathering.ended and size > gathering.applied):
        longer = "longer" if size > gathering.applied else "shorter"
        raise BadJournal(
            path,
            f"{size} bytes, {longer} than the {gathering.applied} that the database took in; put"
            " this journal back from a copy, or: lafka archec mend",
        )


def _foreign(store: ObiStore, gathering: GatheringRecord) -> BadStore:
    return BadStore(
        f"{store.root}: the database is of another store: it knows the gathering {gathering.tist};"
        " take away records.sqlite, or name another database in LAFKA_CACHING_DATABASE"
    )


def _is_of(path: Path, gathering: GatheringRecord) -> bool:
    return str(head(path).get("run")) == gathering.run


def _is_here(store: ObiStore, gathering: GatheringRecord) -> bool:
    """Return whether the store has the gathering, by its journal or by its folder alone."""
    path = store.journal(gathering.tist)
    return _is_of(path, gathering) if path.exists() else store.folder(gathering.tist).is_dir()


LINES = 4096
"""Lines of a journal that are applied together."""


def open_records(store: ObiStore, database: str = "", *, read_only: bool = False) -> Records:
    """The records of *store*: ``records.sqlite`` in it, or the MongoDB that *database* names.

    ``BadArgument``; ``BadStore`` where they are of another version or of another store, or where
    readers would be told of nothing; ``BadJournal``; ``RecordsAway``.
    """
    is_made = not (read_only or database or (store.root / NAME).exists())
    if is_made:
        prove_all(store)  # else an empty one would be left behind, which knows of nothing
    if database:
        records: Records = _mongo(database)(database, read_only=read_only)
    else:
        records = SqliteRecords(store.root / NAME, read_only=read_only)
    try:
        known = records.gatherings()
        check_owner(store, known)
        if read_only and not known and store.journals():
            raise BadStore(
                f"{store.root}: the database has nothing of the journals, from which lafka archec"
                " rebuild makes it"
            )
    except BaseException:
        records.close()
        raise
    return records


def _mongo(database: str) -> type[MongoRecords]:
    """The records in a MongoDB; ``BadArgument`` where *database* names none, or without pymongo."""
    if not database.startswith(("mongodb://", "mongodb+srv://")):
        raise BadArgument(
            f"LAFKA_CACHING_DATABASE {database.rpartition('@')[2]!r} is not like"
            " mongodb://host:port/name"
        )
    try:
        from lafka.archec.records.mongo import MongoRecords  # noqa: PLC0415
    except ImportError:
        raise BadArgument("MongoDB needs the package pymongo: pip install lafka[mongo]") from None
    return MongoRecords


def catch_up(store: ObiStore, records: Records) -> None:
    """Apply what the journals have and *records* lack; of a torn journal what is whole.

    ``BadJournal`` where a journal is damaged: then nothing is applied. ``BadStore`` where a
    journal older than what is applied was put there since.
    """
    newest: dict[str, int] = {}
    for gathering in records.gatherings():
        newest[gathering.kind] = max(gathering.tist, newest.get(gathering.kind, 0))
    lacking = []
    for tist in store.journals():
        start = records.applied(tist)
        path = store.journal(tist)
        if start and start == path.stat().st_size:
            continue
        if not start and tist < newest.get(str(head(path).get("kind")), 0):
            raise BadStore(
                f"{path}: older than what the database has, which lafka archec rebuild makes again"
            )
        prove(path, tist, start)
        lacking.append((tist, start))
    for tist, start in lacking:
        apply_journal(store, records, tist, start)


def prove_all(store: ObiStore, lacking: Container[str] = ()) -> None:
    """Read all journals; ``BadJournal`` where one is damaged, or gone and not *lacking*."""
    for tist in store.journals():
        prove(store.journal(tist), tist, lacking=lacking)


def apply_journal(store: ObiStore, records: Records, tist: int, start: int = 0) -> None:
    """Apply the journal of *tist* from byte *start* on; of a torn one what is whole."""
    for upto, lines in in_chunks(whole(store.journal(tist), start), LINES):
        records.apply(tist, upto, lines)


@contextmanager
def anew(store: ObiStore, database: str = "", *, derives: bool = False) -> Iterator[Records]:
    """Empty records, to be filled; when that is done they are the store's.

    A MongoDB is emptied first: it has no name under which it could be replaced. Before that, the
    journals are read, and asked is whose records are there: raises as :func:`check_owner`, of which
    *derives* is.
    """
    check = partial(check_owner, store, is_replaced=True, derives=derives)
    if database:
        found = _mongo(database)
        prove_all(store, missing(store.journal(0).parent) if derives else ())
        emptied = found(database, emptying=check)
        try:
            yield emptied
        finally:
            emptied.close()
        return
    path = store.root / NAME
    check(_known(path))
    draft = draft_of(path)
    try:
        _remove(draft)
        records = SqliteRecords(draft, anew=True)
        try:
            with rarely_collected():
                yield records
            records.finish()
        except BaseException:
            _remove(draft)
            raise
        finally:
            records.close()
        _replace(draft, path)
    except OSError as error:
        raise StorageTrouble(path, error) from error


def _known(path: Path) -> Sequence[GatheringRecord]:
    """The gatherings of the database at *path*, none where none can be read in it."""
    with suppress(BadStore, RecordsAway):
        records = SqliteRecords(path, read_only=True)
        try:
            return records.gatherings()
        finally:
            records.close()
    return ()


def _replace(draft: Path, path: Path) -> None:
    # Closed, it is one file without a log beside it; its bytes are synced before its name.
    with draft.open("rb+") as file:
        os.fsync(file.fileno())
    _remove(path)
    put_in_place(draft, path)


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


_TOGETHER = 500


def differences(store: ObiStore, records: Records) -> Iterator[str]:
    """Say, obi by obi, where *records* are not what the journals of *store* make; a sentence each.

    All that ``walk``, ``contents``, ``refipos_of`` and ``gatherings`` tell is compared.
    ``BadJournal``; ``RecordsAway``. A database as large as the store's is made in a temporary
    folder meanwhile.
    """
    with TemporaryDirectory(prefix="lafka-") as folder:
        made = SqliteRecords(Path(folder) / NAME, anew=True)
        try:
            with rarely_collected():
                catch_up(store, made)
                made.finish()
                yield from _gatherings(records, made)
                for kind in Kind:
                    yield from _obis(records, made, kind)
        finally:
            made.close()


def _gatherings(records: Records, made: Records) -> Iterator[str]:
    had = {one.tist: one for one in records.gatherings()}
    for one in made.gatherings():
        if had.pop(one.tist, None) != one:
            yield f"the gathering {one.tist} is not as its journal has it"
    yield from (f"the gathering {tist} has no journal" for tist in had)


def _obis(records: Records, made: Records, kind: Kind) -> Iterator[str]:
    for some in in_batches(_pairs(records.walk(kind), made.walk(kind)), _TOGETHER):
        both = []
        for had, due in some:
            if had is None or due is None:
                one = had or due
                assert one is not None
                where = "in the journals alone" if had is None else "in the database alone"
                yield f"{one.id} is {where}"
                continue
            names = _different(had, due)
            if names:
                yield f"{due.id} has another {', '.join(names)} in the journals"
            both.append(due)
        yield from _contents(records, made, kind, both)
        yield from _pointers(records, made, kind, both)


def _pairs(had: Iterator[Obi], due: Iterator[Obi]) -> Iterator[tuple[Obi | None, Obi | None]]:
    """Both walks side by side, in the order of the bytes of ids; None where one lacks the obi."""
    left, right = next(had, None), next(due, None)
    while left or right:
        order = _order(left, right)
        yield (left if order <= 0 else None), (right if order >= 0 else None)
        left = next(had, None) if order <= 0 else left
        right = next(due, None) if order >= 0 else right


def _order(left: Obi | None, right: Obi | None) -> int:
    if left is None or right is None:
        return 1 if left is None else -1
    one, other = (obi.id.encode("utf-8", "surrogatepass") for obi in (left, right))
    return (one > other) - (one < other)


def _different(had: Obi, due: Obi) -> list[str]:
    (one,), (other,) = told_of([had]), told_of([due])
    return [name for name, value in other.items() if one[name] != value]


def _contents(records: Records, made: Records, kind: Kind, obis: Iterable[Obi]) -> Iterator[str]:
    """The contents that versions of *obis* name."""
    of = {key: obi.id for obi in obis for _, key in obi.versions}
    had, due = (some.contents(kind, of) for some in (records, made))
    for key, content in due.items():
        if had.get(key) != content:
            yield f"{of[key]} has another content {key} in the journals"


def _pointers(records: Records, made: Records, kind: Kind, obis: Iterable[Obi]) -> Iterator[str]:
    for obi in obis:
        if records.refipos_of(kind, obi.id) != made.refipos_of(kind, obi.id):
            yield f"{obi.id} has other pointers in the journals"
