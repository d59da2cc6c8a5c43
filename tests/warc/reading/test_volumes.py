"""Volumes: plain and compressed files, record by record, and what is wrong with them."""

import bz2
import csv
import gzip
import os
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lafka.warc.errors import BadWarc, TornWarc, WarcError
from lafka.warc.format.records import Record, start, uuid_urn
from lafka.warc.format.sources import MemorySource
from lafka.warc.problems import CODES
from lafka.warc.reading.framing import HeaderLimits
from lafka.warc.reading.stored import StoredRecord
from lafka.warc.reading.volumes import Volume

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

DATE = "2026-11-20T10:11:12.500000Z"
SAMPLES = Path(__file__).parents[3].parent / "shared" / "warc"
Write = Callable[[bytes], Path]


def resource(block: bytes, url: str = "http://x.example/1") -> bytes:
    fields = start("resource", uuid_urn(), DATE, url)
    return Record(fields=fields, block=block).to_bytes()


def packed(*records: bytes) -> bytes:
    return b"".join(gzip.compress(record, mtime=0) for record in records)


def block_of(record: StoredRecord) -> bytes:
    return b"".join(record.block().chunks())


def read(path: Path, **values: object) -> tuple[list[bytes], list[str]]:
    """The blocks of the records, and the codes of the problems."""
    with Volume(path, **values) as volume:  # type: ignore[arg-type]
        blocks = [block_of(record) for record in volume]
        return blocks, [problem.code for problem in volume.problems]


