"""Ingest requests, and their results as the JSON that is published.

The keys are those of the proposal ("Ingest Result Schema"); ``docs/schemas/`` has them as JSON
schemas. Keys without a value are left out. :func:`file_result` makes the second object that a
``success-file`` publishes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import quote

import msgspec

from lafka.errors import BadUrl, CallerError, printable
from lafka.filesets.model.asks import Resource
from lafka.filesets.model.pages import HtmlBiblio
from lafka.filesets.model.types import (
    ArchiveStrategyResult,
    FilesetManifestFile,
    FilesetPlatformItem,
    IngestStrategy,
    Manifest,
    Status,
    is_known,
)
from lafka.urls import check_url

LONGEST_REQUEST = 1 << 20
"""Bytes of a request's JSON."""
LONGEST_BASE_URL = 1_500
"""Characters, as in sandcrawler's table."""

_TYPE = re.compile(r"[a-z][a-z0-9_-]{0,59}")
_DOI = re.compile(r"(?:doi:\s*)?(10\.[0-9][0-9.]*/\S+)", re.IGNORECASE)
_HANDLE = re.compile(r"hdl:\s*(\S+/\S+)", re.IGNORECASE)
_TEXTS = ("link_source", "link_source_id", "ingest_request_source", "release_stage", "rel",
          "oa_status")  # fmt: skip
_OBJECTS = ("ext_ids", "fatcat", "edit_extra")


