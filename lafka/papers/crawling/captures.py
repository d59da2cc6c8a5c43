"""Captures: what was exchanged for an ask, as the walk takes it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lafka.capture.failures import verdict_of
from lafka.capture.logged import LoggedHops
from lafka.capture.verdicts import Verdict, judge
from lafka.papers.finders import Page
from lafka.papers.outcomes import Outcome
from lafka.papers.walk import MISS_MAX, Ask, Capture
from lafka.payloads import Kind

if TYPE_CHECKING:
    from scrapy.http import Response

_GUARDED = (401, 403, 429, 503)  # what guards answer with, beside 200 and 202

ASK_KEY = "lafka_ask"
"""Key of ``request.meta``, the spider's: the Ask that the request is for."""


def capture_of(ask: Ask, hops: LoggedHops | None, error: BaseException | None = None) -> Capture:
    """Return what came of *ask*: its *hops*, as they lie in the raw log, or the *error* that ended
    it.
    """
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
