"""Figshare: figshare.com, its subdomains, and portals of institutions under names of their own.

https://docs.figshare.com. An article lists at most ten of its files; the rest stand on its paged
file list. ``embargo_type`` alone says nothing: open articles carry it.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from lafka.filesets.model.asks import Answer, Ask, Asking, Resource
from lafka.filesets.model.messages import IngestRequest
from lafka.filesets.model.pages import HtmlBiblio
from lafka.filesets.model.types import (
    FilesetManifestFile,
    FilesetPlatformItem,
    FileStatus,
    Manifest,
    PlatformError,
    PlatformRestrictedError,
    PlatformScopeError,
)
from lafka.filesets.platforms.platform import (
    FilesetPlatformHelper,
    Value,
    ask_json,
    check_status,
    checked_url,
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

API = "https://api.figshare.com/v2"
PAGE = 1_000
MAX_PAGES = 200
EMBEDDED = 10
"""The most files that an article lists itself."""

_HOSTS = ("figshare.com", "figstatic.com")
_MARKS = (b"ndownloader.figshare.com", b"api.figshare.com")
# The word before the slug; https://docs.figshare.com/#articles_list, item_type, and older ones.
_TYPES = frozenset(
    {
        "book", "chapter", "code", "composition", "conference_contribution",
        "data_management_plan", "dataset", "educational_resource", "event", "figure", "fileset",
        "funding", "journal_contribution", "media", "metadata", "model", "monograph",
        "online_resource", "paper", "peer_review", "performance", "physical_object", "poster",
        "preprint", "presentation", "registration", "report", "service", "software", "standard",
        "thesis", "workflow",
    }
)  # fmt: skip


def parse_figshare_url_path(path: str) -> tuple[str, str | None]:
    """Article id and version (None: not told) of ``/articles/[<type>/]<slug>/<id>[/<version>]``.

    ``ValueError`` where *path* is none.
    """
    _, _, rest = path.partition("/articles/")
    parts = [part for part in rest.split("/") if part]
    if not path.startswith("/articles/") or not 2 <= len(parts) <= 4:
        raise ValueError(f"not the path of a figshare article: {path}")
    has_type = len(parts) == 4 or (
        len(parts) == 3 and (parts[0] in _TYPES or not _is_number(parts[1]))
    )
    _, number, *version = parts[1:] if has_type else parts
    if not _is_number(number) or not all(map(_is_number, version)):
        raise ValueError(f"no article's number in {path}")
    return number, version[0] if version else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


class FigshareHelper(FilesetPlatformHelper):
    """Articles in one version; an article without a version is out of scope, but for ``latest``."""

    platform_name = "figshare"

    def match_request(
        self, request: IngestRequest, resource: Resource, html_biblio: HtmlBiblio
    ) -> bool:
        return self._found(request, resource) is not None

    def _found(self, request: IngestRequest, resource: Resource) -> tuple[str, str] | None:
        """Host and path of the URL that says most."""
        is_portal = any(mark in resource.body for mark in _MARKS)
        for url in (*resource.urls, request.base_url):
            parts = split_url(url)
            host = host_of(parts)
            known = in_domain(host, "figshare.com") or host in self.more_hosts
            if known and parts.path.startswith(("/articles/", "/collections/", "/projects/")):
                return host, parts.path
            if is_portal and _is_article(parts.path):
                return host, parts.path
        return None

    def process_request(
        self, request: IngestRequest, resource: Resource, html_biblio: HtmlBiblio
    ) -> Asking:
        item = FilesetPlatformItem(platform_name=self.platform_name)
        host, path = self._found(request, resource) or ("", "")
        item = replace(item, platform_domain=host or None)
        try:
            number, version = parse_figshare_url_path(path)
        except ValueError:
            raise PlatformScopeError(f"{resource.url}: no article", item) from None
        item = replace(item, platform_id=number)
        version = version or _version_in(number, (*resource.urls, request.base_url))
        if version is None and request.latest:
            version = yield from _newest(number, item)
        if version is None:
            raise PlatformScopeError(f"article {number} in no version", item)
        item = replace(item, extra={"version": version})
        article, _ = yield from ask_json(f"{API}/articles/{number}/versions/{version}", item)
        _refuse_another(article, item)
        item = _described(article, item)
        _refuse_closed(article, item)
        rows = yield from _rows(article, item)
        if article["is_metadata_record"].flag():
            rows = []
        return refuse_restricted(_with_files(rows, article["folder_structure"], item))


def _is_article(path: str) -> bool:
    try:
        parse_figshare_url_path(path)
    except ValueError:
        return False
    return True


def _version_in(number: str, urls: tuple[str, ...]) -> str | None:
    """The version that a DOI on the way names: ``10.6084/m9.figshare.<number>.v<version>``."""
    for url in urls:
        found = re.search(rf"[./]{number}\.v([0-9]{{1,9}})(?![0-9])", url)
        if found:
            return found[1]
    return None


def _newest(number: str, item: FilesetPlatformItem) -> Generator[Ask, Answer, str]:
    url = f"{API}/articles/{number}/versions"
    value, _ = yield from ask_json(url, item)
    versions = [row["version"].number() for row in value.each()]
    known = [version for version in versions if version]
    if not known:
        raise PlatformError(f"{url}: the answer has no version", item)
    return str(max(known))


def _refuse_another(article: Value, item: FilesetPlatformItem) -> None:
    """``PlatformError`` where the answer is not the article and version that were asked for."""
    number, version = article["id"].need_text(item), article["version"].number()
    if number != item.platform_id:
        raise PlatformError(f"the answer is article {number}, not {item.platform_id}", item)
    if version and str(version) != item.version:
        raise PlatformError(f"the answer is version {version}, not {item.version}", item)


def _described(article: Value, item: FilesetPlatformItem) -> FilesetPlatformItem:
    number, version = item.platform_id, item.version
    page = article["url_public_html"].text() or article["figshare_url"].text()
    doi = article["doi"].text()
    meta = item_meta(
        collection="datasets",
        title=article["title"].text(),
        creator=[name for author in article["authors"].each()
                 if (name := author["full_name"].text())],
        date=(article["published_date"].text() or "")[:10],
        source=page,
        description=article["description"].text(),
        license=article["license"]["url"].text(),
        doi=doi,
        version=version,
    )  # fmt: skip
    return replace(
        item,
        archiveorg_item_name=item_name(f"{item.platform_domain}-{number}-v{version}", item),
        archiveorg_item_meta=meta,
        web_base_url=page,
        web_bundle_url=f"https://ndownloader.figshare.com/articles/{number}/versions/{version}",
    )


def _refuse_closed(article: Value, item: FilesetPlatformItem) -> None:
    if article["is_public"].raw in (False, "false"):
        raise PlatformRestrictedError("the article is not public", item)
    for key in ("is_embargoed", "is_confidential", "download_disabled"):
        if article[key].flag():
            raise PlatformRestrictedError(f"the article says {key}", item)


def _rows(article: Value, item: FilesetPlatformItem) -> Generator[Ask, Answer, list[Value]]:
    """The rows of all files: the article's own, or its file list where it has or may have more."""
    own = list(article["files"].each())
    size = article["size"].number()
    adds_up = size in (None, _size(own))
    if len(own) < EMBEDDED and adds_up:
        return own
    rows: list[Value] = []
    seen: set[str] = set()
    for page in range(1, MAX_PAGES + 1):
        url = (
            f"{API}/articles/{item.platform_id}/versions/{item.version}/files"
            f"?page={page}&page_size={PAGE}"
        )
        answer = yield Ask(url=url)
        if answer.status == 404 and page == 1 and adds_up and own:
            return own
        if answer.status == 404 and page > 1:
            break
        if answer.status == 404:
            raise PlatformError(f"{url}: not found, and the article lists not all files", item)
        check_status(answer, url, item)
        found = read_json(answer, url, item)
        if not found.is_list:
            raise PlatformError(f"{url}: the answer is no list", item)
        fresh = [row for row in found.each() if _key(row) not in seen]
        seen.update(map(_key, fresh))
        rows += fresh
        # A page may be shorter than was asked for, and not the last.
        if not fresh or (len(found.raw) < PAGE and _size(rows) == size):
            break
    else:
        raise PlatformError(f"a list of over {MAX_PAGES * PAGE} files", item)
    hold_to_size(rows, size, item)
    return rows


