"""The rows that a result makes in the tables of the proposal and those written alongside.

Columns are those of ``ingest_fileset_platform``, ``ingest_request``, ``ingest_file_result``,
``file_meta`` and ``cdx``. A row is a mapping of column to value, without the columns that the
database fills (``updated``, ``created``); JSON columns hold text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

LONGEST_TERMINAL_URL = 2_048
_MOST_INT = 2**31 - 1
_MOST_BIGINT = 2**63 - 1

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The rows of one result; ``dropped_urls`` counts terminal URLs that no column takes."""

    fileset: Row | None
    request: Row | None
    file_result: Row
    file_metas: tuple[Row, ...] = ()
    cdxs: tuple[Row, ...] = ()
    dropped_urls: int = 0

    def tables(self) -> dict[str, tuple[Row, ...]]:
        """The rows by the table that each goes to."""
        return {
            "ingest_request": (self.request,) if self.request else (),
            "ingest_file_result": (self.file_result,),
            "ingest_fileset_platform": (self.fileset,) if self.fileset else (),
            "file_meta": self.file_metas,
            "cdx": self.cdxs,
        }


def rows_of(result: Mapping[str, Any]) -> Rows:
    """The rows of a checked result (``results.check_result``)."""
    url = _at(result, "terminal", "terminal_url")
    dropped = isinstance(url, str) and len(url) > LONGEST_TERMINAL_URL
    return Rows(
        fileset=fileset_row(result),
        request=request_row(result["request"]),
        file_result=file_result_row(result),
        file_metas=tuple(file_meta_rows(result)),
        cdxs=tuple(cdx_rows(result)),
        dropped_urls=int(dropped),
    )


def fileset_row(result: Mapping[str, Any]) -> Row | None:
    """The row of ``ingest_fileset_platform``; None before name, domain and id are all known."""
    platform = {key: _text(result.get(key)) for key in _PLATFORM}
    if not all(platform.values()):
        return None
    manifest = result.get("manifest")
    return {
        **_key(result),
        "hit": result["hit"],
        "status": _text(result["status"]),
        **platform,
        "ingest_strategy": _text(result.get("ingest_strategy")),
        "total_size": _whole_number(result.get("total_size"), _MOST_BIGINT),
        "file_count": _whole_number(result.get("file_count"), _MOST_INT),
        "archiveorg_item_name": _text(result.get("archiveorg_item_name")),
        "archiveorg_item_bundle_path": _text(
            _at(result, "fileset_bundle", "archiveorg_bundle_path")
        ),
        "web_bundle_url": _text(_at(result, "fileset_bundle", "terminal", "terminal_url")),
        "web_bundle_dt": _dt(_at(result, "fileset_bundle", "terminal", "terminal_dt")),
        "manifest": None if manifest is None else json_text(manifest),
    }


_PLATFORM = ("platform_name", "platform_domain", "platform_id")


def request_row(request: Mapping[str, Any]) -> Row | None:
    """The row of ``ingest_request``, None for a request that does not say where it comes from.

    What has no column goes to ``request``.
    """
    columns = ("link_source", "link_source_id", "ingest_type", "base_url", "ingest_request_source",
               "release_stage")  # fmt: skip
    if not (_text(request.get("link_source")) and _text(request.get("link_source_id"))):
        return None
    rest = {key: part for key, part in request.items() if key not in columns}
    return {
        **{key: _text(request.get(key)) for key in columns},
        "request": json_text(rest) if rest else None,
    }


def file_result_row(result: Mapping[str, Any]) -> Row:
    """The row of ``ingest_file_result``: status and landing page, always written."""
    terminal = result.get("terminal")
    terminal = terminal if isinstance(terminal, Mapping) else {}
    url = _text(terminal.get("terminal_url"))
    return {
        **_key(result),
        "hit": result["hit"],
        "status": _text(result["status"]),
        "terminal_url": None if url and len(url) > LONGEST_TERMINAL_URL else url,
        "terminal_dt": _dt(terminal.get("terminal_dt")),
        "terminal_status_code": _whole_number(terminal.get("terminal_status_code"), _MOST_INT),
        "terminal_sha1hex": _hex(terminal.get("terminal_sha1hex"), 40),
    }


def file_meta_rows(result: Mapping[str, Any]) -> Iterator[Row]:
    """The rows of ``file_meta``: of the landing page, the file, the bundle; by SHA-1, each once."""
    seen = set()
    for meta in _parts(result, "file_meta"):
        sha1 = _hex(meta.get("sha1hex"), 40)
        if sha1 is None or sha1 in seen:
            continue
        seen.add(sha1)
        yield {
            "sha1hex": sha1,
            "sha256hex": _hex(meta.get("sha256hex"), 64),
            "md5hex": _hex(meta.get("md5hex"), 32),
            "size_bytes": _whole_number(meta.get("size_bytes"), _MOST_BIGINT),
            "mimetype": _text(meta.get("mimetype")),
        }


def cdx_rows(result: Mapping[str, Any]) -> Iterator[Row]:
    """The rows of ``cdx``: of landing page, file and bundle; by URL and time, each once."""
    seen = set()
    for cdx in _parts(result, "cdx"):
        url, dt = _text(cdx.get("url")), _dt(cdx.get("datetime"))
        sha1, path = _hex(cdx.get("sha1hex"), 40), _text(cdx.get("warc_path"))
        if not (url and dt and sha1 and path) or (url, dt) in seen:
            continue
        seen.add((url, dt))
        yield {
            "url": url,
            "datetime": dt,
            "sha1hex": sha1,
            "mimetype": _text(cdx.get("mimetype")),
            "warc_path": path,
            "warc_csize": _whole_number(cdx.get("warc_csize"), _MOST_BIGINT),
            "warc_offset": _whole_number(cdx.get("warc_offset"), _MOST_BIGINT),
        }


def _parts(result: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    for place in (result, result.get("fileset_file"), result.get("fileset_bundle")):
        part = place.get(name) if isinstance(place, Mapping) else None
        if isinstance(part, Mapping):
            yield part


def json_text(value: Any) -> str:
    """*value* as JSON that every JSON column takes: no NUL, no lone surrogate."""
    text = _encoded(value)
    if "\\u0000" in text or not (text.isascii() or _UNFIT.search(text) is None):
        text = _encoded(_cleaned(value))
    return text


_encoded = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, Mapping):
        return {_clean(str(key)): _cleaned(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(part) for part in value]
    return value


def _clean(text: str) -> str:
    """NUL and lone surrogates become U+FFFD."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNFIT.sub("\ufffd", text)


_UNFIT = re.compile("[\0\ud800-\udfff]")


def _key(result: Mapping[str, Any]) -> Row:
    request = result["request"]
    return {key: _clean(request[key]) for key in ("ingest_type", "base_url")}


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _text(value: Any) -> str | None:
    return _clean(value) or None if isinstance(value, str) else None


def _whole_number(value: Any, most: int) -> int | None:
    return value if type(value) is int and 0 <= value <= most else None


def _dt(value: Any) -> str | None:
    is_dt = isinstance(value, str) and len(value) == 14 and value.isascii() and value.isdigit()
    return value if is_dt else None


def _hex(value: Any, length: int) -> str | None:
    return value if isinstance(value, str) and len(value) == length and value.isascii() else None
