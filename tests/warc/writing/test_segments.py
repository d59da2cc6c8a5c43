import hashlib
import random
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lafka.warc.errors import BadValue, BadWarc, MissingSegment
from lafka.warc.format.fields import Fields
from lafka.warc.format.records import Record
from lafka.warc.format.sources import MemorySource
from lafka.warc.reading.stored import StoredRecord
from lafka.warc.reading.volumes import Volume
from lafka.warc.writing.builders import Builder
from lafka.warc.writing.segments import SegmentedRecord, finder, join, write_segmented
from tests.warc.proofs import proved

URL = "http://x.example/big"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
INFO = Fields([("software", "Test/1")])


def sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def body(size: int) -> bytes:
    return random.Random(size).randbytes(size)


def response(size: int, **named: object) -> Record:
    return Record.response(URL, MemorySource(HEAD + body(size)), **named)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def opened(stack: ExitStack, paths: Iterable[Path]) -> list[StoredRecord]:
    volumes = [stack.enter_context(Volume(path)) for path in paths]
    return [record for volume in volumes for record in volume]


def split(folder: Path, record: Record, size: int | None = None, **how: object) -> list[Path]:
    with Builder(folder=folder, warcinfo=INFO, max_size=10_000, **how) as builder:
        places = write_segmented(builder, record, size)
    assert len(places) == len({place.id for place in places})
    for path in builder.finished:
        proved_but_for_the_payload(path)
    return builder.finished


def proved_but_for_the_payload(path: Path) -> None:
    """warcio holds the payload digest, which is of the whole, against the first segment."""
    proved(path, digests=False)


@pytest.mark.parametrize("how", [{}, {"gzip": True}])
def test_each_segment_fills_a_file(tmp_path: Path, stack: ExitStack, how: dict) -> None:
    paths = split(tmp_path, response(25_000, truncated="length"), **how)
    assert len(paths) == 3
    records = opened(stack, paths)
    assert [r.type for r in records] == [
        "warcinfo", "response", "warcinfo", "continuation", "warcinfo", "continuation",
    ]  # fmt: skip
    first, second, last = segments = records[1::2]
    if not how:
        assert all(10_000 - 700 < path.stat().st_size <= 10_000 for path in paths[:2])
    whole = HEAD + body(25_000)
    assert [r.fields["WARC-Segment-Number"] for r in segments] == ["1", "2", "3"]
    assert {r.url for r in segments} == {URL}
    assert len({r.fields["WARC-Date"] for r in segments}) == 1
    assert first.fields["WARC-Payload-Digest"] == sha256(body(25_000))
    assert [r.fields["WARC-Segment-Origin-ID"] for r in (second, last)] == [first.id, first.id]
    assert last.fields["WARC-Segment-Total-Length"] == str(len(whole))
    assert last.fields["WARC-Truncated"] == "length"
    for record in segments:
        block = record.block().read(0, 10_000)
        assert record.fields["WARC-Block-Digest"] == sha256(block)
        assert record is last or "WARC-Truncated" not in record.fields
        assert record is last or "WARC-Segment-Total-Length" not in record.fields
    # Nothing in a continuation that it could do without (section 7).
    assert set(second.fields.names()) == {
        "WARC-Type", "WARC-Record-ID", "WARC-Date", "WARC-Target-URI", "WARC-Segment-Origin-ID",
        "WARC-Segment-Number", "WARC-Block-Digest", "Content-Length",
    }  # fmt: skip


def test_what_fits_is_not_segmented(tmp_path: Path) -> None:
    with Builder(folder=tmp_path, warcinfo=INFO, max_size=10_000) as builder:
        write_segmented(builder, response(5_000))
        write_segmented(builder, response(5_000))
    assert [len(proved(path)) for path in builder.finished] == [2, 2]
    with Builder(tmp_path / "one.warc", max_size=10_000) as builder:
        write_segmented(builder, response(50_000))
    assert len(proved(tmp_path / "one.warc")) == 1


def test_a_segment_is_not_segmented(tmp_path: Path) -> None:
    origin = response(10)
    with Builder(folder=tmp_path) as builder:
        for record in (Record.continuation(origin, 2, b"x"), response(10, segment_number=1)):
            with pytest.raises(BadValue):
                write_segmented(builder, record, 1)


@settings(max_examples=30)
@given(
    block=st.binary(max_size=300),
    size=st.integers(1, 120),
    kind=st.sampled_from(["resource", "response", "conversion", "chunked"]),
    start=st.integers(0, 320),
    length=st.integers(0, 320),
)
def test_what_was_split_is_joined(
    block: bytes, size: int, kind: str, start: int, length: int
) -> None:
    if kind == "resource":
        record = Record.resource(URL, block, content_type="text/plain")
    elif kind == "conversion":
        record = Record.conversion(response(1), MemorySource(block), content_type="text/plain")
    else:
        coding = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        block = (HEAD if kind == "response" else coding) + block
        record = Record.response(URL, block)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        paths = split(Path(folder), record, size)
        records = opened(stack, reversed(paths))
        joined = join(next(r for r in records if r.type != "warcinfo"), finder(records), eager=True)
        assert b"".join(joined.block().chunks()) == block
        assert b"".join(joined.block().chunks(start, 7)) == block[start:]
        assert joined.block().read(start, length) == block[start : start + length]
        assert joined.block_length == joined.block().size == len(block)
        assert joined.fields["Content-Length"] == str(len(block))
        assert (joined.type, joined.url, joined.id) == (record.type, URL, record.id)
        whole = Path(folder) / "whole.warc"
        with Builder(whole) as builder:
            builder.append(joined.record())
        [again] = proved(whole, digests=kind != "chunked")
        assert again.block().read(0, 1000) == block
        assert again.id == record.id
        assert "WARC-Segment-Number" not in again.fields


