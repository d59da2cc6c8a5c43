"""archive.org: items, whose files that the uploader gave are the fileset.

https://archive.org/developers/md-read.html. Derived files are left out, and what the Archive keeps
for itself beside them. Such a fileset is always kept as an item again.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote

from lafka.filesets.model.asks import Asking, Resource
from lafka.filesets.model.pages import HtmlBiblio
from lafka.filesets.model.requests import IngestRequest
from lafka.filesets.model.statuses import FileStatus
from lafka.filesets.model.types import (
    EmptyManifest,
    FilesetManifestFile,
    FilesetPlatformItem,
    IngestStrategy,
    NoStrategy,
    PlatformError,
    PlatformNotFound,
    PlatformRestrictedError,
    PlatformScopeError,
)
from lafka.filesets.platforms.answers import Value, ask_json, hold_to_count, with_digest
from lafka.filesets.platforms.platform import (
    FilesetPlatformHelper,
    host_of,
    item_meta,
    refuse_restricted,
    split_url,
)

DOMAIN = "archive.org"
_PATH = re.compile(
    r"/(details|download|metadata)/([A-Za-z0-9][A-Za-z0-9._-]*)(?:/(.*))?", re.DOTALL
)
_OWN = ("_meta.sqlite", "_archive.torrent", "_itemimage.jpg", "_meta.xml", "_thumb.png",
        "_files.xml")  # fmt: skip
_ACADEMIC_TORRENTS = ("_academictorrents.torrent", "_academictorrents_torrent.txt", ".bib")
_MIMETYPES = {
    "7z": "application/x-7z-compressed",
    "BZIP": "application/x-bzip",
    "BZIP2": "application/x-bzip2",
    "CSV": "text/csv",
    "GIF": "image/gif",
    "GZIP": "application/gzip",
    "HTML": "text/html",
    "JPEG": "image/jpeg",
    "JSON": "application/json",
    "MP3": "audio/mpeg",
    "MP4": "video/mp4",
    "MPEG": "video/mpeg",
    "PDF": "application/pdf",
    "PNG": "image/png",
    "RAR": "application/vnd.rar",
    "TAR": "application/x-tar",
    "TIFF": "image/tiff",
    "Text": "text/plain",
    "XML": "application/xml",
    "ZIP": "application/zip",
}


class ArchiveorgHelper(FilesetPlatformHelper):
    """Items; they change in place, so their version is ``item_last_updated``."""

    platform_name = "archiveorg"

    def match_request(
        self, request: IngestRequest, resource: Resource, html_biblio: HtmlBiblio
    ) -> bool:
        return self._found(request, resource) is not None

    def _found(self, request: IngestRequest, resource: Resource) -> re.Match[str] | None:
        for url in (*resource.urls, request.base_url):
            parts = split_url(url)
            if host_of(parts) in (DOMAIN, f"www.{DOMAIN}"):
                found = _PATH.fullmatch(unquote(parts.path))
                if found:
                    return found
        return None

    def process_request(
        self, request: IngestRequest, resource: Resource, html_biblio: HtmlBiblio
    ) -> Asking:
        item = FilesetPlatformItem(platform_name=self.platform_name, platform_domain=DOMAIN)
        found = self._found(request, resource)
        if found is None:
            raise PlatformScopeError(f"{resource.url}: no item", item)
        name = found[2]
        item = replace(item, platform_id=name)
        if found[1] == "download" and found[3]:
            raise PlatformScopeError(f"{found[0]}: one file of an item", item)
        value, _ = yield from ask_json(f"https://{DOMAIN}/metadata/{name}", item)
        if not value.is_object:
            raise PlatformError("the answer is no object", item)
        _refuse_missing(value, name, item)
        item = _described(value, item)
        if not value["files"].is_list:
            raise PlatformError("the answer has no files", item)
        hold_to_count(len(value["files"].raw), value["files_count"].number(), "files", item)
        files = (_file(row, item) for row in value["files"].each() if _is_wanted(row, name))
        return refuse_restricted(replace(item, manifest=tuple(files)))

    def chose_strategy(self, item: FilesetPlatformItem) -> IngestStrategy:
        if not item.manifest:
            raise EmptyManifest("the item has no original file", item)
        if any(file.platform_url is None for file in item.manifest):
            raise NoStrategy("a file has no URL", item)
        if len(item.manifest) == 1:
            return IngestStrategy.ARCHIVEORG_FILE
        return IngestStrategy.ARCHIVEORG_FILESET


def _refuse_missing(value: Value, name: str, item: FilesetPlatformItem) -> None:
    if not value.raw:
        raise PlatformNotFound(f"archive.org knows no item {name}", item)
    if value["is_dark"].flag():
        raise PlatformRestrictedError(f"the item {name} is dark", item)
    about = value["metadata"]
    if not about.is_object:
        raise PlatformError("the answer has no metadata", item)
    if about["access-restricted-item"].flag():
        raise PlatformRestrictedError(f"the item {name} is restricted", item)
    kind = about["mediatype"].text()
    if kind in ("collection", "web"):
        raise PlatformScopeError(f"the item {name} is of mediatype {kind}", item)


def _described(value: Value, item: FilesetPlatformItem) -> FilesetPlatformItem:
    about = value["metadata"]
    page = f"https://{DOMAIN}/details/{item.platform_id}"
    updated = value["item_last_updated"].text() or value["updated"].text()
    creators = about["creator"].texts()
    meta = item_meta(
        collection=next(iter(about["collection"].texts()), None),
        title=about["title"].text(),
        creator=creators[0] if len(creators) == 1 else creators,
        date=about["date"].text(),
        source=page,
        description="\n".join(about["description"].texts()),
        license=about["licenseurl"].text(),
        doi=about["doi"].text(),
        version=updated,
    )
    extra: dict[str, Any] = {"version": updated} if updated else {}
    return replace(
        item,
        archiveorg_item_name=item.platform_id,
        archiveorg_item_meta=meta,
        web_base_url=page,
        extra=extra,
    )


def _is_wanted(row: Value, item_name: str) -> bool:
    """Return whether a file is the uploader's own: the original-only rule."""
    name = row["name"].name() or ""
    own = {base + end for base in (item_name, item_name.lower()) for end in _OWN}
    if item_name.startswith("academictorrents_"):
        own |= {item_name + end for end in _ACADEMIC_TORRENTS}
    if row["old_version"].flag() or name.startswith(("_", "history/")):
        return False
    return row["source"].text() == "original" and name not in own


def _file(row: Value, item: FilesetPlatformItem) -> FilesetManifestFile:
    name = row["name"].name() or ""
    path = quote(name, safe="/", errors="replace")
    file = FilesetManifestFile(
        path=name,
        size=row["size"].number(),
        mimetype=_MIMETYPES.get(row["format"].text() or ""),
        status=FileStatus.RESTRICTED if row["private"].flag() else None,
        platform_url=f"https://{DOMAIN}/download/{item.platform_id}/{path}",
    )
    for algorithm in ("md5", "sha1", "crc32"):
        file = with_digest(file, algorithm, row[algorithm].text())
    return file
