import gzip
import zlib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.warc.errors import BadHttp
from lafka.warc.format import http
from lafka.warc.format.http import Dechunker
from lafka.warc.format.sources import MemorySource


def head_of(block: bytes) -> http.Head:
    return http.head(MemorySource(block))


def entity_of(block: bytes) -> bytes:
    source = MemorySource(block)
    return b"".join(http.entity(source, http.head(source)))


def split(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    for size in sizes:
        yield data[:size]
        data = data[size:]
    yield data


SPLITS = st.lists(st.integers(0, 40), max_size=12)

# Heads -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "status", "end"),
    [
        (b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody", 200, 25),
        (b"HTTP/1.1 200 OK\nA: b\n\nbody", 200, 22),
        (b"HTTP/1.1 200 OK\r\n\r\nbody", 200, 19),
        (b"HTTP/1.0 404 \r\n\r\n", 404, 17),
        (b"HTTP/1.1 200\r\n\r\n", 200, 16),
        (b"HTTP/1.1  200  OK\r\n\r\n", 200, 21),
        (b"HTTP/2 200\r\n\r\n", 200, 14),
        (b"http/1.1 200 ok\r\n\r\n", 200, 19),
        (b"ICY 200 OK\r\n\r\n", 200, 14),
        (b"HTTP/1.1 999 No\r\n\r\n", 999, 19),
        (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\nbody", 200, 56),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 P\r\n\r\nHTTP/1.1 204 N\r\n\r\n", 204, 61),
        (b"HTTP/1.1 101 Switching\r\n\r\n\x00\x01", 101, 26),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n" + b"X: y\r\n" * 9000 + b"\r\nbody", 200, 54_025),
    ],
)
def test_heads(block: bytes, status: int, end: int) -> None:
    head = head_of(block)
    assert (head.status, head.end) == (status, end)


def test_fields_of_the_final_answer_only() -> None:
    head = head_of(
        b"HTTP/1.1 103 Early\r\nContent-Length: 9\r\n\r\n"
        b"HTTP/1.1 200 Fine\r\nA: \xe9\r\nb: 1\r\n 2\r\nno colon\r\na: 3\r\n\r\n"
    )
    assert head.reason == "Fine"
    assert head.fields.all("A") == ["é", "3"]
    assert head.fields.sole("B") == "1 2"
    assert head.content_length is None


@pytest.mark.parametrize(
    "block",
    [
        b"",
        b"HTTP/1.1 200 OK",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nA: b\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n%PDF-1.4\n\n",
        b"%PDF-1.4\n\n",
        b"<html>\n\n</html>",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200_000 + b"\r\n",
    ],
)
def test_what_is_no_head(block: bytes) -> None:
    with pytest.raises(BadHttp):
        head_of(block)


@given(st.binary(max_size=300), st.sampled_from([b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 "]))
def test_a_head_is_found_or_is_bad(data: bytes, lead: bytes) -> None:
    try:
        head = head_of(lead + data)
    except BadHttp:
        return
    assert 0 < head.end <= len(lead + data)
    assert isinstance(head.literal, bool)
    assert head.content_length is None or head.content_length >= 0


@pytest.mark.parametrize(
    ("fields", "length"),
    [
        (b"Content-Length: 5\r\n", 5),
        (b"Content-Length: 5\r\nContent-Length: 5\r\n", 5),
        (b"Content-Length: 5, 5\r\n", 5),
        (b"Content-Length: 5\r\nContent-Length: 6\r\n", None),
        (b"Content-Length: -5\r\n", None),
        (b"Content-Length: +5\r\n", None),
        (b"Content-Length: 5 bytes\r\n", None),
        (b"Content-Length: " + b"9" * 5000 + b"\r\n", None),
        (b"Content-Length: \xb2\r\n", None),
        (b"Content-Length:\r\n", None),
        (b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", None),
    ],
)
def test_content_length_is_one_number_or_none(fields: bytes, length: int | None) -> None:
    assert head_of(b"HTTP/1.1 200 OK\r\n" + fields + b"\r\n").content_length == length


@pytest.mark.parametrize("status", [b"204", b"304"])
def test_an_answer_without_a_body_has_no_framing(status: bytes) -> None:
    framing = b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    block = b"HTTP/1.1 " + status + b" X\r\n" + framing
    assert entity_of(block) == b""
    assert not head_of(block).chunked


# Chunks ------------------------------------------------------------------------------------


@st.composite
def chunked(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A body, and the same as a server may chunk it."""
    newline = draw(st.sampled_from([b"\r\n", b"\n"]))
    pieces = draw(st.lists(st.binary(min_size=1, max_size=40), max_size=6))
    wire = b""
    for piece in pieces:
        size = draw(st.sampled_from(["%x", "%X", "00%x", "%x ", " %x"])) % len(piece)
        extension = draw(st.sampled_from([b"", b";a=b", b'; q="x"', b";"]))
        wire += size.encode() + extension + newline + piece + newline
    trailers = draw(st.lists(st.sampled_from([b"X-Digest: abc", b"Expires: 0"]), max_size=3))
    wire += b"0" + newline + b"".join(line + newline for line in trailers) + newline
    return b"".join(pieces), wire


@given(chunked(), SPLITS, st.binary(max_size=20))
def test_dechunking_undoes_chunking(
    body: tuple[bytes, bytes], sizes: list[int], behind: bytes
) -> None:
    entity, wire = body
    dechunker = Dechunker()
    out = b"".join(b"".join(dechunker.feed(piece)) for piece in split(wire + behind, sizes))
    assert out == entity
    assert dechunker.done


@given(chunked(), st.data())
def test_a_chunked_body_that_ends_early_is_told(
    body: tuple[bytes, bytes], data: st.DataObject
) -> None:
    entity, wire = body
    cut = data.draw(st.integers(0, len(wire) - 1))
    dechunker = Dechunker()
    out = b"".join(dechunker.feed(wire[:cut]))
    assert entity.startswith(out)
    assert not dechunker.done


@given(st.binary(max_size=80), SPLITS)
def test_dechunking_anything_gives_bytes_or_is_bad(data: bytes, sizes: list[int]) -> None:
    dechunker = Dechunker()
    try:
        for piece in split(data, sizes):
            b"".join(dechunker.feed(piece))
    except BadHttp:
        return


@pytest.mark.parametrize(
    ("wire", "got"),
    [
        (b"5\r\nhello\r\nzz\r\n", b"hello"),
        (b"5\r\nhelloworld\r\n0\r\n\r\n", b"hello"),
        (b"-5\r\nhello", b""),
        (b"0x5\r\nhello", b""),
        (b"\r\nhello", b""),
        (b"11111111111111111\r\nhello", b""),
        (b"a" * (1 << 20) + b"a", b""),
    ],
)
def test_broken_chunks_give_what_came_before(wire: bytes, got: bytes) -> None:
    out: list[bytes] = []
    with pytest.raises(BadHttp):
        out.extend(Dechunker().feed(wire))
    assert b"".join(out) == got


def test_very_small_chunks_cost_no_more_than_their_size() -> None:
    wire = b"1\r\na\r\n" * 300_000 + b"0\r\n\r\n"
    assert b"".join(Dechunker().feed(wire)) == b"a" * 300_000


def test_transfer_codings_are_undone() -> None:
    body = gzip.compress(b"hello" * 50)
    wire = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    block = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n" + wire
    assert entity_of(block) == b"hello" * 50
    assert not head_of(block).literal


def test_codings_come_from_every_field_in_order() -> None:
    block = (
        b"HTTP/1.1 200 OK\r\nContent-Encoding: Deflate, identity\r\ncontent-encoding: GZIP\r\n\r\n"
    )
    assert head_of(block).content_codings == ("deflate", "gzip")
    assert entity_of(block + gzip.compress(zlib.compress(b"x"))) == b"x"


# Payloads ----------------------------------------------------------------------------------


def test_what_stands_behind_the_length_is_no_payload() -> None:
    assert entity_of(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc") == b"ab"
    assert entity_of(b"HTTP/1.1 200 OK\r\n\r\nabc") == b"abc"
    assert entity_of(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nabc") == b""


def test_what_stands_behind_the_length_is_given_on_request() -> None:
    for block, got in (
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc", b"abc"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", b"abc"),
        (b"HTTP/1.1 200 OK\r\n\r\nabc", b"abc"),
    ):
        source = MemorySource(block)
        assert b"".join(http.entity(source, http.head(source), to_end=True)) == got
    source = MemorySource(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc")
    with pytest.raises(BadHttp, match="early"):
        list(http.payload(source, http.head(source), to_end=True))


@pytest.mark.parametrize(
    "block",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n",
    ],
)
def test_a_payload_that_ends_early_is_told(block: bytes) -> None:
    with pytest.raises(BadHttp, match="early"):
        entity_of(block)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_trailers_are_read(count: int) -> None:
    lead = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n"
    block = MemorySource(lead + b"A: \xe9\r\n" * count + b"\r\n")
    assert list(http.trailers(block, http.head(block))) == [("A", "é")] * count


def test_trailers_are_bounded_and_none_without_chunks() -> None:
    dechunker = Dechunker()
    with pytest.raises(BadHttp, match="trailers"):
        list(dechunker.feed(b"0\r\n" + b"A: b\r\n" * 200_000))
    block = MemorySource(b"HTTP/1.1 200 OK\r\n\r\nbody")
    assert not http.trailers(block, http.head(block))


# Requests ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "method", "target", "version"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET", "/", "HTTP/1.1"),
        (b"GET /a b?c=d HTTP/1.0\r\n\r\n", "GET", "/a b?c=d", "HTTP/1.0"),
        (b"OPTIONS * HTTP/1.1\n\n", "OPTIONS", "*", "HTTP/1.1"),
        (b"get http://x.example/\r\n\r\n", "get", "http://x.example/", ""),
        (b"CONNECT x:443 HTTP/1.1\r\n\r\n", "CONNECT", "x:443", "HTTP/1.1"),
        (b"GET  /  HTTP/1.1\r\n\r\n", "GET", "/", "HTTP/1.1"),
        (b"GET /" + b" " * 900_000 + b"b\r\n\r\n", "GET", "/" + " " * 900_000 + "b", ""),
    ],
)
def test_request_heads(block: bytes, method: str, target: str, version: str) -> None:
    for read in (http.request_head, http.message_head):
        head = read(MemorySource(block))
        assert (head.method, head.target, head.version) == (method, target, version)
        assert head.status == 0


@pytest.mark.parametrize("block", [b"GET /", b"\r\n\r\n", b"GET\r\n\r\n", b"{} /\r\n\r\n"])
def test_what_is_no_request_head(block: bytes) -> None:
    with pytest.raises(BadHttp):
        http.request_head(MemorySource(block))


@pytest.mark.parametrize(
    ("request_", "body"),
    [
        (b"GET / HTTP/1.1\r\n\r\n\r\n", b""),
        (b"HEAD / HTTP/1.1\r\n\r\n\n", b""),
        (b"GET / HTTP/1.1\r\nContent-Length: 1\r\n\r\nab", b"a"),
        (b"POST / HTTP/1.1\r\n\r\na=b", b"a=b"),
        (b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", b"a"),
    ],
)
def test_bodies_of_requests(request_: bytes, body: bytes) -> None:
    source = MemorySource(request_)
    assert b"".join(http.payload(source, http.request_head(source))) == body


def test_the_first_bytes_tell_answers_from_requests() -> None:
    assert http.message_head(MemorySource(b"HTTP/1.1 200 OK\r\n\r\n")).status == 200
    source = MemorySource(b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\na=b!")
    assert b"".join(http.payload(source, http.message_head(source))) == b"a=b"


def test_a_head_keeps_its_bytes() -> None:
    head = head_of(b"HTTP/1.1 200 OK\r\nA:b\r\n c\r\n\r\nbody")
    assert head.fields.raw == b"A:b\r\n c\r\n"
    assert head.version == "HTTP/1.1"


@given(st.binary(max_size=120))
def test_any_bytes_are_a_message_or_bad(data: bytes) -> None:
    for read in (http.head, http.request_head, http.message_head):
        source = MemorySource(data + b"\r\n\r\n")
        try:
            list(http.entity(source, read(source)))
        except BadHttp:
            continue
