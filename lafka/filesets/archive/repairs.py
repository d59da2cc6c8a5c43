"""Repairs damaged filesets and items, as far as that can be done.

Tails rolled forward, summaries rebuilt, dead runs finished, descriptions written, parts that nobody
goes on with removed. The checker says what is wrong and, afterwards, what is left; the writers
mend, under the fileset's lock, as the next crawl would. A fileset is left as it is where bytes that
a summary knew are missing or changed: a rebuilt summary would only hide that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from lafka.capture import leftovers
from lafka.errors import BadPid, KeeperError
from lafka.filesets.archive.contents import NOTE_MAX, MetadataKind, read_note
from lafka.filesets.archive.filesets import Filesets, recover
from lafka.filesets.archive.filesetwarc import FilesetWarc
from lafka.filesets.checking import FileProblem
from lafka.filesets.checking.filesets import check_around, check_fileset, fileset_paths
from lafka.filesets.checking.records import Bucket, Items
from lafka.filesets.model.summaries import FilesetVersion
from lafka.filesets.targets.folder import PART
from lafka.filesets.targets.item import (
    DESCRIPTION,
    FILES,
    MARKER,
    DownloadProgress,
    ForeignItem,
    ItemDescription,
    TargetItem,
    TargetTrouble,
)
from lafka.storage.deeds import FileAction, kept_aside
from lafka.storage.locks import is_locked_at
from lafka.warc.reading.volumes import open_plain

_TAIL = frozenset(("fileset-tail",))
_SUMMARY = frozenset(("no-summary", "bad-summary", "summary-differs"))
_BAD = "bad-description"
_DESCRIPTIONS = ("item-description", _BAD)
_PART = "item-part"


class FilesetRepair:
    """The repair of *filesets*; where it is *dry* nothing is changed.

    *bucket* is where items are, None for the folder. *collection*: that of an item whose note tells
    none. *keep*: raw WARCs stay when they are stored. ``StorageTrouble``, ``TargetTrouble``.
    """

    def __init__(
        self, filesets: Filesets, bucket: Bucket | None = None, *, collection: str = "",
        dry: bool = False, keep: bool = False,
    ) -> None:  # fmt: skip
        self._filesets = filesets
        self._items = Items(filesets.items.work, bucket)
        self._collection = collection
        self._dry = dry
        self._keep = keep

    def all(self) -> Iterator[FileAction]:
        """Every fileset and dead run; then what is wrong beside them."""
        for warc, summary in list(fileset_paths(self._filesets.root)):
            yield from self._fileset(warc, summary)
        yield from self._runs()
        for problem in check_around(self._filesets.root, self._items):
            if problem.code == _PART:
                yield from self._part(Path(problem.path), problem)
            elif not self._dry:  # what a rebuilt summary names is no loss
                yield from _left([problem])

    # ---- One fileset

    def _fileset(self, warc: Path, summary: Path) -> Iterator[FileAction]:
        problems = self._check(warc, summary)
        deed, codes = _wanted(problems, warc)
        if deed:
            path = warc if deed == "recover" else summary
            sentence = "; ".join(dict.fromkeys(p.sentence for p in problems if p.code in codes))
            done = self._dry or self._mended(warc, summary, rebuild=deed == "rebuild")
            if isinstance(done, str):
                yield _deed(path, "left", codes, done, done=False)
            elif done:
                yield _deed(path, deed, codes, sentence, done=not self._dry)
            if done and not self._dry:
                problems = self._check(warc, summary)
            problems = [p for p in problems if p.code not in codes]
        for problem in problems:
            if problem.code in _DESCRIPTIONS:
                yield self._description(warc, problem, problems)
            elif problem.severity == "error":
                yield from _left([problem])

    def _check(self, warc: Path, summary: Path) -> list[FileProblem]:
        return list(check_fileset(warc, summary, self._items))

    def _locked(self, warc: Path) -> FilesetWarc | None:
        """The fileset's WARC; None where a crawl is at work on it. ``KeeperError``, ``BadPid``."""
        return self._filesets.locked(self._filesets.id_at(warc), recover=False)

    def _mended(self, warc: Path, summary: Path, *, rebuild: bool) -> bool | str:
        """Let the writer do it; False where one is at work, a sentence where it refuses."""
        try:
            writer = self._locked(warc)
            if writer is None:
                return False
            try:
                if rebuild:
                    with kept_aside(summary):
                        writer.rebuild()
                else:
                    writer.recover()
            finally:
                writer.close()
        except (BadPid, KeeperError) as error:
            return str(error)
        return True

    # ---- Items

    def _description(
        self, warc: Path, problem: FileProblem, problems: list[FileProblem]
    ) -> FileAction:
        """Write the ``item.json`` that is missing or bad, where the item has all else."""
        item = Path(problem.path).parent.name
        codes, sentence = (problem.code,), problem.sentence
        lost = [p for p in problems if p is not problem and Path(p.path).is_relative_to(
            Path(problem.path).parent)]  # fmt: skip
        try:
            made = self._described(warc, item)
            if lost or made is None:
                raise BadPid(sentence)
            target = self._filesets.items.item(made, self._filesets.id_at(warc))
            if target.is_remote and problem.code == _BAD:
                raise BadPid("nothing in a bucket is written over: remove it, and repair again")
            if not self._dry:
                _describe(target)
        except (BadPid, KeeperError, ForeignItem, TargetTrouble, ValueError) as error:
            return _deed(problem.path, "left", codes, str(error), done=False)
        return _deed(problem.path, "describe", codes, sentence, done=not self._dry)

    def _described(self, warc: Path, item: str) -> ItemDescription | None:
        """The description of *item*, from the notes of its fileset; None where none tells it."""
        versions = self._filesets.summary(self._filesets.id_at(warc)).versions
        names = [name for name, version in versions.items() if _names(version, item)]
        found = None
        with open_plain(warc) as volume:
            for record in volume.records(types=["metadata"]):
                note = read_note(record.block().read(0, NOTE_MAX))
                if note and note["what"] == MetadataKind.BEGIN and note.get("version") in names:
                    found = note
        if found is None:
            return None
        metadata = dict(found["item"].get("archiveorg_item_meta") or {})
        metadata["collection"] = self._collection or metadata.get("collection")
        files = dict(
            pair for name in names for pair in _names(versions[name], item).items()
        )  # fmt: skip
        return ItemDescription(identifier=item, metadata=metadata, files=files)

    def _part(self, part: Path, problem: FileProblem) -> Iterator[FileAction]:
        """Remove a part of a file that its item, finished, has: nobody goes on with it."""
        final = part.with_name(part.name.removeprefix(PART))
        folder = next((f for f in part.parents if f.parent == self._filesets.items.work), None)
        if folder is None or not final.is_file() or not (folder / DESCRIPTION).is_file():
            return
        writer, told = None, part.with_name(f"{part.name}.json")
        with suppress(OSError, ValueError, LookupError, TypeError, BadPid, KeeperError):
            DownloadProgress.parse(told.read_bytes())  # it is Lafka's, as far as anyone can tell
            fileset = json.loads((folder / MARKER).read_bytes())["fileset"]
            writer = self._filesets.locked(fileset, recover=False)
        if writer is None:
            return
        try:
            if not self._dry:
                for path in (told, part):
                    path.unlink(missing_ok=True)
        finally:
            writer.close()
        sentence = "a part of a file that its item has"
        yield _deed(part, "drop", (problem.code,), sentence, done=not self._dry)

    # ---- Dead runs

    def _runs(self) -> Iterator[FileAction]:
        root = self._filesets.folder / "raw"
        if self._dry:
            for run in leftovers.dead_runs(root):
                if not is_locked_at(run / leftovers.LOCK):
                    sentence = "raw WARCs of a run that was killed"
                    yield _deed(run, "adopt", ("raw-left",), sentence, done=False)
            return
        for found in recover(self._filesets, keep=self._keep):
            if found.run:
                sentence = f"{found.captures} captures of filesets stored"
                yield _deed(root / found.run, "adopt", ("raw-left",), sentence, done=True)
            for problem in found.problems:
                yield _deed(root / found.run, "left", ("raw-left",), problem, done=False)


