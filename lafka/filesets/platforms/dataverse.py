"""Dataverse: any host that runs it, by the URLs of its pages and its native API.

https://guides.dataverse.org/en/latest/api/native-api.html. A tabular file that was ingested is
fetched as the original that was deposited: ``originalFileSize`` is the original's, ``filesize``
that of the ``.tab``, and the digest is the original's (IQSS/dataverse issues 7275, 8449).
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs, quote

from lafka.filesets.model.asks import Answer, Ask, Asking, Resource
from lafka.filesets.model.messages import IngestRequest
from lafka.filesets.model.pages import HtmlBiblio
from lafka.filesets.model.types import (
    FilesetManifestFile,
    FilesetPlatformItem,
    FileStatus,
    PlatformError,
    PlatformNotFound,
    PlatformRestrictedError,
    PlatformScopeError,
)
from lafka.filesets.platforms.platform import (
    FilesetPlatformHelper,
    Value,
    ask_json,
    authority_of,
    check_status,
    hold_to_count,
    host_of,
    item_meta,
    item_name,
    last_part,
    read_json,
    refuse_restricted,
    split_url,
    with_digest,
    with_extra,
)

LATEST = ":latest-published"
PAGE = 1_000
MAX_PAGES = 200
_VERSION = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
# The interface that runs in a browser: https://github.com/IQSS/dataverse-frontend.
_MODERN = re.compile(r"/(?:spa|modern)/datasets/?")
_MODERN_FILE = re.compile(r"/(?:spa|modern)/files/?")
_COLLECTIONS = ("/dataverse/", "/spa/collections/", "/modern/collections/")
_ID_IN_PATH = re.compile(r"/api/access/datafile/")

# What Dataverse ingests as a table, and the suffix of each before it became a .tab.
_SUFFIXES = {
    "text/csv": ".csv",
    "text/tsv": ".tsv",
    "text/tab-separated-values": ".tsv",
    "text/comma-separated-values": ".csv",
    "application/x-stata": ".dta",
    "application/x-stata-13": ".dta",
    "application/x-stata-14": ".dta",
    "application/x-stata-15": ".dta",
    "application/x-spss-sav": ".sav",
    "application/x-spss-por": ".por",
    "application/x-rlang-transport": ".RData",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
}


def parse_dataverse_persistentid(pid: str) -> dict[str, str | None]:
    """The parts of a persistent id: type, authority, shoulder, dataset_id, file_id.

    ``ValueError`` where the id is not of the usual shape, in which dataset and file ids have six
    characters. Ids of other shapes are real too: nothing but messages depends on this.
    """
    kind, _, rest = pid.partition(":")
    authority, *parts = rest.split("/")
    if kind not in ("doi", "hdl") or not parts or (kind == "doi" and not rest.startswith("10.")):
        raise ValueError(f"unknown dataverse persistentId format: {pid}")
    shoulder = parts.pop(0) if len(parts[0]) != 6 and len(parts) > 1 else None
    if not 1 <= len(parts) <= 2 or any(len(part) != 6 for part in parts):
        raise ValueError(f"unknown dataverse persistentId format: {pid}")
    return {
        "type": kind,
        "authority": authority,
        "shoulder": shoulder,
        "dataset_id": parts[0],
        "file_id": parts[1] if len(parts) == 2 else None,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The parts of a Dataverse's URL: the dataset by its persistent or its database id."""

    host: str
    authority: str
    persistent_id: str = ""
    number: str = ""
    version: str = ""
    out_of_scope: str = ""


