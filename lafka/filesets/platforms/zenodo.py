"""Zenodo and other hosts of InvenioRDM: records, which are versions, by three shapes of one API.

https://developers.zenodo.org, https://inveniordm.docs.cern.ch/reference/rest_api_drafts_records/.
Old Zenodo lists ``files[].links.self`` below ``/api/files/<bucket>/``, today's below
``/api/records/<id>/files/<key>/content``; a native InvenioRDM has ``files.entries``, whose
``links.self`` is JSON and whose bytes stand at ``links.content``. The native shape, which alone
counts its files, is asked for by its media type; Zenodo gives the flat list without. A host that
nobody knows is one of InvenioRDM where its page stands at ``/records/<id>`` and its API gives that
record.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import replace
from functools import cache
from typing import Any
from urllib.parse import quote, unquote

from lafka.filesets.model.asks import JSON, Answer, Ask, Asking, Resource
from lafka.filesets.model.messages import IngestRequest
from lafka.filesets.model.pages import HtmlBiblio
from lafka.filesets.model.types import (
    FilesetManifestFile,
    FilesetPlatformItem,
    NotThisPlatform,
    PlatformError,
    PlatformRestrictedError,
    PlatformScopeError,
)
from lafka.filesets.platforms.platform import (
    FilesetPlatformHelper,
    Value,
    ask_json,
    authority_of,
    check_status,
    checked_url,
    hold_to_count,
    hold_to_size,
    host_of,
    in_domain,
    item_meta,
    item_name,
    read_json,
    refuse_restricted,
    split_url,
    with_digest,
    with_extra,
)

NATIVE = f"application/vnd.inveniordm.v1+json, {JSON};q=0.9"
_ZENODO = ("zenodo.org",)
_RECORD = re.compile(r"/records?/([A-Za-z0-9][A-Za-z0-9-]{0,60})(?=/|\Z)(/files/.+)?")
_RECORDS = re.compile(r"/records/([A-Za-z0-9][A-Za-z0-9-]{0,60})(?=/|\Z)")
_DOI = re.compile(r"10\.[0-9]{4,9}/zenodo\.([0-9]{1,18})(?![0-9])", re.IGNORECASE)
_COMMUNITY = re.compile(r"/communities/.")


class ZenodoHelper(FilesetPlatformHelper):
    """One record; an id of all versions is of wrong scope, but for ``latest``."""

    platform_name = "zenodo"

    def match_request(
        self, request: IngestRequest, resource: Resource, html_biblio: HtmlBiblio
    ) -> bool:
        known = any(self._known(url) for url in (*resource.urls, request.base_url))
        return known or _may_be_one(resource.url)

    def _known(self, url: str) -> bool:
        parts = split_url(url)
        host, path = host_of(parts), unquote(parts.path)
        if not in_domain(host, *_ZENODO) and host not in self.more_hosts:
            return False
        return bool(_RECORD.match(path) or _DOI.search(path) or _COMMUNITY.match(path))

    def process_request(
        self, request: IngestRequest, resource: Resource, html_biblio: HtmlBiblio
    ) -> Asking:
        item = FilesetPlatformItem(platform_name=self.platform_name)
        urls = (*resource.urls, request.base_url)
        known = next((url for url in urls if self._known(url)), "")
        parts = split_url(known or resource.url)
        item = replace(item, platform_domain=host_of(parts) or None)
        base = f"https://{authority_of(parts)}/api/records/"
        if known:
            api = base + _record_in(unquote(parts.path), item)
            record, _ = yield from ask_json(api, item, accept=NATIVE)
        else:
            api = base + _RECORDS.match(unquote(parts.path))[1]  # type: ignore[index]
            record = yield from _tried(api, resource, item)
            _record_in(unquote(parts.path), item)
        item = replace(item, platform_id=api.removeprefix(base))
        found = record["id"].need_text(item)
        if not request.latest:
            here = host_of(parts)
            ids = _ids_in(urls, lambda url: self._known(url) or host_of(split_url(url)) == here)
            _refuse_work(record, found, ids, item)
        item = _described(record, replace(item, platform_id=found))
        _refuse_closed(record, item)
        rows = yield from _rows(record, api, item)
        files = tuple(_file(key, row, item) for key, row in rows)
        return refuse_restricted(replace(item, manifest=files))


def _may_be_one(url: str) -> bool:
    parts = split_url(url)
    is_web = parts.scheme in ("http", "https") and bool(host_of(parts))
    return is_web and bool(_RECORDS.match(unquote(parts.path)))


def _tried(
    api: str, resource: Resource, item: FilesetPlatformItem
) -> Generator[Ask, Answer, Value]:
    """The record at *api*, where its answer is one of InvenioRDM; ``NotThisPlatform``.

    robots.txt counts, unless the page itself shows what it is made by.
    """
    answer = yield Ask(url=api, accept=NATIVE, robots=b"invenio" not in resource.body.lower())
    try:
        value = read_json(answer, api, item)
    except PlatformError:
        value = Value(None)
    is_record = answer.status == 200 and value["id"].text() and value["metadata"].is_object
    # Of Invenio's own errors: https://github.com/inveniosoftware/invenio-rest, RESTException.
    is_refusal = answer.status != 200 and value["status"].number() == answer.status
    if not is_record and not (is_refusal and value["message"].text()):
        raise NotThisPlatform(f"{api}: no record of InvenioRDM")
    check_status(answer, api, item)
    return value


def _record_in(path: str, item: FilesetPlatformItem) -> str:
    """The record's id in *path*; on Zenodo ids are numbers."""
    record = _RECORD.match(path)
    if record and record[2]:
        raise PlatformScopeError(f"{path}: one file of a record", item)
    number = record[1] if record else next((found[1] for found in _DOI.finditer(path)), "")
    is_number = number.isascii() and number.isdigit()
    if not number or (in_domain(item.platform_domain or "", *_ZENODO) and not is_number):
        raise PlatformScopeError(f"{path}: no record", item)
    return number


