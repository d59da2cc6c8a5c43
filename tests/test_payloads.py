import gzip
import hashlib
import os
import re
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path

import brotli
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lafka.capture.exchanges import decoded_opening, kind_of_opening
from lafka.errors import BadHttp
from lafka.payloads import (
    END_WITHIN,
    Kind,
    Payload,
    decoded_max,
    has_end,
    identified_type,
    inspect,
    kind_of,
    pdf_start,
)
from lafka.warc.format import compression, http
from lafka.warc.format.sources import FileSource, MemorySource

PDF = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n"
PAGE = b"<!DOCTYPE html><html><head><title>x</title></head><body>y</body></html>"
OK = b"HTTP/1.1 200 OK\r\n"

CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "deflate": zlib.compress,
    "br": partial(brotli.compress, quality=5),
    "zstd": compression.zstd.compress,
    "gzip, br": lambda data: brotli.compress(gzip.compress(data, mtime=0)),
}


def sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def look(block: bytes, max_entity: int = 0) -> Payload:
    return inspect(MemorySource(block), max_entity=max_entity)


def sized(body: bytes, fields: bytes = b"", length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return OK + fields + b"Content-Length: %d\r\n\r\n" % size + body


def in_chunks(body: bytes, size: int = 7, extension: bytes = b"", trailer: bytes = b"") -> bytes:
    pieces = [body[i : i + size] for i in range(0, len(body), size)]
    wire = b"".join(b"%x%s\r\n%s\r\n" % (len(p), extension, p) for p in pieces)
    return OK + b"Transfer-Encoding: chunked\r\n\r\n" + wire + b"0\r\n" + trailer + b"\r\n"


def cut_out(block: bytes, payload: Payload) -> bytes:
    """The fut, from the block where it is literal, else from the entity."""
    if payload.literal:
        start = payload.body + payload.start
        return block[start : start + payload.length]
    source = MemorySource(block)
    entity = b"".join(http.entity(source, http.head(source)))
    return entity[payload.start : payload.start + payload.length]


# Kinds -------------------------------------------------------------------------------------

PHP = (
    b"<br />\n<b>Warning</b>:  session_start() in <b>/var/www/get.php</b> on line <b>3</b><br />\n"
)


@pytest.mark.parametrize(
    ("prefix", "content_type", "kind"),
    [
        (PDF, "", Kind.PDF),
        (PDF, "text/html", Kind.PDF),
        (PDF, "application/octet-stream", Kind.PDF),
        (b"%PDF-", "", Kind.PDF),
        (b"\xef\xbb\xbf" + PDF, "text/html", Kind.PDF),
        (b"\r\n\r\n \n" + PDF, "", Kind.PDF),
        (PHP + PDF, "text/html", Kind.PDF),
        (b"<p>junk</p>" + PDF, "", Kind.PDF),
        (b"<!-- cached -->\n" + PDF, "", Kind.PDF),
        (b"\0" * 128 + PDF, "", Kind.PDF),
        (b"x" * 1019 + b"%PDF-1.4", "", Kind.PDF),
        (b"x" * 1020 + b"%PDF-1.4", "", Kind.OTHER),
        (b"x" * 5000 + PDF, "application/pdf", Kind.OTHER),
        (b"%PDF1.4", "application/pdf", Kind.OTHER),
        (b"%pdf-1.4", "application/pdf", Kind.OTHER),
        (PAGE, "", Kind.HTML),
        (PAGE, "application/pdf", Kind.HTML),
        (b"<html><title>What %PDF-1.4 means</title>", "", Kind.HTML),
        (b"\xef\xbb\xbf \n<!-- x --><!-- y --><HTML lang=en>%PDF-", "", Kind.HTML),
        (b'<?xml version="1.0"?>\n<!DOCTYPE  html PUBLIC "x">', "", Kind.HTML),
        (b"<html" + b" " * 5000 + PDF, "application/pdf", Kind.HTML),
        (b"<script>location='/x'</script>", "", Kind.HTML),
        (b"<FRAMESET rows=1>", "", Kind.HTML),
        (b"<div>Not found</div>", "", Kind.HTML),
        (b"<p>Not found</p>", "", Kind.HTML),
        (b"<!-- " + b"x" * 2000, "", Kind.HTML),
        ("\ufeff<html>é".encode("utf-16-le"), "", Kind.HTML),
        ("\ufeff<html>é".encode("utf-16-be"), "", Kind.HTML),
        ("\n<!doctype html>".encode("utf-16-le"), "", Kind.HTML),
        ("\n<!doctype html>".encode("utf-16-be"), "", Kind.HTML),
        ("\ufeffplain".encode("utf-16-le"), "text/plain", Kind.OTHER),
        (b"Access denied", "text/html; charset=utf-8", Kind.HTML),
        (b"Access denied", "TEXT/HTML", Kind.HTML),
        (b"Access denied", "text/plain", Kind.OTHER),
        (b"Access denied", "", Kind.OTHER),
        (b"<abstract>x</abstract>", "text/xml", Kind.OTHER),
        (b"<article><front/></article>", "", Kind.OTHER),
        (b"PK\x03\x04\x14\0", "text/html", Kind.OTHER),
        (b"%!PS-Adobe-3.0", "text/html", Kind.OTHER),
        (b"{\\rtf1", "text/html", Kind.OTHER),
        (b"\0\1\2\3", "text/html", Kind.OTHER),
        (b"", "application/pdf", Kind.EMPTY),
        (b" ", "", Kind.OTHER),
    ],
)
def test_bytes_decide(prefix: bytes, content_type: str, kind: Kind) -> None:
    assert kind_of(prefix[:1024], content_type) is kind
    fields = f"Content-Type: {content_type}\r\n".encode() if content_type else b""
    assert look(sized(prefix, fields)).kind is kind


def test_pdf_start_is_the_first_mark() -> None:
    assert pdf_start(b"junk" + PDF + PDF) == 4
    assert pdf_start(PAGE + PDF) == -1


@given(st.binary(max_size=1500), st.text(max_size=30))
def test_anything_has_a_kind(prefix: bytes, content_type: str) -> None:
    assert (kind_of(prefix, content_type) is Kind.EMPTY) == (not prefix)


@given(st.binary(max_size=1100), st.binary(max_size=40), st.sampled_from(["", *CODINGS]))
def test_what_is_a_fut_is_never_dropped(junk: bytes, body: bytes, coding: str) -> None:
    entity = junk + b"%PDF-" + body
    coded = CODINGS[coding](entity) if coding else entity
    if pdf_start(entity) >= 0:
        opening = decoded_opening(coded, coding)
        assert kind_of_opening(opening, "text/html") in ("pdf", "unknown")


# What inspect says -------------------------------------------------------------------------


@pytest.mark.parametrize("junk", [b"", b"\xef\xbb\xbf", PHP, b"x" * 1019])
def test_a_literal_pdf(junk: bytes) -> None:
    block = sized(junk + PDF, b"Content-Type: text/html\r\n")
    facts = look(block)
    assert cut_out(block, facts) == PDF
    assert (facts.kind, facts.status, facts.content_type) == (Kind.PDF, 200, "text/html")
    assert (facts.literal, facts.chunked, facts.whole) == (True, False, True)
    assert facts.digest == sha256(PDF)
    assert facts.payload_digest == sha256(junk + PDF)
    assert facts.block_digest == sha256(block)
    assert facts.prefix == (junk + PDF)[:1024]


@pytest.mark.parametrize("junk", [b"", PHP])
@pytest.mark.parametrize("trailer", [b"", b"X-Digest: abc\r\nExpires: 0\r\n"])
def test_a_chunked_pdf(junk: bytes, trailer: bytes) -> None:
    block = in_chunks(junk + PDF, extension=b";a=b", trailer=trailer)
    facts = look(block)
    assert cut_out(block, facts) == PDF
    assert (facts.kind, facts.literal, facts.chunked) == (Kind.PDF, False, True)
    assert facts.whole
    assert facts.digest == sha256(PDF)
    assert facts.payload_digest == sha256(junk + PDF)
    assert facts.block_digest == sha256(block)


@pytest.mark.parametrize("junk", [b"", PHP])
@pytest.mark.parametrize("coding", [*CODINGS])
def test_a_coded_pdf(coding: str, junk: bytes) -> None:
    coded = CODINGS[coding](junk + PDF)
    field = f"Content-Encoding: {coding}\r\n".encode()
    facts = look(block := sized(coded, field))
    assert cut_out(block, facts) == PDF
    assert (facts.kind, facts.literal, facts.whole) == (Kind.PDF, False, True)
    assert facts.digest == sha256(PDF)
    assert facts.payload_digest == sha256(coded)
    assert facts.block_digest == sha256(block)
    chunked = in_chunks(coded).replace(b"\r\n", b"\r\n" + field, 1)
    facts = look(chunked)
    assert cut_out(chunked, facts) == PDF
    assert (facts.digest, facts.payload_digest) == (sha256(PDF), sha256(coded))


@pytest.mark.parametrize("coding", ["gzip", "zstd", "UTF-8", "none"])
def test_a_pdf_that_is_not_coded_as_its_fields_say(coding: str) -> None:
    block = sized(PDF, f"Content-Encoding: {coding}\r\n".encode())
    facts = look(block)
    assert cut_out(block, facts) == PDF
    assert facts.whole
    assert facts.digest == facts.payload_digest == sha256(PDF)


@given(
    st.binary(max_size=40),
    st.binary(max_size=3000),
    st.sampled_from(["", *CODINGS]),
    st.one_of(st.none(), st.integers(1, 900)),
)
@example(b"<html>", b"", "", None)
def test_the_cut_out_is_the_pdf(junk: bytes, body: bytes, coding: str, size: int | None) -> None:
    entity = junk + b"%PDF-" + body
    coded = CODINGS[coding](entity) if coding else entity
    block = sized(coded) if size is None else in_chunks(coded, size)
    if coding:
        block = block.replace(b"\r\n", f"\r\nContent-Encoding: {coding}\r\n".encode(), 1)
    facts = look(block)
    assert facts.whole
    assert facts.literal == (not coding and size is None)
    assert facts.block_digest == sha256(block)
    assert facts.payload_digest == sha256(coded)
    if facts.kind is Kind.PDF:
        fut = entity[entity.find(b"%PDF-") :]
        assert cut_out(block, facts) == fut
        assert facts.digest == sha256(fut)
    else:
        assert kind_of(junk) is Kind.HTML
        assert facts.digest == facts.payload_digest


def test_of_two_pdfs_in_a_body_both_are_the_fut() -> None:
    block = sized(PDF + PDF)
    assert cut_out(block, look(block)) == PDF + PDF


def test_a_page_has_the_digest_of_its_payload() -> None:
    coded = gzip.compress(PAGE)
    facts = look(sized(coded, b"Content-Encoding: gzip\r\n"))
    assert facts.kind is Kind.HTML
    assert facts.digest == facts.payload_digest == sha256(coded)
    assert facts.prefix == PAGE


def test_interim_answers_are_part_of_the_block_only() -> None:
    block = b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" + sized(PDF)
    facts = look(block)
    assert cut_out(block, facts) == PDF
    assert facts.block_digest == sha256(block)


def test_what_stands_behind_the_length_is_not_the_fut() -> None:
    block = sized(PDF + b"HTTP/1.1 500 X\r\n", length=len(PDF))
    facts = look(block)
    assert cut_out(block, facts) == PDF
    assert facts.digest == facts.payload_digest == sha256(PDF)
    assert facts.block_digest == sha256(block)
    assert facts.whole


def test_lengths_that_contradict_each_other_are_none() -> None:
    facts = look(OK + b"Content-Length: 5\r\nContent-Length: 9\r\n\r\n" + PDF)
    assert facts.length == len(PDF)
    assert facts.whole


@pytest.mark.parametrize(
    "block",
    [
        sized(PDF, length=len(PDF) + 1),
        in_chunks(PDF)[:-1],
        in_chunks(PDF)[:-60],
        in_chunks(PDF).replace(b"\r\n0\r\n", b"\r\nzz\r\n"),
        OK + b"\r\n" + PDF.replace(b"%%EOF\n", b""),
        OK + b"\r\n" + PDF + b"\0" * 3000,
        sized(gzip.compress(PDF)[:-1], b"Content-Encoding: gzip\r\n"),
        sized(gzip.compress(PDF)[:40], b"Content-Encoding: gzip\r\n"),
        sized(gzip.compress(PDF)[:-8] + b"\0" * 8, b"Content-Encoding: gzip\r\n"),
        sized(PAGE, length=len(PAGE) + 1),
    ],
)
def test_missing_bytes_are_told(block: bytes) -> None:
    facts = look(block)
    assert not facts.whole
    assert facts.trouble
    assert facts.block_digest == sha256(block)


def test_without_a_length_a_pdf_is_whole_that_ends_like_one() -> None:
    assert look(OK + b"\r\n" + PDF).whole
    assert look(OK + b"\r\n" + PDF + b"\r\n\0" * 500).whole
    assert look(OK + b"\r\n" + PAGE).whole


def test_a_stream_of_gzip_tells_its_own_end() -> None:
    body = gzip.compress(b"%PDF-1.4 no end mark")
    assert look(OK + b"Content-Encoding: gzip\r\n\r\n" + body).whole


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
@pytest.mark.parametrize(
    "framing",
    [
        b"",
        b"Content-Length: 9\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Content-Encoding: gzip\r\n",
    ],
)
def test_an_answer_without_a_body_is_empty_and_whole(status: bytes, framing: bytes) -> None:
    facts = look(b"HTTP/1.1 " + status + b"\r\n" + framing + b"\r\n")
    assert (facts.kind, facts.whole, facts.length) == (Kind.EMPTY, True, 0)
    assert facts.payload_digest == sha256(b"")


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "deflate"])
def test_a_payload_digest_covers_all_wherever_decoding_stops(coding: str) -> None:
    field = f"Content-Encoding: {coding}\r\n".encode()
    whole = CODINGS[coding](PDF + os.urandom(3 << 20))
    broken = whole[: 1 << 20] + bytes(64) + whole[1 << 20 :]
    bomb = CODINGS[coding](PDF + bytes(9 << 20)) + bytes(3 << 20)
    for coded, most in ((broken, 0), (bomb, 1 << 20), (whole, 1000)):
        facts = look(sized(coded, field), most)
        assert facts.payload_digest == sha256(coded)
    assert not look(sized(broken, field)).whole


