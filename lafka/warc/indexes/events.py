"""Records that belong together: those of one capture event, and answers that lead to others.

A request is tied to its answer by WARC-Concurrent-To in either of them, or in both to a third
record (WARC/1.1 section 5.7). Where nothing is tied, as in old files, URL and date tell.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Protocol, Unpack
from urllib.parse import urldefrag, urljoin

from ..format.fields import lossless
from ..reading.stored import StoredRecord
from .base import SearchOptions

_TIED = "WARC-Concurrent-To"
_EVENT = ("request", "response", "revisit", "resource", "metadata")
_ANSWERS = ("response", "revisit")
_NEAR = 50  # records of a URL, nearest in time, among which those of one event are
_BEHIND = 8  # records behind one, of which no index need know


class Match(Protocol):
    """Finds records, the best first: :meth:`Collection.search`."""

    def __call__(self, **wanted: Unpack[SearchOptions]) -> Iterator[StoredRecord]: ...


def concurrent(record: StoredRecord, match: Match) -> Iterator[StoredRecord]:
    """The other records of the event of *record*."""
    given = {record}
    for other in _candidates(record, match):
        if other not in given and _are_tied(record, other):
            given.add(other)
            yield other


def _candidates(record: StoredRecord, match: Match) -> Iterator[StoredRecord]:
    for name in record.fields.all(_TIED):
        yield from match(record_id=name)
    around = match(url=record.url, time=record.date, types=_EVENT)
    yield from itertools.islice(around, _NEAR)
    behind = record.next()
    for _ in range(_BEHIND):
        if behind is None:
            return
        yield behind
        behind = behind.next()


def _are_tied(one: StoredRecord, other: StoredRecord) -> bool:
    names, others = ({r.id, *r.fields.all(_TIED)} - {""} for r in (one, other))
    return not names.isdisjoint(others)


def request_of(record: StoredRecord, match: Match) -> StoredRecord | None:
    """The request that *record* is the answer to; None where there is none."""
    tied = (other for other in concurrent(record, match) if other.type == "request")
    found = next(tied, None)
    if found is not None or _TIED in record.fields:
        return found
    return next((other for other in _candidates(record, match) if _asked(other, record)), None)


def _asked(request: StoredRecord, answer: StoredRecord) -> bool:
    """Return whether *request*, tied to nothing, is of the URL and the time of *answer*."""
    return (
        request.type == "request"
        and _TIED not in request.fields
        and (request.url, request.date) == (answer.url, answer.date)
    )


def redirects(record: StoredRecord, match: Match) -> Iterator[StoredRecord]:
    """The answers that *record* leads to, by the Location of each."""
    seen = {record}
    target = location(record)
    while target:
        found = itertools.islice(match(url=target, time=record.date, types=_ANSWERS), _NEAR)
        answer = next((one for one in found if one not in seen), None)
        if answer is None:
            return
        yield answer
        seen.add(answer)
        target = location(answer)


def location(record: StoredRecord) -> str:
    """The URL that an answer redirects to, without a fragment; empty where it does not."""
    head = record.http
    if head is None or not 300 <= head.status < 400 or head.status == 304:
        return ""
    target = lossless(head.fields.first("Location").encode("latin-1", "replace"))
    try:
        return urldefrag(urljoin(record.url, target))[0] if target else ""
    except ValueError:
        return ""
