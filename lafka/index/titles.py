"""Titles and authors of papers: from ReDIF where an obi store is named, else from the stored page,
else from what the newest PDF says of itself.

What is foreign is read in children with bounds, some papers at a time: of a page its first 256 KiB,
of a PDF XMP and, where pypdfium2 is there, Info. Nothing is guessed, and what is not known stays
NULL. What an index knew of a WARC that has not grown is taken over when it is made anew.
"""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from html import unescape
from itertools import takewhile
from pathlib import Path
from typing import Any

from lxml.etree import ParserError
from lxml.html import HTMLParser, document_fromstring
from w3lib.encoding import html_to_unicode

from lafka.index import tables
from lafka.index.papers import HostRows, IndexTally, PaperRows
from lafka.index.scan import CHILDREN
from lafka.index.tables import IndexFiles
from lafka.papers import Archive
from lafka.payloads import SNIFF, Kind, kind_of
from lafka.storage import children
from lafka.storage.children import ChildDied, Children
from lafka.warc import StoredRecord
from lafka.warc.errors import BadHttp, BadIndex, BadWarc
from lafka.warc.format import http
from lafka.warc.reading.volumes import WarcVolume

try:
    import pypdfium2
except ImportError:
    pypdfium2 = None

BATCH = 4_000
"""Papers that are read at once, or wait to be written."""
CHUNK = 25
"""Papers that a child is asked for at once; where it dies over them, it is asked for each."""
PAGE_BYTES = 256 << 10
PDF_BYTES = 32 << 20
"""A longer PDF is not asked for its title."""
AUTHORS_MAX = 50
LONGEST = 500
"""Characters of a title."""
CPU_SECONDS = 5
MODULE = "lafka.index.titles"
"""The module whose ``serve`` a child runs."""
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_OUT = {"Cc", "Cs", "Co"}
_MARKUP = re.compile(
    r"</?(?:b|em|i|small|span|strong|sub|sup|tt|u)(?:\s[a-z-]+=[^<>]*)?\s?/?>", re.IGNORECASE
)
_WAITING = (
    "SELECT id, pid, path, warc_bytes, title, title_from, authors, titled IS NOT warc_bytes"
    " FROM paper WHERE id > ? AND (id > ? OR (path IS NOT NULL AND titled IS NOT warc_bytes))"
    " ORDER BY id LIMIT ?"
)
_NO_ID = 1 << 62
"""Greater than the number of any paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperTitle:
    """The title of a paper, and its authors and year where they are said; ``source``: by whom."""

    title: str
    year: int | None = None
    authors: tuple[str, ...] = ()
    source: str = "redif"

    @property
    def cleaned(self) -> Columns:
        title = clean(self.title)
        authors = "; ".join(filter(None, map(clean, self.authors[:AUTHORS_MAX])))
        return (title, authors or None, self.source) if title else _NONE


Columns = tuple[str | None, str | None, str | None]
"""Title, authors and where they are from."""
_NONE: Columns = (None, None, None)
_Row = tuple[Any, ...]
"""A row of ``_WAITING``."""

Redif = Callable[[str], PaperTitle | None]
"""The pid of a paper -> what ReDIF says of it; None where it says nothing."""


def clean(text: str) -> str:
    """*text* on one line, NFC, at most 500 characters, without control and bidi characters, and
    without the tags of italics, indices and the like that stand in many titles.
    """
    text = unicodedata.normalize("NFC", text)
    if "<" in text:
        text = _MARKUP.sub("", text)
    if not text.isprintable():  # as nearly all is, and then has nothing of these
        text = "".join(" " if c in "\t\n\r\f\v" else c for c in text)
        text = "".join(c for c in _BIDI.sub("", text) if unicodedata.category(c) not in _OUT)
    return " ".join(text.split())[:LONGEST].strip()


class Titles:
    """Brings the titles of an index up to date; what ``build.refresh`` takes as *more*.

    Those of an index that is made anew are read beside the making of its rows.
    """

    def __init__(self, redif: Redif | None = None) -> None:
        self._redif = redif
        self._reading: _Reading | None = None

    def beside(
        self, db: sqlite3.Connection, account: IndexTally, archive: Archive, place: IndexFiles,
        *, is_last: bool,
    ) -> bool:  # fmt: skip
        return self._begun(db, account, archive, place).go_on(db, is_last=is_last)

    def __call__(
        self, db: sqlite3.Connection, account: IndexTally, archive: Archive, place: IndexFiles
    ) -> None:
        try:
            self._begun(db, account, archive, place).finish(db)
        finally:
            self.close()

    def _begun(
        self, db: sqlite3.Connection, account: IndexTally, archive: Archive, place: IndexFiles
    ) -> _Reading:
        if self._reading is None:
            reader = _Reader(archive, _before(db, place))
            self._reading = _Reading(self._redif, account, reader)
        return self._reading

    def close(self) -> None:
        """Give up what was begun."""
        if self._reading:
            self._reading.close()
        self._reading = None


class _Reading:
    """The titles of one index, which are read some papers at a time and wait to be written."""

    def __init__(self, redif: Redif | None, account: IndexTally, reader: _Reader) -> None:
        self._redif = redif
        self._account = account
        self._reader = reader
        self._chunks: deque[_Chunk] = deque()
        self._waiting = 0
        self._last = 0
        """The number of the last paper that :meth:`go_on` has met."""
        self.close = reader.close

    def go_on(self, db: sqlite3.Connection, *, is_last: bool) -> bool:
        """Write what was read since the last call, or wait for all that is begun where *is_last*,
        and begin to read of some papers more; whether there are any.

        *db* is an index that is made anew, in a transaction; the words of a paper come later.
        """
        while self._chunks and (is_last or self._chunks[0].is_done):
            self._write(db, self._next())
        if self._waiting < BATCH:
            rows = _some(db, self._last, self._last if self._redif else _NO_ID)
            self._begin(rows)
            self._last = rows[-1][0] if rows else self._last
        return bool(self._chunks)

    def finish(self, db: sqlite3.Connection) -> None:
        """Read all that is left, and write it with its words."""
        words, last = PaperRows(db, HostRows(db)), 0
        every = self._last if self._redif else _NO_ID
        while self._chunks or (rows := _some(db, last, every)):
            if not self._chunks:
                self._begin(rows)
                last = rows[-1][0]
            db.execute("BEGIN IMMEDIATE")
            while self._chunks:
                for number in self._write(db, self._next()):
                    words.words(number)
            db.execute("COMMIT")

    def _begin(self, rows: list[_Row]) -> None:
        for some in (rows[n : n + CHUNK] for n in range(0, len(rows), CHUNK)):
            self._chunks.append(_Chunk(some, [self._said(row) for row in some], self._reader))
            self._waiting += len(some)

    def _next(self) -> _Chunk:
        chunk = self._chunks.popleft()
        self._waiting -= len(chunk.rows)
        return chunk

    def _write(self, db: sqlite3.Connection, chunk: _Chunk) -> list[int]:
        """Write the titles of some papers; the numbers of those that have another one now."""
        changed, rows = [], []
        for row, (told, year) in zip(chunk.rows, chunk.found(self._account), strict=True):
            number, _, _, size, title, source, authors, _ = row
            rows.append((*told, size, year, number))
            if told != (title, authors, source):
                changed.append(number)
        db.executemany(
            "UPDATE paper SET (title, authors, title_from, titled) = (?, ?, ?, ?),"
            " year = coalesce(?, year) WHERE id = ?", rows
        )  # fmt: skip
        self._account.titles += len(changed)
        return changed

    def _said(self, row: _Row) -> tuple[Columns, int | None] | None:
        """What is known of a paper, and its year; None where its WARC is to be read."""
        _, pid, path, _, title, source, authors, is_new = row
        said = self._redif(pid) if self._redif else None
        if said and said.cleaned[0]:
            return said.cleaned, said.year
        if not is_new and source != "redif":
            return (title, authors, source), None
        return None if path else (_NONE, None)


def _some(db: sqlite3.Connection, last: int, every: int) -> list[_Row]:
    """Some papers after the one of number *last* that wait for a title, or come after *every*."""
    return db.execute(_WAITING, (last, every, BATCH)).fetchall()


class _Chunk:
    """Some papers, and what is *said* of them; of those of which nothing is, a *reader* reads."""

    def __init__(
        self, rows: list[_Row], said: list[tuple[Columns, int | None] | None], reader: _Reader
    ) -> None:
        self.rows = rows
        self._said = [
            one or ((known, None) if (known := reader.known(row[1], row[3])) else None)
            for row, one in zip(rows, said, strict=True)
        ]
        asked = [row for row, one in zip(rows, self._said, strict=True) if one is None]
        self._read = reader.read(asked) if asked else None

    @property
    def is_done(self) -> bool:
        return self._read is None or self._read.done()

    def found(self, account: IndexTally) -> list[tuple[Columns, int | None]]:
        """Wait for what is read; what of each paper, in their order, is known, and its year."""
        read = iter(self._read.result() if self._read else ())
        found = []
        for one in self._said:
            columns, sentence = next(read) if one is None else (None, "")
            found.append(one or (columns or _NONE, None))
            if sentence:
                account.note(sentence)
        return found


def _before(db: sqlite3.Connection, place: IndexFiles) -> sqlite3.Connection | None:
    """The index that *db* is to replace, where there is one that can be read."""
    file = db.execute("PRAGMA database_list").fetchone()[2]
    if not place.database.exists() or place.database.samefile(file):
        return None
    with suppress(BadIndex):
        return tables.open_to_read(place.database)
    return None


_KNOWN = (
    "SELECT title, authors, title_from FROM paper"
    " WHERE pid = ? AND titled = ? AND title_from IS NOT 'redif'"
)


class _Reader:
    """Reads titles out of paper WARCs, or takes those of the index *before* over."""

    def __init__(self, archive: Archive, before: sqlite3.Connection | None) -> None:
        self._archive = archive
        self._before = before
        self._children = Children(MODULE, CHILDREN)
        self._threads = ThreadPoolExecutor(CHILDREN, thread_name_prefix="lafka-titles")

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        self._children.stop()
        if self._before:
            self._before.close()

    def read(self, rows: list[_Row]) -> Future[list[tuple[Columns, str]]]:
        """Begin to read what is said of the papers *rows*, in their order."""
        return self._threads.submit(self._ask, rows)

    def known(self, pid: str, size: int) -> Columns | None:
        if self._before:
            with suppress(sqlite3.Error):  # what is damaged is read again
                if found := self._before.execute(_KNOWN, (pid, size)).fetchone():
                    title, authors, source = found
                    return title and clean(title), authors, source
        return None

    def _ask(self, rows: list[_Row]) -> list[tuple[Columns, str]]:
        """What the WARCs of some papers say, with a sentence of what cannot be read."""
        warcs = [(str(self._warc(row[2])), row[3] or 0) for row in rows]
        try:
            told = self._children.ask("titles", {"warcs": warcs}, seconds=CPU_SECONDS)
        except ChildDied as error:
            if len(rows) > 1:
                return [one for row in rows for one in self._ask([row])]
            return [(_NONE, f"{warcs[0][0]}: its page cannot be read: {error}")]
        return [
            (PaperTitle(title=title, authors=authors, source=source).cleaned, sentence)
            for title, authors, source, sentence in told
        ]

    def _warc(self, path: str) -> Path:
        name = path.removeprefix("suwaf/").removesuffix(".json")
        return self._archive.root / "warc" / f"{name}.warc"


def _beginning(record: StoredRecord) -> tuple[Kind | None, str, bytes]:
    """The kind, Content-Type and first bytes of what *record* has, where it was a success."""
    head = record.http
    if head is None or not 200 <= head.status < 300:
        return None, "", b""
    data = b""
    with suppress(BadHttp):  # what came before the trouble is enough
        for piece in http.entity(record.source, head):
            data += piece
            if len(data) >= PAGE_BYTES or kind_of(data[:SNIFF]) is Kind.PDF:
                break
    content_type = head.fields.first("Content-Type") or ""
    return kind_of(data[:SNIFF], content_type), content_type, data


# In the child -----------------------------------------------------------------------------


def serve() -> None:
    """Read pages and PDFs until standard input ends. Runs in the child."""
    children.serve({"titles": _read})


def _read(question: dict[str, Any], data: bytes) -> list[tuple[str, list[str], str, str]]:  # noqa: ARG001
    return [_told(path, size) for path, size in question["warcs"]]


def _told(path: str, end: int) -> tuple[str, list[str], str, str]:
    """Return a child's answer, bounded and of text that can be encoded: title, authors, source,
    and what cannot be read.
    """
    try:
        title, source, authors = _said(Path(path), end)
    except (BadWarc, OSError) as error:
        return "", [], "", str(error)
    cut = [text[: 20 * LONGEST].encode("utf-8", "replace").decode()
           for text in (title, *authors[:AUTHORS_MAX])]  # fmt: skip
    return cut[0], cut[1:], source, ""


def _said(warc: Path, end: int) -> tuple[str, str, list[str]]:
    """What the last HTML answer before the byte *end* says, else the last PDF: read from the end,
    so that of many versions one is looked into.
    """
    said, pdf = None, None
    with closing(WarcVolume(warc, strict=True)) as volume:
        answers = takewhile(lambda one: one.offset < end, volume.records(types=["response"]))
        for record in reversed([*answers]):
            kind, content_type, data = _beginning(record)
            if kind is Kind.HTML and said is None:
                said = said_by_page(content_type, data[:PAGE_BYTES])
                if clean(said[0]):
                    return said
            elif kind is Kind.PDF and pdf is None:
                pdf = record
            if said and pdf:
                break
        place = pdf.payload_place if pdf else None
        if pdf and place and place[1] <= PDF_BYTES:
            return said_by_pdf(b"".join(pdf.payload(decoded=True)))
    return said or _SILENT


_SILENT: tuple[str, str, list[str]] = ("", "", [])


def said_by_page(content_type: str, data: bytes) -> tuple[str, str, list[str]]:
    """``citation_title``, else ``og:title``, else ``<title>`` of a page, which of them it is, and
    each ``citation_author``; else empty.
    """
    _, text = html_to_unicode(content_type or None, data, default_encoding="utf-8")
    text = text.replace("\0", "")
    if not text.strip():
        return "", "", []
    try:
        tree = document_fromstring(text.encode(), parser=HTMLParser(encoding="utf-8"))
    except ParserError:  # there is text, and none of it is a document's
        return "", "", []
    said: dict[str, list[str]] = {}
    for meta in tree.iter("meta"):
        name = (meta.get("name") or meta.get("property") or "").strip().lower()
        said.setdefault(name, []).append(meta.get("content") or "")
    authors = said.get("citation_author") or said.get("dc.creator") or []
    for name in ("citation_title", "og:title"):
        if said.get(name, [""])[0].strip():
            return said[name][0], name, authors
    titles: Any = tree.xpath("//title[not(ancestor::svg)]")
    return ("".join(titles[0].itertext()), "title", authors) if titles else ("", "", [])


# XMP stands in a PDF as it is, so that whoever knows no PDF finds it (ISO 16684-1, 7.4).
_XMP_TITLE = re.compile(rb"<dc:title>\s*<rdf:Alt>\s*<rdf:li[^>]*>([^<]{1,4000})</rdf:li>")
_XMP_CREATORS = re.compile(rb"<dc:creator>\s*<rdf:Seq>(.{1,20000}?)</rdf:Seq>", re.DOTALL)
_XMP_ITEM = re.compile(rb"<rdf:li[^>]*>([^<]{1,1000})</rdf:li>")
_OF_A_PROGRAM = re.compile(
    r"(?i)microsoft|untitled|powerpoint|\.(docx?|tex|dvi|pdf|rtf|indd|qxd|ps|wpd|p65)\s*$|^\W*$"
)
"""A title that a program gave: the name of a file, or its own."""


def said_by_pdf(data: bytes) -> tuple[str, str, list[str]]:
    """The title and authors that a PDF's XMP says, else its Info; ``xmp``, ``info`` or empty."""
    if (found := _XMP_TITLE.search(data)) and not _OF_A_PROGRAM.search(title := _text(found[1])):
        creators = _XMP_CREATORS.search(data)
        return title, "xmp", [*map(_text, _XMP_ITEM.findall(creators[1]))] if creators else []
    info: dict[str, str] = {}
    if pypdfium2 is not None:
        with suppress(pypdfium2.PdfiumError), closing(pypdfium2.PdfDocument(data)) as pdf:
            info = pdf.get_metadata_dict()
    title = info.get("Title", "")
    if not title or _OF_A_PROGRAM.search(title):
        return "", "", []
    return title, "info", [info["Author"]] if info.get("Author") else []


def _text(data: bytes) -> str:
    return unescape(data.decode("utf-8", "replace"))