def _place(url: str, page: bytes) -> _Place | None:
    """Return what *url* says, None where it is no URL of a Dataverse."""
    parts = split_url(url)
    host, path = host_of(parts), parts.path
    if parts.scheme not in ("http", "https") or not host:
        return None
    place = _Place(host=host, authority=authority_of(parts))
    query = {key: values[-1].strip() for key, values in _query(parts.query).items()}
    if path.endswith("/file.xhtml") and ("persistentId" in query or "fileId" in query):
        return replace(place, out_of_scope="a page of one file")
    if _MODERN_FILE.fullmatch(path) and _shows_dataverse(host, page):
        return replace(place, out_of_scope="a page of one file")
    if _ID_IN_PATH.search(path):
        return replace(place, out_of_scope="one file")
    if path.startswith(_COLLECTIONS) and _shows_dataverse(host, page):
        return replace(place, out_of_scope="a collection of datasets")
    if not (_MODERN.fullmatch(path) or path.endswith(("/dataset.xhtml", "/citation"))):
        return None
    version = query.get("version", "")
    if persistent_id := query.get("persistentId"):
        return replace(place, persistent_id=persistent_id, version=version)
    number = query.get("id", "")
    if path.endswith("/dataset.xhtml") and number.isascii() and number.isdigit():
        return replace(place, number=number, version=version)
    return None


def _query(query: str) -> dict[str, list[str]]:
    try:
        return parse_qs(query, max_num_fields=100)
    except ValueError:
        return {}


def _shows_dataverse(host: str, page: bytes) -> bool:
    return "dataverse" in host or (b"javax.faces" in page and b"ataverse" in page)


class DataverseHelper(FilesetPlatformHelper):
    """Datasets in a published version; one without a version's number is the latest published."""

    platform_name = "dataverse"

    def match_request(
        self, request: IngestRequest, resource: Resource, html_biblio: HtmlBiblio
    ) -> bool:
        return self._found(request, resource) is not None

    def _found(self, request: IngestRequest, resource: Resource) -> _Place | None:
        places = (_place(url, resource.body) for url in (*resource.urls, request.base_url))
        return next((place for place in places if place is not None), None)

    def process_request(
        self, request: IngestRequest, resource: Resource, html_biblio: HtmlBiblio
    ) -> Asking:
        place = self._found(request, resource)
        item = FilesetPlatformItem(platform_name=self.platform_name)
        if place is None:
            raise PlatformScopeError("no URL of a dataset", item)
        item = replace(item, platform_domain=place.host, platform_id=place.persistent_id or None)
        if place.out_of_scope:
            raise PlatformScopeError(f"{resource.url}: {place.out_of_scope}, no dataset", item)
        if place.version and not _VERSION.fullmatch(place.version) and place.version != LATEST:
            if place.version.lstrip(":").upper() in ("DRAFT", "DEACCESSIONED"):
                raise PlatformRestrictedError(f"version {place.version} is not public", item)
            place = replace(place, version="")
        version = yield from _version(place, item)
        item = _described(version, place, item)
        rows = version["files"]
        listed = list(rows.each()) if rows.is_list else (yield from _listed(place, item))
        return refuse_restricted(_with_files(listed, place, item, resource.dt))


def _api(place: _Place, rest: str = "", **query: str) -> str:
    """A URL of the API for the dataset's version and what stands below it."""
    version = place.version or LATEST
    if place.number:
        path = f"/api/datasets/{place.number}/versions/{version}{rest}"
    else:
        path = f"/api/datasets/:persistentId/versions/{version}{rest}"
        query = {"persistentId": place.persistent_id, **query}
    return f"https://{place.authority}{path}" + _query_text(query)


def _query_text(query: dict[str, str]) -> str:
    pairs = (f"{key}={_quoted(value)}" for key, value in query.items())
    return "?" + "&".join(pairs) if query else ""


def _quoted(value: str) -> str:
    return quote(value, safe="/:", errors="replace")


def _version(place: _Place, item: FilesetPlatformItem) -> Generator[Ask, Answer, Value]:
    """The object of the version; of an answer of another age, ``latestVersion`` within it."""
    url = _api(place)
    answer = yield Ask(url=url)
    if answer.status == 404 and place.persistent_id:
        yield from _refuse_file(place, item)
    check_status(answer, url, item)
    data = read_json(answer, url, item)["data"]
    latest = data["latestVersion"]
    if latest.is_object and not data["files"].is_list:
        names = ("protocol", "authority", "identifier")
        known = {name: data[name].raw for name in names if data[name]}
        data = Value({**known, **latest.raw}, latest.where)
    if not data.is_object:
        raise PlatformError(f"{url}: the answer has no data", item)
    return data


