"""Pages are parsed in child processes, with bounds: a page can be made to stop any parser.

libxml2 takes seconds and hundreds of megabytes for some pages of 4 MiB, holding the interpreter's
lock all the while, and a parser of foreign bytes may crash. Here that is one page without links;
the reactor does not wait, and the child is started anew (``storage.children``). A first look, which
is bounded, needs no child (``read_first``), so on most pages none is asked.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from lafka.errors import Stopped, printable
from lafka.papers import finders
from lafka.papers.candidates import Candidate
from lafka.papers.finders import Page, sure
from lafka.papers.outcomes import Outcome
from lafka.papers.walk import PageReading
from lafka.pids import Pid
from lafka.storage import children
from lafka.storage.children import ChildDied
from lafka.storage.threads import ThreadedChildren

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
            verdict, reason = Outcome.NOT_FOUND, f"the page says so, with status 200: {_said(page)}"
        titles = finders.titles_of(page, kind)
        return PageReading(
            candidates=candidates, verdict=verdict, reason=reason, kind=kind, titles=titles
        )
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


def _said(page: Page) -> str:
    return printable(repr(page.title.strip()[:80]))


MODULE = "lafka.papers.crawling.pages"
"""The module whose ``serve`` a child runs."""
CHILDREN = 2
CPU_SECONDS = 10
"""For one page; the slowest pages that were ever made for it take one."""

_HOMES_MAX = 10_000
_KNOWN = 30  # addresses of the way to a page that may be among its candidates

logger = logging.getLogger(__name__)


class PageReaders(ThreadedChildren):
    """Reads pages in at most two children, started when there are pages.

    *links_max*: how many links a trail can ask for; not many more candidates are handed on.
    """

    def __init__(self, links_max: int) -> None:
        # A trail takes twice as many, beside those that it has asked for already.
        self._most = 3 * links_max + _KNOWN
        super().__init__("lafka-pages", MODULE, CHILDREN)
        self._homes: dict[str, str] = {}

    async def read(self, page: Page, pid: Pid) -> PageReading:
        """See ``read``; a page that cannot be read has no candidates.

        ``Stopped`` where it was not read because of ``cut``.
        """
        try:
            found = await self._threads.run(self._ask, page)
        except ChildDied as error:
            if self._children.is_cut:
                raise Stopped(f"{page.url}: not read, for the crawl stops") from None
            found = PageReading(reason=f"{UNREADABLE}: {error}")
        if self._is_home_of_many(page, found):
            reason = f"another link of its host leads to the same page, {page.url}"
            found = replace(found, verdict=Outcome.NOT_FOUND, reason=reason)
        if found.reason.startswith(UNREADABLE):
            logger.error("%s: %s: %s", pid, page.url, found.reason)
        return found

    def _is_home_of_many(self, page: Page, found: PageReading) -> bool:
        """Return whether different links led to *page*, a site's home, which says of no paper."""
        asked = next((a for a in page.aliases if a.startswith("http")), page.url).partition("#")[0]
        if (
            found.kind != "home"
            or asked == page.url
            or any(candidate.promising for candidate in found.candidates)
        ):
            return False
        if len(self._homes) > _HOMES_MAX:
            self._homes.clear()
        return self._homes.setdefault(page.url, asked) != asked

    def _ask(self, page: Page) -> PageReading:
        question = question_of(page, self._most)
        answer = self._children.ask("page", question, page.body, seconds=CPU_SECONDS)
        return PageReading.of_json(answer)


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
