"""A manifest before the first download: its paths made safe, its size held to limits.

A path is ``/`` between parts and is kept as it is given. One that could leave the fileset's folder,
or that some system cannot name, ends the fileset; two that are equal are kept apart.
:func:`compare` holds the facts of a downloaded file against it.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import PurePosixPath
from typing import Any

from lafka.errors import printable
from lafka.filesets.model.types import (
    OTHER_DIGESTS,
    FilesetManifestFile,
    FileStatus,
    Manifest,
    Status,
)
from lafka.payloads import Kind, kind_of

SNIFFED = 64 << 10
"""How many of the first bytes of a file are kept to tell its type."""

_ALWAYS = ("md5", "sha1", "sha256")
_SHARED = 256 << 10
"""Bytes from which on a second thread is worth its turns; hashing lets others run meanwhile."""
# They say less than what a platform calls a file that is a ZIP or text inside.
_VAGUE = ("text/plain", "application/octet-stream", "application/zip", "application/xml")
_UNKNOWN = "application/octet-stream"
_HTML = ("text/html", "application/xhtml+xml")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """The facts of a file's bytes: ``size`` in bytes, ``digests`` by algorithm in hex.

    ``prefix``: the first 64 KiB or all. ``mimetype``: what they show, empty where nobody looked.
    """

    size: int
    digests: dict[str, str]
    prefix: bytes = b""
    mimetype: str = ""

    def file_meta(self) -> dict[str, Any]:
        """The ``file_meta`` object of an ingest result."""
        return {
            "size_bytes": self.size,
            "md5hex": self.digests["md5"],
            "sha1hex": self.digests["sha1"],
            "sha256hex": self.digests["sha256"],
            "mimetype": self.mimetype or _UNKNOWN,
        }


class _Crc32:
    def __init__(self) -> None:
        self._value = 0

    def update(self, data: bytes) -> None:
        self._value = zlib.crc32(data, self._value)

    def hexdigest(self) -> str:
        return f"{self._value:08x}"


@cache
def _helper() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(thread_name_prefix="lafka-digests")


@dataclass(slots=True)
class Digester:
    """MD5, SHA-1, SHA-256 and *others* of ``OTHER_DIGESTS`` of bytes that go by."""

    others: Iterable[str] = ()
    size: int = 0
    _prefix: bytearray = field(default_factory=bytearray)
    _made: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in (*_ALWAYS, *(other for other in OTHER_DIGESTS if other in set(self.others))):
            crc = name == "crc32"
            self._made[name] = _Crc32() if crc else hashlib.new(name, usedforsecurity=False)

    def feed(self, data: bytes) -> None:
        self.size += len(data)
        if len(self._prefix) < SNIFFED:
            self._prefix += data[: SNIFFED - len(self._prefix)]
        first, *others = self._made.values()  # MD5, which is as dear as two others
        if len(data) < _SHARED:
            first.update(data)
        else:
            beside = _helper().submit(first.update, data)
        for made in others:
            made.update(data)
        if len(data) >= _SHARED:
            beside.result()

    def facts(self, mimetype: str = "") -> FileFacts:
        """The facts of what went by so far."""
        digests = {name: str(made.hexdigest()) for name, made in self._made.items()}
        return FileFacts(
            size=self.size, digests=digests, prefix=bytes(self._prefix), mimetype=mimetype
        )


def facts_of(
    pieces: Iterable[bytes], others: Iterable[str] = (), *, mimetype: str = ""
) -> FileFacts:
    """The facts of what *pieces* are together, in constant memory."""
    seen = Digester(others)
    for piece in pieces:
        seen.feed(piece)
    return seen.facts(mimetype)


def compare(file: FilesetManifestFile, facts: FileFacts) -> FileStatus:
    """``success``, or the first thing in which *facts* are not what *file* says.

    In order: an empty body where one was promised, size, SHA-1, SHA-256, MD5, any other digest;
    without a digest, a page of HTML where none was promised (a login, a challenge).
    """
    if facts.size == 0 and file.size != 0:
        return FileStatus.EMPTY_BLOB
    if file.size is not None and file.size != facts.size:
        return FileStatus.MISMATCH_SIZE
    stated = file.digests
    for name, value in stated.items():
        if facts.digests.get(name) != value:
            return _BY_DIGEST.get(name, FileStatus.MISMATCH)
    if not stated and _unpromised_page(file, facts):
        return FileStatus.MISMATCH
    return FileStatus.SUCCESS


_BY_DIGEST = {
    "sha1": FileStatus.MISMATCH_SHA1,
    "sha256": FileStatus.MISMATCH_SHA256,
    "md5": FileStatus.MISMATCH_MD5,
}


def _unpromised_page(file: FilesetManifestFile, facts: FileFacts) -> bool:
    promised = (file.mimetype or "").partition(";")[0].strip().lower()
    if promised in _HTML or file.path.lower().endswith((".html", ".htm", ".xhtml")):
        return False
    return kind_of(facts.prefix) is Kind.HTML


def is_unverified(file: FilesetManifestFile) -> bool:
    """Return whether the platform says nothing that bytes could be held against."""
    return file.size is None and not file.digests


def mimetype_of(stated: str | None, sniffed: str) -> str:
    """The type to tell: *sniffed* of the bytes, but for the four that say less than *stated*."""
    if sniffed and (sniffed not in _VAGUE or not stated):
        return sniffed
    return stated or sniffed or _UNKNOWN


def held_again(file: FilesetManifestFile, held: FilesetManifestFile) -> FilesetManifestFile:
    """*file* as its platform tells it now, with what is known of the bytes that are *held*.

    So a result says the same however often the run that made it was begun anew.
    """
    extra = {**(file.extra or {}), **(held.extra or {})}
    if file.mimetype and held.mimetype and file.mimetype != held.mimetype:
        extra["platform_mimetype"] = file.mimetype
    if is_unverified(file):
        extra["unverified"] = True
    names = ("size", "md5", "sha1", "sha256", "mimetype", "terminal_url", "terminal_dt")
    known = {name: value for name in names if (value := getattr(held, name)) is not None}
    return replace(file, **known, extra=extra or None, status=FileStatus.EXISTS)


def filled(file: FilesetManifestFile, facts: FileFacts) -> FilesetManifestFile:
    """*file* as its bytes show it: size and digests that the manifest lacked, and the type.

    A type of the platform that is told no more goes to ``extra.platform_mimetype``.
    """
    extra = dict(file.extra or {})
    mimetype = mimetype_of(file.mimetype, facts.mimetype)
    if file.mimetype and file.mimetype != mimetype:
        extra["platform_mimetype"] = file.mimetype
    if is_unverified(file):
        extra["unverified"] = True
    return replace(
        file,
        size=facts.size,
        md5=facts.digests["md5"],
        sha1=facts.digests["sha1"],
        sha256=facts.digests["sha256"],
        mimetype=mimetype,
        extra=extra or None,
    )


LONGEST_PART = 255
LONGEST_PATH = 1_024
"""Bytes of UTF-8."""
MOST_PARTS = 32

# Cc and the separators at which lines break; what has no UTF-8; a BOM; what Windows takes for "/".
_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\\\\]")
_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a fileset; sizes in bytes. "Over" a limit is more than it."""

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
class ManifestVerdict:
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


def judge(manifest: Manifest, limits: Limits = LIMITS, free: int | None = None) -> ManifestVerdict:
    """Hold *manifest* to *limits* and to *free* bytes of disk (None: not known).

    In order: no file, too many, one too large, too large in all, an unsafe path, no space. A file
    that is restricted is not fetched, so its size counts in no limit.
    """
    fetched = [file for file in manifest if not file.is_restricted]
    total = sum(file.size or 0 for file in manifest)
    wanted = sum(file.size or 0 for file in fetched)
    judged = ManifestVerdict(manifest=manifest, file_count=len(manifest), total_size=total)
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


def _refused(judged: ManifestVerdict, status: Status, message: str) -> ManifestVerdict:
    return replace(judged, status=status, message=printable(message))


def _with_room(judged: ManifestVerdict, wanted: int, free: int | None) -> ManifestVerdict:
    if judged.status is None and free is not None and wanted > free:
        return _refused(judged, Status.NO_SPACE, f"{wanted} bytes in all, and {free} are free")
    return judged


def _with_safe_paths(judged: ManifestVerdict) -> ManifestVerdict:
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
    return next((file for file in manifest if not file.is_held), None)