class BadRequest(CallerError):
    """A request that cannot be begun: status ``bad-request``, with this sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest:
    """A request that can be begun; ``raw`` is the whole object as it came, unknown keys and all.

    ``base_url`` is as it came, ``url`` what is asked: a bare DOI or ``hdl:`` by its resolver.
    ``max_total_size`` (bytes) and ``max_file_count`` may lower the limits and never raise them.
    """

    ingest_type: str
    base_url: str
    url: str
    force_recrawl: bool = False
    latest: bool = False
    ingest_strategy: IngestStrategy | None = None
    max_total_size: int | None = None
    max_file_count: int | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str | bytes) -> Self:
        """The request in a line or message; ``BadRequest``."""
        if len(text) > LONGEST_REQUEST:
            raise BadRequest(f"a request of over {LONGEST_REQUEST} bytes")
        try:
            return cls.of_json(json.loads(text))
        except (ValueError, RecursionError) as error:
            if isinstance(error, BadRequest):
                raise
            raise BadRequest("the request is not JSON") from None

    @classmethod
    def of_url(cls, base_url: str, ingest_type: str = "dataset") -> Self:
        """The request that a plain line of a list is; ``BadRequest``."""
        return cls.of_json({"ingest_type": ingest_type, "base_url": base_url})

    @classmethod
    def of_json(cls, value: Any) -> Self:
        """``BadRequest`` where *value* is no request; keys that are not known stay in ``raw``."""
        if not isinstance(value, dict):
            raise BadRequest("the request is no JSON object")
        kind, base_url = value.get("ingest_type"), value.get("base_url")
        if not isinstance(kind, str) or not _TYPE.fullmatch(kind):
            raise BadRequest("ingest_type is missing or is no plain word")
        if not isinstance(base_url, str) or not base_url:
            raise BadRequest("base_url is missing or is no text")
        _check_types(value)
        strategy = value.get("ingest_strategy")
        return cls(
            ingest_type=kind,
            base_url=base_url,
            url=_http_url(base_url),
            force_recrawl=value.get("force_recrawl") or False,
            latest=value.get("latest") or False,
            ingest_strategy=None if strategy is None else IngestStrategy(strategy),
            max_total_size=value.get("max_total_size"),
            max_file_count=value.get("max_file_count"),
            raw=value,
        )


def _check_types(value: dict[str, Any]) -> None:
    """``BadRequest`` for a known key of another type; null stands for a key that is missing."""
    given = {name: value[name] for name in value if value[name] is not None}
    for names, kind, word in (
        (_TEXTS, str, "text"),
        (_OBJECTS, dict, "object"),
        (("force_recrawl", "latest"), bool, "boolean"),
    ):
        for name in names:
            if name in given and not isinstance(given[name], kind):
                raise BadRequest(f"{name} is no {word}")
    for name in ("max_total_size", "max_file_count"):
        if name in given and (type(given[name]) is not int or given[name] < 0):
            raise BadRequest(f"{name} is no whole number")
    strategy = given.get("ingest_strategy")
    if strategy is not None and strategy not in list(IngestStrategy):
        raise BadRequest(f"ingest_strategy is none of {', '.join(IngestStrategy)}")


def _http_url(base_url: str) -> str:
    """The http URL that *base_url* means; ``BadRequest``."""
    if len(base_url) > LONGEST_BASE_URL:
        raise BadRequest(f"base_url of over {LONGEST_BASE_URL} characters")
    url = base_url
    if doi := _DOI.fullmatch(base_url):
        url = f"https://doi.org/{_quoted(doi[1])}"
    elif handle := _HANDLE.fullmatch(base_url):
        url = f"https://hdl.handle.net/{_quoted(handle[1])}"
    try:
        check_url(url)
    except (BadUrl, UnicodeError) as error:
        raise BadRequest(f"base_url: {error}") from None
    return url


def _quoted(name: str) -> str:
    try:
        return quote(name, safe="/:;()!$&'*+,=@~")
    except UnicodeEncodeError:
        raise BadRequest("base_url: a lone surrogate cannot stand in a URL") from None


LONGEST_MESSAGE = 1_600
_ARCHIVEORG = "archiveorg-"


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingCapture:
    """The landing page as it is told: its capture in the fileset WARC."""

    hops: tuple[str, ...] = ()
    terminal: Mapping[str, Any] | None = None
    file_meta: Mapping[str, Any] | None = None
    cdx: Mapping[str, Any] | None = None
    revisit_cdx: Mapping[str, Any] | None = None
    html_biblio: HtmlBiblio | None = None

    @classmethod
    def of(cls, resource: Resource, **values: Any) -> Self:
        """With what *resource* tells; *values* are the other fields, as ``file_meta``."""
        meta = values.get("file_meta") or {}
        terminal = {
            "terminal_url": resource.url,
            "terminal_dt": resource.dt or None,
            "terminal_status_code": resource.status,
            "terminal_sha1hex": meta.get("sha1hex"),
        }
        return cls(hops=resource.hops, terminal=_without_empty(terminal), **values)


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestResult:
    """The outcome of one request; ``request`` is the object as it came.

    ``file_count`` and ``total_size`` are of the whole manifest, also where ``manifest_truncated``.
    ``lafka`` has ``fileset, version, run, outcome, requests, bytes, seconds``, as far as known.
    """

    request: Mapping[str, Any]
    status: str
    error_message: str | None = None
    landing: LandingCapture = field(default_factory=LandingCapture)
    item: FilesetPlatformItem | None = None
    archived: ArchiveStrategyResult | None = None
    manifest: Manifest | None = None
    file_count: int | None = None
    total_size: int | None = None
    manifest_truncated: bool = False
    lafka: Mapping[str, Any] | None = None

    @property
    def hit(self) -> bool:
        return self.status in (Status.SUCCESS, Status.SUCCESS_EXISTING, Status.SUCCESS_FILE)

    def as_json(self) -> dict[str, Any]:
        """The object that is published, stored in the feed and persisted."""
        value = {
            "hit": self.hit,
            "status": str(self.status),
            "request": dict(self.request),
            "hops": list(self.landing.hops),
            "error_message": _message(self.error_message),
            "terminal": self.landing.terminal,
            "file_meta": self.landing.file_meta,
            "cdx": self.landing.cdx,
            "revisit_cdx": self.landing.revisit_cdx,
            "html_biblio": self._biblio(),
            **self._platform(),
            **self._archived(),
            "manifest_truncated": self.manifest_truncated or None,
            "lafka": self.lafka,
        }
        return _without_empty(value)

    def _biblio(self) -> dict[str, Any] | None:
        biblio = self.landing.html_biblio
        return None if biblio is None else biblio.as_json()

    def _platform(self) -> dict[str, Any]:
        item = self.item
        if item is None:
            return {}
        manifest = None if self.manifest is None else [file.as_json() for file in self.manifest]
        return {
            "platform_name": item.platform_name,
            "platform_domain": item.platform_domain,
            "platform_id": item.platform_id,
            "platform_base_url": item.web_base_url,
            "ingest_strategy": None if self.archived is None else self.archived.ingest_strategy,
            "file_count": self.file_count,
            "total_size": self.total_size,
            "manifest": manifest,
        }

    def _archived(self) -> dict[str, Any]:
        done = self.archived
        if done is None:
            return {}
        in_item = done.ingest_strategy.startswith(_ARCHIVEORG) and self.item is not None
        file = {
            "file_meta": done.file_file_meta,
            "terminal": done.file_terminal,
            "cdx": done.file_cdx,
            "revisit_cdx": done.file_revisit_cdx,
        }
        bundle = {
            "file_meta": done.bundle_file_meta,
            "terminal": done.bundle_terminal,
            "cdx": done.bundle_cdx,
            "revisit_cdx": done.bundle_revisit_cdx,
            "archiveorg_bundle_path": done.bundle_archiveorg_path,
        }
        return {
            "archiveorg_item_name": self.item.archiveorg_item_name
            if in_item and self.item
            else None,
            "fileset_bundle": _without_empty(bundle) or None,
            "fileset_file": _without_empty(file) or None,
            "extra": done.extra,
        }


def _without_empty(value: Mapping[str, Any]) -> dict[str, Any]:
    """*value* without keys that say nothing, inner objects too."""
    found = {
        key: _without_empty(part) if isinstance(part, Mapping) and key != "request" else part
        for key, part in value.items()
    }
    return {key: part for key, part in found.items() if part not in (None, [], {})}


def _message(text: str | None) -> str | None:
    return printable(text)[:LONGEST_MESSAGE] if text else None


def file_result(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """The result of a single file that a ``success-file`` publishes too; None for all else.

    Its request is that of the fileset with ``{ingest_type}-file`` as its type.
    """
    file, request = result.get("fileset_file"), result.get("request")
    if result.get("status") != Status.SUCCESS_FILE or not isinstance(file, Mapping):
        return None
    if not isinstance(request, Mapping):
        return None
    kind = f"{request.get('ingest_type')}-file"
    told = {key: file.get(key) for key in ("file_meta", "terminal", "cdx", "revisit_cdx")}
    value = {"hit": True, "status": "success", "request": {**request, "ingest_type": kind}, **told}
    return {key: part for key, part in value.items() if part is not None}


def check_result(value: Any) -> dict[str, Any]:
    """*value*, a result as it was read; ``ValueError`` where it is none."""
    if not isinstance(value, dict) or not isinstance(value.get("request"), dict):
        raise ValueError("a result is an object with a request")
    if not isinstance(value.get("hit"), bool):
        raise ValueError("hit is no boolean")
    status = value.get("status")
    if not isinstance(status, str) or not is_known(status):
        raise ValueError(f"unknown status {str(status)[:60]!r}")
    for key in ("ingest_type", "base_url"):
        if not isinstance(value["request"].get(key), str) or not value["request"][key]:
            raise ValueError(f"its request has no {key}")
    try:
        msgspec.convert(value.get("manifest", []), list[FilesetManifestFile])
    except msgspec.ValidationError as error:
        raise ValueError(f"the manifest: {error}") from None
    return value
