"""A landing page read: what it says of its dataset, and which files it declares.

Files are declared by schema.org (``Dataset``, ``distribution``) and by Signposting (``rel=item``);
a page may also link a descriptor, which the ``web`` platform asks for: ``datapackage.json``,
``ro-crate-metadata.json``, ``bagit.txt``. Plain anchors declare nothing.

Parsing foreign HTML is for a child: ``children.Children.page`` calls :func:`read_page`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from lxml import etree, html
from msgspec.structs import replace

from lafka.filesets.model.types import JsonValue, is_digest, prepare

DESCRIPTORS = ("datapackage.json", "ro-crate-metadata.json", "bagit.txt")
"""The last part of a descriptor's URL."""

MAX_DECLARED = 100_000
_MAX_TEXT = 10_000
_MAX_NODES = 200_000
_LINK = re.compile(r'<([^>]*)>((?:\s*;\s*[\w*-]+\s*=\s*(?:"[^"]*"|[^\s;,"]+))*)')
_PARAMETER = re.compile(r';\s*([\w*-]+)\s*=\s*(?:"([^"]*)"|([^\s;,"]+))')
_WHOLE = re.compile(r"\s*(\d{1,18})\s*(?:B|bytes?)?\s*", re.IGNORECASE)
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")


class DeclaredFile(JsonValue, frozen=True, kw_only=True):
    """A file that a page or a descriptor declares; ``path`` is empty where only its URL is told."""

    url: str
    path: str = ""
    size: int | None = None
    mimetype: str | None = None
    md5: str | None = None
    sha1: str | None = None
    sha256: str | None = None
    sha512: str | None = None


class HtmlBiblio(JsonValue, frozen=True, kw_only=True):
    """The metadata of a dataset by its landing page; None and empty where it is silent.

    ``files`` and ``descriptors`` (URLs) are what it declares; they stand in no result.
    """

    title: str | None = None
    contrib_names: tuple[str, ...] | None = None
    release_date: str | None = None
    release_year: int | None = None
    publisher: str | None = None
    doi: str | None = None
    lang: str | None = None
    license: str | None = None
    abstract: str | None = None
    files: tuple[DeclaredFile, ...] = ()
    descriptors: tuple[str, ...] = ()

    def as_json(self, *, whole: bool = False) -> dict[str, Any]:
        """The ``html_biblio`` of a result; *whole*: what the page declares too."""
        value = super().as_json()
        if self.contrib_names is not None:
            value["contrib_names"] = list(self.contrib_names)
        declared = () if whole else ("files", "descriptors")
        return {name: part for name, part in value.items() if name not in declared}


def read_page(url: str, body: bytes, content_type: str, link_headers: list[str]) -> HtmlBiblio:
    """Return what the page at *url* says; of a page that cannot be parsed, what its headers say."""
    tree = _tree(body, content_type)
    metas, nodes, links = _Metas(), [], [*_header_links(url, link_headers)]
    for element in () if tree is None else tree.iter("meta", "link", "script", "a"):
        if element.tag == "meta":
            metas.add(element)
        elif element.tag == "script" and "ld+json" in element.get("type", ""):
            nodes += _datasets(element.text or "")
        elif href := element.get("href"):
            links.append(_Link(_joined(url, href), element.get("rel", ""), element.get("type")))
    biblio = _biblio(metas, nodes[0] if nodes else {})
    if tree is not None and biblio.lang is None and tree.get("lang"):
        biblio = replace(biblio, lang=tree.get("lang"))
    files = [*_distributions(url, nodes), *_items(links)]
    return replace(
        biblio,
        files=tuple({file.url: file for file in reversed(files)}.values())[::-1][:MAX_DECLARED],
        descriptors=tuple(dict.fromkeys(link.url for link in links if _is_descriptor(link.url))),
    )


def _tree(body: bytes, content_type: str) -> Any:
    charset = re.search(r"charset=[\"']?([\w.:-]+)", content_type, re.IGNORECASE)
    for encoding in (charset[1] if charset else None, None):
        try:
            parser = html.HTMLParser(encoding=encoding, huge_tree=False)
            return html.document_fromstring(body, parser=parser)
        except (etree.LxmlError, ValueError, LookupError):
            continue
    return None


@dataclass(frozen=True, slots=True)
class _Link:
    url: str
    rel: str
    type: str | None


def _joined(base: str, href: str) -> str:
    try:
        return urljoin(base, href.strip())
    except ValueError:
        return ""


def _header_links(url: str, headers: list[str]) -> Iterator[_Link]:
    """The typed links of ``Link`` header lines (RFC 8288)."""
    for header in headers:
        for found in _LINK.finditer(header):
            values = {name.lower(): quoted or bare for name, quoted, bare in
                      _PARAMETER.findall(found[2])}  # fmt: skip
            yield _Link(_joined(url, found[1]), values.get("rel", ""), values.get("type"))