def manifest() -> list[dict[str, str]]:
    if not (SAMPLES / "manifest.tsv").exists():
        return []
    with (SAMPLES / "manifest.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [row for row in rows if row["version"] not in ("cdx", "wacz", "arc")]


# What the manifest calls an oddity, and the code that says it of where records begin and end.
NAMED = {
    "header-not-terminated": "torn-tail",
    "lf-only-header": "line-end",
    "bad-version-line": "bad-version",
    "version-0.17": "old-version",
    "version-0.18": "old-version",
    "missing-content-length": "bad-length",
    "bad-content-length": "bad-length",
    "content-shorter-than-length": "torn-tail",
    "single-gzip-member-whole-file": "one-member",
    "record-not-at-member-start": "split-record",
    "no-final-newlines": "torn-tail",
}


@pytest.mark.skipif(not manifest(), reason="the samples are not here")
def test_every_intact_record_of_every_sample_is_read() -> None:
    for row in manifest():
        with Volume(SAMPLES / row["file"]) as volume:
            records = list(volume)
            for record in records:
                assert len(block_of(record)) == record.block_length
                assert volume.at(record.offset, record.inner) == record
            codes = {problem.code for problem in volume.problems}
        # Of a torn record the whole block may be there. Version lines in lower case are read too.
        wanted = int(row["intact_records"] or 2)
        more = {"torn tail": 1, "bad-date,bad-version-line,upper-case-type": 2}
        assert 0 <= len(records) - wanted <= more.get(row["oddities"], 0), row["file"]
        if row["types"] and wanted == int(row["records"]):
            types = {name.split(":")[0].lower().strip() for name in row["types"].split(",")}
            assert types - {""} == {record.type for record in records}
        for oddity in row["oddities"].split(","):
            if oddity in NAMED and wanted:
                assert NAMED[oddity] in codes, (row["file"], oddity, codes)
            if oddity == "torn tail":
                assert codes in ({"torn-tail"}, {"torn-member"})
        assert codes <= CODES.keys()


def test_records_in_order_with_their_places(write: Write) -> None:
    first, second, third = resource(b"one"), resource(b""), resource(b"three", "http://x.example/3")
    path = write(first + second + third)
    with Volume(path) as volume:
        found = list(volume)
        assert [record.offset for record in found] == [0, len(first), len(first + second)]
        assert [record.length for record in found] == [len(first), len(second), len(third)]
        assert [block_of(record) for record in found] == [b"one", b"", b"three"]
        assert found[2].url == "http://x.example/3"
        assert found[0].type == "resource"
        assert found[0].version == "1.1"
        assert found[0].header + b"one\r\n\r\n" == first
        assert volume.first() == found[0]
        assert found[0].next() == found[1]
        assert found[1].next() == found[2]
        assert found[2].next() is None
        assert list(volume.records(start=len(first))) == found[1:]
        assert not volume.problems
        assert volume.compression == ""


def test_records_in_gzip_members(write: Write) -> None:
    records = [resource(bytes([65 + n]) * 3000) for n in range(5)]
    members = [packed(record) for record in records]
    path = write(b"".join(members))
    with Volume(path) as volume:
        found = list(volume)
        assert [record.length for record in found] == list(map(len, members))
        assert all(record.alone for record in found)
        assert [b"".join(record.raw().chunks()) for record in found] == members
        assert [b"".join(record.pieces()) for record in found] == records
        assert [block_of(volume.at(record.offset)) for record in found[::-1]] == [
            bytes([65 + n]) * 3000 for n in range(5)
        ][::-1]
        assert found[1].next() == found[2]
        assert found[4].next() is None
        assert volume.compression == "gzip"
        assert not volume.problems


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
def test_records_in_one_member(write: Write, compress: Callable[[bytes], bytes]) -> None:
    blocks = [bytes([65 + n]) * 40_000 for n in range(9)]
    path = write(compress(b"".join(map(resource, blocks))))
    assert read(path) == (blocks, ["one-member"])
    with Volume(path) as volume:
        found = list(volume)
        assert [block_of(record) for record in found] == blocks
        assert [record.offset for record in found] == [0] * 9
        assert block_of(volume.at(0, found[3].inner)) == blocks[3]
        assert found[3].next() == found[4]
        assert len(set(found)) == 9
        with pytest.raises(BadWarc, match="shares"):
            found[3].raw()


def test_the_same_record_by_another_name_is_equal(write: Write, tmp_path: Path) -> None:
    path = write(resource(b"a") + resource(b"a"))
    other = tmp_path / "other.warc"
    other.symlink_to(path)
    with Volume(path) as one, Volume(other) as two:
        assert list(one) == list(two)
        assert one.first() != list(one)[1]
        assert len({*one, *two}) == 2


def test_a_closed_volume_is_opened_again(write: Write) -> None:
    path = write(resource(b"a"))
    with Volume(path) as volume:
        record = volume.first()
    assert record is not None
    assert block_of(record) == b"a"
    volume.close()


def test_a_volume_in_another_source() -> None:
    volume = Volume(Path("x.zip/1.warc"), source=MemorySource(resource(b"a") + resource(b"b")))
    assert [block_of(record) for record in volume] == [b"a", b"b"]


def test_types_are_chosen(write: Write) -> None:
    odd = resource(b"b").replace(b"WARC-Type: resource", b"WARC-Type: Metadata")
    with Volume(write(resource(b"a") + odd)) as volume:
        assert [block_of(record) for record in volume.records(types=["metadata"])] == [b"b"]


@pytest.mark.parametrize(
    ("bad", "codes"),
    [
        (b"\0" * 600, ["stray-bytes"]),
        (b"x" * 3_000_000, ["stray-bytes"]),
        (b"\r\n" * 40, ["bad-trailer"]),
        (b"WARC/1.1\r\n\r\n\r\n\r\n", ["bad-length"]),
        (b"WARC/1.1\r\nContent-Length: x\r\n\r\n\r\n\r\n", ["bad-length"]),
        (b"WARC/1.1\r\nContent-Length: -1\r\n\r\n\r\n\r\n", ["bad-length"]),
        (b"WARC/1.1\r\nContent-Length: " + b"1" * 6000 + b"\r\n\r\n", ["bad-length"]),
        (b"WARC/1.1\r\nContent-Length: \xc2\xb2\r\n\r\n", ["bad-length"]),
        (b"WARC/1.1\r\nContent-Length: 0\r\nContent-Length: 1\r\n\r\na\r\n\r\n", ["bad-length"]),
        (
            b"WARC/1.1\r\nA: " + b"b" * 70_000 + b"\r\nContent-Length: 0\r\n\r\n\r\n\r\n",
            ["long-line"],
        ),
        (b"WARC/1.1\r\n" + b"A: b\r\n" * 300_000 + b"\r\n", ["long-header"]),
        (b"WARC/1.1\r\nWARC-Type: response\r\n", ["open-header"]),
        (b"WARC/1.1\r\nContent-Length: 99999999999999999\r\n\r\nab\r\n\r\n", ["overlong-block"]),
        (b"WARC/1.1\r\nContent-Length: 20\r\n\r\nab\r\n\r\n", ["overlong-block"]),
        (b"\x1f\x8b\x08\0" + b"\0" * 60, ["stray-bytes"]),
    ],
)
def test_a_bad_record_hides_no_other(write: Write, bad: bytes, codes: list[str]) -> None:
    first = resource(b"a")
    path = write(first + bad + resource(b"b") + resource(b"c"))
    assert read(path) == ([b"a", b"b", b"c"], codes)
    with Volume(path) as volume:
        list(volume)
        list(volume)
        assert len(volume.problems) == 1
        assert volume.problems[0].offset == (0 if codes == ["bad-trailer"] else len(first))
        assert len(volume.problems[0].sentence) < 200
    with Volume(path, strict=True) as volume, pytest.raises(BadWarc):
        list(volume)


@pytest.mark.parametrize(
    ("end", "code"),
    [(b"", "bad-trailer"), (b"\n", "bad-trailer"), (b"\r\n\r\n\r\n", "bad-trailer")],
)
def test_odd_trailers_are_named(write: Write, end: bytes, code: str) -> None:
    odd = resource(b"a").removesuffix(b"\r\n\r\n") + end
    assert read(write(odd + resource(b"b"))) == ([b"a", b"b"], [code])


def test_lines_ended_twice_over_are_read(write: Write) -> None:
    header, block, end = resource(b"first").partition(b"first")
    path = write(header.replace(b"\r\n", b"\r\r\n") + block + end)
    assert read(path) == ([b"first"], ["bad-version"])


def test_a_block_with_a_record_in_it_stays_whole(write: Write) -> None:
    inner = resource(b"inner")
    assert read(write(resource(inner) + resource(b"b"))) == ([inner, b"b"], [])
    # Its digest tells that the stray bytes are none of it.
    blocks, codes = read(write(resource(inner) + b"stray\r\n" + resource(b"b")))
    assert (blocks, codes) == ([inner, b"b"], ["stray-bytes"])


def test_a_plain_file_cut_anywhere_in_its_last_record_is_torn(tmp_path: Path) -> None:
    whole, last = resource(b"a"), resource(b"WARC/1.1\r\n\r\nb")
    path = tmp_path / "x.warc"
    for cut in range(1, len(last)):
        path.write_bytes(whole + last[:cut])
        blocks, codes = read(path)
        assert codes == ["torn-tail"], cut
        assert len(blocks) == (1 if cut < len(last) - 4 else 2)
        with Volume(path, strict=True) as volume:
            records = iter(volume)
            assert block_of(next(records)) == b"a"
            with pytest.raises(TornWarc) as caught:
                next(records)
        assert caught.value.offset == len(whole)


def test_a_compressed_file_cut_anywhere_in_its_last_member_is_torn(tmp_path: Path) -> None:
    whole, last = packed(resource(b"a")), packed(resource(b"WARC/1.1\r\n\r\nb"))
    path = tmp_path / "x.warc.gz"
    for cut in range(1, len(last)):
        path.write_bytes(whole + last[:cut])
        blocks, codes = read(path)
        assert codes == ["torn-member"], cut
        assert blocks[0] == b"a"
        with Volume(path, strict=True) as volume, pytest.raises(TornWarc) as caught:
            list(volume)
        assert caught.value.offset == len(whole)


def test_broken_members_hide_no_other(write: Write) -> None:
    one, two, three = (packed(resource(block)) for block in (b"a", os.urandom(3000), b"c"))
    broken = two[:1500] + b"\0" * 20 + two[1520:]
    assert read(write(one + broken + three)) == ([b"a", b"c"], ["bad-compression"])
    assert read(write(one + two[:1500] + three)) == ([b"a", b"c"], ["bad-compression"])
    assert read(write(one + b"junk" * 40 + three)) == ([b"a", b"c"], ["stray-bytes"])
    assert read(write(one + b"junk")) == ([b"a"], ["stray-bytes"])
    assert read(write(one + b"\0" * 600 + three)) == ([b"a", b"c"], ["padding"])
    assert read(write(one + gzip.compress(b"") + three)) == ([b"a", b"c"], [])


def test_a_bomb_of_a_header_line_is_refused(write: Write) -> None:
    bomb = gzip.compress(b"WARC/1.1\r\nA: " + b"b" * (40 << 20), 1)
    blocks, codes = read(write(bomb + packed(resource(b"a"))))
    assert (blocks, codes) == ([b"a"], ["long-header"])


def skip_length(member: bytes, packed: int, plain: int) -> bytes:
    """*member* with the extra field ``sl``, which says these lengths."""
    extra = struct.pack("<H2sHII", 12, b"sl", 8, packed, plain)
    return member[:3] + b"\x04" + member[4:10] + extra + member[10:]


def test_members_that_tell_their_length_are_passed_over(write: Write) -> None:
    big, behind = resource(os.urandom(400_000)), packed(resource(b"b"))
    member = packed(big)
    told = skip_length(member, len(member) + 14, len(big))
    # Broken inside: whoever passes over it does not see that, whoever reads or checks it does.
    broken = told[:200_000] + b"\0" * 9 + told[200_009:]
    with Volume(write(broken + behind)) as volume:
        first, second = volume
        assert first.length == len(told)
        assert first.next() == second
        assert volume.at(0) == first
        assert not volume.problems
        with pytest.raises(BadWarc):
            block_of(first)
        volume.inflate_all = True
        assert [block_of(record) for record in volume] == [b"b"]
        assert [problem.code for problem in volume.problems] == ["bad-compression"]
    assert read(write(told + behind))[0] == [big[-400_004:-4], b"b"]


@pytest.mark.parametrize(("packed_more", "plain_more"), [(1, 0), (-1, 0), (0, 1), (10**9, 0)])
def test_no_length_is_trusted_blindly(write: Write, packed_more: int, plain_more: int) -> None:
    big = resource(os.urandom(400_000))
    member = packed(big)
    told = skip_length(member, len(member) + 14 + packed_more, len(big) + plain_more)
    assert read(write(told + packed(resource(b"b")))) == ([big[-400_004:-4], b"b"], [])


@pytest.mark.parametrize("compressed", [False, True])
def test_zstd_with_a_dictionary(write: Write, compressed: bool) -> None:
    records = [resource(b"a common text, said often %d" % n) for n in range(300)]
    dictionary = zstd.train_dict(records, 4096)
    content = dictionary.dict_content
    if compressed:
        content = zstd.compress(content)
    begin = b"\x5d\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content
    frames = [zstd.compress(record, zstd_dict=dictionary) for record in records]
    path = write(begin + b"".join(frames))
    blocks = [b"a common text, said often %d" % n for n in range(300)]
    assert read(path) == (blocks, [])
    with Volume(path) as volume:
        assert volume.compression == "zstd"
        found = list(volume)
        assert block_of(volume.at(found[7].offset)) == blocks[7]
        assert [record.length for record in found] == list(map(len, frames))
    assert read(write(b"".join(map(zstd.compress, records)))) == (blocks, [])


def test_limits_are_the_callers(write: Write) -> None:
    path = write(resource(b"a"))
    assert read(path, limits=HeaderLimits(header=80)) == ([], ["long-header"])


@pytest.mark.parametrize(
    "data", [b"", b"\r\n" * 9, b"\n", b"\0" * 99, b"text\n" * 9, b"\xff\xfeW\0A\0"]
)
def test_what_is_no_warc_has_no_records(write: Write, data: bytes) -> None:
    blocks, codes = read(write(data))
    assert not blocks
    assert codes == (["stray-bytes"] if data else [])
    with Volume(write(data)) as volume:
        assert volume.first() is None


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "fifo"):
        with pytest.raises(BadWarc, match="not a file"):
            read(path)
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none")


