"""Any other site: a landing page that is a file itself, or that declares its files.

Declared by the page: schema.org and Signposting (``pages``). By a descriptor that it links: Data
Package (https://specs.frictionlessdata.io), RO-Crate (https://www.researchobject.org/ro-crate) or
a BagIt bag (RFC 8493). Plain anchors declare nothing.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote, unquote, urljoin

from msgspec import structs

from lafka.filesets.model.asks import JSON, Answer, Ask, Asking, Resource
from lafka.filesets.model.messages import IngestRequest
from lafka.filesets.model.pages import DeclaredFile, HtmlBiblio, whole_bytes
from lafka.filesets.model.types import (
    EmptyManifest,
    FilesetManifestFile,
    FilesetPlatformItem,
    IngestStrategy,
    PlatformError,
)
from lafka.filesets.platforms.platform import (
    FilesetPlatformHelper,
    Value,
    check_status,
    checked_url,
    host_of,
    item_meta,
    item_name,
    read_json,
    split_url,
    with_digest,
)

_HTML = ("text/html", "application/xhtml+xml", "")
_DISPOSITION = re.compile(
    r"filename\*\s*=\s*([\w-]+)'[^']*'([^;\s]+)|filename\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^;\s]+))",
    re.IGNORECASE,
)
_BAG_MANIFESTS = ("sha256", "sha512", "sha1", "md5")
_BAG_LINE = re.compile(r"([0-9A-Fa-f]{8,128})[ \t]+\*?([^\r\n]+)")
_PERCENT = re.compile(r"%(0[aA]|0[dD]|25)")
_NOT_PLAIN = re.compile(r"[^!-~]")  # what cannot stand in a pid, and what others spell otherwise
_HASH_LENGTHS = {32: "md5", 40: "sha1", 64: "sha256", 128: "sha512"}


class WebHelper(FilesetPlatformHelper):
    """Pages that declare their files, and files that a request leads to at once."""

    platform_name = "web"
    has_api = False

    def match_request(
        self, request: IngestRequest, resource: Resource, html_biblio: HtmlBiblio
    ) -> bool:
        if not host_of(split_url(resource.url)):
            return False
        return _is_file(resource) or bool(html_biblio.files or html_biblio.descriptors)

    def process_request(
        self, request: IngestRequest, resource: Resource, html_biblio: HtmlBiblio
    ) -> Asking:
        item = _described(self.platform_name, resource, html_biblio)
        if _is_file(resource):
            return replace(item, manifest=(_the_file(resource),))
        files = list(html_biblio.files)
        for url in html_biblio.descriptors:
            if files:
                break
            files = yield from _described_by(url, item)
        if not files:
            raise EmptyManifest("the page's descriptors declare no file", item)
        return replace(item, manifest=tuple(_declared(file, item) for file in files))

    def chose_strategy(self, item: FilesetPlatformItem) -> IngestStrategy:
        """Always the WARC: there is no other version that could be fetched again."""
        super().chose_strategy(item)
        return (
            IngestStrategy.WEB_FILE if len(item.manifest or ()) == 1 else IngestStrategy.WEB_FILESET
        )


def _is_file(resource: Resource) -> bool:
    return resource.media_type not in _HTML


def _described(name: str, resource: Resource, biblio: HtmlBiblio) -> FilesetPlatformItem:
    host = host_of(split_url(resource.url))
    day = f"{resource.dt[:4]}-{resource.dt[4:6]}-{resource.dt[6:8]}" if resource.dt else None
    item = FilesetPlatformItem(
        platform_name=name,
        platform_domain=host,
        platform_id=_NOT_PLAIN.sub(lambda found: quote(found[0], errors="replace"), resource.url),
        web_base_url=resource.url,
        extra={"version": day} if day else {},
    )
    meta = item_meta(
        collection="datasets",
        title=biblio.title,
        creator=list(biblio.contrib_names or ()),
        date=biblio.release_date,
        source=resource.url,
        description=biblio.abstract,
        license=biblio.license,
        doi=biblio.doi,
        version=day,
    )
    wanted = f"{host}-{_last_name(resource.url)}-v{day}"
    return replace(item, archiveorg_item_name=item_name(wanted, item), archiveorg_item_meta=meta)


def _the_file(resource: Resource) -> FilesetManifestFile:
    """The file that the terminal URL is."""
    told = file_name(resource.headers.first("Content-Disposition"))
    return FilesetManifestFile(
        path=told or _last_name(resource.url),
        size=resource.size,
        mimetype=resource.media_type or None,
        platform_url=resource.url,
    )


def file_name(disposition: str) -> str | None:
    """The name in a Content-Disposition (RFC 6266), without folders; None where there is none."""
    names = {}
    for charset, coded, quoted, bare in _DISPOSITION.findall(disposition):
        try:
            name = unquote(coded, charset, "replace") if coded else quoted or bare
        except LookupError:
            continue
        names[bool(coded)] = name.replace('\\"', '"')
    name = names.get(True) or names.get(False) or ""
    return re.split(r"[/\\]", name)[-1] or None


def _last_name(url: str) -> str:
    """The last part of the path of *url*; of a path that has none, its host."""
    parts = split_url(url)
    name = unquote(parts.path.rstrip("/").rpartition("/")[2], errors="replace")
    return name.replace("/", "-") or host_of(parts)


def _declared(file: DeclaredFile, item: FilesetPlatformItem) -> FilesetManifestFile:
    found = FilesetManifestFile(
        path=file.path or _last_name(file.url),
        size=file.size,
        mimetype=file.mimetype,
        platform_url=checked_url(file.url, file.path or file.url, item),
    )
    for algorithm in ("md5", "sha1", "sha256", "sha512"):
        found = with_digest(found, algorithm, getattr(file, algorithm))
    return found


def _described_by(
    url: str, item: FilesetPlatformItem
) -> Generator[Ask, Answer, list[DeclaredFile]]:
    """The files that the descriptor at *url* declares."""
    name = split_url(url).path.rpartition("/")[2]
    if name == "bagit.txt":
        return (yield from _bag(url, item))
    checked_url(url, name, item)
    answer = yield Ask(url=url, accept=JSON)
    check_status(answer, url, item)
    value = read_json(answer, url, item)
    files = _data_package(value) if name == "datapackage.json" else _crate(value)
    base = answer.url or url
    return [
        structs.replace(file, url=joined) for file in files if (joined := _joined(base, file.url))
    ]


def _joined(base: str, path: str) -> str | None:
    try:
        url = urljoin(base, path)
    except ValueError:
        return None
    return url if url.startswith(("http://", "https://")) else None


def _data_package(value: Value) -> Iterator[DeclaredFile]:
    """``resources``, whose ``path`` may be a list of parts; inline data have none."""
    for row in value["resources"].each():
        paths = row["path"]
        names = [paths] if not paths.is_list else list(paths.each())
        for path in filter(None, (one.name() for one in names)):
            whole = len(names) == 1
            algorithm, digest = _hash(row["hash"].text() or "") if whole else ("", "")
            yield _file_at(
                path,
                size=row["bytes"].number() if whole else None,
                mimetype=row["mediatype"].text(),
                **({algorithm: digest} if algorithm else {}),
            )


def _hash(text: str) -> tuple[str, str]:
    """Algorithm and hex of ``sha256:..``, or of hex alone (MD5 by default)."""
    algorithm, _, digest = text.lower().rpartition(":")
    algorithm = algorithm.replace("-", "") or _HASH_LENGTHS.get(len(digest), "")
    return (algorithm, digest) if algorithm in _HASH_LENGTHS.values() else ("", "")


def _crate(value: Value) -> Iterator[DeclaredFile]:
    """The entities of type ``File`` that stand in a ``hasPart`` of the graph."""
    graph = {row["@id"].name() or "": row for row in value["@graph"].each()}
    parts = (part for row in graph.values() for part in _each_or_one(row["hasPart"]))
    for name in dict.fromkeys(part["@id"].name() or part.name() or "" for part in parts):
        row = graph.get(name)
        if row is not None and "File" in row["@type"].texts():
            digest = row["sha256"].text()
            yield _file_at(
                unquote(name, errors="replace"),
                size=whole_bytes(row["contentSize"].raw),
                mimetype=row["encodingFormat"].text(),
                sha256=digest.lower() if digest else None,
            )


def _each_or_one(value: Value) -> Iterator[Value]:
    if value.is_list:
        yield from value.each()
    elif value:
        yield value


def _file_at(path: str, **values: Any) -> DeclaredFile:
    """A file at *path*, relative to its descriptor or a URL."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", path):
        return DeclaredFile(url=path, **values)
    plain = path.removeprefix("./")
    return DeclaredFile(url=quote(plain, safe="/", errors="replace"), path=plain, **values)


def _bag(url: str, item: FilesetPlatformItem) -> Generator[Ask, Answer, list[DeclaredFile]]:
    """The payload of the bag whose ``bagit.txt`` is at *url*, by its first manifest."""
    for algorithm in _BAG_MANIFESTS:
        place = checked_url(_joined(url, f"manifest-{algorithm}.txt"), "the manifest", item)
        answer = yield Ask(url=place or "", accept="text/plain")
        if answer.status == 404:
            continue
        check_status(answer, place or "", item)
        lines = answer.body.decode("utf-8", "replace").splitlines()
        found = (_BAG_LINE.fullmatch(line.strip()) for line in lines)
        files = [_payload(line[2], algorithm, line[1]) for line in found if line]
        joined = ((file, _joined(url, file.url)) for file in files)
        return [structs.replace(file, url=place) for file, place in joined if place]
    raise PlatformError(f"{url}: no manifest beside it", item)


def _payload(path: str, algorithm: str, digest: str) -> DeclaredFile:
    path = _PERCENT.sub(lambda found: chr(int(found[1], 16)), path)  # RFC 8493, 2.1.3
    name = PurePosixPath(path).as_posix()
    return _file_at(name, **{algorithm: digest.lower()})
