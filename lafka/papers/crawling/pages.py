"""Pages are parsed in child processes, with bounds: a page can be made to stop any parser.

libxml2 takes seconds and hundreds of megabytes for some pages of 4 MiB, holding the interpreter's
lock all the while, and a parser of foreign bytes may crash. Here that is one page without links;
the reactor does not wait, and the child is started anew (``storage.children``). A first look, which
is bounded, needs no child (``read_first``), so on most pages none is asked. Imported here is only
what a child needs: it begins sooner. Who asks it is ``captures``.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from lafka.errors import printable
from lafka.papers import finders
from lafka.papers.candidates import Candidate
from lafka.papers.finders import Page, sure
from lafka.papers.outcomes import Outcome, PageReading
from lafka.storage import children

KEPT_MAX = 256 * 1024
"""Bytes of a page that wait for a second look beside each trail; longer ones get it at once."""

_VERDICTS = {"bot-challenge": Outcome.BOT_CHALLENGE, "login": Outcome.LOGIN}

UNREADABLE = "the page could not be read"
"""With it begins the reason of a page that finders stumbled over."""


def read_first(page: Page) -> PageReading | None:
    """Only what ``citation_pdf_url`` names, None where it names nothing or the page is long."""
    if len(page.body) > KEPT_MAX:
        return None
    with suppress(Exception):  # a whole look will meet it again, and tell
        candidates = sure(page)
        if candidates:
            return PageReading(candidates=candidates, partly=True, titles=finders.titles(page))
    return None


def read(page: Page) -> PageReading:
    """All candidates of *page* and what it is; a page that finders stumble over has none."""
    try:
        found = finders.describe(page)
        verdict = _VERDICTS.get(found.kind, Outcome.SPLAP_ONLY)
        if verdict is Outcome.BOT_CHALLENGE:
            return PageReading(verdict=verdict, reason=found.reason)
        reason = "a viewer without a PDF" if found.kind == "viewer" else found.reason
        candidates, kind = finders.look(page, found)
        if verdict is Outcome.SPLAP_ONLY and _says_none(page, kind, candidates):
            verdict = Outcome.NOT_FOUND
            reason = f"the page says so, with status 200: {_quoted_title(page)}"
        titles = finders.titles_of(page, kind)
        headings = () if titles else finders.headings_of(page, kind)
        return PageReading(
            candidates=candidates, verdict=verdict, reason=reason, kind=kind,
            titles=titles, headings=headings,
        )  # fmt: skip
    except Exception as error:
        return PageReading(reason=f"{UNREADABLE}: {printable(repr(error))}")


_THIN = 5_000
"""Visible characters, a site's menus among them; the pages of papers that say they are none have
more."""
_OF_A_PAPER = ("citation_title", "citation_author", "citation_authors", "citation_doi")


def _says_none(page: Page, kind: str, candidates: Sequence[Candidate]) -> bool:
    """Return whether *page* says by title or heading that there is none, and has nothing else."""
    if kind != "not there" or len(page.visible) >= _THIN or page.meta(*_OF_A_PAPER):
        return False
    return not any(candidate.promising for candidate in candidates)


def _quoted_title(page: Page) -> str:
    return printable(repr(page.title.strip()[:80]))


MODULE = "lafka.papers.crawling.pages"
"""The module whose ``serve`` a child runs."""
CPU_SECONDS = 10
"""For one page; the slowest pages that were ever made for it take one."""


def question_of(page: Page, most: int) -> dict[str, Any]:
    """Return what the child of ``MODULE`` is asked of *page*: its *most* surest candidates."""
    names = ("url", "content_type", "link_headers", "aliases", "titles")
    return {name: getattr(page, name) for name in names} | {"most": most}


# In the child -----------------------------------------------------------------------------


def serve() -> None:
    """Read pages until standard input ends. Runs in the child."""
    children.serve({"page": _read})


def _read(question: dict[str, Any], body: bytes) -> dict[str, Any]:
    page = Page(
        question["url"],
        body,
        question["content_type"],
        tuple(question["link_headers"]),
        tuple(question["aliases"]),
        tuple(question["titles"]),
    )
    found = read(page)
    return replace(found, candidates=found.candidates[: question["most"]]).as_json()
