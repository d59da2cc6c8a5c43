"""The inventory of a fileset WARC, read record by record, and its warcinfo and metadata.

A summary is made again from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from lafka.errors import BadHttp, BadWarc
from lafka.filesets.model.asks import Ask, Fetch, FetchBundle
from lafka.filesets.model.messages import IngestRequest
from lafka.filesets.model.summaries import FilesetSummary, FilesetVersion, Splap, SummaryFile
from lafka.filesets.model.types import FilesetPlatformItem, IngestStrategy
from lafka.payloads import inspect
from lafka.storage.keeping.contents import Contents, Scanner
from lafka.warc.format import http
from lafka.warc.format.fields import one_line
from lafka.warc.format.records import Record
from lafka.warc.reading.stored import StoredRecord
from lafka.warc.reading.volumes import open_plain

FILESET_ID = "Fileset-Id"
FUTLI = "Futli"
BASE_URL = "Base-Url"
INGEST_TYPE = "Ingest-Type"
ROLE = "Role"
VERSION = "Fileset-Version"
PATH = "Fileset-Path"
FOUND_BY = "Found-By"
NOTE_TYPE = "application/json"


class Role(StrEnum):
    """The purpose of a capture."""

    SPLAP = "splap"
    API = "api"
    FILE = "file"
    BUNDLE = "bundle"


class MetadataKind(StrEnum):
    """The kind of a metadata record."""

    BEGIN = "begin"
    FILES = "files"
    END = "end"
    SEEN = "seen"
    FAILED = "failed"


def role_of(want: Ask | Fetch | FetchBundle | None) -> Role:
    """The role of the capture that answers *want*; None stands for the landing page."""
    if want is None:
        return Role.SPLAP
    return {Ask: Role.API, Fetch: Role.FILE, FetchBundle: Role.BUNDLE}[type(want)]


def warcinfo_fields(
    request: IngestRequest,
    url: str,
    want: Ask | Fetch | FetchBundle | None = None,
    item: FilesetPlatformItem | None = None,
) -> Iterator[tuple[str, str]]:
    """The fields of the warcinfo of a capture of *url*, each on one line; none without a value."""
    values = {
        FILESET_ID: item.fileset_id if item else None,
        FUTLI: url,
        BASE_URL: request.base_url,
        INGEST_TYPE: request.ingest_type,
        ROLE: role_of(want),
        VERSION: item.version if item else None,
        PATH: want.file.path if isinstance(want, Fetch) else None,
        FOUND_BY: item.platform_name if item else None,
    }
    return ((name, one_line(value)) for name, value in values.items() if value)


def note(values: Mapping[str, Any], url: str, date: str) -> Record:
    """A metadata record that says *values* of *url*."""
    block = json.dumps(values, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return Record.metadata(block, url=one_line(url), content_type=NOTE_TYPE, date=date)


def read_note(block: bytes) -> dict[str, Any] | None:
    """Return what a metadata record says; None where it is none of a fileset's."""
    try:
        values = json.loads(block)
    except (ValueError, RecursionError):
        return None
    known = isinstance(values, dict) and isinstance(values.get("fileset"), str)
    return values if known and values.get("what") in set(MetadataKind) else None


NOTE_MAX = 256 << 20
PAGE_MAX = 16 << 20
"""Bytes of a chunked answer that are looked at to know it again."""
_PLACED = frozenset(("response", "conversion"))


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBytes:
    """Bytes in the WARC: ``l`` of them ``at`` a byte of the block of a record."""

    record_id: str
    url: str
    date: str
    at: int
    l: int  # noqa: E741  the summary's name


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPlace:
    """A record in the WARC: ``length`` bytes at ``offset``, its block from byte ``block`` on."""

    offset: int
    length: int
    block: int
    url: str
    date: str


