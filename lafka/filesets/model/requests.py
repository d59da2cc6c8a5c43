"""Ingest requests: JSON objects that name an ``ingest_type`` and a ``base_url`` to begin at."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import quote

from lafka.errors import BadUrl, CallerError
from lafka.filesets.model.types import IngestStrategy
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
            url=_asked(base_url),
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


def _asked(base_url: str) -> str:
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
