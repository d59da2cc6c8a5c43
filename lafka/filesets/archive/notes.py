"""What a capture's warcinfo and the metadata records of a fileset WARC say: the one table of it.

A metadata record is JSON with ``fileset`` and ``what``:

- ``begin``: a version was begun: ``version, strategy, base_url, time, item, splap``;
- ``files``: files of a version are held: ``version, files``, each as in the summary, but with its
  place as ``record``, the id of the record that holds it, and ``at``, the byte of its block;
- ``end``: a version was ended: ``version, complete, time, base_url, result``;
- ``seen``: another URL led to a version that is held: ``version, base_url``;
- ``failed``: nothing was archived: ``time, base_url, result``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from lafka.filesets.model.asks import Ask, Fetch, FetchBundle
from lafka.filesets.model.requests import IngestRequest
from lafka.filesets.model.types import FilesetPlatformItem
from lafka.warc.format.fields import one_line
from lafka.warc.format.records import Record

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
    """What a capture was made for."""

    SPLAP = "splap"
    API = "api"
    FILE = "file"
    BUNDLE = "bundle"


class What(StrEnum):
    """What a metadata record tells."""

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
    return values if known and values.get("what") in set(What) else None
