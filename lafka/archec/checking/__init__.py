"""Proves an obi store sound, by other code than what wrote it: nothing is shared but errors.

Each rule of the design is written here a second time: places, names, text, the fold of journals.
The text of pages is not: its bytes are proved by their SHA-256.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lafka.archec.checking.facts import Fact, Facts, folder_of, template_md5, tist_of
from lafka.errors import BadStore
from lafka.witness.problems import StoreProblem

_NAME = re.compile(r"([1-9][0-9]{8,10})\.warc")
_KEPT = re.compile(r"[0-9]+\.warc\.torn-[0-9]+")
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,18})[ \t]*\r\n", re.IGNORECASE)
_HEAD_MAX = 1 << 20


def check_evidence(folder: Path, facts: Facts) -> Iterator[StoreProblem]:
    """Yield what is wrong with the WARCs in *folder*, held to the journals of *facts*."""
    there = set()
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if _KEPT.fullmatch(path.name):
            continue
        found = _NAME.fullmatch(path.name)
        tist = int(found[1]) if found else 0
        there.add(tist)
        if sentence := _fault(path, tist, facts):
            yield StoreProblem(path=path, code="bad-evidence", sentence=sentence)
    for tist in sorted(facts.evidence.keys() - there):
        sentence = f"missing, and the end of {tist}.jsonl tells of it"
        yield StoreProblem(path=folder / f"{tist}.warc", code="bad-evidence", sentence=sentence)


def _fault(path: Path, tist: int, facts: Facts) -> str:
    """Return what is wrong with the evidence of the gathering *tist*; empty where nothing is."""
    if tist not in facts.ended:
        return "of no gathering of this store"
    if (place := _torn(path)) is not None:
        return f"byte {place}: no record of a WARC, or a torn one"
    if tist in facts.evidence:
        with path.open("rb") as file:
            told = (hashlib.file_digest(file, "sha256").hexdigest(), file.tell())
        if told != facts.evidence[tist]:
            return f"not the bytes that the end of {tist}.jsonl tells of"
    return ""


def _torn(path: Path) -> int | None:
    """Return where the records of *path* end before the file does; None where they do not."""
    size, place = path.stat().st_size, 0
    with path.open("rb") as file:
        while place < size:
            file.seek(place)
            head, blank, _ = file.read(_HEAD_MAX).partition(b"\r\n\r\n")
            length = _LENGTH.search(head + b"\r\n")
            if not (head.startswith(b"WARC/1.") and blank and length):
                return place
            end = place + len(head) + 4 + int(length[1])
            file.seek(end)
            if file.read(4) != b"\r\n\r\n":
                return place
            place = end + 4
    return None


_CHUNK = 1 << 20
_LINKS_MAX = 10
_OURS = {"archec.json", "journal", "runs", "evidence", "raw", "records.sqlite",
         "records.sqlite-wal", "records.sqlite-shm", "tobi.lock", "fobi.lock"}  # fmt: skip
_DRAFT = re.compile(r"\.draft-[0-9]+")


def check_store(
    root: Path, *, quick: bool = False, ids: Collection[str] = (),
    rows: Iterable[Mapping[str, Any]] | None = None, tists: Collection[int] | None = None,
) -> Iterator[StoreProblem]:  # fmt: skip
    """Yield what is wrong with the store at *root*, or with the obis *ids* of it.

    *quick*: no digests. *rows*: obis of the records, with ``id``, ``versions``, ``past``, ``lost``
    and ``noted``, to be held against the journals. *tists*: the gatherings that stored *ids*,
    where they are known, whose journals alone are read. ``BadStore`` where no store is there.
    """
    names, fault = _marker(root)
    folded = names == "folded"
    if fault and not ids:
        yield StoreProblem(path=root / "archec.json", code="bad-marker", sentence=fault)
    facts = Facts()
    if ids and tists is not None:
        facts.read_of(root / "journal", tists, ids, folded=folded)
    else:
        told = list(facts.read(root / "journal", folded=folded))
        yield from () if ids else told
    if not ids:
        yield from check_evidence(root / "evidence", facts)
        yield from _check_tree(root, facts)
    for tist in facts.gatherings():
        yield from _check_gathering(root, facts, tist, quick=quick, ids=ids)
        if folded and not ids:
            yield from _twins(root / folder_of(tist))
    if rows is not None and not ids:
        yield from _check_rows(root, facts, rows)


def _marker(root: Path) -> tuple[str, str]:
    """The rule of the store's names, and what is wrong with its marker.

    Without one the rule is that of nearly all disks. ``BadStore`` where nothing of a store is.
    """
    try:
        values = json.loads((root / "archec.json").read_bytes())
        if values["format"] == 1 and values["names"] in ("exact", "folded"):
            return str(values["names"]), ""
        fault = "of another format"
    except OSError as error:
        fault = os.strerror(error.errno or 0).lower()
    except (ValueError, LookupError, TypeError):
        fault = "no marker of an obi store"
    if not (root / "journal").is_dir():
        raise BadStore(f"{root}: no obi store is here, or one of another format")
    return "exact", fault


def _check_tree(root: Path, facts: Facts) -> Iterator[StoreProblem]:
    """Yield what stands where nothing of the store stands, and folders without a journal."""
    for path in sorted(root.iterdir()):
        if re.fullmatch("[0-9]{3}", path.name) and path.is_dir() and not path.is_symlink():
            yield from _check_shard(path, (path.name,), facts)
        elif path.name.startswith((".draft-", ".probe")):
            yield StoreProblem(path=path, code="left-draft", sentence="a draft", severity="warning")
        elif path.name not in _OURS:
            yield StoreProblem(path=path, code="wrong-place", sentence="nothing of a store")


def _check_shard(folder: Path, parts: tuple[str, ...], facts: Facts) -> Iterator[StoreProblem]:
    for path in sorted(folder.iterdir()):
        names = (*parts, path.name)
        if path.is_symlink() or not path.is_dir() or (len(names) == 3 and tist_of(names) is None):
            yield StoreProblem(path=path, code="wrong-place", sentence="no folder of a gathering")
        elif len(names) < 3:
            yield from _check_shard(path, names, facts)
        elif tist_of(names) not in facts.ended:
            yield StoreProblem(
                path=path, code="stray-object", sentence="a gathering without a journal"
            )
        else:
            yield from _check_names(path, facts, tist_of(names) or 0)


def _check_names(folder: Path, facts: Facts, tist: int) -> Iterator[StoreProblem]:
    """Names that no line of the gathering has."""
    known = facts.of_gathering(tist)
    ids = {fact.id for fact in known.values()}
    for path in sorted(folder.iterdir()):
        if _DRAFT.fullmatch(path.name):
            severity = "error" if facts.ended[tist] else "warning"
            yield StoreProblem(path=path, code="left-draft", sentence="a draft", severity=severity)
        elif path.name not in known:
            # Escaped by another rule, as by an early Perl's: the id is right, the name is not.
            if _unescaped(path.name) in ids:
                yield StoreProblem(
                    path=path, code="wrong-place", sentence="not the name of that id"
                )
            else:
                yield StoreProblem(
                    path=path, code="stray-object", sentence="no journal tells of it"
                )


def _unescaped(name: str) -> str:
    data = re.sub(rb"%([0-9A-Fa-f]{2})", lambda m: bytes([int(m[1], 16)]), name.encode())
    return data.decode("utf-8", "replace")


def _check_gathering(
    root: Path, facts: Facts, tist: int, *, quick: bool, ids: Collection[str]
) -> Iterator[StoreProblem]:
    folder = root / folder_of(tist)
    known = facts.of_gathering(tist)
    there = {fact.id for fact in known.values() if os.path.lexists(folder / fact.name)}
    for fact in known.values():
        if ids and fact.id not in ids:
            continue
        path = folder / fact.name
        if fact.id in there:
            yield from _check_object(root, path, fact, quick=quick)
        elif not (fact.is_held and {f"{fact.id}/", fact.id.removesuffix("/")} & there):
            sentence = f"{fact.id} is in the journal of {tist}"
            yield StoreProblem(path=path, code="missing-object", sentence=sentence)


def _check_object(root: Path, path: Path, fact: Fact, *, quick: bool) -> Iterator[StoreProblem]:
    place, code = _followed(root, path)
    if code:
        yield StoreProblem(path=path, code=code, sentence=f"it leads to {path.readlink()}")
    elif not place.is_file():
        yield StoreProblem(path=path, code="wrong-place", sentence="no file")
    elif fact.is_withdrawn and not place.stat().st_size:
        return
    elif place.stat().st_size != fact.length:
        sentence = f"{place.stat().st_size} bytes, not {fact.length}"
        yield StoreProblem(path=path, code="changed-object", sentence=sentence)
    elif not quick:
        yield from _check_bytes(path, place, fact)


def _check_bytes(path: Path, place: Path, fact: Fact) -> Iterator[StoreProblem]:
    is_fobi = "://" in fact.id
    digest, data = hashlib.sha256(), bytearray()
    with place.open("rb") as file:
        while piece := file.read(_CHUNK):
            digest.update(piece)
            if not is_fobi:
                data += piece
    if digest.hexdigest() != fact.sha256:
        yield StoreProblem(path=path, code="changed-object", sentence="its SHA-256 is another")
    elif not is_fobi and template_md5(bytes(data)) != fact.md5[:32]:
        yield StoreProblem(path=path, code="text-differs", sentence="its text has another MD5")


def _followed(root: Path, path: Path) -> tuple[Path, str]:
    """Return what *path* leads to, and the code of what is wrong with the way."""
    place, top = path, os.path.normpath(root)
    for _ in range(_LINKS_MAX + 1):
        if not place.is_symlink():
            return place, "" if place.exists() else "dangling-link"
        place = Path(os.path.normpath(place.parent / place.readlink()))
        if not str(place).startswith(f"{top}{os.sep}"):
            return place, "outside-link"
    return place, "link-loop"


def _twins(folder: Path) -> Iterator[StoreProblem]:
    seen: set[str] = set()
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if path.name.lower() in seen:
            yield StoreProblem(
                path=path, code="case-twins", sentence="another name is the same in case"
            )
        seen.add(path.name.lower())


def _check_rows(
    root: Path, facts: Facts, rows: Iterable[Mapping[str, Any]]
) -> Iterator[StoreProblem]:
    stored = 0
    for row in rows:
        versions, past = facts.versions(row["id"]), facts.losses(row["id"])
        stored += bool(versions)
        noted = versions[-1][0] if versions else None
        lost = past[-1] if past and noted is not None and past[-1] > noted else None
        had = [list(version) for version in row["versions"]]
        if (had, list(row["past"]), row["noted"], row["lost"]) != (versions, past, noted, lost):
            sentence = f"{row['id']} has other versions or losses in the journals"
            yield StoreProblem(path=root, code="records-differ", sentence=sentence)
    if stored != facts.ids():
        sentence = f"{stored} of the {facts.ids()} obis of the journals are in the records"
        yield StoreProblem(path=root, code="records-differ", sentence=sentence)
