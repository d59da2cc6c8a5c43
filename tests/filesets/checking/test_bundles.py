"""What the checker reads of a gzipped bundle: in one pass, whatever its pieces and its damage."""

from __future__ import annotations

import gzip
import hashlib
import random
import zlib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.filesets.checking.records import (
    DIGESTS,
    UnknownPlace,
    gunzipped,
    packed_place,
    placed,
    sums_in,
)

DATA = random.Random(1).randbytes(3000) + bytes(4_000_000) + b"the end"


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def found(data: bytes) -> tuple[int, dict[str, str]]:
    return len(data), {name: hashlib.new(name, data).hexdigest() for name in DIGESTS}


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
@pytest.mark.parametrize("padding", [b"", bytes(40)])
def test_gzips_behind_each_other_are_one_in_bounded_pieces(size: int, padding: bytes) -> None:
    packed = gzip.compress(DATA[:2000]) + padding + gzip.compress(DATA[2000:]) + padding
    made = list(gunzipped(pieces(packed, size)))
    assert b"".join(made) == DATA
    assert max(map(len, made)) <= 1 << 20


def test_all_before_a_damage_is_given() -> None:
    packed = bytearray(gzip.compress(DATA))
    packed[-5] ^= 1  # of the CRC-32
    sums, trouble = sums_in(gunzipped(pieces(bytes(packed), 1 << 20)), [(0, len(DATA) + 1)])
    assert "incorrect data check" in trouble
    assert sums == {(0, len(DATA) + 1): found(DATA)}


def test_a_gzip_that_is_none_is_refused() -> None:
    with pytest.raises(zlib.error):
        list(gunzipped(iter([b"no gzip"])))


stretches = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=6)


@given(st.binary(max_size=80), stretches, st.integers(1, 90))
def test_stretches_of_what_goes_by_are_summed_in_one_pass(
    data: bytes, wanted: list[tuple[int, int]], size: int
) -> None:
    sums, trouble = sums_in(pieces(data, size), wanted)
    assert trouble == ""
    assert sums == {(at, length): found(data[at : at + length]) for at, length in wanted}


def test_what_stands_before_a_damage_is_whole() -> None:
    def broken() -> Iterator[bytes]:
        yield b"abcdef"
        raise zlib.error("no more")

    sums, trouble = sums_in(broken(), [(0, 3), (4, 5), (9, 1)])
    assert trouble == "no more"
    assert sums == {(0, 3): found(b"abc"), (4, 5): found(b"ef"), (9, 1): found(b"")}


def test_nothing_behind_the_last_stretch_is_read() -> None:
    more = pieces(b"abcdef", 2)
    assert sums_in(more, [(1, 2)])[0] == {(1, 2): found(b"bc")}
    assert list(more) == [b"ef"]


@pytest.mark.parametrize(
    ("bundle", "why"),
    [({"l": 5, "method": "stored"}, "does not say where"),
     ({"s": 1, "l": 5, "method": "bzip2"}, "compressed by bzip2")],
)  # fmt: skip
def test_a_member_that_cannot_be_read_is_told_apart(bundle: dict[str, object], why: str) -> None:
    with pytest.raises(UnknownPlace, match=why):
        placed(lambda _start, _length: iter([b""]), {"bundle": bundle})


@pytest.mark.parametrize("packed", [5, [], {}, {"s": 1, "l": "x", "at": 1}, {"s": None}])
def test_a_place_that_is_none_is_refused(packed: object) -> None:
    with pytest.raises((ValueError, LookupError, TypeError)):
        packed_place({"bundle": {"packed": packed}})
