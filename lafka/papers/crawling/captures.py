"""Captures: what was exchanged for an ask, as the walk takes it; and who reads pages and futs.

Pages are read in child processes (``pages``), and futs are looked into, with bounds
(``pdf_fronts``, ``finders.inside``). Whatever happens to a child, what came is stored.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime
from importlib.util import find_spec
from time import monotonic
from typing import Any

from scrapy.http import Response

from lafka.capture.failures import verdict_of
from lafka.capture.logged import LoggedHops
from lafka.capture.verdicts import Verdict, judge
from lafka.errors import BadHttp, BadWarc, MachineTrouble, Stopped
from lafka.papers.archive.contents import fut_in
from lafka.papers.crawling import pages
from lafka.papers.finders import Page
from lafka.papers.outcomes import Outcome, PageReading
from lafka.papers.walk import MISS_MAX, Ask, Capture
from lafka.payloads import Kind
from lafka.pids import Pid
from lafka.storage.children import ChildDied
from lafka.storage.threads import ThreadedChildren
from lafka.warc.writing.appending import Files

_GUARDED = (401, 403, 429, 503)  # what guards answer with, beside 200 and 202

ASK_KEY = "lafka_ask"
"""Key of ``request.meta``, the spider's: the Ask that the request is for."""


def capture_of(ask: Ask, hops: LoggedHops | None, error: BaseException | None = None) -> Capture:
    """Return what came of *ask*: its *hops* in the raw log, or the *error* that ended it."""
    hops = hops or LoggedHops()
    if not hops.exchanges:
        return _unanswered(ask, hops.requests, error)
    last = hops.exchanges[-1]
    payload = last.payload
    verdict = judge(payload, truncated=last.truncated, too_big=last.too_big, dropped=last.dropped)
    sentence = payload.fault if payload else "the answer is no HTTP"
    if error:
        verdict, sentence = verdict_of(error)
    elif not verdict.is_whole and payload and not sentence:
        sentence = f"HTTP status {payload.status}"
    return Capture(
        ask=ask,
        url=last.url,
        time=last.time,
        outcome=Outcome.from_verdict(verdict),
        payload=payload,
        exchanges=hops.exchanges,
        requests=hops.requests,
        error="" if verdict.is_whole else sentence,
    )


def _unanswered(ask: Ask, requests: int, error: BaseException | None) -> Capture:
    verdict, sentence = verdict_of(error) if error else (Verdict.BAD_HTTP, "no answer")
    return Capture(
        ask=ask,
        url=ask.url,
        time=datetime.now(UTC),
        outcome=Outcome.from_verdict(verdict),
        requests=requests,
        error=sentence,
    )


def page_of(capture: Capture, response: Response | None) -> Page | None:
    """The page that an answer is, where it is worth reading: a splap, a viewer, or a guard's."""
    payload = capture.payload
    if response is None or payload is None or payload.kind is not Kind.HTML:
        return None
    if not capture.is_page and payload.status not in _GUARDED:
        return None
    if capture.ask.miss_max == MISS_MAX:
        return None  # its first bytes are all that was read
    return Page(
        url=capture.url,
        body=response.body,
        content_type=b"".join(response.headers.getlist("Content-Type")[:1]).decode("latin-1"),
        link_headers=tuple(v.decode("latin-1") for v in response.headers.getlist("Link")),
        aliases=(str(capture.ask.futli.pid), capture.ask.futli.url),
        titles=tuple(filter(None, [capture.ask.futli.title])),
    )


MODULE = "lafka.papers.crawling.pdf_fronts"
"""The module whose ``serve`` a child runs."""
CHILDREN = 2
CPU_SECONDS = 2
LOOKED_INTO = 32 << 20
"""Bytes of the longest fut that is looked into; longer ones are scans, most often."""

PAUSE = 60
"""Seconds without a look after a child that could not begin: each try costs its start."""

logger = logging.getLogger(__name__)


def can_look() -> bool:
    """Return whether the library that reads PDFs is installed."""
    return find_spec("pypdfium2") is not None


class FutReaders(ThreadedChildren):
    """Looks into futs in at most two children, started when there are futs."""

    def __init__(self) -> None:
        super().__init__("lafka-futs", MODULE, CHILDREN)
        self._resting_until = 0.0

    async def look(
        self, capture: Capture, titles: tuple[str, ...], headings: tuple[str, ...] = ()
    ) -> Capture:
        """Return *capture*, a fut, with what its first pages say of a paper of one of *titles*, or
        perhaps of one of *headings*.

        ``Stopped`` where it was not looked into because of ``cut``.
        """
        payload = capture.payload
        if payload is None or payload.length > LOOKED_INTO:
            return capture
        try:
            found = await self._threads.run(self._ask, capture, titles, headings)
        except (ChildDied, MachineTrouble, BadWarc, BadHttp) as error:
            if self._children.is_cut:
                raise Stopped(f"{capture.url}: not looked into, for the crawl stops") from None
            logger.debug("%s: not looked into: %s", capture.url, error)
            return capture
        origin = capture.ask.origin.looked_into(found)
        return replace(capture, ask=replace(capture.ask, origin=origin))

    def _ask(self, capture: Capture, titles: tuple[str, ...], headings: tuple[str, ...]) -> str:
        answer, payload = capture.exchanges[-1].response, capture.payload
        assert answer is not None
        assert payload is not None
        with Files() as files:
            data = b"".join(fut_in(files.stored(answer), payload))
        return self._inspect({"titles": titles, "headings": headings}, data)

    def _inspect(self, question: dict[str, Any], data: bytes) -> str:
        if monotonic() < self._resting_until:
            return ""
        try:
            return str(self._children.ask("fut", question, data, seconds=CPU_SECONDS))
        except MachineTrouble:
            self._resting_until = monotonic() + PAUSE
            raise


_HOMES_MAX = 10_000
_KNOWN = 30  # addresses of the way to a page that may be among its candidates


class PageReaders(ThreadedChildren):
    """Reads pages in at most two children, started when there are pages.

    *links_max*: how many links a trail can ask for; not many more candidates are handed on.
    """

    def __init__(self, links_max: int) -> None:
        # A trail takes twice as many, beside those that it has asked for already.
        self._most = 3 * links_max + _KNOWN
        super().__init__("lafka-pages", pages.MODULE, CHILDREN)
        self._homes: dict[str, str] = {}

    async def read(self, page: Page, pid: Pid) -> PageReading:
        """See ``pages.read``; a page that cannot be read has no candidates.

        ``Stopped`` where it was not read because of ``cut``.
        """
        try:
            found = await self._threads.run(self._ask, page)
        except ChildDied as error:
            if self._children.is_cut:
                raise Stopped(f"{page.url}: not read, for the crawl stops") from None
            found = PageReading(reason=f"{pages.UNREADABLE}: {error}")
        if self._is_home_of_many(page, found):
            reason = f"another link of its host leads to the same page, {page.url}"
            found = replace(found, verdict=Outcome.NOT_FOUND, reason=reason)
        if found.reason.startswith(pages.UNREADABLE):
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
        question = pages.question_of(page, self._most)
        answer = self._children.ask("page", question, page.body, seconds=pages.CPU_SECONDS)
        return PageReading.of_json(answer)
