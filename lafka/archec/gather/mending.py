"""Damaged journals put right: by their own chains, by those of a copy, or by the store's files.

What cannot be known is named, and no loss is ever invented.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lafka.archec.gather.derived_journals import derive
from lafka.archec.records.opening import anew
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.journals import head, is_ended, kept_aside, read, seals
from lafka.archec.store.salvage import salvaged
from lafka.errors import BadJournal, StorageTrouble, TornJournal
from lafka.storage.drafts import replace


@dataclass(frozen=True, slots=True, kw_only=True)
class MendedJournal:
    """A journal that was damaged, what was done, and whether all that it told is known again."""

    path: Path
    sentence: str
    is_known: bool = True


def mend(store: ObiStore, database: str = "", copy: Path | None = None) -> Iterator[MendedJournal]:
    """Put the damaged journals of *store* right; those of *copy*, a store, are taken first.

    A damaged one is kept beside its place, as ``<name>.torn-0``. Where lines are derived from
    files, *database* is made again. ``BadStore``, ``BadJournal``, ``StorageTrouble``,
    ``RecordsAway``; the same call goes on.
    """
    named = _named(store)
    lacking = []
    for tist in sorted({*store.journals(), *named}):
        path, due = store.journal(tist), named.get(tist, set())
        if _is_sound(path, tist, due):
            continue
        if copy and (data := _copied(copy, tist, due)):
            _put(path, data)
            yield MendedJournal(path=path, sentence=f"put back from {copy}")
            continue
        told = _told(path)
        found = salvaged(told, due)
        if found.is_whole and (not due or _is_due(found.lines, due)):
            _put(path, b"".join(found.lines))
            yield MendedJournal(path=path, sentence=f"{found.mended} lines mended by their chain")
            continue
        if path.exists():
            _keep_aside(path)
        lacking.append((path, len(found.lines)))
    if lacking:
        yield from _derived(store, database, lacking)


def _derived(
    store: ObiStore, database: str, lacking: list[tuple[Path, int]]
) -> Iterator[MendedJournal]:
    with anew(store, database, derives=True) as records:
        obis = {one.tist: one.obis for one in derive(store, records)}
    for path, kept in lacking:
        yield MendedJournal(
            path=path, is_known=False,
            sentence=f"{kept} lines are as they were; with what the files tell it has"
            f" {obis.get(int(path.stem), 0)} obis; losses, visits and misses of the other lines"
            " are not known",
        )  # fmt: skip


def _named(store: ObiStore) -> dict[int, set[str]]:
    """The seals that first lines of journals name, as far as they can be read."""
    found: dict[int, set[str]] = {}
    for tist in store.journals():
        with suppress(ValueError, AttributeError, OSError):
            first = json.loads(store.journal(tist).open("rb").readline())
            for name, seal in dict(first.get("after") or {}).items():
                found.setdefault(int(name), set()).add(str(seal))
    return found


def _is_sound(path: Path, tist: int, due: set[str]) -> bool:
    """Return whether the journal is whole, or one that a kill left; and the one that is *due*."""
    if not path.exists():
        return False
    try:
        for _ in read(path):
            pass
        if head(path).get("gathering") != tist:
            return False
    except TornJournal:
        return not due
    except BadJournal:
        return False
    return not due or (is_ended(path) and not due.isdisjoint(seals(path)))


def _is_due(lines: list[bytes], due: set[str]) -> bool:
    from_chain = lines[-1].rpartition(b'"chain": "')[2].partition(b'"')[0].decode()
    return from_chain in due


def _copied(copy: Path, tist: int, due: set[str]) -> bytes:
    """The journal of *tist* in *copy*, a store or its folder of journals; empty without one."""
    for folder in (copy / "journal", copy):
        path = folder / f"{tist}.jsonl"
        if _is_sound(path, tist, due) and is_ended(path):
            return path.read_bytes()
    return b""


def _told(path: Path) -> bytes:
    """The bytes of a journal, or of the copy that was set aside; empty where neither is there."""
    place = path if path.exists() else kept_aside(path)
    return place.read_bytes() if place.exists() else b""


def _keep_aside(path: Path) -> None:
    try:
        path.rename(kept_aside(path))
    except OSError as error:
        raise StorageTrouble(path, error) from error


def _put(path: Path, data: bytes) -> None:
    """Put *data* at the place of the journal, which is kept beside it."""
    if path.exists() and not kept_aside(path).exists():
        replace(kept_aside(path), [path.read_bytes()])
    replace(path, [data])
