"""Recovery after killed gatherings: the store becomes as if they had stopped in order.

By the next run of the same kind, under its lock, before anything else. What has its name and no
line is rolled forward: its bytes were on the disk before its name was given. What else a crawl of
fobis captured, the raw log has, as far as the power did not take it
(:mod:`lafka.archec.files.fobi_recovery`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lafka.archec.records import Kind, Records, event_of, found_of
from lafka.archec.records.opening import catch_up
from lafka.archec.store import texts
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.journals import Journal, draft_of, head, read
from lafka.archec.store.lines import STORED, Line, end, version
from lafka.errors import StorageTrouble, TornJournal
from lafka.storage.drafts import replace
from lafka.storage.folders import DRAFT, sync_folder

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
class UnlistedFiles:
    """Means to identify a file that has its name and no line; what nobody knows stays, unlisted.

    ``read_tobi`` reads a tobi; ``fobi_line`` gives the line of a fobi's file at a tist.
    ``seal`` makes the evidence of a gathering whole, and gives what its end says of that.
    ``run``: only gatherings of that run are ended.
    """

    read_tobi: ReadTobi = lambda _: None
    fobi_line: Callable[[Path, int], dict[str, Any] | None] = lambda _path, _tist: None
    seal: Callable[[int], dict[str, Any]] = lambda _: {}
    run: str | None = None


def recover(
    store: ObiStore, records: Records, kind: Kind, unlisted: UnlistedFiles
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
                    yield _end(store, records, journal, tist, unlisted)
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


def _end(
    store: ObiStore, records: Records, journal: Journal, tist: int, unlisted: UnlistedFiles
) -> RecoveredGathering:
    torn = _cut_torn(journal, records.applied(tist))
    proof = unlisted.seal(tist)
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
        elif line := unlisted.fobi_line(path, tist) or _rolled(
            store, records, path, unlisted.read_tobi
        ):
            rolled.append(line)
    if removed:
        sync_folder(folder)
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
    return told | {"md5": content_key(records, Kind.TOBI, sums)}


def content_key(records: Records, kind: Kind, sums: texts.Checksums) -> str:
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
