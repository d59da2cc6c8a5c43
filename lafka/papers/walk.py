"""Trails, which a futli led to, their asks, and the walk (requirement paper, section 3).

The walk is a state machine without I/O. ``Trail.begin`` makes one, ``next_ask`` says what to fetch,
``answered`` takes what came of it; both give values, nothing is changed in place. A trail is small
and picklable: the bytes of its captures lie in the raw WARC, where spans point at them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from itertools import islice

from lafka.capture.logged import LoggedExchange, Provenance
from lafka.papers.candidates import CITATION_PDF_URL, KEPT, Candidate
from lafka.papers.lists.futlis import Futli
from lafka.papers.origins import FUTLI, FUTLI_ITSELF, LEGACY_SOURCE, PAPER_ID, Origin
from lafka.papers.outcomes import TAIL, Outcome, PageReading
from lafka.payloads import Payload
from lafka.warc.format import dates
from lafka.warc.format.fields import one_line

MISS_MAX = 1024  # bytes of a candidate that is no PDF that are read: as many as tell
VIEWER_MAX = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class PastTime:
    """A gateway is asked in place of the web: for what was there at ``time``.

    ``source`` is the gateway, ``http://host:port``.
    """

    time: datetime
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One URL to fetch for a futli; what of this is not the futli's goes into its warcinfo.

    ``number`` is the list line's, and names the trail within its run. A body that is no PDF is read
    to its end where ``miss_max`` is 0, else no further than that many bytes. ``past`` is None where
    the web is asked.
    """

    futli: Futli
    number: int
    url: str
    origin: Origin = FUTLI_ITSELF
    miss_max: int = 0
    past: PastTime | None = None

    @property
    def provenance(self) -> Provenance:
        """The fields of its capture's warcinfo (requirement paper, section 4)."""
        paper = ((PAPER_ID, one_line(str(self.futli.pid))), (FUTLI, one_line(self.futli.url)))
        if self.past is None:
            return Provenance(owner=self.number, fields=(*paper, *self.origin.fields()))
        source = (LEGACY_SOURCE, one_line(self.past.source))
        return Provenance(
            owner=self.number,
            fields=(*paper, *self.origin.fields(), source),
            key=f"{self.futli.pid} {self.futli.url}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """The outcome of an ask: its records in the raw WARC, redirect hops first, and the facts.

    ``time`` is the WARC-Date of the last response. ``outcome`` judges this capture alone, ``fut``
    for a whole PDF and ``splap-only`` for a page; ``error`` is a sentence where there was trouble.
    """

    ask: Ask
    url: str
    time: datetime
    outcome: Outcome
    payload: Payload | None = None
    exchanges: tuple[LoggedExchange, ...] = ()
    requests: int = 1
    error: str = ""

    @property
    def is_pdf(self) -> bool:
        return self.outcome is Outcome.FUT

    @property
    def is_page(self) -> bool:
        return self.outcome is Outcome.SPLAP_ONLY

    @property
    def is_unended(self) -> bool:
        """True where it is a PDF that came as it was sent, and has no end."""
        if self.payload is None or self.outcome is not Outcome.TRUNCATED:
            return False
        return self.payload.is_unended and not self.exchanges[-1].truncated

    @property
    def is_kept(self) -> bool:
        """True where its bytes go into the paper WARC: as asked for, or a PDF without an end."""
        return self.outcome.is_stored or self.is_unended

    @property
    def warcinfo_id(self) -> str:
        """The id of the warcinfo that binds its records, empty where nothing was exchanged."""
        return self.exchanges[0].warcinfo_id if self.exchanges else ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A candidate that was asked for, and what came of it: an outcome, or ``html`` for a page."""

    candidate: Candidate
    outcome: str


NOT_READ = PageReading()


class Links(StrEnum):
    """The reach of the walk on a splap's links; docs/finding.md tells what each costs."""

    RANKED = "ranked"
    FIRST = "first"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """``links``: how far to go; ``links_max``: the most links of one splap that are asked for."""

    links: Links = Links.RANKED
    links_max: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """A futli's way so far.

    ``captures`` are those that go into the paper WARC, oldest first: the splap, a viewer that led
    to a PDF, PDFs, or a payload of another type. ``pending`` are candidates not asked yet, in
    order, those of a viewer in ``viewer_pending``; ``asked`` is the one whose answer is awaited.
    ``tail``: how many may be asked for that do not promise the fut, unless ``links`` is ``all``.
    ``titles``: what the splap calls the paper, or, in ``headings``, may call it.
    ``partly``: the splap has more candidates than were looked for so far. ``outcome`` is None until
    the trail has ended.

    Of a futli whose past is pulled from a gateway there is a trail a version: ``past`` is that of
    this one, ``later`` are those to come, ``earlier`` the trails that have ended, oldest first.
    """

    futli: Futli
    number: int
    policy: Policy = field(default_factory=Policy)
    captures: tuple[Capture, ...] = ()
    splap: Capture | None = None
    viewer: Capture | None = None
    pending: tuple[Candidate, ...] = ()
    viewer_pending: tuple[Candidate, ...] = ()
    tail: int = TAIL
    titles: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    asked: Candidate | None = None
    tried: tuple[Attempt, ...] = ()
    partly: bool = False
    capped: bool = False
    requests: int = 0
    outcome: Outcome | None = None
    error: str = ""
    no_fut: Outcome = Outcome.SPLAP_ONLY
    past: PastTime | None = None
    later: tuple[PastTime, ...] = ()
    earlier: tuple[Trail, ...] = ()

    @classmethod
    def begin(
        cls,
        futli: Futli,
        number: int,
        policy: Policy | None = None,
        past: tuple[PastTime, ...] = (),
    ) -> Trail:
        """A trail; with *past*, versions oldest first, the first of so many."""
        first, *later = past or (None,)
        return cls(
            futli=futli, number=number, policy=policy or Policy(), past=first,
            later=tuple(one for one in later if one),
        )  # fmt: skip

    def next_version(self) -> Trail | None:
        """The trail of the next version, once this one has ended; None after the last."""
        if not self.later:
            return None
        begun = Trail.begin(self.futli, self.number, self.policy, self.later)
        return replace(begun, earlier=(*self.earlier, replace(self, earlier=(), later=())))

    def whole(self) -> Trail:
        """Return all versions as one trail: that of a fut where one led to it, else the last."""
        trails = (*self.earlier, replace(self, earlier=()))
        if len(trails) == 1:
            return trails[0]
        once: dict[str, Capture] = {}
        for capture in (capture for trail in trails for capture in trail.captures):
            once.setdefault(capture.warcinfo_id, capture)
        had = any(trail.has_fut for trail in trails)
        return replace(
            trails[-1],
            captures=tuple(once.values()),
            splap=next((trail.splap for trail in reversed(trails) if trail.splap), None),
            tried=tuple(tried for trail in trails for tried in trail.tried),
            capped=any(trail.capped for trail in trails),
            requests=sum(trail.requests for trail in trails),
            outcome=Outcome.FUT if had else trails[-1].outcome,
            error="" if had else trails[-1].error,
        )

    @property
    def has_fut(self) -> bool:
        """True where a PDF that is not thought to be a supplement is among the captures."""
        return any(c.is_pdf and not c.ask.origin.label for c in self.captures)

    @property
    def has_last_word(self) -> bool:
        """True where it ended by what the site said, and not by trouble on the way."""
        return self.outcome is not None and not self.outcome.may_pass

    @property
    def wants_more(self) -> bool:
        """True where the rest of the splap's candidates is needed: see :meth:`widened`."""
        waits = self.asked or self.pending or self.viewer_pending
        return self.partly and self.outcome is None and not waits and not self.has_fut

    def widened(self, page: PageReading) -> Trail:
        """The trail with all candidates of its splap, which *page* is, read to its end."""
        assert self.splap is not None
        known = {self.futli.url, self.splap.url, *(t.candidate.url for t in self.tried)}
        pending = self._new(page.candidates, known)
        trail = replace(self._on(page), pending=pending)
        if self.no_fut is Outcome.SPLAP_ONLY:
            error = _NAMED.get(page.verdict, page.reason)
            trail = replace(trail, no_fut=page.verdict, error=error)
        return trail

    def next_ask(self) -> tuple[Trail, Ask | None]:
        """The trail that waits for an answer, and what to ask for; None where it has ended."""
        if self.outcome is not None:
            return self, None
        if self.splap is None:
            first = Ask(futli=self.futli, number=self.number, url=self.futli.url, past=self.past)
            return self, first
        if self.viewer and self.viewer_pending and not self.has_fut:
            page, candidate = self.viewer, self.viewer_pending[0]
        elif found := next(filter(self._goes_on_to, self.pending), None):
            page, candidate = self.splap, found
        else:
            return self._end(), None
        if len(self.tried) >= self.policy.links_max:
            return replace(self, capped=True)._end(), None
        return self._without({candidate.url}, asked=candidate), self._ask(candidate, page)

    def _ask(self, candidate: Candidate, page: Capture) -> Ask:
        return Ask(
            futli=self.futli,
            number=self.number,
            url=candidate.url,
            origin=Origin(
                found_by=candidate.found_by,
                html_url=page.url,
                html_date=dates.to_seconds(page.time),
                label="" if candidate.label == "fut" else candidate.label,
            ),
            miss_max=VIEWER_MAX if self._may_be_viewer(candidate) else MISS_MAX,
            past=self.past,
        )

    def _without(self, urls: set[str], asked: Candidate | None) -> Trail:
        """The trail that will not ask for *urls* any more, and waits for *asked*."""
        return replace(
            self,
            asked=asked,
            pending=tuple(c for c in self.pending if c.url not in urls),
            viewer_pending=tuple(c for c in self.viewer_pending if c.url not in urls),
        )

    def _goes_on_to(self, candidate: Candidate) -> bool:
        """Return whether *candidate* is asked for, after all that was found so far.

        The first for which it is so is next: promising ones go before others, wherever they stand,
        once there is a fut.
        """
        if self._citation_gave_it():
            return False
        if self.policy.links is Links.ALL:
            return True
        if self.has_fut:
            return candidate.promising and self.policy.links is Links.RANKED
        beyond = sum(not _promises(attempt.candidate) for attempt in self.tried)
        return _promises(candidate) or beyond < self.tail

    def _citation_gave_it(self) -> bool:
        """Return whether ``citation_pdf_url``, or the viewer that it names, gave a fut."""
        asks = [c.ask for c in self.captures if c.is_pdf and not c.ask.origin.label]
        if any(ask.origin.found_by == CITATION_PDF_URL for ask in asks):
            return True
        way = self.viewer
        if way is None or way.ask.origin.found_by != CITATION_PDF_URL:
            return False
        return any(ask.origin.html_url == way.url for ask in asks)

    def _may_be_viewer(self, candidate: Candidate) -> bool:
        """A sure candidate can be an HTML viewer of the same paper: one is looked into, once."""
        return self.viewer is None and _is_sure(candidate) and self.policy.links is not Links.ALL

    def answered(self, capture: Capture, page: PageReading = NOT_READ) -> Trail:
        """The trail after *capture*, which is *page* where it is one, answered the ask.

        An error status with a bot challenge for its page is a bot challenge.
        """
        if page.verdict is Outcome.BOT_CHALLENGE and capture.outcome in _GUARDED:
            capture = replace(capture, outcome=page.verdict, error="the page is a bot challenge")
        trail = replace(self, requests=self.requests + capture.requests)
        if self.splap is None:
            return trail._begin(capture, page)._on(page)
        assert self.asked is not None
        return trail._tried(self.asked, capture, page)

    def _on(self, page: PageReading) -> Trail:
        """The trail with what *page*, its splap, says of itself."""
        return replace(
            self, partly=page.partly, tail=page.tail, titles=page.titles, headings=page.headings
        )

    def _tried(self, candidate: Candidate, capture: Capture, page: PageReading) -> Trail:
        outcome = str(capture.outcome)
        if capture.is_page:
            outcome = "html" if page.verdict is Outcome.SPLAP_ONLY else str(page.verdict)
        trail = replace(self, tried=(*self.tried, Attempt(candidate, outcome)))
        # What it was redirected to has answered too.
        trail = trail._without({capture.url, *(e.url for e in capture.exchanges)}, asked=None)
        if capture.is_pdf:
            return trail._found(capture) if self._keeps(candidate, capture) else trail
        if capture.is_unended:
            trail = trail._found(capture)
        if _is_sure(candidate) and outcome in _NAMED and trail.no_fut is Outcome.SPLAP_ONLY:
            trail = replace(trail, no_fut=Outcome(outcome), error=_NAMED[Outcome(outcome)])
        if outcome == "html" and self._may_be_viewer(candidate) and not self._is_splap(capture):
            return trail._viewed(capture, page.candidates)
        return trail

    def _keeps(self, candidate: Candidate, capture: Capture) -> bool:
        """Return whether a PDF from *candidate* goes into this paper's WARC; others' do not.

        What was seen in it may keep it: never the reverse.
        """
        if self.policy.links is Links.ALL or candidate.label != "other":
            return True
        return candidate.probability >= KEPT or not capture.ask.origin.label

    def _is_splap(self, capture: Capture) -> bool:
        """Return whether *capture* is the splap again: many sites show it in place of a PDF."""
        assert self.splap is not None
        if capture.url == self.splap.url:
            return True
        digests = [c.payload and c.payload.digest for c in (capture, self.splap)]
        return digests[0] is not None and digests[0] == digests[1]

    def _begin(self, capture: Capture, page: PageReading) -> Trail:
        if capture.is_page:
            return replace(
                self,
                splap=capture,
                captures=(capture,),
                pending=self._new(page.candidates, {self.futli.url, capture.url}),
                no_fut=page.verdict,
                error=_NAMED.get(page.verdict, page.reason),
            )
        return replace(
            self,
            captures=(capture,) if capture.is_kept else (),
            outcome=capture.outcome,
            error=capture.error,
        )

    def _found(self, capture: Capture) -> Trail:
        way = self.viewer
        if way and capture.ask.origin.html_url == way.url and way not in self.captures:
            return replace(self, captures=(*self.captures, way, capture))
        return replace(self, captures=(*self.captures, capture))

    def _viewed(self, capture: Capture, candidates: tuple[Candidate, ...]) -> Trail:
        promising = tuple(c for c in candidates if c.promising or c.found_by == CITATION_PDF_URL)
        assert self.splap is not None
        known = {self.futli.url, self.splap.url, capture.url}
        known.update(e.url for e in capture.exchanges)
        known.update(t.candidate.url for t in self.tried)
        found = self._new(promising, known)
        urls = {c.url for c in found}
        rest = tuple(c for c in self.pending if c.url not in urls)
        return replace(self, viewer=capture, viewer_pending=found, pending=rest)

    def _new(self, candidates: tuple[Candidate, ...], known: set[str]) -> tuple[Candidate, ...]:
        """*candidates*, each URL once, without those *known*: as many as can ever be asked for.

        Twice as many, since some are passed over where others were redirected to them.
        """
        once: dict[str, Candidate] = {}
        for candidate in candidates:
            if candidate.url not in known:
                once.setdefault(candidate.url, candidate)
        return tuple(islice(once.values(), 2 * self.policy.links_max + 1))

    def _end(self) -> Trail:
        if self.has_fut:
            return replace(self, outcome=Outcome.FUT, error="")
        left = f"the cap of {self.policy.links_max} links was reached" if self.capped else ""
        return replace(self, outcome=self.no_fut, error="; ".join(filter(None, (self.error, left))))


def _promises(candidate: Candidate) -> bool:
    return candidate.promising or candidate.found_by == CITATION_PDF_URL


def _is_sure(candidate: Candidate) -> bool:
    """Return whether *candidate* promises the fut, and not a supplement."""
    return _promises(candidate) and candidate.label == "fut"


_GUARDED = (Outcome.SPLAP_ONLY, Outcome.REFUSED, Outcome.SERVER_ERROR)
_NAMED = {
    Outcome.BOT_CHALLENGE: "a bot challenge stands where a fut was promised",
    Outcome.LOGIN: "a page asks for a login or a payment where a fut was promised",
}