def _ids_in(urls: tuple[str, ...], known: Any) -> Iterator[str]:
    """The ids of records that a request came by."""
    for url in urls:
        path = unquote(split_url(url).path)
        if found := _DOI.search(path):
            yield found[1]
        elif (record := _RECORD.match(path)) and known(url):
            yield record[1]


def _refuse_work(record: Value, found: str, ids: Iterator[str], item: FilesetPlatformItem) -> None:
    """``PlatformScopeError`` where an id on the way stands for all versions of the record."""
    work = record["conceptrecid"].text() or record["parent"]["id"].text()
    for number in ids:
        if number == work:
            raise PlatformScopeError(f"{number} stands for all versions, {found} is one", item)
        if number != found:
            raise PlatformScopeError(f"{number} was asked for, {found} is the answer", item)


def _described(record: Value, item: FilesetPlatformItem) -> FilesetPlatformItem:
    links, about = record["links"], record["metadata"]
    number, host = item.platform_id, item.platform_domain
    page = links["self_html"].text() or links["html"].text() or f"https://{host}/records/{number}"
    extra: dict[str, Any] = {"version": number}
    revision = record["revision"].text() or record["revision_id"].text()
    if revision:
        extra["revision"] = revision
    creators = (person["name"].text() or person["person_or_org"]["name"].text()
                for person in about["creators"].each())  # fmt: skip
    meta = item_meta(
        collection="datasets",
        title=about["title"].text() or record["title"].text(),
        creator=[name for name in creators if name],
        date=about["publication_date"].text(),
        source=page,
        description=about["description"].text(),
        license=about["license"]["id"].text() or about["license"].text() or _rights(about),
        doi=record["doi"].text() or record["pids"]["doi"]["identifier"].text(),
        version=number,
    )
    archive = links["archive"].text()
    item = replace(item, extra=extra)
    return replace(
        item,
        archiveorg_item_name=item_name(f"{host}-{number}", item),
        archiveorg_item_meta=meta,
        web_base_url=page,
        web_bundle_url=_own(archive, "the bundle", item) if archive else None,
    )


def _rights(about: Value) -> str | None:
    return next((found for right in about["rights"].each() if (found := right["id"].text())), None)


