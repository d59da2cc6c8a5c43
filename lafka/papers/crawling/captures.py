"""Where the wire meets the walk: what was exchanged for an ask becomes its capture."""

from __future__ import annotations

from datetime import UTC, datetime

from lafka.capture.logged import LoggedHops
from lafka.papers.crawling.failures import outcome_of
from lafka.papers.walk.trails import Ask, Capture, Outcome, judge

ASK_KEY = "lafka_ask"
"""Key of ``request.meta``, the spider's: the Ask that the request is for."""


def capture_of(ask: Ask, hops: LoggedHops | None, error: BaseException | None = None) -> Capture:
    """What came of *ask*: its *hops*, as they lie in the raw log, or the *error* that ended it."""
    hops = hops or LoggedHops()
    if not hops.exchanges:
        return _unanswered(ask, hops.requests, error)
    last = hops.exchanges[-1]
    payload = last.payload
    outcome = judge(payload, truncated=last.truncated, too_big=last.too_big, dropped=last.dropped)
    sentence = payload.trouble if payload else "the answer is no HTTP"
    if error:
        outcome, sentence = outcome_of(error)
    elif not outcome.is_stored and payload and not sentence:
        sentence = f"HTTP status {payload.status}"
    return Capture(
        ask=ask,
        url=last.url,
        time=last.time,
        outcome=outcome,
        payload=payload,
        exchanges=hops.exchanges,
        requests=hops.requests,
        error="" if outcome.is_stored else sentence,
    )


def _unanswered(ask: Ask, requests: int, error: BaseException | None) -> Capture:
    outcome, sentence = outcome_of(error) if error else (Outcome.BAD_HTTP, "no answer")
    return Capture(
        ask=ask,
        url=ask.url,
        time=datetime.now(UTC),
        outcome=outcome,
        requests=requests,
        error=sentence,
    )
