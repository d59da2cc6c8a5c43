"""Asks of the walk, and what came of them: captures, attempts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from lafka.capture.logged import LoggedExchange, Provenance
from lafka.papers.candidates import Candidate
from lafka.papers.lists.futlis import Futli
from lafka.papers.origins import FUTLI, FUTLI_ITSELF, LEGACY_SOURCE, PAPER_ID, Origin
from lafka.papers.outcomes import Outcome
from lafka.payloads import Payload
from lafka.warc.format.fields import one_line

MISS_MAX = 1024  # bytes of a candidate that is no PDF that are read: as many as tell
VIEWER_MAX = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
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
    past: Past | None = None

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
        """True where its bytes go into the paper WARC: what was asked for, or a PDF
        without an end.
        """
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
