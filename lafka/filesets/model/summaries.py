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
from typing import Annotated, Any, Self

import msgspec
from msgspec.structs import replace

from lafka.filesets.model.bundles import Member
from lafka.filesets.model.types import (
    Count,
    FilesetManifestFile,
    IngestStrategy,
    JsonValue,
    is_digest,
    prepare,
)

FORMAT = 1
_SHA256 = re.compile(r"sha256:([0-9a-f]{64})")
Digest = Annotated[str, msgspec.Meta(pattern=rf"\A{_SHA256.pattern}\Z")]
Time = Annotated[str, msgspec.Meta(pattern=r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z")]


class PackedPlace(JsonValue, frozen=True, kw_only=True):
    """The place of a member of a gzipped bundle: from byte ``at`` of what the bundle unpacks to.

    The bundle's own ``l`` bytes stand from byte ``s`` of the WARC, or of the item's file.
    """

    s: Count
    l: Count  # noqa: E741  the summary's name
    at: Count


class BundlePlace(JsonValue, frozen=True, kw_only=True):
    """The place of a member in its bundle: ``l`` bytes from byte ``s``, as its ZIP or tar says.

    ``s`` counts in the WARC, of an item in the bundle file; ``packed`` stands instead of it where
    the bundle as a whole is gzipped. Neither is there where the member has no one place.
    """

    s: Count | None = None
    l: Count  # noqa: E741  the summary's name
    packed: PackedPlace | None = None
    method: str
    crc32: str
    flags: Count = msgspec.field(default_factory=int)  # written, though it be 0

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


class SummaryFile(JsonValue, frozen=True, kw_only=True):
    """A file that is held: ``l`` bytes from byte ``s`` of the WARC, or all of an item's file.

    ``item`` and ``name`` are set, and ``s`` is None, where it stands in an item. ``url`` and
    ``time`` (``YYYY-MM-DDThh:mm:ssZ``) tell where it came from; digests are hex, ``digest`` is
    ``sha256:`` and hex. Of a bundle's member ``size`` is that of its own bytes, and ``bundle`` says
    where the compressed ones stand.
    """

    s: Count | None = None
    l: Count  # noqa: E741  the summary's name
    item: str | None = None
    name: str | None = None
    url: str | None = None
    time: str | None = None
    md5: str | None = None
    sha1: str | None = None
    digest: Digest
    mimetype: str | None = None
    size: Count | None = None
    bundle: BundlePlace | None = None

    def check(self) -> None:
        """``ValueError`` where the file stands nowhere, or at two places."""
        if (self.s is None) == (self.item is None) and self.bundle is None:
            raise ValueError("a file stands either in the WARC or in an item")

    @classmethod
    def of_json(cls, value: Any) -> Self:
        found = super().of_json(value)
        found.check()
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


class Splap(JsonValue, frozen=True, kw_only=True):
    """The fileset's landing page where it stands in the WARC."""

    s: Count
    l: Count  # noqa: E741  the summary's name
    url: str
    digest: Digest


class FilesetVersion(JsonValue, frozen=True, kw_only=True):
    """One version of a fileset, as far as it is held; ``complete``: all of its manifest is.

    ``time``: when it was ended, or begun where it is not complete; ``base_urls`` are those of the
    requests that led to it. ``told``: ``fileset_file`` and ``fileset_bundle`` of its result.
    Empty lists and objects are written too: what msgspec leaves out are defaults that it knows.
    """

    complete: bool
    time: Time
    strategy: IngestStrategy
    base_urls: tuple[str, ...] = msgspec.field(default_factory=lambda: ())
    splap: Splap | None = None
    files: Mapping[str, SummaryFile] = msgspec.field(default_factory=lambda: {})  # noqa: PIE807
    told: Mapping[str, Any] | None = None


class _Writer(JsonValue, frozen=True, kw_only=True):
    """``_warc`` of a summary, as :class:`FilesetSummary` has it."""

    format: int
    end: Count
    chain: str = ""
    open: tuple[str, ...] = msgspec.field(default_factory=lambda: ())


class FilesetSummary(msgspec.Struct, frozen=True, kw_only=True):
    """All that a fileset's WARC holds. ``end``: how far the WARC is known good, in bytes.

    ``chain`` is a digest over all record headers up to ``end``, empty where it is not known;
    ``open`` are the versions whose last ingest was cut off.
    """

    fileset_id: str
    versions: Mapping[str, FilesetVersion] = msgspec.field(default_factory=dict)
    end: int = 0
    chain: str = ""
    open: tuple[str, ...] = ()

    def _document(self) -> dict[str, Any]:
        writer = _Writer(format=FORMAT, end=self.end, chain=self.chain, open=self.open)
        return {self.fileset_id: self.versions, "_warc": writer}

    def as_json(self) -> dict[str, Any]:
        document: dict[str, Any] = msgspec.to_builtins(self._document())
        return document

    def to_bytes(self) -> bytes:
        """The file's bytes: UTF-8, indented, ended by a newline."""
        try:
            return msgspec.json.format(msgspec.json.encode(self._document()), indent=1) + b"\n"
        except UnicodeEncodeError:  # a platform's text with a lone surrogate
            text = json.dumps(self.as_json(), ensure_ascii=False, indent=1)
            return text.encode("utf-8", "surrogatepass") + b"\n"

    @classmethod
    def parse(cls, data: bytes, fileset_id: str | None = None) -> Self:
        """``ValueError`` where *data* is no summary, or not that of *fileset_id*."""
        try:
            values = json.loads(data)  # takes lone surrogates
        except RecursionError:
            raise ValueError("nested too deeply") from None
        if not isinstance(values, dict):
            raise ValueError("a summary is no object")
        writer = _Writer.of_json(values.pop("_warc", None))
        if writer.format != FORMAT:
            raise ValueError(f"_warc of format {FORMAT} is missing")
        ids = list(values)
        if len(ids) != 1 or fileset_id not in (None, ids[0]):
            raise ValueError(f"it is of {ids!r}, not of {fileset_id or 'one fileset'}")
        versions = msgspec.convert(values[ids[0]], dict[str, FilesetVersion])
        for file in (file for version in versions.values() for file in version.files.values()):
            file.check()
        return cls(
            fileset_id=ids[0],
            versions=versions,
            end=writer.end,
            chain=writer.chain,
            open=writer.open,
        )


prepare(FilesetVersion)
prepare(_Writer)