def test_a_payload_goes_over_segments(tmp_path: Path, stack: ExitStack) -> None:
    coded = HEAD.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n")
    text = b"1000\r\n" + b"x" * 0x1000 + b"\r\n0\r\n\r\n"
    records = opened(stack, split(tmp_path, Record.response(URL, coded + text), 500))
    joined = join(records[1], finder(records))
    assert b"".join(joined.payload()) == b"x" * 0x1000
    assert joined.first.fields["WARC-Payload-Digest"] == sha256(b"x" * 0x1000)


def test_a_missing_segment_is_told_when_it_is_reached(tmp_path: Path, stack: ExitStack) -> None:
    paths = split(tmp_path, response(35_000))
    paths[2].unlink()
    records = opened(stack, [path for path in paths if path.exists()])
    joined = join(records[1], finder(records))
    payload, got = joined.payload(), b""
    while len(got) < 17_000:
        got += next(payload)
    with pytest.raises(MissingSegment, match=f"segment 3 of {joined.id}"):
        got += b"".join(payload)
    assert body(35_000).startswith(got)
    assert joined.block().read(100, 5000) == (HEAD + body(35_000))[100:5100]
    with pytest.raises(MissingSegment):
        joined.block().read(0, 30_000)
    with pytest.raises(MissingSegment):
        _ = joined.fields
    with pytest.raises(MissingSegment):
        join(records[1], finder(records), eager=True)


def test_nothing_is_looked_for_before_it_is_needed(tmp_path: Path, stack: ExitStack) -> None:
    asked: list[int] = []
    records = opened(stack, split(tmp_path, response(35_000)))
    find = finder(records)

    def noting(origin: str, number: int) -> StoredRecord | None:
        asked.append(number)
        return find(origin, number)

    joined = join(records[1], noting)
    head = joined.http
    assert head is not None
    assert head.status == 200
    joined.block().read(0, 5000)
    assert asked == []
    joined.block().read(0, 12_000)
    assert asked == [2]


def test_a_first_segment_can_be_missing(tmp_path: Path, stack: ExitStack) -> None:
    records = opened(stack, split(tmp_path, response(35_000))[1:])
    with pytest.raises(MissingSegment, match="first segment"):
        join(records[1], finder(records))


def test_an_unsegmented_record_is_joined_to_itself(tmp_path: Path) -> None:
    with Builder(tmp_path / "x") as builder:
        builder.append(response(10))
    [record] = proved(tmp_path / "x")
    joined = join(record, finder([]), eager=True)
    assert joined.fields == record.fields
    assert list(joined.segments) == [record]


def test_segments_that_do_not_go_together(tmp_path: Path, stack: ExitStack) -> None:
    origin = response(10, segment_number=1)
    with Builder(tmp_path / "x") as builder:
        builder.append(origin)
        builder.append(Record.continuation(origin, 2, b"abc", total_length=7))
    first, second = opened(stack, [tmp_path / "x"])
    with pytest.raises(BadWarc, match="bytes, not 7"):
        join(first, finder([second]), eager=True)
    with pytest.raises(BadWarc, match="not segment 2"):
        SegmentedRecord(first, lambda _origin, _number: first).block().read(0, 1000)


def test_a_bare_record_is_given_what_it_lacks(tmp_path: Path, stack: ExitStack) -> None:
    fields = Fields([("WARC-Type", "metadata"), ("Content-Type", "text/plain")])
    fields.add("WARC-Truncated", "time")
    fields.add("WARC-Target-URI", URL)
    records = opened(stack, split(tmp_path, Record(fields=fields, block=body(500)), 200))
    joined = join(records[1], finder(records))
    assert [segment.date for segment in joined.segments] == [records[1].date] * 3
    assert joined.fields["WARC-Truncated"] == "time"
    assert "WARC-Payload-Digest" not in joined.fields  # metadata has none that is well defined
    assert b"".join(joined.payload()) == body(500)
    assert joined.http is None


def test_what_only_says_that_it_is_http(tmp_path: Path, stack: ExitStack) -> None:
    records = opened(stack, split(tmp_path, Record.response(URL, b"no HTTP" * 100), 300))
    joined = join(records[1], finder(records), eager=True)
    assert joined.http is None
    assert b"".join(joined.payload()) == b"no HTTP" * 100
