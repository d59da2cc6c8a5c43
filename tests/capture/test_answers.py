"""An answer is read the same however its bytes are cut, and never further than its end."""

from __future__ import annotations

import http.client
import io
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lafka.capture.client.answers import (
    SIZE_LINE_MAX,
    TRAILERS_MAX,
    AnswerHead,
    AnswerReader,
)

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def read(parts: list[bytes], method: str = "GET") -> tuple[AnswerReader, bytes, int]:
    """A reader that was fed *parts*, the body that it gave, and how many bytes were left over."""
    reader, body, rest = AnswerReader(method), b"", 0
    for part in parts:
        body += b"".join(reader.feed(part))
        rest += reader.rest
    return reader, body, rest


def whole(data: bytes, method: str = "GET") -> tuple[AnswerReader, bytes, int]:
    return read([data], method)


def said(data: bytes, method: str = "GET") -> AnswerHead:
    head = whole(data, method)[0].head
    assert head is not None
    return head


def told(parts: list[bytes], method: str) -> tuple[Any, ...]:
    reader, body, rest = read(parts, method)
    return reader.head, body, reader.ended, reader.until_close, rest, reader.fault


bodies = st.binary(max_size=300)
lines = st.sampled_from(
    [
        b"Content-Type: text/html", b"X: a", b" folded", b"\tfolded too", b"no colon", b"Odd : 1",
        b"content-LENGTH: 5", b"Content-Length: 5, 5", b"Content-Length: 7", b"Content-Length: -1",
        b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity", b"transfer-encoding: gzip",
        b"Connection: close", b"Connection: Keep-Alive, x", b"X-\xe9: \xff", b"X: a\rb", b": x",
    ]
)  # fmt: skip
statuses = st.sampled_from(
    [
        b"HTTP/1.1 200 OK", b"HTTP/1.0 200", b"HTTP/1.1 204 x", b"HTTP/1.1 304 ", b"ICY 200 OK",
        b"HTTP/1.1 100 Continue", b"HTTP/1.1 103 Early Hints", b"HTTP/2.0 200 OK", b"HTTP/1.1",
        b"HTTP/1.1 abc No", b"", b"HTTP/1.1  200 OK",
    ]
)  # fmt: skip
ends = st.sampled_from([b"\r\n", b"\n"])


@st.composite
def heads(draw: Any) -> bytes:
    end = draw(ends)
    return b"".join(
        line + end for line in [draw(statuses), *draw(st.lists(lines, max_size=5)), b""]
    )


chunk_lines = st.sampled_from(
    [b"0\r\n", b"5\r\nhello\r\n", b"5;a=b\r\nhello\r\n", b"00a\r\n0123456789\r\n", b"X: y\r\n",
     b"\r\n", b"\n", b"zz\r\n", b"5 \r\n", b"5;\x01\r\n", b"5\r\nhello!", b"-1\r\n"]
)  # fmt: skip
answers = st.builds(
    lambda *parts: b"".join(map(b"".join, parts)),
    st.lists(heads(), min_size=1, max_size=3),
    st.lists(chunk_lines | bodies, max_size=6),
)


@st.composite
def cut(draw: Any, data: bytes) -> list[bytes]:
    """*data* in parts, some of which may be empty."""
    places = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


@given(data=answers, method=st.sampled_from(["GET", "HEAD"]), draw=st.data())
@example(CHUNKED + b"0\r\nX: y\r\n\r\nrest", "GET", None)
def test_no_cut_changes_what_is_read(data: bytes, method: str, draw: Any) -> None:
    at_once = told([data], method)
    assert told([data[i : i + 1] for i in range(len(data))], method) == at_once
    if draw is not None:
        assert told(draw.draw(cut(data)), method) == at_once


@st.composite
def codings(draw: Any, body: bytes) -> bytes:
    """*body* in chunks of any size, with extensions and trailers."""
    coded, rest = b"", body
    while rest:
        size = draw(st.integers(1, len(rest)))
        zeros = b"0" * draw(st.integers(0, 3))
        extension = draw(st.sampled_from([b"", b";", b";a", b';a="b c";d=e']))
        digits = draw(st.sampled_from([b"%x", b"%X"])) % size
        coded += zeros + digits + extension + b"\r\n" + rest[:size] + b"\r\n"
        rest = rest[size:]
    trailers = draw(st.lists(st.sampled_from([b"A: b\r\n", b"Checksum: \xff\r\n"]), max_size=3))
    return coded + b"0\r\n" + b"".join(trailers) + b"\r\n"


@given(body=bodies, rest=st.binary(max_size=20), draw=st.data())
def test_chunks_are_undone_and_end_where_they_end(body: bytes, rest: bytes, draw: Any) -> None:
    data = CHUNKED + draw.draw(codings(body)) + rest
    reader, found, left = read(draw.draw(cut(data)))
    assert (found, reader.ended, left, reader.fault) == (body, True, len(rest), "")
    answer = http.client.HTTPResponse(Socket(data))  # the standard library's word for it
    answer.begin()
    assert answer.read() == body


