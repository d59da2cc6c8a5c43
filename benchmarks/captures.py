"""Captures in a raw WARC without a crawl: what the pipeline is given to store."""

from __future__ import annotations

import os
import random
from datetime import UTC, datetime

from lafka.capture.exchanges import Exchange
from lafka.capture.rawlog import RawLog
from lafka.capture.verdicts import judge
from lafka.papers.archive.archives import Archive
from lafka.papers.archive.recovery import end_of
from lafka.papers.lists.futlis import Futli
from lafka.papers.outcomes import Outcome
from lafka.papers.walk import Ask, Capture, Trail


def payload(seed: str, size: int) -> bytes:
    """A PDF by its first and last bytes, another for each *seed*."""
    head, tail = b"%PDF-1.4\n", b"\n%%EOF\n"
    return head + random.Random(seed).randbytes(size - len(head) - len(tail)) + tail


def recorded(
    archive: Archive, raw: RawLog, number: int, size: int, *, paper: int | None = None
) -> Trail:
    """A trail of one fut, in *raw* as the crawl would have left it, not ended there yet.

    *paper*: the number of its pid, where it is not *number*.
    """
    own = number if paper is None else paper
    pid = archive.scheme.pid(f"RePEc:ben:{raw.name.lower()}:{own}")
    url = f"http://127.0.0.1:8000/{raw.name}/{number}.pdf"
    ask = Ask(futli=Futli(pid=pid, url=url), number=number, url=url)
    exchange = Exchange(url=url, method="GET")
    exchange.begin(datetime.now(UTC), "127.0.0.1")
    exchange.request = f"GET /{raw.name}/{number}.pdf HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nContent-Length: {size}\r\n\r\n"
    exchange.response.append(head.encode() + payload(f"{raw.name} {number}", size))
    exchange.ended = "complete"
    found = raw.record(exchange, ask.provenance)
    exchange.response.close()
    assert found is not None
    capture = Capture(
        ask=ask,
        url=url,
        time=found.time,
        outcome=Outcome.from_verdict(judge(found.payload)),
        payload=found.payload,
        exchanges=(found,),
    )
    assert capture.outcome is Outcome.FUT
    return Trail(
        futli=ask.futli, number=number, captures=(capture,), requests=1, outcome=Outcome.FUT
    )


def store(archive: Archive, raw: RawLog, trail: Trail) -> None:
    """What the pipeline does with a trail that has ended: then it is durable."""
    raw.note(trail.number, trail.futli.url, end_of(trail))
    with archive.paper(trail.futli.pid) as paper:
        added = paper.append(trail.captures)
    assert added[0].new
    raw.release(trail.number)


def let_syncs_pass() -> None:
    """From now on nothing is synced: for making archives that need not survive."""
    os.fsync = os.fdatasync = lambda _: None  # type: ignore[assignment]
