import hashlib
import io
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from lafka.warc.errors import BadValue
from lafka.warc.format.base import body_length
from lafka.warc.format.digests import Digest
from lafka.warc.format.fields import Fields
from lafka.warc.format.records import Record, header, sha256, start, uuid_urn, warcinfo
from lafka.warc.format.sources import MemorySource

DATE = "2026-11-20T10:11:12.500000Z"


def test_a_record_is_header_block_and_end() -> None:
    fields = start("metadata", "<urn:uuid:1>", DATE, "http://x.example/")
    fields.add("Content-Type", "text/plain")
    assert Record(fields=fields, block=b"block").to_bytes() == (
        b"WARC/1.1\r\n"
        b"WARC-Type: metadata\r\n"
        b"WARC-Record-ID: <urn:uuid:1>\r\n"
        b"WARC-Date: 2026-11-20T10:11:12.500000Z\r\n"
        b"WARC-Target-URI: http://x.example/\r\n"
        b"Content-Type: text/plain\r\n"
        b"WARC-Block-Digest: sha256:" + hashlib.sha256(b"block").hexdigest().encode() + b"\r\n"
        b"Content-Length: 5\r\n\r\n"
        b"block\r\n\r\n"
    )
    assert len(fields) == 5  # what is written is no change of the record


def test_a_warcinfo_names_its_file_where_it_has_one() -> None:
    body = Fields([("Paper-Id", "RePEc:a:b:c")])
    named = warcinfo("<urn:uuid:1>", DATE, body, filename="x.warc")
    assert named.fields.first("WARC-Filename") == "x.warc"
    assert named.block == b"Paper-Id: RePEc:a:b:c\r\n"
    assert named.id == "<urn:uuid:1>"
    assert "WARC-Filename" not in dict(warcinfo("<urn:uuid:1>", DATE, body).fields)


def test_a_foreign_value_cannot_write_a_header_line() -> None:
    fields = start("resource", uuid_urn(), DATE, "http://x.example/\r\nWARC-Type: revisit")
    with pytest.raises(ValueError, match="WARC-Target-URI"):
        Record(fields=fields, block=b"").to_bytes()
    with pytest.raises(ValueError, match="WARC-Target-URI"):
        header(fields)


@given(st.lists(st.binary(max_size=200), min_size=1, max_size=4))
def test_others_read_what_is_written(blocks: list[bytes]) -> None:
    data = b"".join(
        Record(fields=start("resource", uuid_urn(), DATE, "urn:x"), block=block).to_bytes()
        for block in blocks
    )
    found = [record.content_stream().read() for record in ArchiveIterator(io.BytesIO(data))]
    assert found == blocks


def test_ids_are_fresh() -> None:
    assert len({uuid_urn() for _ in range(100)}) == 100
    assert sha256(b"") == "sha256:" + hashlib.sha256(b"").hexdigest()


