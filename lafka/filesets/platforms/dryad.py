"""Dryad: datadryad.org, by its API, version 2 (https://datadryad.org/api)."""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import replace
from urllib.parse import quote, unquote, urljoin

from lafka.filesets.model.asks import Answer, Ask, Asking, Resource
from lafka.filesets.model.messages import IngestRequest
from lafka.filesets.model.pages import HtmlBiblio
from lafka.filesets.model.types import (
    FilesetManifestFile,
    FilesetPlatformItem,
    PlatformError,
    PlatformRestrictedError,
    PlatformScopeError,
)
from lafka.filesets.platforms.platform import (
    FilesetPlatformHelper,
    Value,
    ask_json,
    checked_url,
    host_of,
    in_domain,
    item_meta,
    item_name,
    last_part,
    split_url,
    with_digest,
    with_extra,
)

API = "https://datadryad.org"
MAX_PAGES = 200
_DATASET = re.compile(r"/(?:stash/)?dataset/(doi:10\.[0-9]{4,9}/[^/?#]+)/?")


class DryadHelper(FilesetPlatformHelper):
    """Datasets; their DOI has no version, so it is the newest that is public, and told."""

    platform_name = "dryad"

    def match_request(
        self, request: IngestRequest, resource: Resource, html_biblio: HtmlBiblio
    ) -> bool:
        return any(_is_dryad(url) for url in (*resource.urls, request.base_url))

    def process_request(
        self, request: IngestRequest, resource: Resource, html_biblio: HtmlBiblio
    ) -> Asking:
        item = FilesetPlatformItem(
            platform_name=self.platform_name, platform_domain="datadryad.org"
        )
        urls = (url for url in (*resource.urls, request.base_url) if _is_dryad(url))
        doi = next(filter(None, map(_doi_in, urls)), None)
        if doi is None:
            raise PlatformScopeError(f"{resource.url}: no dataset", item)
        item = replace(item, platform_id=doi)
        dataset, _ = yield from ask_json(f"{API}/api/v2/datasets/{quote(doi, safe='')}", item)
        if dataset["visibility"].text() not in (None, "public"):
            raise PlatformRestrictedError(f"{doi} is not public", item)
        version = _link(dataset, "stash:version", item)
        item = _described(dataset, item, version)
        rows = yield from _rows(f"{version}/files", item)
        return replace(item, manifest=tuple(_file(row, item) for row in rows))


def _is_dryad(url: str) -> bool:
    parts = split_url(url)
    return in_domain(host_of(parts), "datadryad.org") and "/dataset" in parts.path


def _doi_in(url: str) -> str | None:
    found = _DATASET.fullmatch(unquote(split_url(url).path))
    return found[1] if found else None


def _link(value: Value, name: str, item: FilesetPlatformItem) -> str:
    """A link of *value*, absolute and Dryad's own; ``PlatformError``."""
    href = value["_links"][name]["href"].need_text(item)
    try:
        url = checked_url(urljoin(API, href), name, item)
    except ValueError:
        url = None
    if url is None or not in_domain(host_of(split_url(url)), "datadryad.org"):
        raise PlatformError(f"the link {name} is of another site: {href}", item)
    return url


def _described(dataset: Value, item: FilesetPlatformItem, version_url: str) -> FilesetPlatformItem:
    version = dataset["versionNumber"].text() or last_part(version_url)
    item = replace(item, extra={"version": version})
    doi = item.platform_id or ""
    creators = (
        " ".join(filter(None, (who["firstName"].text(), who["lastName"].text())))
        for who in dataset["authors"].each()
    )
    page = dataset["sharingLink"].text() or f"{API}/dataset/{doi}"
    meta = item_meta(
        collection="datasets",
        title=dataset["title"].text(),
        creator=[name for name in creators if name],
        date=dataset["publicationDate"].text(),
        source=page,
        description=dataset["abstract"].text(),
        license=dataset["license"].text(),
        doi=doi.removeprefix("doi:"),
        version=version,
    )
    return replace(
        item,
        archiveorg_item_name=item_name(f"datadryad.org-{last_part(doi)}-v{version}", item),
        archiveorg_item_meta=meta,
        web_base_url=page,
        web_bundle_url=f"{version_url}/download",
    )


def _rows(url: str, item: FilesetPlatformItem) -> Generator[Ask, Answer, list[Value]]:
    """The files on all pages of the list that begins at *url*, without those that were deleted."""
    rows: list[Value] = []
    for _ in range(MAX_PAGES):
        value, _answer = yield from ask_json(url, item)
        files = value["_embedded"]["stash:files"]
        if not files.is_list:
            raise PlatformError("the answer has no _embedded.stash:files", item)
        rows += (row for row in files.each() if row["status"].text() != "deleted")
        if not value["_links"]["next"]:
            return rows
        url = _link(value, "next", item)
    raise PlatformError(f"a list of over {MAX_PAGES} pages of files", item)


def _file(row: Value, item: FilesetPlatformItem) -> FilesetManifestFile:
    file = FilesetManifestFile(
        path=row["path"].name() or "",
        size=row["size"].number(),
        mimetype=row["mimeType"].text(),
        platform_url=_link(row, "stash:download", item),
    )
    file = with_digest(file, row["digestType"].text(), row["digest"].text())
    return with_extra(file, description=row["description"].text())
