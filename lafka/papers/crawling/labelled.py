"""The splaps of an archive with what their links turned out to be: a labelled set of one's own.

The finders of today are asked about each page again, in a child with bounds, and measured on what
the crawl brought home. A link is known as far as it was asked for. That a PDF is the paper is what
the crawl believed; it is sure where ``inside`` says ``title``.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lafka.errors import BadArgument, BadHttp, BadWarc
from lafka.papers.archive.archives import Archive
from lafka.papers.archive.contents import Info, answer_in, fut_in
from lafka.papers.crawling.pages import CPU_SECONDS, MODULE, question_of
from lafka.papers.finders import Page
from lafka.papers.finders.urls import host, twin_key
from lafka.papers.origins import FUT
from lafka.papers.outcomes import PageReading
from lafka.payloads import Kind, inspect
from lafka.storage.children import ChildDied, Children
from lafka.warc.format.fields import Fields
from lafka.warc.format.sources import CHUNK
from lafka.warc.reading.stored import StoredRecord
from lafka.warc.reading.volumes import open_plain

COLUMNS = ("id", "page_url", "platform", "reach", "expected_fulltext_pdf_urls")
"""Of ``splaps.tsv``, which ``benchmarks/finders.py`` and ``benchmarks/fit.py`` read."""
Tried = tuple[Mapping[str, Any], ...]
MISS = "miss"
"""The result of a link that brought no PDF."""
_GENERATOR = re.compile(
    rb"<meta[^>]{0,80}name=.generator.[^>]{0,20}content=.([A-Za-z][\w-]*)", re.I
)
_PLATFORMS = (
    (b"ds-app", "DSpace 7"), (b"/bitstream", "DSpace"), (b"ep_document", "EPrints"),
    (b"obj_galley_link", "OJS"), (b"/wp-content/", "WordPress"), (b"/sites/default/", "Drupal"),
    (b"viewcontent.cgi", "Digital Commons"),
)  # fmt: skip


@dataclass(slots=True, kw_only=True)
class LinkCapture:
    """A capture of a paper WARC: the address asked for, and what came; ``page`` where HTML did."""

    info: Info
    asked: str = ""
    has_pdf: bool = False
    page: Page | None = None

    @property
    def label(self) -> str:
        return (self.info.origin.label or FUT) if self.has_pdf else MISS


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSplap:
    """A page, its paper, and its links that were asked for.

    A link has ``url``, ``found_by``, ``label`` (``fut``, ``supplement``, ``other``, or ``miss``
    where no PDF came), and where they are known ``outcome`` and ``inside``.
    """

    pid: str
    page: Page
    links: tuple[Mapping[str, str], ...]

    @property
    def futs(self) -> list[Mapping[str, str]]:
        return [link for link in self.links if link["label"] == FUT]

    @property
    def platform(self) -> str:
        """The platform that the page names, else that of its addresses, else its host."""
        if found := _GENERATOR.search(self.page.body):
            return found[1].decode("ascii")
        known = (name for sign, name in _PLATFORMS if sign in self.page.body)
        return next(known, host(self.page.url))

    def row(self, found: PageReading) -> dict[str, Any]:
        """The page as a line of JSON: what its links came to, and what the finders say of it."""
        came = {twin_key(link["url"]): link["label"] for link in self.links}
        labels = [came.get(twin_key(c.url), "") for c in found.candidates]
        pairs = [*zip(found.candidates, labels, strict=True)]
        promising = [label for c, label in pairs if c.promising and c.label == FUT]
        return {
            "pid": self.pid,
            "url": self.page.url,
            "host": host(self.page.url),
            "platform": self.platform,
            "kind": found.kind,
            "has_fut": bool(self.futs),
            "first": labels[:1] == [FUT],
            "promising": FUT in promising,
            "false": sum(label not in (FUT, MISS, "") for label in promising),
            "requests": len(self.links),
            "links": self.links,
        }


def labelled(archive: Archive) -> Iterator[tuple[LabelledSplap, dict[str, Any]]]:
    """Yield each splap of *archive* and its row; of WARCs that are damaged what was read before."""
    readers = Children(MODULE, 1)
    tried = {(end.pid, end.futli): end.candidates for end in archive.outcomes() if end.candidates}
    try:
        for warc in archive.warcs():
            for splap in _splaps(warc, tried):
                with suppress(ChildDied):
                    question = question_of(splap.page, most=1000)
                    answer = readers.ask("page", question, splap.page.body, seconds=CPU_SECONDS)
                    yield splap, splap.row(PageReading.of_json(answer))
    finally:
        readers.stop()


def measured(rows: Iterable[dict[str, Any]], by: str) -> Iterator[dict[str, Any]]:
    """Yield how the finders did, a line for each ``host`` or ``platform``, the most pages first.

    ``first`` and ``promising`` count pages with a fut that is asked for first, and called the fut;
    ``false`` other papers' PDFs that are called it; ``requests`` are those of the crawl.
    """
    groups: dict[str, Counter[str]] = {}
    for row in rows:
        counts = groups.setdefault(row[by], Counter())
        counts.update({name: int(row[name]) for name in ("has_fut", "first", "promising")})
        counts.update(pages=1, false=row["false"], requests=row["requests"])
    for name, counts in sorted(groups.items(), key=lambda item: -item[1]["pages"]):
        columns = ("pages", "has_fut", "first", "promising", "false", "requests")
        yield {by: name} | {column: counts[column] for column in columns}


@dataclass(slots=True)
class LabelledFolder:
    """A new folder of labelled pages, ``splaps.tsv`` and ``pages/ID.html``, at *root*."""

    root: Path
    count: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if self.root.exists():
            raise BadArgument(f"{self.root} is there already; pages go into a new folder")
        (self.root / "pages").mkdir(parents=True)
        self._write(COLUMNS)

    def add(self, splap: LabelledSplap) -> None:
        self.count += 1
        name = f"{self.count:06d}"
        (self.root / "pages" / f"{name}.html").write_bytes(splap.page.body)
        futs = [link["url"] for link in splap.futs]
        reach = splap.futs[0]["found_by"] if futs else "none"
        self._write((name, splap.page.url, splap.platform, reach, " ".join(futs)))

    def _write(self, values: Iterable[str]) -> None:
        with (self.root / "splaps.tsv").open("a", encoding="utf-8", newline="") as lines:
            writer = csv.writer(lines, delimiter="\t", quoting=csv.QUOTE_NONE, quotechar=None)
            writer.writerow(" ".join(value.split("\t")) for value in values)


def _splaps(warc: Path, tried: Mapping[tuple[str, str], Tried]) -> Iterator[LabelledSplap]:
    captures: dict[str, LinkCapture] = {}
    with suppress(BadWarc), open_plain(warc) as volume:
        pdfs: set[str] = set()
        for record in volume:
            if record.type == "warcinfo":
                captures[record.id] = LinkCapture(info=Info.of(record))
            elif capture := captures.get(record.fields.first("WARC-Warcinfo-ID")):
                _take(capture, record, pdfs)
    for url, one in {c.page.url: c for c in captures.values() if c.page}.items():
        stored = {c.asked: c for c in captures.values() if c.info.origin.html_url == url}
        itself = not one.info.origin.found_by
        asked = tried.get((one.info.pid_text, one.info.futli), ()) if itself else ()
        if one.page and (itself or stored):
            links = tuple(_links(stored, asked))
            yield LabelledSplap(pid=one.info.pid_text, page=one.page, links=links)


def _links(stored: dict[str, LinkCapture], asked: Tried) -> Iterator[dict[str, str]]:
    """Yield the links that the feed names as *asked*, then what the WARC alone has of them."""
    for one in asked:
        url, outcome = str(one["url"]), str(one["outcome"])
        capture = stored.pop(url, None)
        known = {"url": url, "found_by": str(one["found_by"]), "outcome": outcome}
        if capture is None:  # another paper's PDF, which is not stored, or none
            yield {**known, "label": "other" if outcome == FUT else MISS}
        else:
            inside = capture.info.origin.inside
            yield {**known, "label": capture.label} | ({"inside": inside} if inside else {})
    for url, capture in stored.items():
        yield {"url": url, "found_by": capture.info.origin.found_by, "label": capture.label}


def _take(capture: LinkCapture, record: StoredRecord, pdfs: set[str]) -> None:
    if record.type == "metadata":
        said = Fields.parse(record.block().read(0, CHUNK))
        capture.info = replace(capture.info, origin=capture.info.origin.described(said))
        return
    capture.asked = capture.asked or record.url
    stated = record.fields.first("WARC-Payload-Digest")
    if record.type == "revisit":
        capture.has_pdf = stated in pdfs
    elif record.type == "response":
        with suppress(BadHttp):
            _take_answer(capture, record)
        pdfs.update({stated} if capture.has_pdf else ())


def _take_answer(capture: LinkCapture, record: StoredRecord) -> None:
    payload = inspect(answer_in(record))
    good = payload.status is not None and 200 <= payload.status < 300
    capture.has_pdf = good and payload.kind is Kind.PDF
    if good and payload.kind is Kind.HTML:
        aliases = (capture.info.pid_text, capture.info.futli)
        head = record.http
        kind = head.fields.first("Content-Type") if head else ""
        links = tuple(head.fields.all("Link")) if head else ()
        body = b"".join(fut_in(record, payload))
        capture.page = Page(record.url, body, kind, links, aliases)