def _key(row: Value) -> str:
    return row["id"].text() or row.where


def _size(rows: list[Value]) -> int:
    return sum(row["size"].number() or 0 for row in rows)


def _with_files(rows: list[Value], folders: Value, item: FilesetPlatformItem) -> Any:
    links = [row for row in rows if row["is_link_only"].flag()]
    if rows and len(links) == len(rows):
        raise PlatformScopeError("all files of the article are links", item)
    return replace(item, manifest=_apart([_file(row, folders, item) for row in rows], rows))


def _file(row: Value, folders: Value, item: FilesetPlatformItem) -> FilesetManifestFile:
    name = row["name"].name() or ""
    folder = folders[row["id"].text() or ""].name()
    is_link = row["is_link_only"].flag()
    url = checked_url(row["download_url"].text(), name, item)
    if url and not is_link and not in_domain(host_of(split_url(url)), *_HOSTS):
        raise PlatformError(f"the URL of {name!r} is not figshare's: {url}", item)
    file = FilesetManifestFile(
        path=f"{folder.strip('/')}/{name}" if folder else name,
        size=row["size"].number(),
        mimetype=row["mimetype"].text(),
        status=FileStatus.RESTRICTED if is_link else None,
        platform_url=None if is_link else url,
    )
    file = with_digest(file, "md5", row["computed_md5"].text() or row["supplied_md5"].text())
    return with_extra(file, kind="link", link=url) if is_link else file


def _apart(files: list[FilesetManifestFile], rows: list[Value]) -> Manifest:
    """Of equal paths the later ones get the file's id before their suffix."""
    taken = {file.path for file in files}
    seen: set[str] = set()
    found = []
    for file, row in zip(files, rows, strict=True):
        if file.path in seen and (number := row["id"].text()):
            path = PurePosixPath(file.path)
            named = file.path.removesuffix(path.suffix) + f"~{number}{path.suffix}"
            if named not in taken:
                file = with_extra(replace(file, path=named), platform_path=file.path)
        seen.add(file.path)
        taken.add(file.path)
        found.append(file)
    return tuple(found)
