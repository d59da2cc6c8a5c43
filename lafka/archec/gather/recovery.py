"""Recovery after killed gatherings: the store becomes as if they had stopped in order.

By the next run of the same kind, under its lock, before anything else. What has its name and no
line is rolled forward: its bytes were on the disk before its name was given. What else a crawl of
fobis captured, the raw log has, as far as the power did not take it
(:mod:`lafka.archec.files.fobi_recovery`). ``rebuild`` makes records, and journals, again.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lafka.archec.gather.found_templates import read_tobi
from lafka.archec.records import Kind, Records, event_of, found_of
from lafka.archec.records.opening import apply_journal, catch_up, prove_all
from lafka.archec.store import evidence, texts, tists
from lafka.archec.store.folders import ObiStore, shards
from lafka.archec.store.journals import Journal, draft_of, head, kept_aside, missing, read
from lafka.archec.store.lines import STORED, Line, end, first_line, version
from lafka.archec.store.salvage import salvaged
from lafka.errors import BadStore, KeeperError, StorageTrouble, TornJournal
from lafka.payloads import SNIFF, kind_of
from lafka.payloads import Kind as PayloadKind
from lafka.storage.drafts import replace
from lafka.storage.folders import DRAFT, make_folders, sync_folder
from lafka.warc.format.sources import CHUNK


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
    is_of_fobis = has_fobis or evidence.path_of(store, tist).exists()
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
    is_page = payload is PayloadKind.HTML and len(data) <= texts.PAGE_MAX
    sums = texts.of_file(data, is_page=is_page) if payload else texts.of_template(data)
    mtime, found = int(place.stat().st_mtime), tist
    if payload:
        own = {"kind": str(payload)} | ({"text": texts.HTML_TEXT} if is_page else {})
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


ReadTobi = Callable[[bytes], dict[str, Any] | None]
"""Bytes of a tobi -> ``id`` and what a journal line says of it; None where they are none."""
_OBI_DRAFT = re.compile(re.escape(DRAFT) + r"[0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveredGathering:
    """A gathering that was killed: tobis rolled forward, drafts and links removed, bytes torn."""

    tist: int
    rolled: int
    removed: int
    torn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlisted:
    """Means to identify a file that has its name and no line; what nobody knows stays, unlisted.

    ``read_tobi`` reads a tobi; ``fobi_named`` gives the id of the fobi with that name.
    ``run``: only gatherings of that run are ended.
    """

    read_tobi: ReadTobi = lambda _: None
    fobi_named: Callable[[str], str | None] = lambda _: None
    run: str | None = None


def recover(
    store: ObiStore, records: Records, kind: Kind, unlisted: Unlisted
) -> Iterator[RecoveredGathering]:
    """End the dead gatherings of *kind*, oldest first; under that kind's lock.

    The records take in what they lack. ``BadJournal`` where a journal is damaged: then nothing is
    written. ``StorageTrouble``.
    """
    catch_up(store, records)
    try:
        # It was going to be a journal, and never got its name.
        draft_of(store.journal(0), kind).unlink(missing_ok=True)
        for tist in store.journals():
            journal = _dead(store, kind, tist, unlisted.run)
            if journal:
                try:
                    yield _ended(store, records, journal, tist, unlisted)
                finally:
                    journal.close()
    except OSError as error:
        raise StorageTrouble(error.filename or store.root, error) from error


def _dead(store: ObiStore, kind: Kind, tist: int, run: str | None) -> Journal | None:
    path = store.journal(tist)
    first = head(path)
    if first.get("kind") == kind and run in (None, first.get("run")):
        return Journal.dead(path)
    return None


def _ended(
    store: ObiStore, records: Records, journal: Journal, tist: int, unlisted: Unlisted
) -> RecoveredGathering:
    torn = _cut_torn(journal, records.applied(tist))
    evidence.cut_torn(evidence.path_of(store, tist))
    lines = [line for _, line in read(journal.path)]
    told = {store.names.file_name(line["id"]) for line in lines if line.get("e") in STORED}
    folder = store.folder(tist)
    removed, rolled = 0, []
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if path.name in told:
            continue
        if path.is_symlink() or _OBI_DRAFT.fullmatch(path.name):
            path.unlink()
            removed += 1
        elif obi := unlisted.fobi_named(path.name):
            rolled.append(_rolled_fobi(records, path, obi, tist))
        elif line := _rolled(store, records, path, unlisted.read_tobi):
            rolled.append(line)
    if removed:
        sync_folder(folder)
    proof = evidence.sealed(evidence.path_of(store, tist))
    _close(journal, records, lines, rolled, {**proof, "killed": True})
    return RecoveredGathering(tist=tist, rolled=len(rolled), removed=removed, torn=torn)


def _cut_torn(journal: Journal, applied: int) -> int:
    """Keep what is no whole line beside the journal, and cut it off; how many bytes."""
    whole = 0
    try:
        for place, _ in read(journal.path):
            whole = place
    except TornJournal:
        if whole < applied:  # it was whole when it was acknowledged: no kill did this
            raise
        size = journal.size - whole
        kept = journal.path.with_name(f"{journal.path.name}.torn-{whole}")
        replace(kept, [journal.read(size, whole)])
        journal.cut(whole)
        return size
    return 0


def _rolled(
    store: ObiStore, records: Records, path: Path, read_tobi: ReadTobi
) -> dict[str, Any] | None:
    """The line of a tobi that has none; None for a file that is not of this store's making."""
    data = path.read_bytes()
    line = read_tobi(data)
    if line is None or store.names.file_name(line["id"]) != path.name:
        return None
    sums, obi = texts.of_template(data), line.pop("id")
    last, mtime = records.last(Kind.TOBI, obi), int(path.stat().st_mtime)
    told = version(
        event_of(last), obi, sums, length=len(data), found=found_of(last, mtime), **line,
        recovered=True,
    )  # fmt: skip
    return told | {"md5": _key(records, Kind.TOBI, sums)}