def _refuse_file(place: _Place, item: FilesetPlatformItem) -> Generator[Ask, Answer, None]:
    """``PlatformScopeError`` where the id is a file's, else ``PlatformNotFound``."""
    pid = place.persistent_id
    url = f"https://{place.authority}/api/files/:persistentId?persistentId={_quoted(pid)}"
    answer = yield Ask(url=url)
    if answer.status == 200 and not answer.too_long:
        owner = pid.rpartition("/")[0] if pid.count("/") > 1 else "another"
        raise PlatformScopeError(f"{pid} is a file of the dataset {owner}", item)
    raise PlatformNotFound(f"https://{place.host} knows no dataset {pid}", item)


def _listed(place: _Place, item: FilesetPlatformItem) -> Generator[Ask, Answer, list[Value]]:
    """The rows of all pages of the version's file list; an installation may know no pages."""
    rows: list[Value] = []
    seen: set[str] = set()
    for _ in range(MAX_PAGES):
        url = _api(place, "/files", limit=str(PAGE), offset=str(len(rows)))
        value, _ = yield from ask_json(url, item)
        if not value["data"].is_list:
            raise PlatformError(f"{url}: the answer has no data", item)
        found = list(value["data"].each())
        fresh = [row for row in found if _row_id(row) not in seen]
        seen.update(map(_row_id, fresh))
        rows += fresh
        count = value["totalCount"].number()
        if not fresh or (len(found) < PAGE and count is None) or len(rows) == count:
            hold_to_count(len(rows), count, "files", item)
            return rows
    raise PlatformError(f"a list of over {MAX_PAGES * PAGE} files", item)


def _row_id(row: Value) -> str:
    return row["dataFile"]["id"].text() or f"{row.where} {row['label'].text()}"


def _described(version: Value, place: _Place, item: FilesetPlatformItem) -> FilesetPlatformItem:
    """*item* with all but its files; ``PlatformError`` where the version's id is not known."""
    state = (version["versionState"].text() or "RELEASED").upper()
    persistent_id = version["datasetPersistentId"].text() or _older_id(version)
    persistent_id = persistent_id or place.persistent_id
    if not persistent_id:
        raise PlatformError("the answer has no data.datasetPersistentId", item)
    item = replace(item, platform_id=persistent_id)
    if state != "RELEASED":
        raise PlatformRestrictedError(f"the version is {state}", item)
    major, minor = version["versionNumber"].number(), version["versionMinorNumber"].number()
    if major is None:
        raise PlatformError("the answer has no data.versionNumber", item)
    name = f"{major}.{minor or 0}"
    if place.version not in ("", LATEST, name, str(major)):
        raise PlatformError(f"the answer is version {name}, not {place.version}", item)
    page = (
        f"https://{place.authority}/dataset.xhtml?persistentId={_quoted(persistent_id)}"
        f"&version={name}"
    )
    item = replace(item, web_base_url=page, extra={"version": name})
    return replace(
        item,
        archiveorg_item_name=item_name(f"{place.host}-{last_part(persistent_id)}-v{name}", item),
        archiveorg_item_meta=_meta(version, item),
        web_bundle_url=f"https://{place.authority}/api/access/dataset/:persistentId/versions/{name}"
        f"?persistentId={_quoted(persistent_id)}&format=original",
    )


def _older_id(version: Value) -> str | None:
    protocol, authority = version["protocol"].text(), version["authority"].text()
    identifier = version["identifier"].text()
    found = protocol and authority and identifier
    return f"{protocol}:{authority}/{identifier}" if found else None