def test_a_bomb_is_too_big() -> None:
    coded = gzip.compress(PDF + bytes(50 << 20))
    tracemalloc.start()
    facts = look(sized(coded, b"Content-Encoding: gzip\r\n"), 1 << 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (facts.too_big, facts.whole) == (True, False)
    assert peak < 8 << 20
    assert not look(sized(coded, b"Content-Encoding: gzip\r\n"), 60 << 20).too_big


@pytest.mark.parametrize("depth", [1, 2])
def test_the_work_on_an_answer_is_a_multiple_of_what_came(depth: int) -> None:
    """Whatever stands between the codings counts, too: a stack of them may end in no byte."""
    coded = PDF
    for _ in range(depth):
        coded = gzip.compress(coded + bytes(96 << 20), 1)
    field = b"Content-Encoding: " + b", ".join([b"gzip"] * depth) + b"\r\n"
    assert look(sized(coded, field), decoded_max(len(coded))).too_big
    assert not look(sized(coded, field)).too_big
    assert decoded_max(1 << 20) == (16 << 20) + (64 << 20)
    assert decoded_max(1 << 20, 1 << 10) == 1 << 10


def test_a_limit_on_decoding_is_none_on_what_is_not_coded() -> None:
    assert look(in_chunks(PDF), 10).whole
    assert look(sized(PDF), 10).whole


def test_big_blocks_need_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "block"
    size = 64 << 20
    with path.open("wb") as file:
        head = OK + b"Content-Length: %d\r\n\r\n" % size
        file.write(head + b"%PDF-1.4\n")
        file.truncate(len(head) + size)
    with path.open("rb") as file:
        tracemalloc.start()
        facts = inspect(FileSource(file.fileno(), 0, len(head) + size))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert (facts.length, facts.whole) == (size, True)
    assert peak < 8 << 20


@given(
    st.binary(max_size=400),
    st.sampled_from(["", *CODINGS, "gzip,gzip", "x" * 50, "gzip," * 9]),
    st.sampled_from([b"", b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip\r\n"]),
    st.sampled_from([b"", b"Content-Length: 9\r\n", b"Content-Length: x\r\n"]),
    st.integers(100, 600),
    st.integers(0, 300),
)
def test_any_answer_has_facts(
    body: bytes, coding: str, transfer: bytes, length: bytes, status: int, most: int
) -> None:
    line = b"HTTP/1.1 %d X\r\n" % status
    block = line + transfer + length + f"Content-Encoding: {coding}\r\n\r\n".encode() + body
    try:
        facts = look(block, most)
    except BadHttp:
        assert 100 <= status < 200
        return
    assert facts.block_digest == sha256(block)
    assert facts.length >= 0
    assert facts.whole == (not facts.trouble)


@given(st.binary(max_size=2000))
def test_what_is_no_answer_is_bad_http_and_nothing_else(block: bytes) -> None:
    try:
        look(block)
    except BadHttp:
        return


# Media types -------------------------------------------------------------------------------


def zipped() -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", "text")
    return file.getvalue()


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (PDF, "application/pdf"),
        (PAGE, "text/html"),
        (zipped(), "application/zip"),
        (b"%!PS-Adobe-3.0\n", "application/postscript"),
        (b"plain text\n", "text/plain"),
        (b"", ""),
    ],
)
def test_the_media_type_that_the_bytes_show(body: bytes, media_type: str) -> None:
    assert identified_type(look(sized(body, b"Content-Type: x/y\r\n"))) == media_type


def test_less_than_the_header_of_a_pdf_is_no_pdf_by_its_type_either() -> None:
    for body in (b"%PDF", b"%PDF\n1 0 obj"):
        assert look(sized(body)).kind is Kind.OTHER
        assert identified_type(look(sized(body))) != "application/pdf"


@pytest.mark.parametrize(
    "tail",
    [b"startxref\n116\n%%EOF\n", b"%%EOF", b"%%EOF\r\n" + b"\0" * 5000, b"\nstartxref\r\n116",
     b"%%EOF\n<script>junk</script>", b"%%EOF\n5 0 obj\n<<>>\nendobj\n%%EOF", b"startxref 0",
     b"%%EOF\n5 0 obj\n<<>>\nendobj\nstartxref\n116\n"],
)  # fmt: skip
def test_a_pdf_ends_where_no_object_follows_its_end(tail: bytes) -> None:
    assert has_end(b"%PDF-1.4\n1 0 obj\n" + tail)


@pytest.mark.parametrize(
    "tail",
    [b"", b"endobj\n", b"xref\n0 4\n0000000000 65535 f", b"startxref", b"startxref\n", b"%%EO",
     b"%%EOF\n5 0 obj\n<<>>\nendobj", b"startxref 0\n%%EOF\nstartxref 9\n5 0 obj"],
)  # fmt: skip
def test_a_pdf_that_stops_before_its_end_has_none(tail: bytes) -> None:
    assert not has_end(b"%PDF-1.4\n1 0 obj\n" + tail)


MARKS = st.sampled_from([b"%%EOF", b"startxref\n7", b"startxref\0", b" 12", b" obj", b"x", b"%"])


@given(st.lists(MARKS, max_size=12).map(b"".join))
def test_the_end_is_behind_the_last_mark_of_one(tail: bytes) -> None:
    ends = [found.end() for found in re.finditer(rb"%%EOF|startxref[\s\0]+[0-9]+", tail)]
    assert has_end(tail) == (bool(ends) and b" obj" not in tail[ends[-1] :])


@pytest.mark.parametrize("framed", [sized, in_chunks], ids=["length", "chunks"])
def test_half_a_pdf_is_unended_however_it_is_framed(framed: Callable[[bytes], bytes]) -> None:
    for data in (PDF[:-7], PDF[:40], PDF + b"7 0 obj\n", PDF + b"x" * END_WITHIN):
        half = look(framed(data))
        assert (half.kind, half.whole, half.ended) == (Kind.PDF, True, False)
        assert half.is_unended
        assert half.fault == "the PDF has no end"
    whole = look(framed(PDF + b"x" * (END_WITHIN - 40)))
    assert (whole.ended, whole.is_unended, whole.fault) == (True, False, "")
    assert look(framed(PAGE)).ended


def test_a_cut_pdf_is_cut_not_unended() -> None:
    cut = look(sized(PDF[:40], length=len(PDF)))
    assert (cut.whole, cut.is_unended) == (False, False)
    assert "early" in cut.fault


@given(st.binary(max_size=3 * END_WITHIN), st.integers(1, 3 * END_WITHIN))
def test_the_end_is_found_in_pieces_of_any_size(junk: bytes, step: int) -> None:
    body = PDF[:-7] + junk
    assert look(in_chunks(body, max(step, 64))).ended == has_end(body[-END_WITHIN:])
