"""Each fileset's WARC against its summary, each file against its digests."""

from __future__ import annotations

import json
import os
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from lafka.filesets.checking.records import (
    DESCRIPTION,
    Bucket,
    Found,
    Items,
    Stretch,
    UnknownPlace,
    gunzipped,
    packed_place,
    placed,
    stretch,
    sums,
    sums_in,
)
from lafka.witness.problems import FileProblem, problem
from lafka.witness.reader import StrictReader, StrictRecord

_NO_RECORD = frozenset(
    ("stray-bytes", "torn-tail", "bad-version", "bad-header", "bad-length", "bad-trailer")
)
"""Codes of the strict reader for what is no whole record."""
_Trouble = tuple[str, str] | None
"""Code and sentence of what is wrong with one file; None where all is well."""


def check_filesets(
    root: Path, items: Path | None = None, bucket: Bucket | None = None, *, quick: bool = False
) -> Iterator[FileProblem]:
    """Yield what is wrong with the filesets of the archive at *root*, whose items are in the folder
    *items*, or in *bucket*; *quick*: sizes and names only.
    """
    held = Items(items or root / "items", bucket)
    for warc, suwaf in fileset_paths(root):
        yield from check_fileset(warc, suwaf, held, quick=quick)
    yield from check_around(root, held)


def fileset_paths(root: Path) -> Iterator[tuple[Path, Path]]:
    """The paths of WARC and summary of each fileset that has one of the two."""
    warcs, suwafs = root / "fileset" / "warc", root / "fileset" / "suwaf"
    names = {_name(warcs, path, ".warc") for path in warcs.rglob("*.warc")}
    names |= {_name(suwafs, path, ".json") for path in suwafs.rglob("*.json")}
    for name in sorted(name for name in names if "/.draft-" not in name):
        yield warcs / f"{name}.warc", suwafs / f"{name}.json"


def check_fileset(
    warc: Path, suwaf: Path, items: Items, *, quick: bool = False
) -> Iterator[FileProblem]:
    """Return what is wrong with one fileset."""
    return _Fileset(warc, suwaf, items).check(quick=quick)


def check_around(root: Path, items: Items) -> Iterator[FileProblem]:
    """Yield what is wrong beside the filesets: results without their files, parts."""
    yield from _results(root)
    for part in items.on_their_way():
        yield problem(part, "item-part", "a file on its way: the same request goes on with it")


def _results(root: Path) -> Iterator[FileProblem]:
    """No acknowledged result without its files: each digest it names stands in a summary."""
    held = _held_digests(root / "fileset" / "suwaf")
    for feed in sorted((root / "runs").glob("*.jsonl")):
        offset = 0
        try:
            data = feed.read_bytes()
        except OSError:
            continue  # told where feeds are checked
        for line in data.splitlines(keepends=True):
            for fileset, path, digest in _acknowledged(line):
                if f"sha256:{digest}" not in held.get(fileset, ()):
                    sentence = f"{path!r} of {fileset} is in no summary"
                    yield problem(feed, "result-lost", sentence, offset)
            offset += len(line)


def _held_digests(suwafs: Path) -> dict[str, set[str]]:
    """The digests that each fileset's summary names."""
    found: dict[str, set[str]] = {}
    for suwaf in suwafs.rglob("*.json"):
        if suwaf.name.startswith(".draft-"):
            continue  # a killed writer's: nobody reads a file in it
        try:
            values = json.loads(suwaf.read_bytes())
            versions, _, _ = _summary(suwaf.read_bytes())
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            continue  # told where the fileset is checked
        files = (entry for version in versions.values() for entry in version["files"].values())
        found[next(iter(values))] = {entry["digest"] for entry in files}
    return found


def _acknowledged(line: bytes) -> list[tuple[str, str, str]]:
    """Fileset, path and SHA-256 of each file that a line of a feed says is held."""
    try:
        result = json.loads(line)
        if result.get("hit") is not True or "fileset" not in result.get("lafka", {}):
            return []
        files = [file for file in result.get("manifest", ()) if "sha256" in file]
        fileset = str(result["lafka"]["fileset"])
        return [(fileset, str(file["path"]), str(file["sha256"])) for file in files]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return []


def _name(base: Path, path: Path, suffix: str) -> str:
    return path.relative_to(base).as_posix().removesuffix(suffix)