class Socket:
    """As much of a socket as http.client reads from."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self.data)


@given(body=bodies, rest=st.binary(max_size=20), draw=st.data())
def test_a_length_is_kept_to(body: bytes, rest: bytes, draw: Any) -> None:
    head = OK + b"Content-Length: %d\r\n\r\n" % len(body)
    reader, found, left = read(draw.draw(cut(head + body + rest)))
    assert (found, reader.ended, left, reader.fault) == (body, True, len(rest), "")


@given(body=bodies, draw=st.data())
def test_without_a_length_the_close_is_the_end(body: bytes, draw: Any) -> None:
    reader, found, left = read(draw.draw(cut(OK + b"\r\n" + body)))
    assert (found, reader.ended, reader.until_close, left) == (body, False, True, 0)


@given(data=st.binary(max_size=400), method=st.sampled_from(["GET", "HEAD"]))
def test_no_bytes_raise(data: bytes, method: str) -> None:
    reader, body, rest = whole(data, method)
    assert len(body) + rest <= len(data)
    assert reader.head is None or not reader.fault or reader.head.length is None


def test_the_place_where_the_body_begins_is_told() -> None:
    reader = AnswerReader("GET")
    reader.feed(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Le")
    assert reader.head is None
    assert list(reader.feed(b"ngth: 3\r\n\r\nabc")) == [b"abc"]
    assert reader.begin == len(b"ngth: 3\r\n\r\n")


def test_what_is_not_cut_is_not_copied() -> None:
    reader = AnswerReader("GET")
    reader.feed(OK + b"\r\n")
    data = bytes(70_000)
    assert reader.feed(data)[0] is data


@pytest.mark.parametrize(
    ("data", "method", "length"),
    [
        (OK + b"Content-Length: 9\r\n\r\n", "GET", 9),
        (OK + b"Content-Length: 9\r\n\r\n", "HEAD", 0),
        (OK + b"Content-Length: 007, 7\r\nContent-Length: 7\r\n\r\n", "GET", 7),
        (OK + b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n", "GET", None),
        (OK + b"Content-Length: 9\r\nTransfer-Encoding: Identity\r\n\r\n", "GET", 9),
        (OK + b"Transfer-Encoding : chunked\r\nTransfer-Encoding: x\r\n\r\n", "GET", None),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n", "GET", 0),
        (b"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", "GET", 0),
        (OK + b"\r\n", "GET", None),
    ],
)
def test_how_long_a_body_is(data: bytes, method: str, length: int | None) -> None:
    assert said(data, method).length == length


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n" + OK + b"\r\n",
        b"SSH-2.0-x\r\n",
        b"220 mail.example ESMTP\r\n",
        b"HTTP/1.1 2x0 OK\r\n",
        b"HTTP/1.-1 200 OK\r\n",
        b"HTTP/1.1 103 Hints\r\n\r\nno status line\r\n",
        OK + b"Content-Length: +5\r\n\r\n",
        OK + b"Content-Length:\r\n\r\n",
        OK + b"Content-Length: " + b"9" * 10_000 + b"\r\n\r\n",
        OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
        OK + b"Transfer-Encoding: gzip\r\n\r\n",
        OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
    ],
)
def test_what_is_no_answer_has_no_head(data: bytes) -> None:
    reader, body, _ = whole(data)
    assert reader.fault
    assert (reader.head, body) == (None, b"")


@pytest.mark.parametrize(
    "coded",
    [
        b"5 \r\nhello\r\n", b"0x5\r\n", b"+5\r\n", b"1_0\r\n", b"\r\n",
        b"5\r\nhello!\r\n", b"5;\\\r\n", b"5;\0\r\n", b"5;" + b"x" * SIZE_LINE_MAX,
        b"0\r\n" + b"X: " + b"y" * TRAILERS_MAX, b"0\r\n" + b"X: y\r\n" * (TRAILERS_MAX // 5),
    ],
)  # fmt: skip
def test_broken_chunks_end_the_reading_behind_a_head(coded: bytes) -> None:
    reader, body, rest = whole(CHUNKED + b"3\r\nabc\r\n" + coded)
    assert reader.fault
    assert not reader.ended
    assert (reader.head is not None, body.startswith(b"abc"), rest) == (True, True, 0)
    assert reader.feed(b"0\r\n\r\n") == ()


@pytest.mark.parametrize("behind", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("more", [0, 1])
def test_trailers_have_one_bound_however_they_are_cut(more: int, behind: int) -> None:
    data = CHUNKED + b"0\r\nX: " + b"y" * (TRAILERS_MAX - 5 + more) + b"\r\n\r\n"
    cut = len(data) - behind
    reader, _, _ = read([data[:cut], data[cut:]])
    assert (bool(reader.fault), reader.ended) == (bool(more), not more)


def test_fields_are_unfolded_and_what_is_none_is_passed_over() -> None:
    data = OK + (
        b" before any\r\nX-Long: one\r\n two\r\n\tthree \r\nno colon\r\nOdd : 1\r\nBad Name: 2\r\n"
        b": none\r\nX-Cr: a\rb\nX-Empty:\r\nConnection: close\r\n\r\n"
    )
    assert said(data).fields == (
        (b"X-Long", b"one two\tthree"),
        (b"Odd", b"1"),
        (b"X-Cr", b"a b"),
        (b"X-Empty", b""),
    )


def test_the_length_of_what_head_asks_about_is_one_of_its_fields() -> None:
    data = OK + b"Content-Length: 9\r\nKeep-Alive: 5\r\n\r\n"
    assert said(data, "HEAD").fields == ((b"Content-Length", b"9"),)
    assert said(data).fields == ()


@pytest.mark.parametrize(
    ("version", "connection", "keeps"),
    [
        (b"1.1", b"", True),
        (b"1.1", b"Connection: close\r\n", False),
        (b"1.1", b"Connection: x, Close\r\n", False),
        (b"1.1", b"Connection: closed\r\n", True),
        (b"1.0", b"", False),
        (b"1.0", b"Connection: Keep-Alive\r\n", True),
        (b"1.0", b"Connection: keep-alive\r\nConnection: close\r\n", False),
    ],
)
def test_whether_a_connection_is_kept(version: bytes, connection: bytes, keeps: bool) -> None:
    head = said(b"HTTP/" + version + b" 200 OK\r\n" + connection + b"\r\n")
    assert (head.keeps, head.protocol) == (keeps, f"HTTP/{version.decode()}")
