"""A database held against the store that asks for it: whose it is, and what it knows of journals.

A journal that is gone or has another length is damage, and nothing that a new database mends: that
one would know less. So it is said which journal it is, and nothing is made again of the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lafka.archec.records import Gathering
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.journals import head
from lafka.errors import BadJournal, BadStore

_STORED = ("appearance", "change")


def check_owner(store: ObiStore, known: Sequence[Gathering]) -> None:
    """Raise where the database that knows *known* is not of the journals of *store*.

    ``BadStore`` where it is another store's; ``BadJournal`` where a journal is not as it was when
    the database took it in.
    """
    for gathering in known:
        path = store.journal(gathering.tist)
        if not path.exists():
            raise _missing(store, path, known)
        _check_journal(store, path, gathering)
        if gathering.applied and not _is_of(path, gathering):
            raise BadStore(
                f"{path}: derived from files since the database was made, which lafka archec"
                " rebuild makes again"
            )


def check_replaced(store: ObiStore, known: Sequence[Gathering], *, derives: bool) -> None:
    """Raise where a database that knows *known* must not be made again from what *store* has.

    As :func:`check_owner`; where the store *derives* journals from its files, they may be missing.
    """
    for gathering in known:
        path = store.journal(gathering.tist)
        if path.exists():
            _check_journal(store, path, gathering)
        elif not derives:
            raise _missing(store, path, known)
        elif not _is_here(store, gathering) and any(map(gathering.counts.get, _STORED)):
            raise _foreign(store, gathering)


def _missing(store: ObiStore, path: Path, known: Sequence[Gathering]) -> BadStore | BadJournal:
    if not any(_is_here(store, one) for one in known):
        return _foreign(store, known[0])
    return BadJournal(
        path, "missing, and the database knows its gathering; put this journal back from a copy"
    )


def _check_journal(store: ObiStore, path: Path, gathering: Gathering) -> None:
    if not gathering.applied:
        return
    if not _is_of(path, gathering):
        if not head(path).get("derived"):
            raise _foreign(store, gathering)
        return
    size = path.stat().st_size
    if size < gathering.applied or (gathering.ended and size > gathering.applied):
        longer = "longer" if size > gathering.applied else "shorter"
        raise BadJournal(
            path,
            f"{size} bytes, {longer} than the {gathering.applied} that the database took in; put"
            " this journal back from a copy",
        )


def _foreign(store: ObiStore, gathering: Gathering) -> BadStore:
    return BadStore(
        f"{store.root}: the database is of another store: it knows the gathering {gathering.tist};"
        " take away records.sqlite, or name another database in LAFKA_CACHING_DATABASE"
    )


def _is_of(path: Path, gathering: Gathering) -> bool:
    return str(head(path).get("run")) == gathering.run


def _is_here(store: ObiStore, gathering: Gathering) -> bool:
    """Return whether the store has the gathering, by its journal or by its folder alone."""
    path = store.journal(gathering.tist)
    return _is_of(path, gathering) if path.exists() else store.folder(gathering.tist).is_dir()
