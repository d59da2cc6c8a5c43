"""Verdicts: the one word that says how an ask ended, and how an answer is judged.

They know nothing of what the answer is wanted for: each crawl makes its own outcomes of them.
"""

from __future__ import annotations

from enum import StrEnum

from lafka.payloads import Kind, Payload


class Verdict(StrEnum):
    """The one word that says how an ask ended."""

    PDF = "pdf"
    HTML = "html"
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
    LOOP = "loop"
    BAD_URL = "bad-url"

    @property
    def is_whole(self) -> bool:
        """True where the answer is whole and what was asked for, of whatever type."""
        return self in (Verdict.PDF, Verdict.HTML, Verdict.OTHER_TYPE)


def judge(
    payload: Payload | None,
    *,
    truncated: str = "",
    too_big: bool = False,
    dropped: bool = False,
) -> Verdict:
    """Return the verdict on one answer that is here, by its status and its bytes.

    *truncated* is the WARC-Truncated reason where reading stopped early; *dropped*: because its
    first bytes showed that it is no PDF. A PDF without an end is truncated too, if only by whoever
    made it: it may be whole the next time. An answer with an error status is no page and no PDF,
    whatever it holds; a 206 is a part that nobody asked for; a 202 without a body is how some
    guards answer a robot.
    """
    if payload is None:
        return Verdict.BAD_HTTP
    if not 200 <= payload.status < 300:
        return _by_status(payload.status)
    if payload.status == 206:
        return Verdict.REFUSED
    if payload.status == 202 and payload.kind is Kind.EMPTY:
        return Verdict.BOT_CHALLENGE
    if too_big or payload.too_big:
        return Verdict.TOO_BIG
    if not dropped and (truncated or not payload.whole or not payload.ended):
        return Verdict.TRUNCATED
    return _BY_KIND[payload.kind]


_BY_KIND = {
    Kind.PDF: Verdict.PDF,
    Kind.HTML: Verdict.HTML,
    Kind.OTHER: Verdict.OTHER_TYPE,
    Kind.EMPTY: Verdict.OTHER_TYPE,
}


def _by_status(status: int) -> Verdict:
    if status == 410:
        return Verdict.GONE
    if status in (401, 402, 403, 407, 451, 429):
        return Verdict.REFUSED
    if 400 <= status < 500:
        return Verdict.NOT_FOUND
    if 500 <= status < 600:
        return Verdict.SERVER_ERROR
    return Verdict.BAD_HTTP
