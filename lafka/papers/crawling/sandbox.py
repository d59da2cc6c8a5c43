"""Pages are parsed in child processes, with bounds: a page can be made to stop any parser.

libxml2 takes seconds and hundreds of megabytes for some pages of 4 MiB, holding the interpreter's
lock all the while, and a parser of foreign bytes may crash. Here that is one page without links;
the reactor does not wait, and the child is started anew (``storage.children``). A first look, which
is bounded, needs no child (``reading.read_first``), so on most pages none is asked.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from lafka.errors import Stopped
from lafka.papers.finders import Page
from lafka.papers.walk import pages as reading
from lafka.papers.walk.pages import PageReading
from lafka.pids import Pid
from lafka.storage import children
from lafka.storage.children import ChildDied, Children
from lafka.storage.threads import Threads

MODULE = "lafka.papers.crawling.sandbox"
"""The module whose ``serve`` a child runs."""
CHILDREN = 2
CPU_SECONDS = 10
"""For one page; the slowest pages that were ever made for it take one."""

_KNOWN = 30  # addresses of the way to a page that may be among its candidates

logger = logging.getLogger(__name__)


class Pages:
    """Reads pages in at most two children, started when there are pages.

    *links_max*: how many links a trail can ask for; not many more candidates are handed on.
    """

    def __init__(self, links_max: int) -> None:
        # A trail takes twice as many, beside those that it has asked for already.
        self._most = 3 * links_max + _KNOWN
        self._threads = Threads("lafka-pages", CHILDREN)
        self._children = Children(MODULE, CHILDREN)

    async def read(self, page: Page, pid: Pid) -> PageReading:
        """See ``reading.read``; a page that cannot be read has no candidates.

        ``Stopped`` where it was not read because of ``cut``.
        """
        try:
            found = await self._threads.run(self._ask, page)
        except ChildDied as error:
            if self._children.is_cut:
                raise Stopped(f"{page.url}: not read, for the crawl stops") from None
            found = PageReading(reason=f"{reading.UNREADABLE}: {error}")
        if found.reason.startswith(reading.UNREADABLE):
            logger.error("%s: %s: %s", pid, page.url, found.reason)
        return found

    def _ask(self, page: Page) -> PageReading:
        question = {
            "url": page.url,
            "content_type": page.content_type,
            "link_headers": page.link_headers,
            "aliases": page.aliases,
            "titles": page.titles,
            "most": self._most,
        }
        answer = self._children.ask("page", question, page.body, seconds=CPU_SECONDS)
        return PageReading.of_json(answer)

    def cut(self) -> None:
        """Give up the pages that are being read, or wait for it."""
        self._children.cut()

    def stop(self) -> None:
        self._threads.stop()
        self._children.stop()


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
    found = reading.read(page)
    return replace(found, candidates=found.candidates[: question["most"]]).as_json()
