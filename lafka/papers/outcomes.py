"""Outcomes: the one word that says how a trail ended, and what it is for people; what a page is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from lafka.capture.verdicts import Verdict
from lafka.papers.candidates import Candidate


class Outcome(StrEnum):
    """The one word that says how a trail ended; docs/reference.md explains each."""

    FUT = "fut"
    SPLAP_ONLY = "splap-only"
    OTHER_TYPE = "other-type"
    NOT_FOUND = "not-found"
    GONE = "gone"
    REFUSED = "refused"
    SERVER_ERROR = "server-error"
    TIMEOUT = "timeout"
    TLS = "tls"
    BAD_CERTIFICATE = "bad-certificate"
    DNS = "dns"
    CONNECTION = "connection"
    BAD_HTTP = "bad-http"
    TOO_BIG = "too-big"
    TRUNCATED = "truncated"
    ROBOTS = "robots"
    BOT_CHALLENGE = "bot-challenge"
    LOGIN = "login"
    LOOP = "loop"
    BAD_URL = "bad-url"
    BAD_PID = "bad-pid"
    EXCLUDED = "excluded"
    RESTRICTED = "restricted"
    DAMAGED = "damaged"

    @classmethod
    def from_verdict(cls, verdict: Verdict) -> Outcome:
        """Return what the verdict on an answer is for a paper: an HTML page is a splap."""
        return _OF_VERDICTS[verdict]

    @property
    def is_stored(self) -> bool:
        """True where a capture with this outcome can go into a paper WARC."""
        return self in (Outcome.FUT, Outcome.SPLAP_ONLY, Outcome.OTHER_TYPE)

    @property
    def may_pass(self) -> bool:
        """True where it is trouble on the way, so that the site has not said anything yet."""
        return self in _PASSING

    @property
    def group(self) -> Group:
        """The group in which people find it; each outcome stands in one."""
        return _GROUPS[self]

    @property
    def meaning(self) -> str:
        """Two sentences to who can mend a link: what this says of it, and what to do about it."""
        return _MEANINGS.get(self, "It led to no file. Try the URL in a browser.")


class Group(StrEnum):
    """Outcomes as people tell them apart, in the order in which they are shown."""

    HELD = "held"
    PAGE_ONLY = "page only"
    NOT_THERE = "not there"
    CLOSED = "closed"
    TROUBLE = "trouble"
    OURS = "ours"

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in Outcome if outcome.group is self)


_GROUPS: dict[Outcome, Group] = {
    Outcome.FUT: Group.HELD,
    Outcome.SPLAP_ONLY: Group.PAGE_ONLY,
    Outcome.BOT_CHALLENGE: Group.PAGE_ONLY,
    Outcome.NOT_FOUND: Group.NOT_THERE,
    Outcome.GONE: Group.NOT_THERE,
    Outcome.DNS: Group.NOT_THERE,
    Outcome.REFUSED: Group.CLOSED,
    Outcome.ROBOTS: Group.CLOSED,
    Outcome.LOGIN: Group.CLOSED,
    Outcome.RESTRICTED: Group.CLOSED,
    Outcome.BAD_CERTIFICATE: Group.CLOSED,
    Outcome.TIMEOUT: Group.TROUBLE,
    Outcome.SERVER_ERROR: Group.TROUBLE,
    Outcome.CONNECTION: Group.TROUBLE,
    Outcome.TLS: Group.TROUBLE,
    Outcome.BAD_HTTP: Group.TROUBLE,
    Outcome.TRUNCATED: Group.TROUBLE,
    Outcome.TOO_BIG: Group.TROUBLE,
    Outcome.DAMAGED: Group.TROUBLE,
    Outcome.OTHER_TYPE: Group.TROUBLE,
    Outcome.LOOP: Group.TROUBLE,
    Outcome.EXCLUDED: Group.OURS,
    Outcome.BAD_PID: Group.OURS,
    Outcome.BAD_URL: Group.OURS,  # a slip of who wrote the list, no link that rots
}

_NOW = "Write the URL that the file has now."
_LATER = "It is asked for again; where it stays so, try the URL in a browser."
_OPEN = "Let programs have the file, or write the URL of a copy that they may have."
_MEANINGS: dict[Outcome, str] = {
    Outcome.SPLAP_ONLY: "The URL leads to a page, and no PDF was found behind it."
    " Write the URL of the PDF itself.",
    Outcome.OTHER_TYPE: f"What comes is neither a PDF nor a page, or is empty. {_NOW}",
    Outcome.NOT_FOUND: f"The server has no such file (404). {_NOW}",
    Outcome.GONE: f"The server says that the file is gone (410). {_NOW}",
    Outcome.REFUSED: f"The server refuses the file. {_OPEN}",
    Outcome.SERVER_ERROR: f"The server tells of an error of its own (5xx). {_LATER}",
    Outcome.TIMEOUT: f"The server did not send the file in time. {_LATER}",
    Outcome.TLS: "No connection by TLS came about. Renew what the server has for https.",
    Outcome.BAD_CERTIFICATE: "The server's certificate is not valid. Renew the certificate.",
    Outcome.DNS: f"The host has no address. {_NOW}",
    Outcome.CONNECTION: f"No connection to the server came about. {_LATER}",
    Outcome.BAD_HTTP: f"What the server sends is no answer of a web server. {_LATER}",
    Outcome.TOO_BIG: "The file is larger than what is kept. Offer the paper without its data.",
    Outcome.TRUNCATED: "The file ends before its end. Put the whole file there.",
    Outcome.ROBOTS: "The host's robots.txt forbids to ask. Allow the folder of the files there.",
    Outcome.BOT_CHALLENGE: f"A page asks whether a human is there. {_OPEN}",
    Outcome.LOGIN: f"A page asks for a login or a payment, and no PDF was found behind it. {_OPEN}",
    Outcome.LOOP: f"The server leads from one URL to the next without end. {_NOW}",
    Outcome.BAD_URL: "This is no URL of a web server."
    " Write the whole URL, from http:// or https:// on.",
    Outcome.RESTRICTED: "The template says that the file is not for all, so it is not asked for."
    " Take File-Restriction out where it is for all by now.",
}

_PASSING = frozenset(
    (
        Outcome.SERVER_ERROR,
        Outcome.TIMEOUT,
        Outcome.TLS,
        Outcome.DNS,
        Outcome.CONNECTION,
        Outcome.BAD_HTTP,
        Outcome.TRUNCATED,
        Outcome.ROBOTS,
        Outcome.BOT_CHALLENGE,
    )
)

_OF_VERDICTS: dict[Verdict, Outcome] = {
    verdict: Outcome(str(verdict))
    for verdict in Verdict
    if verdict not in (Verdict.PDF, Verdict.HTML)
} | {Verdict.PDF: Outcome.FUT, Verdict.HTML: Outcome.SPLAP_ONLY}


TAIL = 5
"""The most candidates that are asked for, of one splap, beyond those that promise the fut."""
_WITHOUT_TAIL = frozenset({"list", "issue", "search", "submission", "not there"})
"""Kinds of pages whose other links are other papers', or none's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReading:
    """The content of a page, candidates surest first.

    ``partly``: only the surest was looked for. ``verdict`` is what the page is: ``splap-only``,
    ``bot-challenge`` or ``login``, ``reason`` a few words about it. ``kind`` is what it is about,
    as ``finders.kinds`` names it; empty where nobody looked. ``titles`` are those of its paper,
    ``headings`` what may be one where there are none.
    """

    candidates: tuple[Candidate, ...] = ()
    verdict: Outcome = Outcome.SPLAP_ONLY
    reason: str = ""
    partly: bool = False
    kind: str = ""
    titles: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "candidates": [candidate.as_json() for candidate in self.candidates],
            "verdict": str(self.verdict),
            "reason": self.reason,
            "partly": self.partly,
            "kind": self.kind,
            "titles": self.titles,
            "headings": self.headings,
        }

    @classmethod
    def of_json(cls, values: dict[str, Any]) -> PageReading:
        """``LookupError``, ``TypeError`` or ``ValueError`` where *values* are no such thing."""
        return cls(
            candidates=tuple(map(Candidate.of_json, values["candidates"])),
            verdict=Outcome(values["verdict"]),
            reason=str(values["reason"]),
            partly=bool(values["partly"]),
            kind=str(values["kind"]),
            titles=tuple(map(str, values["titles"])),
            headings=tuple(map(str, values["headings"])),
        )

    @property
    def tail(self) -> int:
        """How many links that promise no fut are worth a request on this page."""
        return 0 if self.kind in _WITHOUT_TAIL else TAIL