def _items(links: list[_Link]) -> Iterator[DeclaredFile]:
    for link in links:
        if "item" in link.rel.lower().split() and _is_web(link.url):
            yield DeclaredFile(url=link.url, mimetype=link.type)


def _is_web(url: str) -> bool:
    return url.lower().startswith(("http://", "https://"))


def _is_descriptor(url: str) -> bool:
    try:
        return _is_web(url) and urlsplit(url).path.rpartition("/")[2] in DESCRIPTORS
    except ValueError:
        return False


class _Metas:
    """Values of ``<meta name= content=>`` by lower-case name."""

    def __init__(self) -> None:
        self._values: dict[str, list[str]] = {}

    def add(self, element: Any) -> None:
        name = (element.get("name") or element.get("property") or "").lower()
        content = (element.get("content") or "").strip()[:_MAX_TEXT]
        if name and content:
            self._values.setdefault(name, []).append(content)

    def all(self, *names: str) -> list[str]:
        return next((self._values[name] for name in names if name in self._values), [])

    def first(self, *names: str) -> str | None:
        return next(iter(self.all(*names)), None)


def _biblio(metas: _Metas, node: dict[str, Any]) -> HtmlBiblio:
    date = metas.first("citation_publication_date", "citation_date", "dc.date", "dcterms.issued")
    date = date or _text(node.get("datePublished"))
    year = _YEAR.search(date or "")
    names = metas.all("citation_author", "dc.creator", "dcterms.creator") or _names(node)
    return HtmlBiblio(
        title=metas.first("citation_title", "dc.title", "dcterms.title", "og:title")
        or _text(node.get("name")),
        contrib_names=tuple(names[:1_000]) or None,
        release_date=date,
        release_year=int(year[0]) if year else None,
        publisher=metas.first("citation_publisher", "dc.publisher", "dcterms.publisher")
        or _text(node.get("publisher")),
        doi=metas.first("citation_doi", "dc.identifier.doi") or _doi(node.get("identifier")),
        lang=metas.first("citation_language", "dc.language") or _text(node.get("inLanguage")),
        license=metas.first("dc.rights", "dcterms.license") or _text(node.get("license")),
        abstract=metas.first("citation_abstract", "dc.description", "description")
        or _text(node.get("description")),
    )


def _text(value: Any) -> str | None:
    """A text, or the name or address of an object."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        value = value.get("name") or value.get("url") or value.get("@id")
    return value.strip()[:_MAX_TEXT] or None if isinstance(value, str) else None


def _names(node: dict[str, Any]) -> list[str]:
    creators = node.get("creator") or node.get("author")
    names = map(_text, creators if isinstance(creators, list) else [creators])
    return [name for name in names if name]


def _doi(value: Any) -> str | None:
    for one in value if isinstance(value, list) else [value]:
        text = one.get("value") if isinstance(one, dict) else one
        found = re.search(r"10\.\d{4,9}/\S+", text) if isinstance(text, str) else None
        if found:
            return found[0][:_MAX_TEXT]
    return None


def _datasets(text: str) -> list[dict[str, Any]]:
    """The objects of type ``Dataset`` in JSON-LD, outermost first."""
    try:
        todo: list[Any] = [json.loads(text.strip(), strict=False)]
    except (ValueError, RecursionError):
        return []
    found = []
    for _ in range(_MAX_NODES):
        if not todo:
            break
        node = todo.pop()
        if isinstance(node, dict):
            kinds = node.get("@type")
            if "Dataset" in (kinds if isinstance(kinds, list) else [kinds]):
                found.append(node)
            todo.extend(reversed(node.values()))
        elif isinstance(node, list):
            todo.extend(reversed(node))
    return found


def _distributions(base: str, nodes: list[dict[str, Any]]) -> Iterator[DeclaredFile]:
    for node in nodes:
        files = node.get("distribution")
        for file in files if isinstance(files, list) else [files]:
            if isinstance(file, dict) and isinstance(file.get("contentUrl"), str):
                url = _joined(base, file["contentUrl"])
                if _is_web(url):
                    yield _distribution(url, file)


def _distribution(url: str, file: dict[str, Any]) -> DeclaredFile:
    digest = file.get("sha256")
    digest = digest.lower() if isinstance(digest, str) else None
    return DeclaredFile(
        url=url,
        size=whole_bytes(file.get("contentSize")),
        mimetype=_text(file.get("encodingFormat")),
        sha256=digest if is_digest("sha256", digest) else None,
    )


def whole_bytes(value: Any) -> int | None:
    """A number of bytes; None for what is none to the byte, as ``"12 kB"``."""
    if isinstance(value, str) and (found := _WHOLE.fullmatch(value)):
        value = int(found[1])
    return value if type(value) is int and value >= 0 else None


prepare(HtmlBiblio)