def _rolled_fobi(records: Records, path: Path, obi: str, tist: int) -> dict[str, Any]:
    """The line of a fobi that has none: what its bytes tell, and when they came."""
    state = path.stat()
    with path.open("rb") as file:
        kind = kind_of(file.read(SNIFF))
        file.seek(0)
        is_page = kind is PayloadKind.HTML and state.st_size <= texts.PAGE_MAX
        if is_page:
            sums = texts.of_file(file.read(), is_page=True)
        else:
            sums, _ = texts.of_pieces(iter(lambda: file.read(CHUNK), b""))
    last = records.last(Kind.FOBI, obi)
    time = f"{tists.to_time(int(state.st_mtime)):%Y-%m-%dT%H:%M:%SZ}"
    text = {"text": texts.HTML_TEXT} if is_page else {}
    told = version(
        event_of(last), obi, sums, length=state.st_size, found=found_of(last, tist), time=time,
        way=[obi], status=200, kind=str(kind), **text, recovered=True,
    )  # fmt: skip
    return told | {"md5": _key(records, Kind.FOBI, sums)}


def _key(records: Records, kind: Kind, sums: texts.Checksums) -> str:
    """The MD5 key of a text that no content has."""
    others = [c for c in records.held(kind, sums.md5) if c.text_sha256 != sums.text_sha256]
    return f"{sums.md5}-{len(others) + 1}" if others else sums.md5


def _close(
    journal: Journal, records: Records, lines: list[Line], rolled: list[dict[str, Any]],
    more: dict[str, Any],
) -> None:  # fmt: skip
    """End *journal*, which has *lines*, with those *rolled* forward; *more* is for its end."""
    counts = Counter(line["e"] for line in (*lines[1:], *rolled))
    added = [*rolled, end(counts, **more)]
    try:
        journal.append(added)
    except OSError as error:
        raise StorageTrouble(journal.path, error) from error
    tist = lines[0]["gathering"]
    is_known = records.applied(tist)
    records.apply(tist, journal.size, added if is_known else [*lines[:1], *added])
