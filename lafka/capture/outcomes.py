"""Outcomes: the one word that says how an ask or a trail ended, and how an answer is judged."""

from __future__ import annotations

from enum import StrEnum

from lafka.payloads import Kind, Payload


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
        """What it is for people: each outcome stands in one group."""
        return _GROUPS[self]


class Group(StrEnum):
    """Outcomes as people tell them apart, in the order in which they are told."""

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
    Outcome.BAD_URL: Group.NOT_THERE,
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


def judge(
    payload: Payload | None,
    *,
    truncated: str = "",
    too_big: bool = False,
    dropped: bool = False,
) -> Outcome:
    """The outcome of one answer that is here, by its status and its bytes.

    *truncated* is the WARC-Truncated reason where reading stopped early; *dropped*: because its
    first bytes showed that it is no PDF. A PDF without an end is truncated too, if only by whoever
    made it: it may be whole the next time. An answer with an error status is no splap and no fut,
    whatever it holds; a 206 is a part that nobody asked for; a 202 without a body is how some
    guards answer a robot.
    """
    if payload is None:
        return Outcome.BAD_HTTP
    if not 200 <= payload.status < 300:
        return _by_status(payload.status)
    if payload.status == 206:
        return Outcome.REFUSED
    if payload.status == 202 and payload.kind is Kind.EMPTY:
        return Outcome.BOT_CHALLENGE
    if too_big or payload.too_big:
        return Outcome.TOO_BIG
    if not dropped and (truncated or not payload.whole or not payload.ended):
        return Outcome.TRUNCATED
    return _BY_KIND[payload.kind]


_BY_KIND = {
    Kind.PDF: Outcome.FUT,
    Kind.HTML: Outcome.SPLAP_ONLY,
    Kind.OTHER: Outcome.OTHER_TYPE,
    Kind.EMPTY: Outcome.OTHER_TYPE,
}


def _by_status(status: int) -> Outcome:
    if status == 410:
        return Outcome.GONE
    if status in (401, 402, 403, 407, 451, 429):
        return Outcome.REFUSED
    if 400 <= status < 500:
        return Outcome.NOT_FOUND
    if 500 <= status < 600:
        return Outcome.SERVER_ERROR
    return Outcome.BAD_HTTP
