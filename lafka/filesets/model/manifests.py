"""A manifest before the first download: its paths made safe, its size held to limits.

A path is ``/`` between parts and is kept as it is given. One that could leave the fileset's folder,
or that some system cannot name, ends the fileset; two that are equal are kept apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from lafka.errors import printable
from lafka.filesets.model.statuses import FileStatus, Status
from lafka.filesets.model.types import FilesetManifestFile, Manifest

LONGEST_PART = 255
LONGEST_PATH = 1_024
"""Bytes of UTF-8."""
MOST_PARTS = 32

# Cc and the separators at which lines break; what has no UTF-8; a BOM; what Windows takes for "/".
_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\\\\]")
_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a fileset may be; sizes in bytes. "Over" a limit is more than it."""

    max_total: int = 64 << 30
    max_files: int = 200
    max_file: int = 64 << 30

    def lowered(self, max_total: int | None, max_files: int | None) -> Limits:
        """With what a request names, which may lower limits and never raise them."""
        return replace(
            self,
            max_total=self.max_total if max_total is None else min(max_total, self.max_total),
            max_files=self.max_files if max_files is None else min(max_files, self.max_files),
        )


LIMITS = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A manifest as it may be fetched; or why it may not, as ``status`` and a sentence.

    ``file_count`` and ``total_size`` (a size that is not known counts 0) are of the whole manifest,
    also where it is ``truncated`` to the limit.
    """

    manifest: Manifest
    file_count: int
    total_size: int
    status: Status | None = None
    message: str = ""
    truncated: bool = False


def judge(manifest: Manifest, limits: Limits = LIMITS, free: int | None = None) -> Judged:
    """Hold *manifest* to *limits* and to *free* bytes of disk (None: not known).

    In order: no file, too many, one too large, too large in all, an unsafe path, no space. A file
    that is restricted is not fetched, so its size counts in no limit.
    """
    fetched = [file for file in manifest if file.status != FileStatus.RESTRICTED]
    total = sum(file.size or 0 for file in manifest)
    wanted = sum(file.size or 0 for file in fetched)
    judged = Judged(manifest=manifest, file_count=len(manifest), total_size=total)
    if not manifest:
        return _refused(judged, Status.EMPTY_MANIFEST, "the platform lists no file")
    if len(manifest) > limits.max_files:
        judged = replace(judged, manifest=manifest[: limits.max_files], truncated=True)
        message = f"{len(manifest)} files, over the limit of {limits.max_files}"
        return _refused(judged, Status.TOO_MANY_FILES, message)
    biggest = max(fetched, key=lambda file: file.size or 0, default=None)
    if biggest is not None and (biggest.size or 0) > limits.max_file:
        message = f"{biggest.path!r} has {biggest.size} bytes, over the limit of {limits.max_file}"
        return _refused(judged, Status.TOO_LARGE_FILE, message)
    if wanted > limits.max_total:
        message = f"{wanted} bytes in all, over the limit of {limits.max_total}"
        return _refused(judged, Status.TOO_LARGE_SIZE, message)
    return _with_room(_with_safe_paths(judged), wanted, free)


def _refused(judged: Judged, status: Status, message: str) -> Judged:
    return replace(judged, status=status, message=printable(message))


def _with_room(judged: Judged, wanted: int, free: int | None) -> Judged:
    if judged.status is None and free is not None and wanted > free:
        return _refused(judged, Status.NO_SPACE, f"{wanted} bytes in all, and {free} are free")
    return judged


def _with_safe_paths(judged: Judged) -> Judged:
    troubles = dict(_troubles(judged.manifest))
    if not troubles:
        return replace(judged, manifest=kept_apart(judged.manifest))
    files = tuple(
        replace(file, status=FileStatus.UNSAFE_PATH) if number in troubles else file
        for number, file in enumerate(judged.manifest)
    )
    number, trouble = next(iter(troubles.items()))
    message = f"the path {files[number].path[:200]!r}: {trouble}"
    return _refused(replace(judged, manifest=files), Status.UNSAFE_PATH, message)


def _troubles(manifest: Manifest) -> Iterator[tuple[int, str]]:
    folders = {
        folder for file in manifest for folder in _folders(file.path) if not path_trouble(file.path)
    }
    for number, file in enumerate(manifest):
        trouble = path_trouble(file.path)
        if not trouble and file.path in folders:
            trouble = "a file, and a folder of another"
        if trouble:
            yield number, trouble


def _folders(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))


def path_trouble(path: str) -> str:
    """Return why *path* cannot be stored, empty where it can."""
    if not path:
        return "empty"
    if found := _FORBIDDEN.search(path):
        return f"U+{ord(found[0]):04X} in it"
    if path.startswith("/"):
        return "absolute"
    if _DRIVE.match(path):
        return "a drive's letter in front"
    if len(path.encode()) > LONGEST_PATH:
        return f"over {LONGEST_PATH} bytes"
    parts = path.split("/")
    if len(parts) > MOST_PARTS:
        return f"over {MOST_PARTS} parts"
    for part in parts:
        if part in ("", ".", ".."):
            return f"a part that is {part!r}"
        if len(part.encode()) > LONGEST_PART:
            return f"a part of over {LONGEST_PART} bytes"
    return ""


def kept_apart(manifest: Manifest) -> Manifest:
    """*manifest* with each path once: a later equal one gets ``~2``, ``~3`` before its suffix.

    ``extra.platform_path`` then holds the path that was given.
    """
    taken = {file.path for file in manifest}
    seen: set[str] = set()
    found = []
    for file in manifest:
        if file.path in seen:
            path = next(name for name in numbered(file.path) if name not in taken)
            extra = {"platform_path": file.path, **(file.extra or {})}
            file = replace(file, path=path, extra=extra)
        seen.add(file.path)
        taken.add(file.path)
        found.append(file)
    return tuple(found)


def numbered(path: str) -> Iterator[str]:
    """*path* with ``~2``, ``~3``, .. before its suffix."""
    suffix = PurePosixPath(path).suffix
    stem = path.removesuffix(suffix)
    number = 2
    while True:
        yield f"{stem}~{number}{suffix}"
        number += 1


def first_trouble(manifest: Manifest) -> FilesetManifestFile | None:
    """The first file, in the manifest's order, that is not well."""
    return next((file for file in manifest if file.status not in _WELL), None)


_WELL = (FileStatus.SUCCESS, FileStatus.EXISTS)
