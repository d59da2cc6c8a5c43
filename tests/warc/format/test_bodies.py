"""Payloads are as lenient as records: the bytes that can be had, what was wrong beside them."""

import gzip
import zlib
from pathlib import Path

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.warc.errors import BadHttp
from lafka.warc.format.records import Record
from lafka.warc.problems import Problem
from lafka.warc.reading.volumes import Volume
from lafka.warc.writing.builders import Builder

URL = "http://x.example/"
TEXT = b"<!DOCTYPE html><p>Hello, hello, hello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n%s\r\n"


def had(block: bytes, *, decoded: bool = False) -> tuple[bytes, list[str]]:
    """The payload, and the codes of what is wrong with it."""
    problems: list[Problem] = []
    record = Record.response(URL, block, algorithm="")
    payload = b"".join(record.payload(decoded=decoded, problems=problems))
    return payload, [problem.code for problem in problems]


@pytest.mark.parametrize(
    "body",
    [TEXT, b"", b"\r\n", b"2024\n1\n2\n", b"5\nhello, world", b"cafe\r\n" + b"x" * 0xCAFE + b"yy",
     b"zz\r\n0\r\n\r\n", b"%PDF-1.5\n"],
)  # fmt: skip
def test_a_body_that_is_chunked_no_more_is_given_as_it_stands(body: bytes) -> None:
    assert had(CHUNKED % b"" + body) == (body, ["undone-coding"])
    with pytest.raises(BadHttp):
        list(Record.response(URL, CHUNKED % b"" + body).payload(strict=True))


@pytest.mark.parametrize(
    "body", [b"5\r\nhello\r\n0\r\n\r\n", b"5;x=y\r\nhello\r\n0\r\n\r\n", b"0\r\n\r\n"]
)
def test_a_body_that_is_chunked_is_so(body: bytes) -> None:
    assert had(CHUNKED % b"" + body) == (b"hello" if b"hello" in body else b"", [])


@pytest.mark.parametrize(
    ("body", "payload"),
    [
        (b"5\r\nhello\r\n", b"hello"),
        (b"5\r\nhello\r\n5\r\nwor", b"hellowor"),
        (b"ff\r\nhello", b"hello"),
        (b"5\r\nhello\r\nzz\r\nworld", b"hello"),
        (b"5\r\nhello\r\n3\r\nworld\r\n", b"hellowor"),
    ],
)
def test_of_a_body_that_breaks_what_stands_before_is_given(body: bytes, payload: bytes) -> None:
    assert had(CHUNKED % b"" + body) == (payload, ["bad-payload"])


def test_a_body_that_is_shorter_than_it_says_is_given() -> None:
    block = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + TEXT
    assert had(block) == had(block, decoded=True) == (TEXT, ["bad-payload"])
    problems: list[Problem] = []
    list(Record.response(URL, block).payload(problems=problems))
    assert problems[0].sentence.endswith(f"the body ends {100 - len(TEXT)} bytes early")


@pytest.mark.parametrize("coding", [b"gzip", b"br", b"deflate", b"zstd", b"gzip, br"])
def test_a_content_coding_that_was_undone_is_told(coding: bytes) -> None:
    block = b"HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\n\r\n" % coding + TEXT
    count = coding.count(b",") + 1
    assert had(block, decoded=True) == (TEXT, ["undone-coding"] * count)
    assert had(block) == (TEXT, [])


@given(st.binary(min_size=1, max_size=5000))
def test_both_codings_may_be_undone(body: bytes) -> None:
    block = CHUNKED % b"Content-Encoding: gzip\r\n"
    assert had(block + b"<" + body, decoded=True)[0] == b"<" + body


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, brotli.compress])
@pytest.mark.parametrize("cut", [1, 60])
def test_a_coded_body_that_is_cut_gives_what_it_can(pack, cut: int) -> None:
    name = {gzip.compress: b"gzip", zlib.compress: b"deflate"}.get(pack, b"br")
    text = b" ".join(b"%d" % (number * 7919 % 10007) for number in range(40_000))
    block = b"HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\n\r\n" % name + pack(text)[:-cut]
    got, codes = had(block, decoded=True)
    assert codes == ["bad-payload"]
    assert text.startswith(got)
    assert len(got) > 40_000


def test_what_is_wrong_says_where_the_record_lies(tmp_path: Path) -> None:
    path = tmp_path / "a.warc"
    with Builder(path) as builder:
        builder.append(Record.response(URL, CHUNKED % b"" + TEXT))
        builder.append(Record.response(URL, CHUNKED % b"" + TEXT))
    last = list(Volume(path))[-1]
    problems: list[Problem] = []
    assert b"".join(last.payload(problems=problems)) == TEXT
    assert [(p.path, p.offset, p.code) for p in problems] == [(path, last.offset, "undone-coding")]
    start, length = last.payload_place
    assert path.read_bytes()[start : start + length] == TEXT


@pytest.mark.parametrize(
    "head", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", b"HTTP/1.1"]
)
def test_a_revisit_has_no_payload_and_no_error(head: bytes) -> None:
    first = Record.response(URL, b"HTTP/1.1 200 OK\r\n\r\nhello", id="<urn:x:1>")
    revisit = Record.revisit_identical(URL, first, head, payload_digest="sha1:" + "A" * 32)
    problems: list[Problem] = []
    for decoded in (True, False):
        for strict in (True, False):
            assert not list(revisit.payload(decoded=decoded, strict=strict, problems=problems))
    assert not problems
