"""Damaged journals put right: by their own chains, by those of a copy, or by the store's files.

What cannot be known is named, and no loss is ever invented.

The chain of a line is that of the line before it and its own text, so of a line with one damaged
byte the chain tells which byte it was; and behind a line that nothing mends, the next ones are
proved by the chain that it carries. Where a store has no journals, as trees by the paper's rule
that the first ArchEc software made, they are derived from its files: ``rebuild --from-files``.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lafka.archec.gather.found_templates import read_tobi
from lafka.archec.records import Kind, Records, event_of, found_of
from lafka.archec.records.opening import anew, apply_journal, prove_all
from lafka.archec.store import pages, texts, tists
from lafka.archec.store.folders import ObiStore, shards
from lafka.archec.store.journals import Journal, head, is_ended, kept_aside, missing, read, seals
from lafka.archec.store.lines import STORED, end, first_line, version
from lafka.errors import BadJournal, BadStore, KeeperError, StorageTrouble, TornJournal
from lafka.payloads import SNIFF, kind_of
from lafka.payloads import Kind as PayloadKind
from lafka.storage.drafts import LENGTH, NO_CHAIN, chained_lines, is_next, replace, split_chain
from lafka.storage.folders import make_folders


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
        told = _journal_bytes(path)
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


def _journal_bytes(path: Path) -> bytes:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedJournal:
    """A folder whose journal was written from its files, and what in it no line tells of."""

    tist: int
    obis: int
    strange: tuple[str, ...]


def derive(store: ObiStore, records: Records) -> Iterator[DerivedJournal]:
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
            yield _derived_journal(store, records, tist, lacking.get(str(tist)))
        apply_journal(store, records, tist)


def _derived_journal(
    store: ObiStore, records: Records, tist: int, instead: str | None
) -> DerivedJournal:
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
    return DerivedJournal(tist=tist, obis=len(lines), strange=tuple(strange))


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


_LONGEST = 1536
"""Bytes of a line in which a damaged byte is looked for: it takes a second by then."""
_MOST = 8
"""Lines of one journal in which it is looked for."""
_END = re.compile(rb', "chain": "sha256:[0-9a-f]{64}"\}')


@dataclass(slots=True)
class SalvagedJournal:
    """Lines as they were written, with their chains; ``mended`` of them were not as they were.

    ``lost`` are the places of lines that nothing mends; ``is_whole``: from the first to an end;
    ``tried``: in so many lines a damaged byte was looked for.
    """

    lines: list[bytes] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    mended: int = 0
    tried: int = 0
    is_whole: bool = False

    @property
    def values(self) -> list[dict[str, Any]]:
        """The lines as objects, without their chains."""
        return [json.loads(split_chain(line)[0]) for line in self.lines]


def salvaged(data: bytes, seals: Collection[str] = ()) -> SalvagedJournal:
    """Return what the journal *data* proves; *seals*: what others say of its end."""
    pieces = deque(_pieces(data))
    if not any(_END.search(piece) for _, piece in pieces):
        return _without_chain(data.splitlines(keepends=True))
    found, before = SalvagedJournal(), NO_CHAIN
    while pieces:
        place, piece = pieces.popleft()
        line, rest = _proved(piece, before), b""
        if line is None:
            line, rest = _with_a_chain(piece, before, pieces[0][1] if pieces else b"", seals)
        if line is None:
            line = _with_a_byte_else(piece, before, found)
        if line is None and b"\n" in piece[:-1]:  # the end of one of two lines was not known
            first, rest = piece.split(b"\n", 1)
            pieces.extendleft([(place + len(first) + 1, rest), (place, first + b"\n")])
            continue
        if line is None:
            found.lost.append(place)
            before = split_chain(piece)[1] or before
            continue
        found.mended += line != piece
        found.lines.append(line)
        before = split_chain(line)[1] or before
        if rest:
            pieces.appendleft((place + len(piece) - len(rest), rest))
        if _is_end(line):
            found.is_whole = not found.lost
            break  # what stands behind an end is none of it
    return found


def _pieces(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines by the chains at their ends, each with its place and a right line end."""
    place = 0
    for found in _END.finditer(data):
        yield place, data[place : found.end()] + b"\n"
        place = found.end() + 1
    if place < len(data):
        yield place, data[place:]


def _proved(piece: bytes, before: bytes) -> bytes | None:
    text, own = split_chain(piece)
    return piece if own is not None and is_next(text, own, before) else None


def _with_a_chain(
    piece: bytes, before: bytes, following: bytes, seals: Collection[str]
) -> tuple[bytes | None, bytes]:
    """The line with which *piece* begins, its damaged chain made again, and what is behind it.

    Proved by the line that follows, or as the last one by *seals*; None where it is not.
    """
    place = piece.find(b"\n")
    while place >= 0:
        line, chain = chained_lines(piece[: max(0, place + 1 - LENGTH)] + b"}\n", before)
        text, own = split_chain(piece[place + 1 :] or following)
        is_next_proved = own is not None and is_next(text, own, chain)
        if is_next_proved or f"sha256:{chain.hex()}" in seals:
            return line, piece[place + 1 :]
        place = piece.find(b"\n", place + 1)
    return None, b""


def _with_a_byte_else(piece: bytes, before: bytes, found: SalvagedJournal) -> bytes | None:
    """*piece* with the byte that its chain proves; None where there is none."""
    text, own = split_chain(piece)
    if own is None or found.tried >= _MOST or len(text) > _LONGEST:
        return None
    found.tried += 1
    for candidate in _one_byte_else(text, own, before):
        return chained_lines(candidate + b"\n", before)[0]
    return None


def _one_byte_else(text: bytes, own: bytes, before: bytes) -> Iterator[bytes]:
    """*text* with that one byte else which makes its chain *own*."""
    begun = hashlib.sha256(before)
    for place in range(len(text)):
        rest = text[place + 1 :]
        for byte in range(256):
            digest = begun.copy()
            digest.update(bytes((byte,)) + rest)
            if digest.digest() == own:
                yield text[:place] + bytes((byte,)) + rest
        begun.update(text[place : place + 1])


def _without_chain(lines: list[bytes]) -> SalvagedJournal:
    """Of a journal of before there were chains: each line that is an object."""
    found, place = SalvagedJournal(), 0
    for line in lines:
        try:
            is_line = line.endswith(b"\n") and isinstance(json.loads(line), dict)
        except (ValueError, RecursionError):
            is_line = False
        if not is_line:
            found.lost.append(place)
        else:
            found.lines.append(line)
            if _is_end(line):
                found.is_whole = not found.lost
                break
        place += len(line)
    return found


def _is_end(line: bytes) -> bool:
    return bool(json.loads(split_chain(line)[0]).get("e") == "end")