def _meta(version: Value, item: FilesetPlatformItem) -> Any:
    fields = version["metadataBlocks"]["citation"]["fields"]
    values: dict[str, Value] = {}
    for part in fields.each():
        values.setdefault(part["typeName"].text() or "", part["value"])
    none = Value(None)
    authors = [author["authorName"]["value"].text() for author in values.get("author", none).each()]
    about = [part["dsDescriptionValue"]["value"].text()
             for part in values.get("dsDescription", none).each()]  # fmt: skip
    about.append(version["termsOfUse"].text())
    rights = version["license"]
    doi = item.platform_id or ""
    return item_meta(
        collection="datasets",
        title=values.get("title", none).text(),
        creator=[name for name in authors if name] or values.get("depositor", none).text(),
        date=(version["releaseTime"].text() or "")[:10],
        source=item.web_base_url,
        description="\n<br>\n".join(text for text in about if text),
        license=rights["uri"].text() or rights.text(),
        doi=doi.removeprefix("doi:") if doi.startswith("doi:") else None,
        version=item.version,
    )


def _with_files(
    rows: list[Value], place: _Place, item: FilesetPlatformItem, dt: str
) -> FilesetPlatformItem:
    today = f"{dt[:4]}-{dt[4:6]}-{dt[6:8]}"
    files = [_file(row, place, today) for row in rows if row["dataFile"].is_object]
    extra = dict(item.extra or {})
    if len(files) < len(rows):
        extra["files_without_data"] = len(rows) - len(files)
    return replace(item, manifest=tuple(file for file in files if file), extra=extra)


def _file(row: Value, place: _Place, today: str) -> FilesetManifestFile:
    data = row["dataFile"]
    tabular = bool(data["originalFileFormat"].text()) or data["tabularData"].flag()
    mimetype = data["contentType"].text()
    size = data["filesize"].number()
    if tabular:
        mimetype = data["originalFileFormat"].text() or mimetype
        size = data["originalFileSize"].number()
    name = _name(row, tabular=tabular)
    folder = (row["directoryLabel"].name() or data["directoryLabel"].name() or "").strip("/")
    file = FilesetManifestFile(
        path=f"{folder}/{name}" if folder else name,
        size=size,
        mimetype=mimetype,
        status=FileStatus.RESTRICTED if _is_closed(row, today) else None,
        platform_url=_file_url(data, place, tabular=tabular),
    )
    checksum = data["checksum"]
    file = with_digest(file, "md5", data["md5"].text())
    file = with_digest(file, checksum["type"].text(), checksum["value"].text())
    version = row["version"].number()
    return with_extra(
        file,
        version=version if version != 1 else None,
        description=row["description"].text() or data["description"].text(),
        categories=row["categories"].texts(),
        UNF=data["UNF"].text(),
    )


def _name(row: Value, *, tabular: bool) -> str:
    data = row["dataFile"]
    if name := data["originalFileName"].name():
        return name
    name = row["label"].name() or data["filename"].name() or ""
    suffix = _SUFFIXES.get(data["originalFileFormat"].text() or "") if tabular else None
    return name.removesuffix(".tab") + suffix if suffix and name.endswith(".tab") else name


def _is_closed(row: Value, today: str) -> bool:
    data = row["dataFile"]
    if row["restricted"].flag() or data["restricted"].flag():
        return True
    opens = data["embargo"]["dateAvailable"].text()
    closes = data["retention"]["dateUnavailable"].text()
    return bool((opens and opens[:10] > today) or (closes and closes[:10] <= today))


def _file_url(data: Value, place: _Place, *, tabular: bool) -> str | None:
    base = f"https://{place.authority}/api/access/datafile/"
    if persistent_id := data["persistentId"].text():
        url = f"{base}:persistentId?persistentId={_quoted(persistent_id)}"
        return f"{url}&format=original" if tabular else url
    number = data["id"].number()
    if number is None:
        return None
    return f"{base}{number}?format=original" if tabular else f"{base}{number}"