class _Fileset:
    """One fileset: its WARC, its summary, its items."""

    def __init__(self, warc: Path, suwaf: Path, items: Items) -> None:
        self._warc = warc
        self._suwaf = suwaf
        self._items = items
        self._noted: dict[tuple[str, str], str] = {}
        self._notes = False

    def check(self, *, quick: bool) -> Iterator[FileProblem]:
        if not self._warc.exists():
            yield problem(self._suwaf, "no-fileset-warc", "a summary without its WARC")
            return
        if not self._suwaf.exists():
            yield problem(self._warc, "no-summary", "a WARC without its summary: rebuild makes it")
            return
        try:
            versions, end, chain = _summary(self._suwaf.read_bytes())
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            yield problem(self._suwaf, "bad-summary", f"no summary: {error}")
            return
        size = self._warc.stat().st_size
        if size < end:
            yield problem(self._warc, "fileset-short", f"{size} bytes, and its summary knows {end}")
            return
        if size > end:
            sentence = f"{size - end} bytes that no summary knows: recovery looks at them"
            yield problem(self._warc, "fileset-tail", sentence, end)
        if not quick:
            yield from self._records(end, chain)
        for name, version in versions.items():
            yield from self._version(name, version, quick=quick)
        yield from self._descriptions(versions.values(), quick=quick)
        if self._notes:
            yield from self._differing(versions)

    def _records(self, end: int, chain: str) -> Iterator[FileProblem]:
        """Hold each record before *end* to its header, and all headers to the *chain*."""
        made, reader = bytes(32), StrictReader(self._warc, end=end, hashing=False)
        for record in reader:
            made = record.chain
            yield from self._block(record)
        bad = [found for found in reader.problems if found.code in _NO_RECORD]
        for found in bad:
            yield problem(self._warc, "bad-record", found.sentence, found.offset)
        if not bad and chain and chain != f"sha256:{made.hex()}":
            sentence = "its record headers are not as they were"
            yield problem(self._warc, "fileset-headers", sentence)

    def _block(self, record: StrictRecord) -> Iterator[FileProblem]:
        _, digests = sums(stretch(self._warc, record.block, record.length), ("sha256",))
        stated = record.fields.get("warc-block-digest", "")
        if stated != f"sha256:{digests['sha256']}":
            sentence = "the block is not what its digest says"
            yield problem(self._warc, "bad-block", sentence, record.offset)
        elif record.type == "metadata":
            self._note(b"".join(stretch(self._warc, record.block, record.length)))

    def _note(self, block: bytes) -> None:
        try:
            values = json.loads(block)
            if values.get("what") == "files":
                self._notes = True
                for path, entry in values["files"].items():
                    self._noted[values["version"], path] = entry["digest"]
        except (ValueError, LookupError, TypeError, AttributeError):
            return

    def _differing(self, versions: dict[str, Any]) -> Iterator[FileProblem]:
        told = {
            (name, path): entry.get("digest")
            for name, version in versions.items()
            for path, entry in version["files"].items()
        }
        for name, path in sorted(set(told) ^ set(self._noted)):
            sentence = f"{path!r} of version {name} stands in only one of WARC and summary"
            yield problem(self._suwaf, "summary-differs", sentence)

    def _version(self, name: str, version: dict[str, Any], *, quick: bool) -> Iterator[FileProblem]:
        looked = partial(self._troubles_of, quick=quick)
        files, found = version["files"], dict[str, _Trouble]()
        with ThreadPoolExecutor(os.cpu_count()) as threads:  # hashing lets others run meanwhile
            for troubles in threads.map(looked, _together(files)):
                found |= troubles
        for path, entry in files.items():
            if trouble := found[path]:
                code, sentence = trouble
                yield problem(self._place(entry), code, f"{path!r} of version {name}: {sentence}")

    def _descriptions(
        self, versions: Iterable[dict[str, Any]], *, quick: bool
    ) -> Iterator[FileProblem]:
        """Yield what is wrong with the ``item.json`` of each item that has a whole version."""
        names: defaultdict[str, list[set[str]]] = defaultdict(list)
        for version in versions:
            entries = [entry for entry in version["files"].values() if entry.get("item")]
            for item in {entry["item"] for entry in entries} if version.get("complete") else ():
                names[item].append({one["name"] for one in entries if one["item"] == item})
        for item, wanted in sorted(names.items()):
            place = self._items.place(item, DESCRIPTION)
            if not self._items.have(item, [DESCRIPTION]):
                sentence = "a whole version without its item.json"
                yield problem(place, "item-description", sentence)
            elif not quick and (wrong := self._items.ill_described(item, wanted)):
                sentence = f"no item.json that can be uploaded by: {wrong}"
                yield problem(place, "bad-description", sentence)

    def _place(self, entry: dict[str, Any]) -> Path | str:
        item, name = entry.get("item"), entry.get("name")
        return self._items.place(item, name) if item and name else self._warc

    def _stretch(self, entry: dict[str, Any]) -> Stretch:
        """Return what gives bytes of the file that holds *entry*'s."""
        item, name = entry.get("item"), entry.get("name")
        if item and name:
            return partial(self._items.stretch, item, name)
        return partial(stretch, self._warc)

    def _troubles_of(self, files: dict[str, dict[str, Any]], *, quick: bool) -> dict[str, _Trouble]:
        """Return what is wrong with each of *files*: one, or members of one gzipped bundle."""
        try:
            missing = self._missing(next(iter(files.values())))
            if missing or quick:
                return dict.fromkeys(files, missing)
            return self._read(files)
        except UnknownPlace as error:
            return dict.fromkeys(files, ("member-unchecked", str(error)))
        except (OSError, ValueError, LookupError, TypeError, zlib.error) as error:
            return dict.fromkeys(files, ("fileset-digest", f"cannot be read: {error}"))

    def _missing(self, entry: dict[str, Any]) -> _Trouble:
        item, name = entry.get("item"), entry.get("name")
        if item and name and not self._items.have(item, [name]):
            return "item-missing", "the item has lost it"
        return None

    def _read(self, files: dict[str, dict[str, Any]]) -> dict[str, _Trouble]:
        (path, entry), *_ = files.items()
        stretch, bundle = self._stretch(entry), packed_place(entry)
        if bundle is None:
            return {path: _judged(entry, sums(_bytes(stretch, entry)))}
        wanted = {path: (_at(entry), entry["bundle"]["l"]) for path, entry in files.items()}
        found, why = sums_in(gunzipped(stretch(*bundle[:2])), wanted.values())
        return {path: _judged(entry, found[wanted[path]], why) for path, entry in files.items()}


