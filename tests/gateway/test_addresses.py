"""What a path names; which bytes are asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.errors import BadArgument
from lafka.urls import addresses
from lafka.urls.addresses import Addresses, GatewayAddresses, GatewayRequest
from lafka.web import ranges

BASE = "http://127.0.0.1:8732"
HERE = Addresses(base=BASE)


@pytest.mark.parametrize(
    ("path", "query", "asked"),
    [
        ("/", "", GatewayRequest(place=GatewayAddresses.ABOUT)),
        ("/health", "", GatewayRequest(place=GatewayAddresses.HEALTH)),
        ("/list", "", GatewayRequest(place=GatewayAddresses.LIST)),
        ("/obi/RePEc%3Aabc", "", GatewayRequest(place=GatewayAddresses.TIMEGATE, id="RePEc:abc")),
        (
            "/obi/http://x/a%20b",
            "c=%64&d",
            GatewayRequest(place=GatewayAddresses.TIMEGATE, id="http://x/a%20b?c=%64&d"),
        ),
        (
            "/obi/http%3A%2F%2Fx%2Fa%2520b",
            "z",
            GatewayRequest(place=GatewayAddresses.TIMEGATE, id="http://x/a%20b", query="z"),
        ),
        (
            "/obi/1352481230/RePEc:abc",
            "",
            GatewayRequest(place=GatewayAddresses.MEMENTO, id="RePEc:abc", number=1352481230),
        ),
        (
            "/obi/1352481230/http://x/1352481230/",
            "",
            GatewayRequest(
                place=GatewayAddresses.MEMENTO, id="http://x/1352481230/", number=1352481230
            ),
        ),
        (
            "/timemap/link/2/http://x/",
            "",
            GatewayRequest(place=GatewayAddresses.LINKS, id="http://x/", number=2),
        ),
        (
            "/timemap/json/http%3A%2F%2Fx%2F",
            "",
            GatewayRequest(place=GatewayAddresses.JSON, id="http://x/"),
        ),
        (
            "/refipos/RePEc%3Aabc",
            "at=1352481230",
            GatewayRequest(place=GatewayAddresses.REFIPOS, id="RePEc:abc", query="at=1352481230"),
        ),
        # Escaped twice: another id, that nobody has.
        (
            "/obi/RePEc%253Aabc",
            "",
            GatewayRequest(place=GatewayAddresses.TIMEGATE, id="RePEc%3Aabc"),
        ),
        ("/obi/..", "", GatewayRequest(place=GatewayAddresses.TIMEGATE, id="..")),
        ("/obi/", "", None),
        ("/obi", "", None),
        ("/obi/1352481230/", "", None),
        ("//obi/x", "", None),
        ("http://x/obi/a:b", "", None),
        ("", "", None),
    ],
)
def test_what_a_path_names(path: str, query: str, asked: GatewayRequest | None) -> None:
    assert addresses.read(path, query) == asked


def test_an_id_that_is_no_text_is_refused() -> None:
    with pytest.raises(BadArgument, match="no text in UTF-8"):
        addresses.read("/obi/RePEc%3A%ff")


@given(st.text(min_size=1).filter(lambda text: text.encode("utf-8", "replace").decode() == text))
def test_addresses_are_read_back(name: str) -> None:
    for uri, place in (
        (HERE.timegate(name), GatewayAddresses.TIMEGATE),
        (HERE.memento(name, 1352481230), GatewayAddresses.MEMENTO),
        (HERE.timemap("link", name), GatewayAddresses.LINKS),
        (HERE.timemap("json", name, 7), GatewayAddresses.JSON),
    ):
        asked = addresses.read(uri.removeprefix(BASE))
        assert asked is not None
        assert (asked.place, asked.id) == (place, name)


@pytest.mark.parametrize(
    ("text", "status", "start", "end"),
    [
        ("bytes=0-0", 206, 0, 1),
        ("bytes=0-", 206, 0, 100),
        ("bytes=90-200", 206, 90, 100),
        ("bytes=-10", 206, 90, 100),
        ("bytes=-1000", 206, 0, 100),
        ("Bytes = 1-2", 206, 1, 3),
        ("bytes=100-", 416, 0, 0),
        ("bytes=-0", 416, 0, 0),
        ("bytes=999999999999999999-", 416, 0, 0),
        ("bytes=5-4", 200, 0, 100),
        ("bytes=-", 200, 0, 100),
        ("bytes=0-1,3-4", 200, 0, 100),
        ("bytes=a-b", 200, 0, 100),
        ("lines=0-1", 200, 0, 100),
        ("bytes=" + "9" * 5000 + "-", 200, 0, 100),
        ("", 200, 0, 100),
    ],
)
def test_which_bytes_are_sent(text: str, status: int, start: int, end: int) -> None:
    answer = ranges.answer({"range": text}, '"e"', 100)
    assert (answer.status, answer.start, answer.end) == (status, start, end)
    told = {206: f"bytes {start}-{end - 1}/100", 416: "bytes */100", 200: ""}
    assert answer.content_range == told[status]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"if-none-match": '"e"'}, 304),
        ({"if-none-match": 'W/"e", "f"'}, 304),
        ({"if-none-match": "*"}, 304),
        ({"if-none-match": '"ee"'}, 200),
        ({"if-none-match": '"e"', "range": "bytes=0-1"}, 304),
        ({"if-range": '"e"', "range": "bytes=0-1"}, 206),
        ({"if-range": 'W/"e"', "range": "bytes=0-1"}, 200),
        ({"if-range": "Fri, 09 Nov 2012 17:13:50 GMT", "range": "bytes=0-1"}, 200),
    ],
)
def test_what_the_client_has_is_asked_first(headers: dict[str, str], status: int) -> None:
    assert ranges.answer(headers, '"e"', 100).status == status


@given(st.text(max_size=30), st.integers(0, 300))
def test_no_range_leads_out_of_the_bytes(text: str, size: int) -> None:
    answer = ranges.answer({"range": f"bytes={text}"}, '"e"', size)
    assert 0 <= answer.start <= answer.end <= size
    assert answer.status in (200, 206, 416)
