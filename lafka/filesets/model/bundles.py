"""Bundles: the members of a platform's "download all", and the manifest files that they are.

``unpacking`` reads a bundle; these are the values that come of it, and :func:`match_members` holds
them against a manifest.
"""

from __future__ import annotations

import io
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import BinaryIO, Self

from lafka.filesets.model.manifests import FileFacts
from lafka.filesets.model.types import Count, JsonValue, Manifest, prepare
from lafka.warc.format.sources import RangeFile


class Slice(RangeFile):
    """*length* bytes of *file* from byte *start* on, read-only; *file* stays the caller's."""

    def __init__(self, file: BinaryIO | io.RawIOBase, start: int, length: int) -> None:
        super().__init__(length)
        self._file = file
        self._start = start

    def pread(self, start: int, length: int) -> bytes:
        self._file.seek(self._start + start)
        return self._file.read(length) or b""

    def buffered(self) -> io.BufferedReader:
        """The slice with a buffer, as parsers want it."""
        return io.BufferedReader(self, 1 << 17)


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleLimits:
    """The limits of a bundle: members, bytes of all, bytes for each of its own."""

    max_members: int
    max_total: int
    max_ratio: int = 1_000

    @classmethod
    def for_files(cls, max_files: int, max_total: int) -> Self:
        """The limits of the bundle of a fileset of at most *max_files*."""
        return cls(max_members=2 * max_files + 10, max_total=max_total)


class Member(JsonValue, frozen=True, kw_only=True):
    """A file in a bundle: ``path`` as it stands there, ``size`` and digests of its bytes.

    ``l`` bytes from byte ``s`` of the bundle on are it, as ``method`` and ``flags`` (a ZIP's) say;
    of a gzipped one from byte ``at`` of what it unpacks to. Both are None where it does not stand
    in one place. ``crc32`` is 8 hex; ``others`` are digests of other algorithms, where they were
    asked for; ``mimetype`` is what its bytes show.
    """

    path: str
    size: Count
    md5: str
    sha1: str
    sha256: str
    crc32: str
    s: Count | None = None
    at: Count | None = None
    l: Count  # noqa: E741  the summary's name
    method: str
    flags: Count = 0
    mimetype: str = ""
    others: Mapping[str, str] | None = None

    @property
    def facts(self) -> FileFacts:
        """The member as a file to be held against a manifest."""
        digests = {name: getattr(self, name) for name in ("md5", "sha1", "sha256", "crc32")}
        digests.update(self.others or {})
        return FileFacts(size=self.size, digests=digests, mimetype=self.mimetype)


class BundleContents(JsonValue, frozen=True, kw_only=True):
    """All files of a bundle, in its order; or none, with a sentence in ``trouble``."""

    kind: str = ""
    members: tuple[Member, ...] = ()
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleMatch:
    """The members by the path of their manifest file, and the members that are none."""

    members: dict[str, Member]
    extra: tuple[Member, ...]


NOTHING = BundleMatch(members={}, extra=())


def match_members(manifest: Manifest, contents: BundleContents) -> BundleMatch:
    """Hold *contents* against *manifest*: by path, then by digest.

    Paths are compared in NFC, and without the one folder that all members may be in.
    """
    left = dict(enumerate(contents.members))
    found: dict[str, Member] = {}
    strip = _common_folder(contents.members)
    by_path: dict[str, list[int]] = defaultdict(list)
    for path in ("", strip) if strip else ("",):
        for number, member in left.items():
            by_path[_plain(member.path)[len(path) :]].append(number)
    for file in manifest:
        given = str((file.extra or {}).get("platform_path", file.path))
        for number in (*by_path.get(_plain(file.path), ()), *by_path.get(_plain(given), ())):
            if number in left:
                found[file.path] = left.pop(number)
                break
    _match_digests(manifest, found, left)
    return BundleMatch(members=found, extra=tuple(left.values()))


def _match_digests(manifest: Manifest, found: dict[str, Member], left: dict[int, Member]) -> None:
    by_digest: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, member in left.items():
        for name, value in member.facts.digests.items():
            by_digest[name, value].append(number)
    for file in manifest:
        if file.path in found:
            continue
        stated = file.digests
        strong = {name: value for name, value in stated.items() if name != "crc32"}
        for number in (n for pair in strong.items() for n in by_digest.get(pair, ())):
            if number in left:
                found[file.path] = left.pop(number)
                break


def _plain(path: str) -> str:
    return unicodedata.normalize("NFC", path.removeprefix("./"))


def _common_folder(members: Iterable[Member]) -> str:
    """The folder, with its slash, that every member is in; empty where there is none."""
    folders = {_plain(member.path).partition("/")[:2] for member in members}
    if len(folders) != 1:
        return ""
    ((folder, slash),) = folders
    return folder + slash if slash else ""


prepare(BundleContents)
