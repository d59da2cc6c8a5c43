"""Whether the bytes of a file are what its platform says of them.

All digests are computed in one pass over the bytes as they go by, whatever the file's size.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from lafka.filesets.model.statuses import FileStatus
from lafka.filesets.model.types import OTHER_DIGESTS, FilesetManifestFile
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
    """What the bytes of a file are: ``size`` in bytes, ``digests`` by algorithm in hex.

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
