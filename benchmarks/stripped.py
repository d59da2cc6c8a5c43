"""The finders on pages from which everything was taken that names the PDF outright.

Asked again without the metas that name it, without ``<link>``, JSON-LD and scripts, one kind at a
time and all of them, and ``bare``: without any meta, link element or script, and with the table of
platforms left out, so that the page's own words and addresses are all there is. ``plain``: as
``bare``, and no element has a class, an id, a role or a title either. Counted are pages
that have a link of their own to the right PDF, and pages that have none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lxml import etree
from splaps import Splap, answer, asked, mislabelled

from lafka.papers.candidates import Candidate
from lafka.papers.finders import Page, describe, find
from lafka.papers.finders.pages import Element
from lafka.papers.finders.urls import twin_key

KINDS = ("nothing", "meta", "link", "json-ld", "script", "all", "bare", "plain")
BARE = ("bare", "plain")
_HINTS = ("class", "id", "role", "title", "rel", "aria-label", "type")
_TAGS = {"meta": "meta", "link": "link", "json-ld": "script", "script": "script"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the finders said of one stripped page; ``right`` is the surest of the right PDFs."""

    splap: Splap
    answers: tuple[str, ...]
    labels: tuple[str, ...]
    promising: int
    right: Candidate | None
    mislabelled: int


def own_links(splap: Splap, page: Page) -> Iterator[Element]:
    """Yield each ``<a>`` of *page*, the one of *splap* or a copy, that leads to the right PDF."""
    for element in page.every("a"):
        url = page.absolute(element.get("href"))
        if url and twin_key(url) in splap.expected:
            yield element


def has_own_link(splap: Splap) -> bool:
    return any(own_links(splap, splap.page))


def stripped(page: Page, kind: str) -> Page:
    """A copy of *page* without what names its PDF in one of the ways of ``KINDS``."""
    copy = Page(page.url, page.body, page.content_type, aliases=page.aliases)
    root = copy.root  # parsed once: what is taken from this tree the finders do not see
    kinds = tuple(_TAGS) if kind in ("all", *BARE) else (kind,) if kind in _TAGS else ()
    doomed = [
        node
        for name in kinds
        for node in root.iter(_TAGS[name])
        if kind in BARE or _names_a_pdf(name, node)
    ]
    for node in doomed:
        parent = node.getparent()
        if parent is not None:
            _cut(parent, node)
    if kind == "plain":
        for node in root.iter():
            for name in _HINTS:
                node.attrib.pop(name, None)
    return copy


def _cut(parent: etree._Element, node: etree._Element) -> None:
    """Take *node* out and leave the text behind it."""
    before = node.getprevious()
    if node.tail and before is not None:
        before.tail = (before.tail or "") + node.tail
    elif node.tail:
        parent.text = (parent.text or "") + node.tail
    parent.remove(node)


def _names_a_pdf(kind: str, node: etree._Element) -> bool:
    given = " ".join(str(v) for v in node.attrib.values()).lower()
    if kind in ("json-ld", "script"):
        return ("ld+json" in given) == (kind == "json-ld")
    named = "document_url" in given or "fulltext_" in given or "pdf" in given
    return named or (kind == "meta" and "citation_" in given and "url" in given)


def asked_again(splap: Splap, kind: str) -> Answer:
    """What is asked for on *splap* once it is stripped."""
    page = stripped(splap.page, kind)
    found = [c for c in find(page) if kind not in BARE or not c.found_by.startswith("platform:")]
    requests = asked("ranked", splap, [] if describe(page).kind == "bot-challenge" else found)
    return Answer(
        splap=splap,
        answers=tuple(answer(splap, c) for c in requests),
        labels=tuple(c.label for c in requests),
        promising=sum(c.promising for c in found),
        right=next((c for c in found if answer(splap, c) == "fut"), None),
        mislabelled=mislabelled(splap, found),
    )


HEADER = """\
| taken away | pages | first request right | right and promising | right and labelled `fut` \
| requests a page | wrong PDFs kept, labelled `fut` | PDFs whose label is not the truth \
| promising on pages without a fut, most |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


def row(kind: str, splaps: Sequence[Splap]) -> str:
    told = [asked_again(splap, kind) for splap in splaps]
    futs = [a for a in told if a.splap.expected]
    right = [a.right for a in futs if a.right is not None]
    wrong = sum(
        a == "pdf" and label == "fut"
        for one in told
        for a, label in zip(one.answers, one.labels, strict=True)
    )
    without = [a.promising for a in told if not a.splap.expected]
    cells = [
        f"{kind}",
        str(len(futs)),
        _share(sum(a.answers[:1] == ("fut",) for a in futs), futs),
        _share(sum(c.promising for c in right), futs),
        _share(sum(c.label == "fut" for c in right), futs),
        f"{sum(len(a.answers) for a in futs) / max(len(futs), 1):.2f}",
        str(wrong),
        str(sum(a.mislabelled for a in told)),
        str(max(without, default=0)),
    ]
    return f"| {' | '.join(cells)} |"


def _share(count: int, of: Sequence[object]) -> str:
    return f"{count / max(len(of), 1):.1%}"


def chosen(splaps: Sequence[Splap]) -> list[Splap]:
    """The pages that count: with a link of their own to the fut, or without a fut."""
    return [s for s in splaps if not s.expected or has_own_link(s)]


def table(splaps: Sequence[Splap]) -> str:
    pages = chosen(splaps)
    return "\n".join([HEADER, *(row(kind, pages) for kind in KINDS)])


def missed(splaps: Sequence[Splap], kind: str) -> None:
    """Print what is asked for on the pages where the right PDF is not first, or not believed."""
    for splap in chosen(splaps):
        told = asked_again(splap, kind)
        believed = told.right is not None and told.right.promising and told.right.label == "fut"
        if not splap.expected and told.promising < 2:
            continue
        if told.answers == ("fut",) and believed:
            continue
        print(f"{splap.name} {splap.page.url}: {told.answers[:6]}, promising {told.promising}")
        found = find(stripped(splap.page, kind))
        for candidate in [*found[:4], *([told.right] if told.right else [])]:
            sign = "*" if candidate.promising else " "
            print(
                f"  {sign} {answer(splap, candidate):4} {candidate.score:6.1f} {candidate.label} "
                f"{candidate.found_by} {candidate.url[-90:]} {','.join(candidate.reasons)}"
            )