@dataclass(slots=True, kw_only=True)
class FilesetContents(Contents):
    """The inventory of a fileset WARC.

    ``places``: records that files can stand in, by id. ``pages``: payloads of responses by digest,
    None where one does not stand literally; they are not stored again. ``held``: files by digest.
    """

    summary: FilesetSummary
    places: dict[str, RecordPlace] = field(default_factory=dict)
    pages: dict[str, HeldBytes | None] = field(default_factory=dict)
    held: dict[str, HeldBytes] = field(default_factory=dict)

    def add_note(self, values: Mapping[str, Any]) -> None:
        """Take in what a metadata record says.

        ``ValueError``, ``LookupError`` or ``TypeError`` where it says nothing that can be.
        """
        what, name = values["what"], str(values.get("version"))
        if what == MetadataKind.FAILED:
            return
        versions = dict(self.summary.versions)
        if what == MetadataKind.BEGIN:
            versions[name] = self._version(values, versions.get(name))
        else:
            versions[name] = self._changed(versions[name], values)
        opened = tuple(key for key, version in versions.items() if not version.complete)
        self.summary = replace(self.summary, versions=versions, open=opened)

    def _version(self, values: Mapping[str, Any], known: FilesetVersion | None) -> FilesetVersion:
        urls = known.base_urls if known else ()
        splap = values.get("splap")
        return FilesetVersion(
            complete=known.complete if known else False,
            time=known.time if known else values["time"],
            strategy=IngestStrategy(values["strategy"]),
            base_urls=tuple(dict.fromkeys((*urls, values["base_url"]))),
            splap=self._splap(splap) if splap else (known.splap if known else None),
            files=known.files if known else {},
        )

    def _splap(self, values: Mapping[str, Any]) -> Splap:
        return Splap(
            s=self.places[values["record"]].block + values["at"],
            l=values["l"],
            url=values["url"],
            digest=values["digest"],
        )

    def _changed(self, version: FilesetVersion, values: Mapping[str, Any]) -> FilesetVersion:
        if base_url := values.get("base_url"):
            urls = tuple(dict.fromkeys((*version.base_urls, base_url)))
            version = replace(version, base_urls=urls)
        if values["what"] == MetadataKind.FILES:
            files = {path: self._file(one) for path, one in values["files"].items()}
            return replace(version, files={**version.files, **files})
        if values["what"] == MetadataKind.END:
            told = {key: values["result"][key] for key in TOLD if key in values["result"]}
            return replace(
                version,
                complete=bool(values["complete"]),
                time=values["time"],
                told=told or None,
            )
        return version

    def _file(self, value: dict[str, Any]) -> SummaryFile:
        """The summary's entry of a file, its place counted in the WARC."""
        entry = dict(value)
        record, at = entry.pop("record", None), entry.pop("at", 0)
        if record is None:
            return SummaryFile.of_json(entry)
        stands = self.places[record]
        start = stands.block + at
        if entry.get("bundle"):
            member = SummaryFile.of_json(entry)
            assert member.bundle is not None
            return replace(member, bundle=member.bundle.moved(start))
        held = HeldBytes(record_id=record, url=stands.url, date=stands.date, at=at, l=entry["l"])
        self.held[entry["digest"]] = held  # the last: what it was before had rotted
        return SummaryFile.of_json({**entry, "s": start})


TOLD = ("fileset_file", "fileset_bundle")
"""Keys of a result that are told again where the version exists."""


class FilesetScanner(Scanner[FilesetContents]):
    """Reads the records of the WARC of a fileset that is open as *fd* into ``contents``."""

    def __init__(
        self, fd: int, path: Path, fileset_id: str, *, trusted_to: int = 0, chain: str = ""
    ) -> None:
        contents = FilesetContents(summary=FilesetSummary(fileset_id=fileset_id))
        super().__init__(fd, path, contents, trusted_to=trusted_to, chain=chain)

    def take(self, record: StoredRecord) -> None:
        if record.type in _PLACED:
            self.contents.places[record.id] = place_of(record, record.offset)
        if record.type == "response":
            digest, page = page_in(record)
            self.contents.pages.setdefault(digest, page)
        elif record.type == "metadata" and record.fields.first("Content-Type") == NOTE_TYPE:
            self._take_note(record)

    def _take_note(self, record: StoredRecord) -> None:
        values = read_note(record.block().read(0, NOTE_MAX))
        if values is None:
            return
        named = values["fileset"]
        if named != self.contents.summary.fileset_id:
            raise BadWarc(self.path, f"it is of {named}", record.offset)
        try:
            self.contents.add_note(values)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise BadWarc(self.path, f"a note that says nothing: {error}", record.offset) from None


def place_of(record: StoredRecord, offset: int) -> RecordPlace:
    """Return where *record* stands, its first byte at *offset*."""
    return RecordPlace(
        offset=offset,
        length=record.length,
        block=offset + len(record.header),
        url=record.url,
        date=record.fields.first("WARC-Date"),
    )


def page_in(record: StoredRecord) -> tuple[str, HeldBytes | None]:
    """Digest of the payload of a response, transfer coding undone; where it stands literally."""
    stated = record.fields.first("WARC-Payload-Digest")
    with suppress(BadHttp):
        block = record.block()
        head = http.head(block)
        if head.chunked or head.transfer_codings:
            return inspect(block).payload_digest if block.size < PAGE_MAX else "", None
        size = block.size - head.end
        held = HeldBytes(
            record_id=record.id,
            url=record.url,
            date=record.fields.first("WARC-Date"),
            at=head.end,
            l=min(size, size if head.content_length is None else head.content_length),
        )
        return stated, held
    return stated, None


def fileset_id_in(warc: Path) -> str | None:
    """The fileset that the notes of *warc* name; None where they name none."""
    with suppress(BadWarc), open_plain(warc) as volume:
        for record in volume.records(types=["metadata"]):
            values = read_note(record.block().read(0, NOTE_MAX))
            if values is not None:
                return str(values["fileset"])
    return None