def test_an_offset_that_is_no_boundary_is_bad(write: Write) -> None:
    for data in (resource(b"a" * 50), packed(resource(b"a" * 50))):
        with Volume(write(data)) as volume:
            assert volume.at(0).offset == 0
            for offset in (3, 20, len(data), len(data) + 9):
                with pytest.raises(BadWarc):
                    volume.at(offset)


@given(st.lists(st.binary(max_size=300), max_size=5), st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_blocks_are_read_back(tmp_path: Path, blocks: list[bytes], zipped: bool) -> None:
    path = tmp_path / "y.warc"
    records = list(map(resource, blocks))
    path.write_bytes(packed(*records) if zipped else b"".join(records))
    assert read(path) == (blocks, [])


@given(st.binary(min_size=1, max_size=400), st.integers(0, 3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_garbage_is_named_and_hides_nothing(tmp_path: Path, garbage: bytes, which: int) -> None:
    path = tmp_path / "z.warc"
    lead = (b"", b"WARC/1.1\r\n", b"WARC/1.0\r\nContent-Length: ", b"\x1f\x8b\x08\0")[which]
    path.write_bytes(resource(b"a") + lead + garbage + b"\r\n\r\n" + resource(b"b"))
    blocks, codes = read(path)
    assert blocks[0] == b"a"
    assert blocks[-1] == b"b"
    assert codes
    path.write_bytes(packed(resource(b"a")) + lead + garbage)
    assert read(path)[0][0] == b"a"
    with Volume(path, strict=True) as volume, suppress(WarcError):
        list(volume)


def test_blocks_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "big.warc"
    size = 3 << 30
    with path.open("wb") as file:
        file.write(b"WARC/1.1\r\nContent-Length: %d\r\n\r\n" % size)
        file.truncate(file.tell() + size)
        file.seek(0, os.SEEK_END)
        file.write(b"\r\n\r\n" + resource(b"behind"))
    with Volume(path) as volume:
        found = list(volume)
        assert block_of(found[1]) == b"behind"
        assert not volume.problems
