"""Titles of papers: from ReDIF, where an obi store is named, else from the stored splap.

A page is a stranger's: it is read in a child with bounds, its first 256 KiB alone. No other
metadata is guessed, and what is not known stays NULL.
"""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lxml.etree import ParserError
from lxml.html import HTMLParser, document_fromstring
from w3lib.encoding import html_to_unicode

from lafka.index.papers import HostRows, IndexTally, PaperRows
from lafka.index.tables import IndexFiles
from lafka.papers import Archive
from lafka.payloads import SNIFF, Kind, kind_of
from lafka.storage import children
from lafka.storage.children import ChildDied, Children
from lafka.warc import StoredRecord
from lafka.warc.errors import BadHttp, BadWarc
from lafka.warc.format import http
from lafka.warc.reading.volumes import WarcVolume

BATCH = 1_000
PAGE_BYTES = 256 << 10
LONGEST = 500
"""Characters of a title."""
CPU_SECONDS = 5
MODULE = "lafka.index.titles"
"""The module whose ``serve`` a child runs."""
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_OUT = {"Cc", "Cs", "Co"}
_WAITING = (
    "SELECT id, pid, path, warc_bytes, title, title_from, titled IS NOT warc_bytes FROM paper"
    " WHERE id > ? AND (?2 OR (path IS NOT NULL AND titled IS NOT warc_bytes)) ORDER BY id LIMIT ?3"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Titled:
    """The title that ReDIF has of a paper, and its year where that is said."""

    title: str
    year: int | None = None


Redif = Callable[[str], Titled | None]
"""The pid of a paper -> what ReDIF says of it; None where it says nothing."""


def clean(text: str) -> str:
    """*text* on one line, NFC, at most 500 characters, without control and bidi characters."""
    text = "".join(" " if c in "\t\n\r\f\v" else c for c in unicodedata.normalize("NFC", text))
    text = "".join(c for c in _BIDI.sub("", text) if unicodedata.category(c) not in _OUT)
    return " ".join(text.split())[:LONGEST].strip()


class Titles:
    """Brings the titles of an index up to date; what ``build.refresh`` takes as *more*."""

    def __init__(self, redif: Redif | None = None) -> None:
        self._redif = redif

    def __call__(
        self, db: sqlite3.Connection, account: IndexTally, archive: Archive, place: IndexFiles
    ) -> None:
        del place
        pages = Children(MODULE, 1)
        try:
            for batch in _batches(db, every=self._redif is not None):
                self._bring(db, account, archive, pages, batch)
        finally:
            pages.stop()

    def _bring(
        self,
        db: sqlite3.Connection,
        account: IndexTally,
        archive: Archive,
        pages: Children,
        batch: list[tuple[Any, ...]],
    ) -> None:
        read = [(row, self._found(archive, pages, account, row)) for row in batch]
        rows = PaperRows(db, HostRows(db))
        db.execute("BEGIN IMMEDIATE")
        for (number, _, _, size, title, source, _), (found, year, found_in) in read:
            db.execute(
                "UPDATE paper SET (title, title_from, titled) = (?, ?, ?),"
                " year = coalesce(?, year) WHERE id = ?", (found, found_in, size, year, number)
            )  # fmt: skip
            if (found, found_in) != (title, source):
                rows.words(number)
                account.titles += 1
        db.execute("COMMIT")

    def _found(
        self, archive: Archive, pages: Children, account: IndexTally, row: tuple[Any, ...]
    ) -> tuple[str | None, int | None, str | None]:
        """Title, year and where the title is from."""
        _, pid, path, size, title, source, is_new = row
        said = self._redif(pid) if self._redif else None
        if said and (text := clean(said.title)):
            return text, said.year, "redif"
        if not is_new and source != "redif":
            return title, None, source
        if not path:
            return None, None, None
        warc = archive.root / "warc" / f"{path.removeprefix('suwaf/').removesuffix('.json')}.warc"
        found, source = _of_page(pages, account, warc, size or 0)
        return found, None, source


def _batches(db: sqlite3.Connection, *, every: bool) -> Iterator[list[tuple[Any, ...]]]:
    last = 0
    while rows := db.execute(_WAITING, (last, every, BATCH)).fetchall():
        yield rows
        last = rows[-1][0]


def _of_page(
    pages: Children, account: IndexTally, warc: Path, end: int
) -> tuple[str | None, str | None]:
    """The title of the newest page in *warc* before the byte *end*, and which element says it."""
    try:
        page = newest_page(warc, end)
    except (BadWarc, OSError) as error:
        account.note(str(error))
        return None, None
    if page is None:
        return None, None
    content_type, data = page
    try:
        found = pages.ask("title", {"type": content_type}, data, seconds=CPU_SECONDS)
    except ChildDied as error:
        account.note(f"{warc}: its page cannot be read: {error}")
        return None, None
    text = clean(found["title"])
    return (text, found["from"]) if text else (None, None)


def newest_page(warc: Path, end: int) -> tuple[str, bytes] | None:
    """Content-Type and first bytes of the last HTML answer in *warc* before the byte *end*."""
    with WarcVolume(warc, strict=True) as volume:
        found = None
        for record in volume.records(types=["response"]):
            if record.offset >= end:
                break
            if (page := _page(record)) is not None:
                found = page
        return found


def _page(record: StoredRecord) -> tuple[str, bytes] | None:
    head = record.http
    if head is None or not 200 <= head.status < 300:
        return None
    data = b""
    with suppress(BadHttp):  # what came before the trouble is enough
        for piece in http.entity(record.source, head):
            data += piece
            if kind_of(data[:SNIFF]) is Kind.PDF:
                return None
            if len(data) >= PAGE_BYTES:
                break
    content_type = head.fields.first("Content-Type")
    is_page = kind_of(data[:SNIFF], content_type) is Kind.HTML
    return (content_type, data[:PAGE_BYTES]) if is_page else None


# In the child -----------------------------------------------------------------------------


def serve() -> None:
    """Read pages until standard input ends. Runs in the child."""
    children.serve({"title": _read})


def _read(question: dict[str, Any], data: bytes) -> dict[str, str]:
    text, source = title_of(question["type"], data)
    return {"title": text[: 20 * LONGEST], "from": source}


def title_of(content_type: str, data: bytes) -> tuple[str, str]:
    """``citation_title``, else ``og:title``, else ``<title>`` of a page; else empty."""
    _, text = html_to_unicode(content_type or None, data, default_encoding="utf-8")
    text = text.replace("\0", "")
    if not text.strip():
        return "", ""
    try:
        tree = document_fromstring(text.encode(), parser=HTMLParser(encoding="utf-8"))
    except ParserError:  # there is text, and none of it is a document's
        return "", ""
    said: dict[str, str] = {}
    for meta in tree.iter("meta"):
        name = (meta.get("name") or meta.get("property") or "").strip().lower()
        said.setdefault(name, meta.get("content") or "")
    for name in ("citation_title", "og:title"):
        if said.get(name, "").strip():
            return said[name], name
    titles: Any = tree.xpath("//title[not(ancestor::svg)]")
    return ("".join(titles[0].itertext()), "title") if titles else ("", "")
