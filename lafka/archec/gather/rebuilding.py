"""Journals for folders that have none: of the first ArchEc, or whose journals were lost.

From the files alone come which obi was there at which tist, its bytes, its MD5, and the redirects
that have a link. Not: losses, visits, the ids of cut names (docs/archec.md).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lafka
from lafka.archec.gather.found_templates import read_tobi
from lafka.archec.gather.recovery import event_of
from lafka.archec.records import Kind, Records
from lafka.archec.records.opening import apply_journal, prove_all
from lafka.archec.store import texts, tists
from lafka.archec.store.folders import ObiStore, shards
from lafka.archec.store.journals import Journal
from lafka.errors import BadStore, KeeperError, StorageTrouble
from lafka.payloads import SNIFF, kind_of
from lafka.payloads import Kind as PayloadKind
from lafka.storage.folders import make_folders


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """A folder whose journal was written from its files, and what in it no line tells of."""

    tist: int
    obis: int
    strange: tuple[str, ...]


def derive(store: ObiStore, records: Records) -> Iterator[Derived]:
    """Fill the empty *records* from journals, and write the journals that are missing.

    ``BadJournal`` where a journal is damaged, and then nothing is written; ``StorageTrouble``.
    Nothing but journals is written, and those are whole or not there.
    """
    prove_all(store)
    make_folders(store.journal(0).parent)
    found = {*store.journals(), *store.gatherings()}
    for tist in sorted(found):
        if not store.journal(tist).exists():
            yield _derived(store, records, tist)
        apply_journal(store, records, tist)


def _derived(store: ObiStore, records: Records, tist: int) -> Derived:
    strange: list[str] = []
    counts: dict[str, int] = {}
    lines = list(_lines(store, records, tist, strange.append))
    for line in lines:
        counts[line["e"]] = counts.get(line["e"], 0) + 1
    tobis = sum(Kind.of(line["id"]) is Kind.TOBI for line in lines)
    head = {
        "format": 1, "gathering": tist, "source": None, "at": False, "run": f"derived-{tist}",
        "kind": str(Kind.TOBI if tobis else Kind.FOBI),
        "software": f"Lafka {lafka.__version__}", "derived": True,
    }  # fmt: skip
    end = {"e": "end", "counts": counts, "seconds": 0.0}
    try:
        Journal.begin(store.journal(tist), head, [*lines, end]).close()
    except OSError as error:
        raise StorageTrouble(store.journal(tist), error) from error
    return Derived(tist=tist, obis=len(lines), strange=tuple(strange))


def _lines(
    store: ObiStore, records: Records, tist: int, strange: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    folder = store.folder(tist)
    for name in sorted(os.listdir(folder)):  # noqa: PTH208 - names, not paths
        path = folder / name
        obi = _id(store, path)
        line = _line(store, path, obi, tist) if obi else None
        if obi is None or line is None:
            strange(str(path))
            continue
        last = records.last(Kind.of(obi), obi)
        sums = {"e": event_of(last), "id": obi}
        found = {"found": last.found} if last and last.found is not None else {}
        yield {**sums, **line, **found}


def _id(store: ObiStore, path: Path) -> str | None:
    """The id of the obi with this name; that of a cut one its bytes may tell."""
    obi = store.names.inverse(path.name)
    if obi is None and not path.is_symlink() and path.is_file():
        told = read_tobi(path.read_bytes()) if "%%" in path.name else None
        if told and store.names.file_name(told["id"]) == path.name:
            return str(told["id"])
    return obi


def _line(store: ObiStore, path: Path, obi: str, tist: int) -> dict[str, Any] | None:
    """Return what a journal line says of the file or link *path*; None where it leads to
    no file.
    """
    held: dict[str, Any] = {}
    place = path
    if path.is_symlink():
        try:
            place = store.find(tist, obi)
        except KeeperError:
            return None
        target = tists.of_folder(place.parent.relative_to(store.root).as_posix())
        name = _id(store, place)
        if target is None or name is None:
            return None
        held = {"held": [target, name]}
    if not place.is_file():
        return None
    data, kind = place.read_bytes(), Kind.of(obi)
    payload = kind_of(data[:SNIFF]) if kind is Kind.FOBI else None
    is_page = payload is PayloadKind.HTML and len(data) <= texts.PAGE_MAX
    sums = texts.of_file(data, is_page=is_page) if payload else texts.of_template(data)
    values = {"md5": sums.md5, "sha256": sums.sha256, "length": len(data)}
    mtime = int(place.stat().st_mtime)
    if payload:
        own: dict[str, Any] = {"found": tist, "kind": str(payload)}
        own |= {"text": texts.HTML_TEXT} if is_page else {}
    else:
        told = read_tobi(data) or {}
        own = {"found": mtime if tists.FIRST <= mtime <= tist else tist}
        own |= {name: told[name] for name in ("type", "encoding", "refipos") if name in told}
    return {**values, **own, **held, "text_sha256": sums.text_sha256}


def adopted(root: Path | str) -> ObiStore:
    """The tree by the paper's rule at *root*, marked as a store; ``BadStore`` for another folder.

    Its names are exact: the first ArchEc knew no others.
    """
    if not any(shards(Path(root))):
        raise BadStore(f"{root}: no folder of a gathering is in it, such as 032/184/2531")
    return ObiStore.create(root, adopting=True)
