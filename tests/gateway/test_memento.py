"""Memento's arithmetic: dates, negotiation, links, TimeMaps."""

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.urls import memento
from lafka.urls.memento import LINK_FORMAT, PAGE, Memento, Original, TimeMapPage
from tests.gateway.linkformat import by_rel, links

START = datetime(2012, 11, 9, 17, 13, 50, tzinfo=UTC)
TIMES = st.datetimes(
    min_value=datetime(1601, 1, 1), max_value=datetime(9999, 12, 31), timezones=st.just(UTC)
)


def original(*times: datetime, uri: str = "http://x.example/a?b=1") -> Original:
    return Original(
        uri=uri,
        timegate=f"http://127.0.0.1:1/obi/{len(times)}",
        timemaps={
            LINK_FORMAT: "http://127.0.0.1:1/link",
            "application/json": "http://127.0.0.1:1/j",
        },
        mementos=[Memento(time=time, uri=f"http://127.0.0.1:1/m/{time:%s}") for time in times],
        facts={"lost": None},
    )


def days(count: int) -> list[datetime]:
    return [START + timedelta(days=day) for day in range(count)]


def page(of: Original, number: int = 1) -> TimeMapPage:
    count = memento.pages(len(of.mementos))
    return TimeMapPage(
        number=number, uris=[f"http://127.0.0.1:1/link/{n}" for n in range(1, count + 1)]
    )


@given(TIMES)
def test_dates_are_those_of_http(time: datetime) -> None:
    time = time.replace(microsecond=0)
    text = memento.http_date(time)
    assert text == format_datetime(time, usegmt=True)
    assert parsedate_to_datetime(text) == memento.read_http_date(text) == time


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2012-11-09",
        "Fri, 09 Nov 2012 17:13:50",
        "Fri, 09 Nov 2012 17:13:50 +0000",
        "Fri, 31 Feb 2012 17:13:50 GMT",
        "Fri, 09 Nov 2012 24:00:00 GMT",
        "Fri, 09 nov 2012 17:13:50 GMT",
        "Fri, 09 Nov 0000 17:13:50 GMT",
        "Friday, 09-Nov-12 17:13:50 GMT",
        "x" * 5000,
        "Fri, 09 Nov 2012 17:13:50 GMT, Fri, 09 Nov 2012 17:13:50 GMT",
    ],
)
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no date"):
        memento.read_http_date(text)


@given(st.text(max_size=60))
def test_whatever_is_said_is_a_date_or_refused(text: str) -> None:
    with suppress(ValueError):
        assert memento.read_http_date(text).tzinfo is UTC


def test_a_leap_second_and_the_wrong_day_of_the_week_are_read() -> None:
    assert memento.read_http_date("Mon, 31 Dec 2016 23:59:60 GMT").second == 59


def test_what_was_there_is_the_last_one_noted_before() -> None:
    there = original(*days(3)).mementos
    assert memento.as_of(there, None) is there[2]
    assert memento.as_of(there, datetime(1601, 1, 1, tzinfo=UTC)) is there[0]
    assert memento.as_of(there, datetime(9999, 12, 31, tzinfo=UTC)) is there[2]
    assert memento.as_of(there, START + timedelta(days=1)) is there[1]
    assert memento.as_of(there, START + timedelta(days=2, seconds=-1)) is there[1]


def test_the_nearest_one_is_the_older_of_two() -> None:
    there = original(*days(2)).mementos
    assert memento.nearest(there, START + timedelta(hours=12)) is there[0]
    assert memento.nearest(there, START + timedelta(hours=12, seconds=1)) is there[1]
    assert memento.nearest(there, START - timedelta(days=900)) is there[0]
    assert memento.nearest(there, None) is there[1]


@given(st.lists(TIMES, min_size=1, max_size=8, unique=True), TIMES)
def test_the_nearest_one_is_that_of_a_plain_search(times: list[datetime], time: datetime) -> None:
    there = original(*sorted(times)).mementos
    assert memento.nearest(there, time) is min(there, key=lambda one: abs(one.time - time))


