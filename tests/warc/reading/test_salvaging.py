"""Of a record that is not all there, what there is; a length that is wrong, told once."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from lafka.warc import Builder, Digest, Volume, check, repair
from lafka.warc.errors import BadValue
from tests.warc.captures import record, response

BODY = b"0123456789" * 2000
ONE, TWO = response(name="1"), response(b"second", name="2")


def codes(volume: Volume) -> list[tuple[int, str]]:
    return [(problem.offset, problem.code) for problem in volume.problems]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.warc"


@pytest.mark.parametrize("form", ["plain", "members", "one member"])
@pytest.mark.parametrize("cut", [1, 3, 4, 5, 500, 19_000])
def test_a_torn_record_is_given_as_far_as_it_goes(path: Path, form: str, cut: int) -> None:
    last = response(BODY, name="3")
    if form == "plain":
        path.write_bytes((ONE + last)[:-cut])
    elif form == "members":
        path.write_bytes(gzip.compress(ONE) + gzip.compress(last, 0)[: -cut - 8])
    else:
        path.write_bytes(gzip.compress(ONE + last, 0)[: -cut - 8])
    plain = list(Volume(path))
    with Volume(path, salvage=True) as volume:
        first, torn = volume
        assert [r.torn for r in (first, torn)] == [False, cut > 4]
        assert (torn.id, first.id) == ("<urn:test:3>", "<urn:test:1>")
        assert b"".join(torn.payload()) == BODY[: len(BODY) - max(0, cut - 4)]
        kind = "torn-tail" if form == "plain" else "torn-member"
        assert kind in [code for _, code in codes(volume)]
        assert len(plain) == (2 if cut <= 4 else 1)


def test_a_record_whose_length_runs_over_the_next_is_cut(path: Path) -> None:
    wrong = TWO.replace(b"Content-Length: %d\r\n\r\n" % 0, b"")
    length = wrong.partition(b"Content-Length: ")[2].partition(b"\r\n")[0]
    wrong = wrong.replace(b"Content-Length: " + length, b"Content-Length: 300", 1)
    path.write_bytes(ONE + wrong + ONE.replace(b"test:1", b"test:3"))
    assert [r.id for r in Volume(path)] == ["<urn:test:1>", "<urn:test:3>"]
    with Volume(path, salvage=True) as volume:
        _, torn, last = volume
        assert torn.torn
        assert torn.block().read(0, 1000) == TWO.partition(b"\r\n\r\n")[2][:-4]
        assert last.id == "<urn:test:3>"
        assert codes(volume) == [(len(ONE), "overlong-block")]


def test_a_torn_record_is_not_written_anew(path: Path) -> None:
    path.write_bytes(response(BODY)[:-100])
    [torn] = Volume(path, salvage=True)
    with Builder(path.with_name("b.warc")) as builder, pytest.raises(BadValue, match="torn"):
        builder.append(torn)


def with_length(length: int, block: bytes = b"hello, world", **more: str) -> bytes:
    made = record(
        "resource", block, name="9", Content_Type="text/plain", Target_URI="http://a/", **more
    )
    return made.replace(b"Content-Length: %d\r\n" % len(block), b"Content-Length: %d\r\n" % length)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("behind", [[TWO], []])
@pytest.mark.parametrize("length", [11, 9, 5, 1])
def test_a_length_that_is_too_short_is_told_as_that_once(
    path: Path, pack: Callable[[bytes], bytes], behind: list[bytes], length: int
) -> None:
    path.write_bytes(b"".join(map(pack, [ONE, with_length(length), *behind])))
    with Volume(path) as volume:
        found = list(volume)
        assert len(found) == 2 + len(behind)
        assert found[1].block_length == length
        errors = [problem for problem in volume.problems if problem.severity == "error"]
        assert [(problem.offset, problem.code) for problem in errors] == [
            (found[1].offset, "wrong-length")
        ]
        assert errors[0].sentence == f"Content-Length is {length}, and the block has 12 bytes"
        assert [volume.at(record.offset, record.inner) for record in found] == found
    done = repair(path, into=path.with_name("b.warc"))
    assert done.records == 2 + len(behind)
    assert done.asides


@pytest.mark.parametrize("off", [1, 2, 3, 4])
def test_a_length_that_is_too_long_by_a_line_end_is_told_as_that(path: Path, off: int) -> None:
    digest = Digest.of([b"hello, world"], "sha1").text
    path.write_bytes(ONE + with_length(12 + off, Block_Digest=digest) + TWO)
    with Volume(path) as volume:
        assert len(list(volume)) == 3
        assert codes(volume) == [(len(ONE), "wrong-length")]
    path.write_bytes(ONE + with_length(12 + off) + TWO)  # who knows
    with Volume(path) as volume:
        assert len(list(volume)) == 3
        assert codes(volume) == [(len(ONE), "bad-trailer")]


def test_what_is_wrong_inside_a_member_has_a_place_in_it(path: Path) -> None:
    bad = TWO.replace(b"WARC-Date: 2026", b"WARC-Date: 20x6")
    path.write_bytes(gzip.compress(ONE + bad) + gzip.compress(bad.replace(b"test:2", b"test:4")))
    problems = [problem for problem in check(path) if problem.code == "bad-date"]
    size = len(gzip.compress(ONE + bad))
    assert [(problem.offset, problem.inner) for problem in problems] == [(0, len(ONE)), (size, 0)]
    assert json.loads(problems[0].to_json())["inner"] == len(ONE)
    assert "inner" not in json.loads(problems[1].to_json())


def test_a_line_that_is_wrong_inside_a_member_has_its_place(path: Path) -> None:
    bad = TWO.replace(b"WARC-Date: ", b"no colon\r\nWARC-Date: ")
    path.write_bytes(gzip.compress(ONE + bad))
    [problem] = [problem for problem in check(path) if problem.code == "no-colon"]
    assert problem.inner == len(ONE) + bad.index(b"no colon")


def test_blocks_of_anvl_are_fields(path: Path) -> None:
    path.write_bytes(
        record("metadata", b"via: http://a/\nfetchTimeMs: 7\n", Content_Type="text/anvl")
    )
    [metadata] = Volume(path)
    assert metadata.block_fields()["via"] == "http://a/"


def test_bytes_of_a_url_that_are_no_utf_8_are_escapes(path: Path) -> None:
    path.write_bytes(ONE.replace(b"http://x.example/a", b"http://x.example/caf\xe9/\xc3\xa9"))
    [found] = Volume(path)
    assert found.url == "http://x.example/caf%E9/é"
    assert "bad-utf-8" in [problem.code for problem in check(path)]
