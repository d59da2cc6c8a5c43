from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lafka.warc.errors import BadWarc, TornWarc
from lafka.warc.format.dates import WarcDate
from lafka.warc.format.fields import Fields
from lafka.warc.format.records import Record, start, uuid_urn, warcinfo
from lafka.warc.reading.stored import StoredRecord
from lafka.warc.reading.volumes import Volume

DATE = "2026-11-20T10:11:12.500000Z"


def resource(block: bytes, url: str = "http://x.example/1") -> bytes:
    fields = start("resource", uuid_urn(), DATE, url)
    return Record(fields=fields, block=block).to_bytes()


def read(path: Path, offset: int = 0) -> tuple[list[StoredRecord], BadWarc | None]:
    """The records of the file, and what was wrong after them."""
    found: list[StoredRecord] = []
    with Volume(path, strict=True) as volume:
        try:
            found.extend(volume.records(start=offset))
        except BadWarc as error:
            # extend keeps what came before the error
            return found, error
    return found, None


def block_of(record: StoredRecord) -> bytes:
    source = record.block()
    return source.read(0, source.size)


def test_records_in_order_with_their_places(write: Callable[[bytes], Path]) -> None:
    info = warcinfo("<urn:uuid:1>", DATE, Fields([("Paper-Id", "RePEc:a:b:c")])).to_bytes()
    path = write(info + resource(b"one") + resource(b""))
    found, error = read(path)
    assert error is None
    assert [r.type for r in found] == ["warcinfo", "resource", "resource"]
    assert [block_of(r) for r in found] == [b"Paper-Id: RePEc:a:b:c\r\n", b"one", b""]
    assert found[0].id == "<urn:uuid:1>"
    assert found[0].url == ""
    assert found[1].url == "http://x.example/1"
    assert found[1].date == WarcDate.parse(DATE)
    assert [r.offset for r in found] == [0, found[0].end, found[1].end]
    assert found[2].end == path.stat().st_size
    assert read(path, found[1].offset)[0] == found[1:]


@given(st.binary(min_size=1, max_size=400))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_garbage_is_bad_and_nothing_else(tmp_path: Path, garbage: bytes) -> None:
    path = tmp_path / "z.warc"
    for lead in (b"", b"WARC/1.1\r\n", b"WARC/1.0\r\nContent-Length: "):
        path.write_bytes(resource(b"a") + lead + garbage)
        found, error = read(path)
        assert found
        assert error is not None or sum(r.length for r in found) == path.stat().st_size


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (b"\0" * 600, "no WARC record begins here"),
        (b"\x1f\x8b" + b"\0" * 600, "no WARC record begins here"),
        (b"x" * 3_000_000, "no WARC record begins here"),
        (b"WARC/1.1\r\nA: " + b"b" * 1_200_000 + b"\r\n\r\n", "a header of more than 1048576"),
        (b"WARC/1.1\r\nA: " + b"b" * 70_000 + b"\r\n\r\n", "a header line of 70004 bytes"),
        (b"WARC/1.1\r\n\r\n\r\n\r\n", "Content-Length is ''"),
        (b"WARC/1.1\r\nContent-Length: x\r\n\r\n\r\n\r\n", "Content-Length is 'x'"),
        (b"WARC/1.1\r\nContent-Length: -1\r\n\r\n\r\n\r\n", "Content-Length is '-1'"),
        (b"WARC/1.1\r\nContent-Length: " + b"1" * 6000 + b"\r\n\r\n", "Content-Length is '1"),
        (b"WARC/1.1\r\nContent-Length: \xc2\xb2\r\n\r\n", "Content-Length"),
        (
            b"WARC/1.1\r\nContent-Length: 0\r\nContent-Length: 1\r\n\r\na\r\n\r\n",
            "Content-Length is '0, 1'",
        ),
        (
            b"WARC/1.1\r\nContent-Length: 1\r\n\r\nab\r\n\r\n",
            "is followed by 'b",
        ),
        (b"WARC/1.1\r\nContent-Length: 3\r\n\r\nab\r\n\r\nWARC/1.1", "not by CRLF CRLF"),
    ],
)
def test_bad_records_are_named(write: Callable[[bytes], Path], bad: bytes, says: str) -> None:
    first = resource(b"a")
    path = write(first + bad)
    found, error = read(path)
    assert len(found) == 1
    assert error is not None
    assert not isinstance(error, TornWarc)
    assert error.offset == len(first)
    assert says in str(error)
    assert len(str(error)) < 400


def test_a_length_beyond_the_file_is_torn(write: Callable[[bytes], Path]) -> None:
    path = write(b"WARC/1.1\r\nContent-Length: 999999999999999999\r\n\r\nab\r\n\r\n")
    assert isinstance(read(path)[1], TornWarc)


def test_a_header_of_almost_a_mib_is_read(write: Callable[[bytes], Path]) -> None:
    lines = (b"A: " + b"b" * 62_000 + b"\r\n") * 16
    header = b"WARC/1.1\r\n" + lines + b"Content-Length: 2\r\n\r\n"
    found, error = read(write(header + b"ok\r\n\r\n"))
    assert error is None
    assert block_of(found[0]) == b"ok"


def test_what_other_writers_do_is_tolerated(write: Callable[[bytes], Path]) -> None:
    wget = (
        b"WARC/1.0\r\nWARC-Type: Resource\r\nWARC-Target-URI: <ftp://x.example/1.pdf>\r\n"
        b"WARC-Date: 2014-03-01T10:11:12Z\r\nContent-Length: 2\r\n\r\nok\r\n\r\n"
    )
    bare = (
        b"WARC/1.0\nwarc-type:resource\nWARC-Record-ID:\n <urn:x>\ncontent-length:2\n\n\n\n\r\n\r\n"
    )
    found, error = read(write(wget + bare))
    assert error is None
    assert [r.type for r in found] == ["resource", "resource"]
    assert found[0].url == "ftp://x.example/1.pdf"
    assert found[0].date == WarcDate.parse("2014-03-01T10:11:12Z")
    assert found[1].id == "<urn:x>"
    assert block_of(found[1]) == b"\n\n"


def test_a_date_that_is_none_is_none(write: Callable[[bytes], Path]) -> None:
    path = write(resource(b"a") + resource(b"b").replace(DATE.encode(), b"yesterday"))
    found, _ = read(path)
    assert found[1].date is None


def test_a_record_is_described_by_its_header_alone(write: Callable[[bytes], Path]) -> None:
    path = write(resource(b"a") + resource(b"b"))
    second = read(path)[0][1]
    with Volume(path, strict=True) as volume:
        assert volume.with_header(second.header, second.offset) == second
        assert volume.with_header(second.header, second.offset).length == second.length
        for bad in (b"", second.header[:-1], second.header + b"x", b"\0" * 99):
            with pytest.raises(BadWarc, match="no WARC record"):
                volume.with_header(bad, 7)