def test_a_timegate_says_the_original_the_timemaps_and_both_ends() -> None:
    of = original(*days(3))
    found = by_rel(memento.gate_links(of))
    assert [one.target for one in found["original"]] == [of.uri]
    assert {one.attributes["type"] for one in found["timemap"]} == {LINK_FORMAT, "application/json"}
    assert found["first"][0].target == of.mementos[0].uri
    assert found["last"][0].attributes["datetime"] == memento.http_date(of.mementos[2].time)
    assert "timegate" not in found


@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_a_memento_says_its_neighbours_once_each(at: int) -> None:
    of = original(*days(4))
    text = memento.memento_links(of, of.mementos[at])
    found, targets = by_rel(text), [one.target for one in links(text)]
    assert len(targets) == len(set(targets))
    assert found["timegate"][0].target == of.timegate
    assert ("prev" in found) == (at > 0)
    assert ("next" in found) == (at < 3)
    if at:
        assert found["prev"][0].target == of.mementos[at - 1].uri
    own = next(one for one in found["memento"] if one.target == of.mementos[at].uri)
    assert own.attributes["datetime"] == memento.http_date(of.mementos[at].time)


def test_the_only_memento_is_first_and_last() -> None:
    of = original(START)
    (own,) = by_rel(memento.memento_links(of, of.mementos[0]))["memento"]
    assert own.rels == {"first", "last", "memento"}


def test_a_timemap_tells_all_oldest_first() -> None:
    of = original(*days(10))
    text = "".join(memento.link_format(of, page(of)))
    found = by_rel(text)
    assert len(text.splitlines()) == len(links(text)) == 13
    assert [one.target for one in found["memento"]] == [one.uri for one in of.mementos]
    assert found["self"][0].attributes["from"] == memento.http_date(of.mementos[0].time)
    assert found["self"][0].attributes["until"] == memento.http_date(of.mementos[9].time)
    assert found["timegate"][0].target == of.timegate
    assert "timemap" not in found


@pytest.mark.parametrize(("count", "expected"), [(1, 1), (PAGE, 1), (PAGE + 1, 2), (3 * PAGE, 3)])
def test_a_long_timemap_has_pages_that_lead_to_each_other(count: int, expected: int) -> None:
    of = original(*days(count))
    assert memento.pages(count) == expected
    told: list[str] = []
    for number in range(1, expected + 1):
        found = by_rel("".join(memento.link_format(of, page(of, number))))
        told += [one.target for one in found["memento"]]
        assert len(found["memento"]) <= PAGE
        near = {one.target.rpartition("/")[2] for one in found.get("timemap", [])}
        assert near == {str(n) for n in (number - 1, number + 1) if 0 < n <= expected}
    assert told == [one.uri for one in of.mementos]


def test_the_timemap_in_json_says_the_same() -> None:
    of = original(*days(PAGE + 1))
    values = json.loads(memento.timemap_json(of, page(of, 2)))
    assert values["original_uri"] == of.uri
    assert values["lost"] is None
    assert values["pages"] == {"prev": "http://127.0.0.1:1/link/1"}
    assert [one["uri"] for one in values["mementos"]["list"]] == [of.mementos[-1].uri]
    assert values["mementos"]["first"]["datetime"] == "2012-11-09T17:13:50Z"
    assert json.loads(memento.timemap_json(of, page(of)))["pages"] == {
        "next": "http://127.0.0.1:1/link/2"
    }


@given(st.text(max_size=40))
def test_no_uri_breaks_a_link(text: str) -> None:
    of = original(START, uri=f"RePEc:abc:wpaper:{text}")
    encoded = text.encode("utf-8", "replace")
    if encoded.decode() == text:
        assert len(links(memento.gate_links(of))) == 4
