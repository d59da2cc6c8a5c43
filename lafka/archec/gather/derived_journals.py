"""Journals that are derived from the files of a store, where it has none: ``rebuild --from-files``.

Trees by the paper's rule that the first ArchEc software made have none; others were lost.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lafka.archec.gather.found_templates import read_tobi
from lafka.archec.records import Kind, Records, event_of, found_of
from lafka.archec.records.opening import apply_journal, prove_all
from lafka.archec.store import pages, texts, tists
from lafka.archec.store.folders import ObiStore, shards
from lafka.archec.store.journals import Journal, kept_aside, missing
from lafka.archec.store.lines import STORED, end, first_line, version
from lafka.archec.store.salvage import salvaged
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
    folder = store.journal(0).parent
    make_folders(folder)
    lacking = missing(folder)
    prove_all(store, lacking)
    found = {*store.journals(), *store.gatherings(), *map(int, lacking)}
    for tist in sorted(found):
        if not store.journal(tist).exists():
            yield _derived(store, records, tist, lacking.get(str(tist)))
        apply_journal(store, records, tist)


def _derived(store: ObiStore, records: Records, tist: int, instead: str | None) -> Derived:
    """Write the journal of *tist*, in place of the one whose seal others name as *instead*.

    Lines that a damaged one still proves stand before those that the files tell.
    """
    strange: list[str] = []
    kept = [line for line in _proved_lines(store, tist) if line.get("e") not in (None, "end")]
    told = {store.names.file_name(line["id"]) for line in kept if line["e"] in STORED}
    lines = kept + [
        line | ({"derived": True} if kept else {})
        for line in _lines(store, records, tist, told, strange.append)
    ]
    counts = Counter(line["e"] for line in lines)
    has_fobis = any(Kind.of(line.get("id", "")) is Kind.FOBI for line in lines)
    is_of_fobis = has_fobis or store.evidence(tist).exists()
    kind = Kind.FOBI if is_of_fobis else Kind.TOBI
    first = first_line(kind, f"derived-{tist}", tist=tist, derived=True)
    last = end(counts, 0.0, **({"instead": instead} if instead else {}))
    try:
        Journal.begin(store.journal(tist), first, [*lines, last]).close()
    except OSError as error:
        raise StorageTrouble(store.journal(tist), error) from error
    return Derived(tist=tist, obis=len(lines), strange=tuple(strange))


def _proved_lines(store: ObiStore, tist: int) -> list[dict[str, Any]]:
    path = kept_aside(store.journal(tist))
    return salvaged(path.read_bytes()).values if path.exists() else []


def _lines(
    store: ObiStore, records: Records, tist: int, told: set[str], strange: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    """Journal lines of what lies in the folder of *tist*, but for the names that are *told*."""
    folder = store.folder(tist)
    names = os.listdir(folder) if folder.is_dir() else []  # noqa: PTH208 - names, not paths
    for name in sorted({*names} - told):
        path = folder / name
        obi = _id(store, path)
        line = _line(store, records, path, obi, tist) if obi else None
        if obi is None or line is None:
            strange(str(path))
            continue
        yield line


def _id(store: ObiStore, path: Path) -> str | None:
    """The id of the obi with this name; that of a cut one its bytes may tell."""
    obi = store.names.inverse(path.name)
    if obi is None and not path.is_symlink() and path.is_file():
        told = read_tobi(path.read_bytes()) if "%%" in path.name else None
        if told and store.names.file_name(told["id"]) == path.name:
            return str(told["id"])
    return obi


def _line(
    store: ObiStore, records: Records, path: Path, obi: str, tist: int
) -> dict[str, Any] | None:
    """Return the line of the file or link *path*; None where it leads to no file."""
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
    is_page = payload is PayloadKind.HTML and len(data) <= pages.PAGE_MAX
    sums = pages.of_file(data, is_page=is_page) if payload else texts.of_template(data)
    mtime, found = int(place.stat().st_mtime), tist
    if payload:
        own = {"kind": str(payload)} | ({"text": pages.HTML_TEXT} if is_page else {})
    else:
        told = read_tobi(data) or {}
        found = mtime if tists.FIRST <= mtime <= tist else tist
        own = {name: told[name] for name in ("type", "encoding", "refipos") if name in told}
    last = records.last(kind, obi)
    return version(
        event_of(last), obi, sums, length=len(data), found=found_of(last, found), **own, **held
    )


def adopted(root: Path | str) -> ObiStore:
    """The tree by the paper's rule at *root*, marked as a store; ``BadStore`` for another folder.

    Its names are exact: the first ArchEc knew no others.
    """
    if not any(shards(Path(root))):
        raise BadStore(f"{root}: no folder of a gathering is in it, such as 032/184/2531")
    return ObiStore.create(root, adopting=True)