def _describe(item: TargetItem) -> None:
    item.make()
    if not item.is_described:
        item.finish()
        return
    with kept_aside(item.path / DESCRIPTION):
        item.describe()


def _names(version: FilesetVersion, item: str) -> dict[str, str]:
    """Remote name and name of the files of *version* that stand in *item*."""
    found = {}
    for path, entry in version.files.items():
        if entry.item == item and entry.name is not None:
            remote = path if entry.bundle is None else entry.name.removeprefix(f"{FILES}/")
            found[remote] = entry.name
    return found


def _wanted(problems: list[FileProblem], warc: Path) -> tuple[str, tuple[str, ...]]:
    """The deed that mends the WARC's summary, and the codes that ask for it; none if none does."""
    of_the_warc = [p for p in problems if p.path == str(warc)]
    codes = {p.code for p in problems if p.code in _SUMMARY}
    codes |= {p.code for p in of_the_warc if p.code == "fileset-digest"}
    damaged = {"bad-record", "bad-block", "fileset-short", "fileset-headers"}
    if damaged & {p.code for p in of_the_warc}:
        return "", ()
    tail = {p.code for p in of_the_warc if p.code in _TAIL}
    if codes:
        return "rebuild", tuple(sorted(codes | tail))
    return ("recover", tuple(_TAIL)) if tail else ("", ())


def _left(problems: Iterable[FileProblem]) -> Iterator[FileAction]:
    for problem in problems:
        yield _deed(problem.path, "left", (problem.code,), problem.sentence, done=False)


def _deed(
    path: Path | str, deed: str, codes: tuple[str, ...], sentence: str, *, done: bool
) -> FileAction:
    return FileAction(path=str(path), deed=deed, codes=codes, done=done, sentence=sentence)
