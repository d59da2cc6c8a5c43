import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.warc.format.compression import BARE, Inflater, inflated, members

TEXTS = st.lists(st.binary(max_size=5000), min_size=1, max_size=4)


def cut(data: bytes, step: int) -> list[bytes]:
    return [data[place : place + step] for place in range(0, len(data), step)]


@given(TEXTS, st.integers(1, 700), st.integers(1, 700), st.integers(0, 3))
def test_members_are_inflated_however_they_are_cut(
    texts: list[bytes], step: int, most: int, zeros: int
) -> None:
    packed = b"".join(gzip.compress(text) + bytes(zeros) for text in texts)
    assert b"".join(inflated(cut(packed, step), most)) == b"".join(texts)
    told = list(members(cut(packed, step), most))
    assert all(len(piece) <= most for piece, _ in told)
    assert sum(is_over for _, is_over in told) == len(texts)


@given(st.binary(max_size=3000), st.data())
def test_a_torn_member_gives_what_it_has_and_raises(text: bytes, data: st.DataObject) -> None:
    packed = gzip.compress(text)
    place = data.draw(st.integers(1, len(packed) - 1))
    had: list[bytes] = []
    with pytest.raises(EOFError, match="ends early"):
        had.extend(inflated([packed[:place]], 100))
    assert text.startswith(b"".join(had))


def test_broken_data_raises_zlib_s_error() -> None:
    with pytest.raises(zlib.error):
        list(inflated([gzip.compress(b"x" * 100)[:-8] + bytes(8)]))


def test_a_bomb_comes_in_small_pieces() -> None:
    packed = gzip.compress(bytes(10 << 20))
    assert {len(piece) for piece in inflated([packed], 1 << 16)} == {1 << 16}


def test_one_stream_stops_at_its_end() -> None:
    packer = zlib.compressobj(wbits=BARE)
    packed = packer.compress(b"hello") + packer.flush()
    inner = Inflater(BARE)
    assert b"".join(inner.pieces(packed + b"more", 2)) == b"hello"
    assert (inner.eof, inner.rest) == (True, b"more")
    assert list(inner.pieces(b"more")) == []