def _refuse_closed(record: Value, item: FilesetPlatformItem) -> None:
    right = record["metadata"]["access_right"].text()
    if right not in (None, "open"):
        raise PlatformRestrictedError(f"access_right is {right}", item)
    for key in ("record", "files"):
        access = record["access"][key].text()
        if access not in (None, "public", "open"):
            raise PlatformRestrictedError(f"access.{key} is {access}", item)
    if not record["files"] and not _is_metadata_only(record):
        raise PlatformRestrictedError("the record lists no files", item)


def _is_metadata_only(record: Value) -> bool:
    status = record["access"]["status"].text()
    return record["metadata_only"].flag() or status in ("metadata-only", "metadata_only")


def _rows(
    record: Value, api: str, item: FilesetPlatformItem
) -> Generator[Ask, Answer, list[tuple[str, Value]]]:
    """Key and row of each file, of any shape of the API.

    A flat list, which hosts give that know no other, has no count or size of its own to be held
    to: ``stats`` are of downloads, and ``metadata.relations.version[].count`` is of versions.
    """
    files = record["files"]
    if files.is_list:
        return [(row["key"].name() or row["filename"].name() or "", row) for row in files.each()]
    if files["enabled"].raw is False or not files.is_object:
        return []
    entries = files["entries"]
    if not entries and files["count"].number() != 0:
        value, _ = yield from ask_json(f"{api}/files", item)
        entries = value["entries"]
        if not entries:
            raise PlatformError(f"{api}/files: the answer has no entries", item)
    if entries.is_list:
        found = [(row["key"].name() or "", row) for row in entries.each()]
    else:
        found = list(entries.keys())
    hold_to_count(len(found), files["count"].number(), "files", item)
    hold_to_size((row for _, row in found), files["total_bytes"].number(), item)
    return [(key, _linked(key, row, api)) for key, row in found]


def _linked(key: str, row: Value, api: str) -> Value:
    """*row*, with the documented place of its bytes where it has no link of its own."""
    if row["links"]["content"] or row["links"]["self"] or not row.is_object:
        return row
    return Value({**row.raw, "links": {"content": f"{api}/files/{quote(key)}/content"}}, row.where)


def _file(key: str, row: Value, item: FilesetPlatformItem) -> FilesetManifestFile:
    links = row["links"]
    size = row["size"].number()
    checksum = row["checksum"].text() or ""
    algorithm, colon, digest = checksum.rpartition(":")
    file = FilesetManifestFile(
        path=key,
        size=size if size is not None else row["filesize"].number(),
        mimetype=row["mimetype"].text(),
        platform_url=_own(links["content"].text() or _bytes_of(links, item), key, item),
    )
    file = with_digest(file, algorithm if colon else "md5", digest)
    return with_extra(file, id=row["id"].text() or row["file_id"].text())


def _bytes_of(links: Value, item: FilesetPlatformItem) -> str | None:
    """``links.self``, which on hosts other than Zenodo is JSON about the file."""
    url = links["self"].text()
    native = not in_domain(item.platform_domain or "", *_ZENODO)
    if url and native and "/api/records/" in url and not url.endswith("/content"):
        return f"{url}/content"
    return url


def _own(url: str | None, file: str, item: FilesetPlatformItem) -> str | None:
    """*url*; ``PlatformError`` where it is not on the platform's registrable domain."""
    url = checked_url(url, file, item)
    host, own = host_of(split_url(url)) if url else "", item.platform_domain or ""
    # The usual case does without the list of suffixes, which takes half a second to read.
    if url and host != own and _registrable(host) != _registrable(own):
        raise PlatformError(f"the URL of {file!r} is of another site: {url}", item)
    return url


@cache
def _suffixes() -> Any:
    from tldextract import TLDExtract  # noqa: PLC0415  it brings an HTTP client of its own

    return TLDExtract(cache_dir=None, suffix_list_urls=())


def _registrable(host: str) -> str:
    """The registrable domain of *host*, or the host where there is none (an address, localhost)."""
    return str(_suffixes()(host).top_domain_under_public_suffix or host)
