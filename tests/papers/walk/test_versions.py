"""A futli whose past is pulled from a gateway: a trail a version, and all of them as one."""

from __future__ import annotations

import pickle
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lafka.capture.logged import LoggedExchange
from lafka.papers.candidates import Candidate
from lafka.papers.lists.futlis import Futli
from lafka.papers.outcomes import Outcome, PageReading
from lafka.papers.walk import Ask, Capture, PastTime, Trail
from lafka.payloads import inspect_entity
from lafka.pids import SCHEMES
from lafka.warc.format.sources import MemorySource

SOURCE = "http://127.0.0.1:8732"
FUTLI = Futli(pid=SCHEMES["RePEc"].pid("RePEc:abc:wpaper:1"), url="http://x.example/abs/1")
TIMES = [datetime(2012, 11, 9, tzinfo=UTC) + timedelta(days=day) for day in range(3)]
PAST = tuple(PastTime(time=time, source=SOURCE) for time in TIMES)
BODIES = {Outcome.FUT: b"%PDF-1.4\n", Outcome.SPLAP_ONLY: b"<html>", Outcome.NOT_FOUND: b""}


def capture(ask: Ask, outcome: Outcome, name: str = "") -> Capture:
    """What came: *name* is the id of its warcinfo, as that of what is pulled twice is one."""
    assert ask.past is not None
    exchange = LoggedExchange(
        url=ask.url, time=ask.past.time, warcinfo_id=name or f"{ask.url} {ask.past.time}"
    )
    payload = inspect_entity(MemorySource(BODIES[outcome] + name.encode()))
    error = "" if outcome.is_stored else "not in the ArchEc store"
    return Capture(ask=ask, url=ask.url, time=ask.past.time, outcome=outcome, payload=payload,
                   exchanges=(exchange,), error=error)  # fmt: skip


def walked(*outcomes: Outcome) -> Trail:
    """All versions: each is one capture of *outcomes*."""
    trail: Trail | None = Trail.begin(FUTLI, 1, past=PAST[: len(outcomes)])
    for outcome in outcomes:
        assert trail is not None
        trail, ask = trail.next_ask()
        assert ask is not None
        ended = trail.answered(capture(ask, outcome))
        ended, ask = ended.next_ask()
        assert ask is None
        trail = ended.next_version()
    assert trail is None
    return ended.whole()


def test_each_version_is_asked_for_at_its_time() -> None:
    trail = Trail.begin(FUTLI, 1, past=PAST)
    for past in PAST:
        trail, ask = trail.next_ask()
        assert ask is not None
        assert (ask.url, ask.past) == (FUTLI.url, past)
        assert ("Legacy-Source", SOURCE) in ask.provenance.fields
        assert ask.provenance.key == "RePEc:abc:wpaper:1 http://x.example/abs/1"
        trail = trail.answered(capture(ask, Outcome.FUT))
        trail = trail.next_version() or trail
    assert trail.later == ()
    assert [one.past for one in trail.earlier] == list(PAST[:2])


def test_candidates_are_asked_for_at_the_time_of_their_page() -> None:
    trail, ask = Trail.begin(FUTLI, 1, past=PAST).next_ask()
    assert ask is not None
    link = Candidate(url="http://x.example/1.pdf", found_by="anchor", promising=True, label="fut")
    trail = trail.answered(capture(ask, Outcome.SPLAP_ONLY), PageReading(candidates=(link,)))
    _, second = trail.next_ask()
    assert second is not None
    assert (second.url, second.past) == (link.url, PAST[0])
    assert second.origin.html_date == "2012-11-09T00:00:00Z"


@pytest.mark.parametrize(
    ("outcomes", "whole", "error"),
    [
        ((Outcome.FUT, Outcome.NOT_FOUND), Outcome.FUT, ""),
        ((Outcome.NOT_FOUND, Outcome.FUT), Outcome.FUT, ""),
        ((Outcome.FUT, Outcome.SPLAP_ONLY, Outcome.FUT), Outcome.FUT, ""),
        ((Outcome.SPLAP_ONLY, Outcome.NOT_FOUND), Outcome.NOT_FOUND, "not in the ArchEc store"),
        ((Outcome.NOT_FOUND, Outcome.SPLAP_ONLY), Outcome.SPLAP_ONLY, ""),
        ((Outcome.FUT,), Outcome.FUT, ""),
    ],
)
def test_all_versions_are_one_trail(
    outcomes: tuple[Outcome, ...], whole: Outcome, error: str
) -> None:
    trail = walked(*outcomes)
    assert (trail.outcome, trail.error) == (whole, error)
    stored = [outcome for outcome in outcomes if outcome.is_stored]
    assert [one.outcome for one in trail.captures] == stored
    assert trail.requests == len(outcomes)
    times = [one.time for one in trail.captures]
    assert times == sorted(times)
    assert (trail.splap is not None) == (Outcome.SPLAP_ONLY in outcomes)


def test_what_two_versions_led_to_is_there_once_at_its_first_place() -> None:
    first = walked(Outcome.FUT)
    twice = replace(first, earlier=(replace(first, earlier=()),))
    assert twice.whole().captures == first.captures


def test_a_trail_of_the_web_is_as_it_was() -> None:
    trail, ask = Trail.begin(FUTLI, 1).next_ask()
    assert ask is not None
    assert (ask.past, ask.provenance.key) == (None, "")
    assert "Legacy-Source" not in dict(ask.provenance.fields)
    assert trail.next_version() is None
    assert trail.whole() == trail


def test_trails_with_a_past_survive_pickle() -> None:
    trail = Trail.begin(FUTLI, 1, past=PAST)
    assert pickle.loads(pickle.dumps(trail)) == trail