def _together(files: dict[str, dict[str, Any]]) -> list[dict[str, dict[str, Any]]]:
    """*files*, those of one gzipped bundle together, so that it is unpacked once."""
    bundles: defaultdict[Any, dict[str, dict[str, Any]]] = defaultdict(dict)
    for path, entry in files.items():
        try:
            place = packed_place(entry)
        except (ValueError, LookupError, TypeError):
            place = None  # told where it is read
        which = path if place is None else (entry.get("item"), entry.get("name"), *place[:2])
        bundles[which][path] = entry
    return list(bundles.values())


def _at(entry: dict[str, Any]) -> int:
    place = packed_place(entry)
    assert place is not None
    return place[2]


def _judged(entry: dict[str, Any], found: Found, why: str = "") -> _Trouble:
    """Return what is wrong with a file of which *found* was read, and no more because of *why*."""
    size, digests = found
    wanted = entry["size"] if entry.get("size") is not None else entry["l"]
    if size != wanted:
        sentence = (
            f"cannot be read: {why}" if why else f"{size} bytes, and its summary says {wanted}"
        )
        return "fileset-digest", sentence
    stated = {"sha256": entry["digest"].partition(":")[2], **{
        name: entry[name] for name in ("sha1", "md5") if entry.get(name)
    }}  # fmt: skip
    wrong = [name for name, value in stated.items() if digests[name] != value]
    return ("fileset-digest", f"its {wrong[0]} is another") if wrong else None


def _summary(data: bytes) -> tuple[dict[str, Any], int, str]:
    """The versions, how far the WARC is committed, the chain; ``ValueError`` and its like."""
    values = json.loads(data)
    writer = values.pop("_warc")
    (versions,) = values.values()
    end, chain = int(writer["end"]), str(writer.get("chain", ""))
    for version in versions.values():
        for entry in version["files"].values():
            entry["digest"].partition(":")
    return versions, end, chain


def _bytes(stretch: Stretch, entry: dict[str, Any]) -> Iterator[bytes]:
    """The bytes of a file: a stretch of the WARC, an item's file, or a member of a bundle."""
    if entry.get("bundle") is None:
        # A byte more than there should be in an item's file is seen.
        return stretch(0, entry["l"] + 1) if entry.get("s") is None else stretch(
            entry["s"], entry["l"])  # fmt: skip
    return placed(stretch, entry)
