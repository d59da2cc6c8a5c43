"""The summary of a fileset's WARC: which versions are held, and where each file stands.

A JSON object beside the WARC: fileset id -> version -> ``{"complete", "time", "strategy", "files",
..}``, and ``_warc`` for the writer (docs/filesets.md). It can be made again from the WARC alone.
``warc[s:s+l]`` is a file of a ``web-*`` strategy; one of an ``archiveorg-*`` strategy stands in its
item.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from lafka.filesets.model.bundles import Member
from lafka.filesets.model.types import FilesetManifestFile, IngestStrategy, is_digest, without_none

FORMAT = 1
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_SHA256 = re.compile(r"sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedPlace:
    """The place of a member of a gzipped bundle: from byte ``at`` of what the bundle unpacks to.

    The bundle's own ``l`` bytes stand from byte ``s`` of the WARC, or of the item's file.
    """

    s: int
    l: int  # noqa: E741  the summary's name
    at: int

    @classmethod
    def of_json(cls, value: Any) -> Self:
        """``ValueError`` where *value* is no place."""
        values = _object(value, "a place in a gzipped bundle")
        return cls(s=_number(values, "s"), l=_number(values, "l"), at=_number(values, "at"))


@dataclass(frozen=True, slots=True, kw_only=True)
class BundlePlace:
    """The place of a member in its bundle: ``l`` bytes from byte ``s``, as its ZIP or tar says.

    ``s`` counts in the WARC, of an item in the bundle file; ``packed`` stands instead of it where
    the bundle as a whole is gzipped. Neither is there where the member has no one place.
    """

    s: int | None = None
    l: int  # noqa: E741  the summary's name
    packed: PackedPlace | None = None
    method: str
    crc32: str
    flags: int = 0

    @classmethod
    def of(cls, member: Member, size: int, start: int = 0) -> Self:
        """The place of *member* of the bundle of *size* bytes that begins at byte *start*."""
        return cls(
            s=None if member.s is None else member.s + start,
            l=member.l,
            packed=None if member.at is None else PackedPlace(s=start, l=size, at=member.at),
            method=member.method,
            crc32=member.crc32,
            flags=member.flags,
        )

    def moved(self, by: int) -> Self:
        """The same place in a file where the bundle begins *by* bytes later."""
        packed = self.packed
        return replace(
            self,
            s=None if self.s is None else self.s + by,
            packed=None if packed is None else replace(packed, s=packed.s + by),
        )

    def as_json(self) -> dict[str, Any]:
        value = without_none(self)
        if self.packed is not None:
            value["packed"] = without_none(self.packed)
        return value

    @classmethod
    def of_json(cls, value: Any) -> Self:
        """``ValueError`` where *value* is no place."""
        values = _object(value, "a bundle's place")
        packed = values.get("packed")
        return cls(
            s=None if values.get("s") is None else _number(values, "s"),
            l=_number(values, "l"),
            packed=None if packed is None else PackedPlace.of_json(packed),
            method=_text(values, "method"),
            crc32=_text(values, "crc32"),
            flags=_number(values, "flags", 0),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryFile:
    """A file that is held: ``l`` bytes from byte ``s`` of the WARC, or all of an item's file.

    ``item`` and ``name`` are set, and ``s`` is None, where it stands in an item. ``url`` and
    ``time`` (``YYYY-MM-DDThh:mm:ssZ``) tell where it came from; digests are hex, ``digest`` is
    ``sha256:`` and hex. Of a bundle's member ``size`` is that of its own bytes, and ``bundle`` says
    where the compressed ones stand.
    """

    s: int | None = None
    l: int  # noqa: E741  the summary's name
    item: str | None = None
    name: str | None = None
    url: str | None = None
    time: str | None = None
    md5: str | None = None
    sha1: str | None = None
    digest: str
    mimetype: str | None = None
    size: int | None = None
    bundle: BundlePlace | None = None

    def as_json(self) -> dict[str, Any]:
        value = without_none(self)
        if self.bundle is not None:
            value["bundle"] = self.bundle.as_json()
        return value

    @classmethod
    def of_json(cls, value: Any) -> Self:
        """``ValueError`` where *value* is no file of a summary; unknown keys are passed over."""
        values = _object(value, "a file")
        texts = {name: _maybe_text(values, name) for name in _FILE_TEXTS}
        bundle = values.get("bundle")
        found = cls(
            s=None if values.get("s") is None else _number(values, "s"),
            l=_number(values, "l"),
            digest=_digest(values),
            size=None if values.get("size") is None else _number(values, "size"),
            bundle=None if bundle is None else BundlePlace.of_json(bundle),
            **texts,
        )
        if (found.s is None) == (found.item is None) and found.bundle is None:
            raise ValueError("a file stands either in the WARC or in an item")
        return found

    def as_manifest_file(self, path: str) -> FilesetManifestFile:
        """The file as a manifest has it, to be held against another."""
        found = _SHA256.fullmatch(self.digest)
        return FilesetManifestFile(
            path=path,
            size=self.l if self.size is None else self.size,
            md5=self.md5 if is_digest("md5", self.md5) else None,
            sha1=self.sha1 if is_digest("sha1", self.sha1) else None,
            sha256=found[1] if found else None,
            mimetype=self.mimetype,
            terminal_url=self.url,
            terminal_dt=re.sub(r"[^0-9]", "", self.time) if self.time else None,
        )


_FILE_TEXTS = ("item", "name", "url", "time", "md5", "sha1", "mimetype")


@dataclass(frozen=True, slots=True, kw_only=True)
class Splap:
    """The fileset's landing page where it stands in the WARC."""

    s: int
    l: int  # noqa: E741  the summary's name
    url: str
    digest: str

    @classmethod
    def of_json(cls, value: Any) -> Self:
        """``ValueError`` where *value* is none."""
        values = _object(value, "a splap")
        return cls(
            s=_number(values, "s"),
            l=_number(values, "l"),
            url=_text(values, "url"),
            digest=_digest(values),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesetVersion:
    """One version of a fileset, as far as it is held; ``complete``: all of its manifest is.

    ``time``: when it was ended, or begun where it is not complete; ``base_urls`` are those of the
    requests that led to it. ``told``: ``fileset_file`` and ``fileset_bundle`` of its result.
    """

    complete: bool
    time: str
    strategy: IngestStrategy
    base_urls: tuple[str, ...] = ()
    splap: Splap | None = None
    files: Mapping[str, SummaryFile] = field(default_factory=dict)
    told: Mapping[str, Any] | None = None

    def with_file(self, path: str, file: SummaryFile) -> Self:
        """With *file* under *path*."""
        return replace(self, files={**self.files, path: file})

    def as_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {
            "complete": self.complete,
            "time": self.time,
            "strategy": str(self.strategy),
            "base_urls": list(self.base_urls),
        }
        if self.splap is not None:
            value["splap"] = without_none(self.splap)
        value["files"] = {path: file.as_json() for path, file in self.files.items()}
        if self.told is not None:
            value["told"] = dict(self.told)
        return value

    @classmethod
    def of_json(cls, value: Any) -> Self:
        """``ValueError`` where *value* is no version."""
        values = _object(value, "a version")
        complete, urls = values.get("complete"), values.get("base_urls", [])
        if not isinstance(complete, bool):
            raise ValueError("complete is no boolean")
        if not isinstance(urls, list) or not all(isinstance(url, str) for url in urls):
            raise ValueError("base_urls are no list of texts")
        time = _text(values, "time")
        if not _TIME.fullmatch(time):
            raise ValueError(f"{time!r} is no time")
        splap, told = values.get("splap"), values.get("told")
        files = _object(values.get("files", {}), "files")
        return cls(
            complete=complete,
            time=time,
            strategy=IngestStrategy(_text(values, "strategy")),
            base_urls=tuple(urls),
            splap=None if splap is None else Splap.of_json(splap),
            files={path: SummaryFile.of_json(file) for path, file in files.items()},
            told=None if told is None else _object(told, "told"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesetSummary:
    """All that a fileset's WARC holds. ``end``: how far the WARC is known good, in bytes.

    ``chain`` is a digest over all record headers up to ``end``, empty where it is not known;
    ``open`` are the versions whose last ingest was cut off.
    """

    fileset_id: str
    versions: Mapping[str, FilesetVersion] = field(default_factory=dict)
    end: int = 0
    chain: str = ""
    open: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        writer: dict[str, Any] = {"format": FORMAT, "end": self.end}
        if self.chain:
            writer["chain"] = self.chain
        writer["open"] = list(self.open)
        versions = {name: version.as_json() for name, version in self.versions.items()}
        return {self.fileset_id: versions, "_warc": writer}

    def to_bytes(self) -> bytes:
        """The file's bytes: UTF-8, indented, ended by a newline."""
        text = json.dumps(self.as_json(), ensure_ascii=False, indent=1)
        return text.encode("utf-8", "surrogatepass") + b"\n"

    @classmethod
    def parse(cls, data: bytes, fileset_id: str | None = None) -> Self:
        """``ValueError`` where *data* is no summary, or not that of *fileset_id*."""
        try:
            values = _object(json.loads(data), "a summary")
        except RecursionError:
            raise ValueError("nested too deeply") from None
        writer = _object(values.pop("_warc", None), "_warc")
        if writer.get("format") != FORMAT:
            raise ValueError(f"_warc of format {FORMAT} is missing")
        ids = list(values)
        if len(ids) != 1 or fileset_id not in (None, ids[0]):
            raise ValueError(f"it is of {ids!r}, not of {fileset_id or 'one fileset'}")
        opened = writer.get("open", [])
        if not isinstance(opened, list) or not all(isinstance(name, str) for name in opened):
            raise ValueError("_warc.open is no list of texts")
        versions = _object(values[ids[0]], "the versions")
        return cls(
            fileset_id=ids[0],
            versions={name: FilesetVersion.of_json(one) for name, one in versions.items()},
            end=_number(writer, "end"),
            chain=_maybe_text(writer, "chain") or "",
            open=tuple(opened),
        )


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is no object")
    return value


def _number(values: dict[str, Any], name: str, default: int | None = None) -> int:
    value = values.get(name, default)
    if type(value) is not int or value < 0:
        raise ValueError(f"{name} is no whole number")
    return value


def _maybe_text(values: dict[str, Any], name: str) -> str | None:
    value = values.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name} is no text")
    return value


def _text(values: dict[str, Any], name: str) -> str:
    value = _maybe_text(values, name)
    if value is None:
        raise ValueError(f"{name} is missing")
    return value


def _digest(values: dict[str, Any]) -> str:
    digest = _text(values, "digest")
    if not _SHA256.fullmatch(digest):
        raise ValueError(f"{digest[:80]!r} is no digest")
    return digest
