"""The steps of every strategy: find held files, fetch the others, verify and keep them.

A strategy does no I/O. Its ``process`` is a generator that yields wants (``asks``) and is sent what
came of them; it is made with ``held``, a read-only view of what archive and target have.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from lafka.filesets.model.asks import (
    Archiving,
    Fetch,
    Fetched,
    Got,
    Keep,
    Kept,
    SetAside,
    Want,
)
from lafka.filesets.model.manifests import (
    LIMITS,
    FileFacts,
    Limits,
    compare,
    filled,
    first_trouble,
    held_again,
)
from lafka.filesets.model.types import (
    ArchiveStrategyResult,
    FilesetManifestFile,
    FilesetPlatformItem,
    FileStatus,
    IngestStrategy,
    Manifest,
    Status,
)

IN_PLACE = ("archiveorg", "web")
"""Platforms whose datasets change without a new version's number."""

_TRIES = 2  # a mismatch may be a download that went wrong unseen
_ENDS_ALL = (FileStatus.TOO_LARGE_SIZE, FileStatus.ERROR_ARCHIVEORG_UPLOAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldVersion:
    """The files that archive or target hold of a version of a fileset, by path.

    ``complete``: all that its manifest had then. ``result`` is what was told of it, as far as it is
    known: its ``file_*`` and ``bundle_*`` are told again. ``time`` is when it was ended.
    """

    complete: bool
    files: Mapping[str, FilesetManifestFile] = field(default_factory=dict)
    result: ArchiveStrategyResult | None = None
    time: str = ""


class HoldingsView(Protocol):
    """A read-only view of archive and target."""

    def version(self, item: FilesetPlatformItem) -> HeldVersion | None:
        """Return what is held of *item* in its version; None for nothing."""


class NoHoldings:
    """The view where nothing is held."""

    def version(self, item: FilesetPlatformItem) -> HeldVersion | None:  # noqa: ARG002  Held's
        return None


def agrees(file: FilesetManifestFile, held: FilesetManifestFile) -> bool:
    """Return whether *held* is what the platform says of *file*: its size and each digest both
    have.
    """
    if file.size is not None and held.size is not None and file.size != held.size:
        return False
    known = held.digests
    return all(known.get(name, value) == value for name, value in file.digests.items())


def file_meta(file: FilesetManifestFile) -> dict[str, Any]:
    """The ``file_meta`` object of a file that is held."""
    return {
        "size_bytes": file.size,
        "md5hex": file.md5,
        "sha1hex": file.sha1,
        "sha256hex": file.sha256,
        "mimetype": file.mimetype,
    }


def terminal(file: FilesetManifestFile, status: int = 200) -> dict[str, Any]:
    """The ``terminal`` object of a file that is held."""
    return {
        "terminal_url": file.terminal_url,
        "terminal_dt": file.terminal_dt,
        "terminal_status_code": status,
        "terminal_sha1hex": file.sha1,
    }


def verdict(file: FilesetManifestFile, fetched: Fetched) -> tuple[FileStatus, FileFacts, bool]:
    """Return what comparing says, the facts it is of, and whether they are of the decoded bytes.

    Content coding is undone only where the coded bytes do not match: some servers call the
    compression of a ``.gz`` file its content coding.
    """
    assert fetched.facts is not None
    status = compare(file, fetched.facts)
    if status is not FileStatus.SUCCESS and fetched.decoded is not None:
        decoded = compare(file, fetched.decoded)
        if decoded is FileStatus.SUCCESS:
            return decoded, fetched.decoded, True
    return status, fetched.facts, False


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOutcome:
    """The outcome of one file: ``file`` with its status; where it was kept, and how it was had."""

    file: FilesetManifestFile
    trouble: str = ""
    fetched: Fetched | None = None
    kept: Kept | None = None


class FilesetIngestStrategy:
    """One of the six ways to archive a fileset whose manifest is safe and within *limits*.

    *anew*: all of it is fetched, whatever is held.
    """

    def __init__(
        self,
        ingest_strategy: IngestStrategy,
        held: HoldingsView,
        limits: Limits = LIMITS,
        *,
        anew: bool = False,
    ) -> None:
        self.ingest_strategy = ingest_strategy
        self.held = held
        self.limits = limits
        self.anew = anew

    def check_existing(self, item: FilesetPlatformItem) -> ArchiveStrategyResult | None:
        """``success-existing`` with the former manifest, ``mismatch-existing``, or None: go on.

        A version is held where it is complete and its files are the manifest's. One that was begun
        goes on with what is missing. A published version does not change: other content under it
        is ``mismatch-existing``; but of platforms that change in place it is a new entry in the
        WARC. An item is never written over.
        """
        held = self.held.version(item)
        if held is None:
            return None
        wanted = [file for file in item.manifest or () if not file.is_restricted]
        others = [file for file in wanted if self._differs(file, held)]
        is_same = item.manifest is None or {file.path for file in wanted} == set(held.files)
        if held.complete and is_same and not others:
            return self._existing(item, held)
        if item.platform_name in IN_PLACE and self.ingest_strategy.is_web:
            return None
        if others or (held.complete and not is_same):
            return self._mismatch(item, others)
        return None

    def _differs(self, file: FilesetManifestFile, held: HeldVersion) -> bool:
        return file.path in held.files and not agrees(file, held.files[file.path])

    def _existing(self, item: FilesetPlatformItem, held: HeldVersion) -> ArchiveStrategyResult:
        listed = item.manifest if item.manifest is not None else tuple(held.files.values())
        manifest = tuple(
            held_again(file, held.files[file.path]) if file.path in held.files else file
            for file in listed
        )
        base = held.result or self._result(Status.SUCCESS_EXISTING, manifest)
        return replace(base, status=Status.SUCCESS_EXISTING, manifest=manifest, message=None)

    def _mismatch(
        self, item: FilesetPlatformItem, others: list[FilesetManifestFile]
    ) -> ArchiveStrategyResult:
        paths = {file.path for file in others}
        manifest = tuple(
            replace(file, status=FileStatus.MISMATCH_EXISTING) if file.path in paths else file
            for file in item.manifest or ()
        )
        what = f"other content under {others[0].path!r}" if others else "another list of files"
        message = f"the version that is held has {what}"
        return self._result(Status.MISMATCH_EXISTING, manifest, message=message)

    def process(self, item: FilesetPlatformItem) -> Archiving:
        """Archive *item* file by file; the result tells of each what came of it."""
        held = None if self.anew else self.held.version(item)
        have = held.files if held is not None else {}
        done: list[FileOutcome] = []
        room, ended = self.limits.max_total, False
        for file in item.manifest or ():
            if file.is_restricted:
                done.append(FileOutcome(file=file))
                continue
            former = have.get(file.path)
            if former is not None and agrees(file, former):
                archived = FileOutcome(file=held_again(file, former))
            elif ended:
                archived = FileOutcome(file=replace(file, status=FileStatus.NOT_PROCESSED))
            else:
                archived = yield from self._archive(file, room)
            done.append(archived)
            ended = ended or archived.file.status in _ENDS_ALL
            room -= (archived.file.size or 0) if archived.file.is_held else 0
        return self._result_of(done, held)

    def _archive(self, file: FilesetManifestFile, room: int) -> Generator[Want, Got, FileOutcome]:
        """Fetch *file* of at most *room* bytes, verify it, keep it; a mismatch is fetched again."""
        most = max(0, min(self.limits.max_file, room))
        for tried in range(_TRIES):
            want = Fetch(file=file, max_bytes=most, anew=self.anew, again=tried > 0)
            fetched = fetched_by((yield want))
            if fetched.status != FileStatus.SUCCESS:
                if fetched.shared and not want.again:
                    continue
                return self._failed(file, fetched, cut_by_room=room < self.limits.max_file)
            status, facts, decoded = verdict(file, fetched)
            if status is FileStatus.SUCCESS:
                good = replace(
                    filled(file, facts),
                    status=FileStatus.SUCCESS,
                    terminal_url=fetched.url,
                    terminal_dt=fetched.dt,
                )
                kept = kept_by((yield Keep(file=good, decoded=decoded)))
                return _outcome_of(good, fetched, kept)
        bad = replace(file, status=status, terminal_url=fetched.url, terminal_dt=fetched.dt)
        yield SetAside(file=bad)
        return FileOutcome(file=bad, trouble=f"{file.path!r}: {status}, twice", fetched=fetched)

    def _failed(
        self, file: FilesetManifestFile, fetched: Fetched, *, cut_by_room: bool
    ) -> FileOutcome:
        status = FileStatus(fetched.status)
        if status is FileStatus.TOO_LARGE_FILE and cut_by_room:
            status = FileStatus.TOO_LARGE_SIZE
        trouble = f"{file.path!r}: {fetched.trouble or status}"
        return FileOutcome(file=replace(file, status=status), trouble=trouble, fetched=fetched)

    def _result_of(
        self, done: list[FileOutcome], held: HeldVersion | None
    ) -> ArchiveStrategyResult:
        values: dict[str, Any] = {}
        if self.ingest_strategy.is_file and len(done) == 1 and done[0].file.is_held:
            values = self._file_values(done[0], held)
        if any((archived.file.extra or {}).get("unverified") for archived in done):
            values["extra"] = {"unverified": True}
        message = next((archived.trouble for archived in done if archived.trouble), "")
        return self._failed_result(tuple(archived.file for archived in done), message, **values)

    def _file_values(self, archived: FileOutcome, held: HeldVersion | None) -> dict[str, Any]:
        """The ``file_*`` of the result for the one file that is held."""
        file, kept = archived.file, archived.kept
        if kept is None:
            former = held.result if held is not None else None
            if former is not None and former.file_file_meta is not None:
                names = ("file_file_meta", "file_terminal", "file_cdx", "file_revisit_cdx")
                return {name: getattr(former, name) for name in names}
            return {"file_file_meta": file_meta(file), "file_terminal": terminal(file)}
        place = replace(file, terminal_url=kept.path) if kept.path else file
        status = archived.fetched.http_status if archived.fetched is not None else 200
        return {
            "file_file_meta": file_meta(file),
            "file_terminal": terminal(place, status),
            "file_cdx": kept.cdx,
            "file_revisit_cdx": kept.revisit_cdx,
        }

    def _result(self, status: str, manifest: Manifest, **values: Any) -> ArchiveStrategyResult:
        return ArchiveStrategyResult(
            ingest_strategy=self.ingest_strategy, status=status, manifest=manifest, **values
        )

    def _failed_result(
        self, manifest: Manifest, message: str = "", **values: Any
    ) -> ArchiveStrategyResult:
        """The result of *manifest* as it became: the status of its first file that is not well."""
        told = tuple(file for file in manifest if not file.is_restricted)
        trouble = first_trouble(told)
        if trouble is not None:
            status = trouble.status or FileStatus.NOT_PROCESSED
            message = message or f"{trouble.path!r}: {status}"
            return self._result(status, manifest, message=message, **values)
        if len(told) < len(manifest):
            message = f"{len(manifest) - len(told)} of {len(manifest)} files are restricted"
            return self._result(Status.PARTIAL, manifest, message=message, **values)
        is_file = self.ingest_strategy.is_file
        return self._result(Status.SUCCESS_FILE if is_file else Status.SUCCESS, manifest, **values)


def _outcome_of(good: FilesetManifestFile, fetched: Fetched, kept: Kept) -> FileOutcome:
    if kept.status == FileStatus.SUCCESS:
        return FileOutcome(file=good, fetched=fetched, kept=kept)
    bad = replace(good, status=FileStatus(kept.status))
    trouble = f"{good.path!r}: {kept.trouble or kept.status}"
    return FileOutcome(file=bad, trouble=trouble, fetched=fetched)


def kept_by(got: Got) -> Kept:
    """Return what a driver sent for a ``Keep``."""
    if not isinstance(got, Kept):
        raise TypeError(f"a Keep is answered by a Kept, not by {type(got).__name__}")
    return got


def fetched_by(got: Got) -> Fetched:
    """Return what a driver sent for a ``Fetch`` or a ``FetchBundle``."""
    if not isinstance(got, Fetched):
        raise TypeError(f"a Fetch is answered by a Fetched, not by {type(got).__name__}")
    return got
