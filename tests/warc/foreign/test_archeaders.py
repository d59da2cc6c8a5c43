from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.warc.errors import BadValue
from lafka.warc.foreign.archeaders import (
    ONE,
    TWO,
    ArcHeader,
    escaped,
    likely,
    names_in,
    parse,
    unescaped,
)

LINE = b"http://example.com/a 93.184.216.119 20140216050221 text/html 1591"


def values(line: bytes, names: tuple[str, ...] = ONE) -> tuple[str, ...]:
    return parse(line, names).values


def test_five_fields():
    header = parse(LINE)
    assert header.url == "http://example.com/a"
    assert header.address == "93.184.216.119"
    assert (header.date, header.media_type, header.length) == ("20140216050221", "text/html", 1591)
    assert header.line == LINE
    assert header.is_sure


def test_ten_fields():
    line = b"http://a/ 1.2.3.4 20140216050221 text/html 200 FAC069150613 - 12 a.arc 77"
    header = parse(line, TWO)
    assert header.value("Result-code") == "200"
    assert header.value("Location") == ""
    assert header.value("Filename") == "a.arc"
    assert header.length == 77
    assert header.is_sure


@pytest.mark.parametrize(
    ("line", "url", "media_type"),
    [
        (b"http://a/b c d 1.2.3.4 20140216050221 text/html 5", "http://a/b c d", "text/html"),
        (
            b"http://a/b 1.2.3.4 20140216050221 text/html; charset=utf-8 5",
            "http://a/b",
            "text/html; charset=utf-8",
        ),
        (
            b"http://a/b c 1.2.3.4 20140216050221 text/html; charset=utf-8 5",
            "http://a/b c",
            "text/html; charset=utf-8",
        ),
        (
            b"http://a/1.2.3.4 20010101000000 x 1.2.3.4 20140216050221 text/html 5",
            "http://a/1.2.3.4 20010101000000 x",
            "text/html",
        ),
        (b"http://a/b 1.2.3.4 20140216050221  5", "http://a/b", ""),
        (b"http://a/b c ? x text/html 5", "http://a/b c", "text/html"),
        ("http://a/ü 1.2.3.4 20140216050221 a/b 5".encode(), "http://a/ü", "a/b"),
        (b"http://a/\xfc\xfc 1.2.3.4 20140216050221 a/\xe9 5", "http://a/%FC%FC", "a/%E9"),
    ],
)
def test_urls_and_media_types_hold_spaces_and_bytes(line, url, media_type):
    header = parse(line)
    assert (header.url, header.media_type, header.length) == (url, media_type, 5)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"5",
        b"http://a/ 5",
        b"http://a/ 1.2.3.4 20140216050221 text/html",
        b"http://a/ 1.2.3.4 20140216050221 text/html -5",
        b"http://a/ 1.2.3.4 20140216050221 text/html 5x",
        b"http://a/ 1.2.3.4 20140216050221 text/html 1" + b"0" * 18,
        "http://a/ 1.2.3.4 20140216050221 text/html ٥".encode(),
        b"filedesc://horsy|\\\\hello a.b.c.d blue_monday gif\\\\image one",
        b" 1.2.3.4 20140216050221 text/html 5 6",
    ],
)
def test_what_is_no_header_is_refused(line):
    with pytest.raises(BadValue):
        parse(line)


@pytest.mark.parametrize(
    ("field", "address"),
    [("0.0.0.0", ""), ("-", ""), ("0", ""), ("::1", "::1"), ("1.2.3.4", "1.2.3.4"), ("x", "")],
)
def test_an_address_that_is_none_is_empty(field, address):
    assert parse(f"http://a/ {field} 20140216050221 a/b 5".encode()).address == address


def test_a_filedesc_without_anything_is_one():
    header = parse(b"filedesc:// - - - 76")
    assert header.is_filedesc
    assert header.is_sure
    assert (header.date, header.media_type, header.length) == ("", "", 76)


def test_headers_are_found_again_behind_garbage():
    data = b"\x00\xff junk\n 5\nhttp://a/ x y z 5\n" + LINE + b"\r\nbody\n" + LINE + b"\n"
    assert [data[place : place + 7] for place, _ in likely(data)] == [b"http://"] * 2
    assert [header.line for _, header in likely(data)] == [LINE, LINE]
    assert not list(likely(b" " + LINE + b"\n"))


def test_a_long_line_costs_its_length():
    assert not list(likely(b"a:" + b" 1" * 500_000 + b"\n"))
    assert not list(likely(b"a:" + b" " * 1_000_000))


def test_names_come_from_the_first_block():
    assert names_in(b"1 0 X\nURL IP-address Archive-date Content-type Archive-length\n") == ONE
    assert names_in(b"2 0 X\n" + " ".join(TWO).encode() + b"\r\n") == TWO
    assert names_in(b"") == names_in(b"1 0 X\nURL a b\n") == ONE
    assert names_in(b"1 0 X\nURL IP-address Archive-date Type Archive-length\n") == ONE


@given(st.binary())
def test_escapes_go_back(line):
    text = escaped(line)
    assert text.isprintable()
    assert unescaped(text) == line


@given(st.binary(max_size=200))
def test_nothing_but_bad_value(line):
    try:
        header = parse(line)
    except BadValue:
        return
    assert isinstance(header, ArcHeader)
    assert header.line == line
    assert len(header.values) == len(header.names)