def test_warcio_finds_the_digests_right(tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "x.warc"
    info = warcinfo(uuid_urn(), DATE, Fields([("software", "Lafka")]), filename="x.warc")
    path.write_bytes(info.to_bytes())

    class Command:
        inputs = (str(path),)
        verbose = True

    checker = Checker(Command)
    checker.process_all()
    assert not checker.exit_value
    assert "digest pass" in capsys.readouterr().out


BODY = Fields([("software", "Lafka")])
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"
IDS = {"ids": lambda: "<urn:x:1>"}
URL = "http://x.example/"
ORIGIN = Record.response(
    URL, ANSWER, date="2026-11-20T10:11:12.5Z", payload_digest="sha1:" + "A" * 32
)


def test_a_response_has_both_digests_in_its_header_and_reads_as_warcio_has_it() -> None:
    record = Record.response(
        URL, ANSWER, date="2026-11-20T10:11:12.5Z", ip_address="127.0.0.1", warcinfo="<urn:x:0>",
        concurrent_to=["<urn:x:2>", ORIGIN], truncated="length", payload_type="text/plain", **IDS,
    )  # fmt: skip
    assert record.to_bytes() == (
        b"WARC/1.1\r\n"
        b"WARC-Type: response\r\n"
        b"WARC-Record-ID: <urn:x:1>\r\n"
        b"WARC-Date: 2026-11-20T10:11:12.5Z\r\n"
        b"WARC-Target-URI: http://x.example/\r\n"
        b"WARC-Warcinfo-ID: <urn:x:0>\r\n"
        b"WARC-Concurrent-To: <urn:x:2>\r\n"
        b"WARC-Concurrent-To: " + ORIGIN.id.encode() + b"\r\n"
        b"WARC-IP-Address: 127.0.0.1\r\n"
        b"WARC-Truncated: length\r\n"
        b"WARC-Identified-Payload-Type: text/plain\r\n"
        b"Content-Type: application/http;msgtype=response\r\n"
        b"WARC-Payload-Digest: " + sha256(b"hello").encode() + b"\r\n"
        b"WARC-Block-Digest: " + sha256(ANSWER).encode() + b"\r\n"
        b"Content-Length: " + str(len(ANSWER)).encode() + b"\r\n\r\n" + ANSWER + b"\r\n\r\n"
    )
    [found] = ArchiveIterator(io.BytesIO(record.to_bytes()))
    assert found.http_headers.get_statuscode() == "200"
    assert (record.type, record.url, str(record.date)) == (
        "response",
        URL,
        "2026-11-20T10:11:12.5Z",
    )
    assert record.http
    assert record.http.status == 200


def test_each_type_has_its_fields() -> None:
    warcinfo = Record.warcinfo(BODY, filename="x.warc", version="1.0")
    assert warcinfo.fields["WARC-Filename"] == "x.warc"
    assert len(warcinfo.fields["WARC-Date"]) == 20
    resource = Record.resource("urn:x", b"x", content_type="text/plain")
    metadata = Record.metadata(BODY, of=ORIGIN, url=URL)
    assert metadata.fields["WARC-Refers-To"] == ORIGIN.id
    conversion = Record.conversion(ORIGIN, b"x", content_type="text/plain")
    assert (conversion.url, conversion.fields["WARC-Refers-To"]) == (URL, ORIGIN.id)
    continuation = Record.continuation(ORIGIN, 2, b"x", total_length=100)
    assert continuation.fields["WARC-Segment-Origin-ID"] == ORIGIN.id
    assert continuation.fields["WARC-Segment-Total-Length"] == "100"
    assert "Content-Type" not in continuation.fields
    request = Record.request(
        URL, b"GET / HTTP/1.0\r\n\r\n", segment_number=1, more=[("X-Mine", "y")]
    )
    assert request.fields["X-Mine"] == "y"
    for record in (warcinfo, resource, metadata, conversion, continuation, request):
        [found] = ArchiveIterator(io.BytesIO(record.to_bytes()))
        assert found.rec_type == record.type


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_revisit_refers_to_the_record_that_has_the_payload(version: str) -> None:
    head = b"HTTP/1.1 200 OK\r\n\r\n"
    first = Record.revisit_identical("http://y.example/", ORIGIN, head, version=version)
    assert first.fields["WARC-Profile"] == (
        f"http://netpreserve.org/warc/{version}/revisit/identical-payload-digest"
    )
    again = Record.revisit_identical(URL, first, version=version)
    for record in (first, again):
        assert record.fields["WARC-Refers-To"] == ORIGIN.id
        assert record.fields["WARC-Refers-To-Target-URI"] == URL
        assert record.fields["WARC-Refers-To-Date"] == "2026-11-20T10:11:12.5Z"
        assert record.fields["WARC-Payload-Digest"] == "sha1:" + "A" * 32
        assert record.header()
    assert first.content_type == "application/http;msgtype=response"
    assert not again.content_type
    assert first.fields["WARC-Truncated"] == "length"
    assert "WARC-Truncated" not in again.fields
    whole = Record.revisit_identical(URL, ORIGIN, ANSWER, truncated="")
    assert "WARC-Truncated" not in whole.fields
    unmodified = Record.revisit_not_modified(URL, ORIGIN, head, version=version)
    assert unmodified.fields["WARC-Profile"].endswith(f"{version}/revisit/server-not-modified")
    assert "WARC-Payload-Digest" not in unmodified.fields


def test_a_revisit_without_a_digest_is_refused() -> None:
    with pytest.raises(BadValue, match="payload digest"):
        Record.revisit_identical(URL, Record.response(URL, ANSWER))
    profile = [("WARC-Profile", "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest")]
    bare = start("revisit", uuid_urn(), DATE, URL)
    bare.add(*profile[0])
    with pytest.raises(BadValue, match="WARC-Payload-Digest"):
        Record(fields=bare).header()


@pytest.mark.parametrize(
    ("record", "match"),
    [
        (Record.response("no uri", b"", id="bare"), "angle brackets"),
        (Record.response("", b""), "WARC-Target-URI"),
        (Record.warcinfo(BODY, more=[("WARC-Target-URI", "urn:x")]), "warcinfo record with"),
        (Record.continuation(ORIGIN, 1, b""), "WARC-Segment-Number"),
        (Record.response(URL, b"", segment_number=2), "WARC-Segment-Number"),
        (Record.response(URL, b"", version="2.0"), "version"),
        (Record.response(URL, b"", more=[("Content-Length", "7")]), "Content-Length"),
        (Record.response(URL, b"", ip_address="here"), "WARC-IP-Address"),
        (Record.response(URL, b"", more=[("WARC-Date", DATE)]), "2 times"),
        (Record(fields=Fields()), "WARC-Type"),
        (Record.response(URL, b"", algorithm="crc"), "crc"),
    ],
)
def test_what_the_standard_does_not_have_is_not_written(record: Record, match: str) -> None:
    with pytest.raises(BadValue, match=match):
        record.header()


def test_a_date_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(BadValue, match="WARC-Date"):
        Record.response(URL, b"", date="yesterday")


def test_a_block_may_be_a_source_and_is_read_a_piece_at_a_time() -> None:
    class Endless(MemorySource):
        @property
        def size(self) -> int:
            return 1 << 22

        def read(self, start: int, length: int) -> bytes:
            return bytes(max(0, min(length, self.size - start)))

        def chunks(self, start: int = 0, size: int = 1 << 20) -> Iterator[bytes]:
            for place in range(start, self.size, size):
                yield self.read(place, size)

    record = Record.resource("urn:x", Endless(b""), content_type="text/plain")
    head, *pieces = record.pieces()
    assert b"Content-Length: 4194304\r\n" in head
    assert sha256(bytes(1 << 22)).encode() in head
    assert list(map(len, pieces)) == [1 << 20] * 4 + [4]


def test_given_digests_are_kept_and_none_are_made_on_request() -> None:
    digest = Digest.of([b"x"], "sha1")
    head = Record.response(URL, ANSWER, block_digest=digest, payload_digest=digest).header()
    assert head.count(digest.text.encode()) == 2
    assert b"Digest" not in Record.response(URL, ANSWER, algorithm="").header()
    assert b"WARC-Block-Digest: sha1:" in Record.response(URL, ANSWER, algorithm="sha1").header()


def test_a_response_that_is_no_http_has_no_payload_digest() -> None:
    assert b"Payload" not in Record.response(URL, b"junk").header()
    assert (
        b"Payload" not in Record.response("dns:x.example", b"x", content_type="text/dns").header()
    )


DECODED = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhello"


@pytest.mark.parametrize(
    ("digest", "payload"),
    [("", b"hello"), (sha256(b"hello"), b"hello"), (sha256(b"he"), b"he"), ("x:y", b"hello")],
)
def test_a_body_that_is_longer_than_it_says_is_what_its_digest_says(
    digest: str, payload: bytes
) -> None:
    record = Record.response(URL, DECODED, payload_digest=digest)
    assert b"".join(record.payload()) == b"".join(record.payload(decoded=True)) == payload
    assert (sha256(payload) if digest[:4] != "x:y" else "x:y").encode() in record.header()
    assert record.http
    assert body_length(record, record.http) == len(payload)


def test_payloads_of_records_at_hand() -> None:
    resource = Record.resource("urn:x", b"block", content_type="text/plain")
    assert b"".join(resource.payload()) == b"block"
    request = Record.request(URL, b"GET / HTTP/1.0\r\n\r\n\r\n")
    assert b"".join(request.payload()) == b""
    assert request.http
    assert request.http.method == "GET"


def test_the_fields_in_a_block_are_read() -> None:
    assert Record.warcinfo(BODY).block_fields() == BODY
    assert Record.metadata(BODY, content_type="Application/WARC-Fields; x=y").block_fields() == BODY
    with pytest.raises(BadValue, match="text/plain"):
        Record.resource("urn:x", b"", content_type="text/plain").block_fields()
