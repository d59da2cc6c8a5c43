"""What answers make of fobis: ways, links, trust in a 304, losses, when to ask again."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.archec.files.fobis import (
    FobiAnswer,
    FobiForm,
    FobiLine,
    is_trusted,
    lines_of_miss,
    links,
    stored_line,
    visit_line,
    way_of,
)
from lafka.archec.records import Incidence, Kind, LatestVersion, Obi, event_of
from lafka.archec.records.folding import CHURNING, DAY, RefreshRule, after_miss, why_lost
from lafka.archec.store.folders import LINKS_MAX
from lafka.errors import BadUrl

T = 1352481300
H = "http://x.example"


def obi(uri: str = f"{H}/1", **more: object) -> Obi:
    return Obi(id=uri, kind=Kind.FOBI, **more)  # type: ignore[arg-type]


def answer(*way: str, **more: object) -> FobiAnswer:
    values: dict[str, object] = {"uri": way[0], "time": "t", "way": way} | more
    return FobiAnswer(**values)  # type: ignore[arg-type]


# The way --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("urls", "way"),
    [
        ([f"{H}/1"], [f"{H}/1"]),
        ([f"{H}/1", f"{H}:80/1#a", f"{H}/2"], [f"{H}/1", f"{H}/2"]),
        ([f"{H}/1", f"{H}/set", f"{H}/1"], [f"{H}/set", f"{H}/1"]),
        ([f"{H}/1", "http://me:pw@x.example/", f"{H}/%7e2"], [f"{H}/1", f"{H}/~2"]),
    ],
)
def test_a_url_that_comes_twice_counts_where_it_comes_last(urls, way):
    assert list(way_of(urls)) == way


def test_a_way_that_ends_where_nobody_may_ask_is_none():
    with pytest.raises(BadUrl, match="user or password"):
        way_of([f"{H}/1", "http://me:pw@x.example/2"])


# Links ----------------------------------------------------------------------------------------


def test_a_slash_at_the_end_needs_no_link_and_what_leads_there_passes_over_it():
    way = [f"{H}/0", f"{H}/1", f"{H}/1/", f"{H}/1.pdf"]
    place = (T, way[-1])
    assert links(way, way, place, T) == {
        way[2]: place,
        way[1]: None,
        way[0]: (T, way[2]),
    }


def test_what_is_there_already_has_no_link_and_is_led_to():
    way, place = [f"{H}/0", f"{H}/1", f"{H}/2"], (T - 9, f"{H}/2")
    assert links(way, [way[0]], place, T) == {way[0]: place}
    slash = [f"{H}/1/", f"{H}/1"]
    assert links(slash, [slash[0]], (T - 9, slash[1]), T) == {slash[0]: (T - 9, slash[1])}


_NAMES = st.lists(st.sampled_from([f"{H}/{n}{s}" for n in range(9) for s in ("", "/")]),
                  min_size=1, max_size=14, unique=True)  # fmt: skip


@given(way=_NAMES, stored=st.sets(st.integers(0, 13)), held=st.booleans())
def test_each_obi_of_a_gathering_leads_to_the_content_by_ten_links_at_most(way, stored, held):
    now = [uri for place, uri in enumerate(way) if place in stored]
    content = (T - 9, "http://other.example/x") if held or way[-1] not in now else (T, way[-1])
    found = links(way, now, content, T)
    assert set(found) == set(now) - {way[-1]}
    at = {uri: to for uri, to in found.items() if to is not None}
    if way[-1] in now and content != (T, way[-1]):
        at[way[-1]] = content
    there = {*at, *([way[-1]] if content == (T, way[-1]) else [])}
    for uri in now:
        tried = [name for name in (uri, uri.removesuffix("/"), f"{uri}/") if name in there]
        assert tried, f"{uri} cannot be found"
        place, steps = (T, tried[0]), 0
        while place != content:
            place, steps = at[place[1]], steps + 1
        assert steps <= LINKS_MAX


@given(way=_NAMES)
def test_a_link_is_left_out_between_neighbours_that_differ_by_a_slash_alone(way):
    found = links(way, way, (T, way[-1]), T)
    slashed = {a for a, b in pairwise(way) if a.removesuffix("/") == b.removesuffix("/")}
    assert {uri for uri, to in found.items() if to is None} <= slashed


# A 304 ----------------------------------------------------------------------------------------


def line(**more: object) -> FobiLine:
    values = {"number": 1, "uri": f"{H}/1", "etag": '"a"', "answered": f"{H}/2"} | more
    return FobiLine(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "url", "etag", "trusted"),
    [
        (line(), f"{H}/2", '"a"', True),
        (line(), f"{H}/2", "", True),
        (line(), f"{H}/2", 'W/"a"', True),
        (line(), f"{H}/2", '"b"', False),
        (line(), f"{H}/1", '"a"', False),
        (line(etag=None), f"{H}/2", "", False),
        (line(etag=None, modified="Fri, 20 Nov 2026 10:11:12 GMT"), f"{H}/2", '"b"', True),
        (line(), "http://me:pw@x.example/2", "", False),
    ],
)
def test_a_304_is_trusted_where_it_was_asked_for_and_comes_from_who_gave_the_validators(
    asked, url, etag, trusted
):
    assert is_trusted(asked, url, etag) is trusted


@given(st.builds(FobiLine, number=st.integers(1), uri=st.text(), etag=st.none() | st.text(),
                 modified=st.none() | st.text(), answered=st.none() | st.text(),
                 seconds=st.lists(st.text()).map(tuple)))  # fmt: skip
def test_a_line_is_kept_as_it_is(one):
    assert FobiForm().unpack(one.number, FobiForm().pack(one)) == one


# Incidences -----------------------------------------------------------------------------------


def last(text: str | None, *, lost: int | None = None) -> LatestVersion:
    noted = T - 9 if text else None
    return LatestVersion(
        number=1, found=T - 9, noted=noted, lost=lost, md5=text, sha256=text, text_sha256=text
    )


def test_a_sight_is_an_appearance_a_change_or_a_visit():
    assert event_of(None, "a") == event_of(last(None), "a") == Incidence.APPEARANCE
    assert event_of(last("a", lost=T - 5), "a") == Incidence.APPEARANCE
    assert event_of(last("a"), "a") == Incidence.VISIT
    assert event_of(last("a"), "b") == Incidence.CHANGE


@pytest.mark.parametrize(
    ("had", "kind", "soft"),
    [({"payload": "pdf"}, "html", True), ({"payload": "pdf"}, "empty", True),
     ({"payload": "pdf"}, "other", False), ({"payload": "html"}, "html", False),
     ({"payload": "html", "soft": True}, "html", True),
     ({"payload": "html", "soft": True}, "pdf", False)],
)  # fmt: skip
def test_a_page_where_a_pdf_was_is_soft_until_a_pdf_is_back(had, kind, soft):
    change = stored_line(answer(f"{H}/1", kind=kind), f"{H}/1", Incidence.CHANGE,
                         obi=obi(**had), tist=T, rule=RefreshRule())  # fmt: skip
    assert change.get("soft", False) is soft


def test_a_304_says_only_what_changed_of_the_head():
    first = visit_line(answer(f"{H}/1", status=304), f"{H}/1", obi(), RefreshRule())
    assert "etag" not in first
    again = visit_line(answer(f"{H}/1", status=200), f"{H}/1", obi(), RefreshRule())
    assert again["etag"] is None


@pytest.mark.parametrize(
    ("missed", "outcome", "why"),
    [
        ([], "gone", "410"),
        ([], "not-found", ""),
        ([[T - 7 * DAY, "not-found"]], "not-found", "404 twice"),
        ([[T - 7 * DAY + 1, "not-found"]], "not-found", ""),
        ([[T - 30 * DAY, "dns"], [T - 9 * DAY, "dns"]], "dns", "dns thrice"),
        ([[T - 29 * DAY, "dns"], [T - 9 * DAY, "dns"]], "dns", ""),
        ([[T - 40 * DAY, "dns"], [T - 9 * DAY, "timeout"]], "dns", ""),
        *(([[T - 90 * DAY, outcome]] * 5, outcome, "") for outcome in (
            "refused", "server-error", "timeout", "truncated", "too-big", "robots", "login",
            "bot-challenge")),
    ],
)  # fmt: skip
def test_a_loss_is_what_the_table_says(missed, outcome, why):
    there = obi(noted=T - 99 * DAY, missed=missed)
    assert why_lost(there, outcome, T) == why
    assert why_lost(obi(missed=missed), outcome, T) == "", "what was never got cannot be lost"
    assert why_lost(obi(noted=1, lost=2, missed=missed), outcome, T) == "", "nor what is lost"


def test_what_is_gone_is_gone_for_all_that_led_there():
    way = [f"{H}/1", f"{H}/2", f"{H}/3"]
    obis = {uri: obi(uri, noted=T - 9) for uri in way[:2]} | {way[2]: obi(way[2])}
    lines = list(lines_of_miss(answer(*way, miss="gone"), obis, T))
    assert [(one["e"], one["id"], one["why"]) for one in lines] == [
        ("deletion", way[0], "410"), ("deletion", way[1], "410"),
    ]  # fmt: skip


def test_a_miss_is_of_what_was_asked_for_alone():
    way = [f"{H}/1", f"{H}/2"]
    obis = {uri: obi(uri, noted=T - 99 * DAY, missed=[[T - 9 * DAY, "timeout"]]) for uri in way}
    [one] = lines_of_miss(answer(*way, miss="not-found", error="HTTP status 404"), obis, T)
    assert (one["e"], one["id"], one["outcome"], one["error"]) == (
        "miss", way[0], "not-found", "HTTP status 404",
    )  # fmt: skip


# When to ask again ----------------------------------------------------------------------------


def test_visits_double_and_changes_halve_the_interval_within_bounds():
    rule, days = RefreshRule(), [30]
    one = obi(interval=rule.of_new())
    for _ in range(5):
        one.interval = rule.of_same(one)
        days.append(one.interval // DAY)
    assert days == [30, 60, 120, 240, 365, 365]
    for _ in range(4):
        one.interval = rule.of_changed(one)
        days.append(one.interval // DAY)
    assert days[6:] == [182, 91, 45, 30]


def test_what_changes_at_each_visit_is_asked_for_rarely():
    rule = RefreshRule()
    assert rule.of_changed(obi(interval=rule.least, churn=CHURNING - 2)) == rule.least
    assert rule.of_changed(obi(interval=rule.least, churn=CHURNING - 1)) == rule.most


@given(least=st.integers(0, 1000), more=st.integers(0, 1000), had=st.none() | st.integers(0, 5000))
def test_intervals_stay_within_their_bounds_whatever_they_were(least, more, had):
    rule = RefreshRule(least=least, most=least + more)
    for interval in (rule.of_same(obi(interval=had)), rule.of_changed(obi(interval=had))):
        assert least <= interval <= least + more


def test_misses_wait_ever_longer_and_what_is_lost_is_asked_for_twice():
    one, days = obi(), []
    for _ in range(6):
        wait = after_miss(one)
        assert wait is not None
        days.append(wait // DAY)
        one.missed.append([T, "timeout"])
    assert days == [1, 7, 30, 90, 365, 365]
    gone = obi(noted=T - 99, lost=T, missed=[[T - 5, "not-found"]])
    assert after_miss(gone) == 365 * DAY
    gone.missed.append([T + 365 * DAY, "gone"])
    assert after_miss(gone) is None
