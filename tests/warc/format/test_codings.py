import gzip
import zlib
from collections.abc import Callable, Iterator
from functools import partial

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.warc.errors import BadHttp
from lafka.warc.format.codings import decode, opening
from lafka.warc.format.compression import zstd


def raw_deflate(data: bytes) -> bytes:
    deflater = zlib.compressobj(wbits=-15)
    return deflater.compress(data) + deflater.flush()


ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "x-gzip": lambda data: gzip.compress(data, mtime=0),
    "deflate": zlib.compress,
    "br": partial(brotli.compress, quality=5),
    "zstd": zstd.compress,
}
RAW = {**ENCODERS, "deflate": raw_deflate}


def split(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    for size in sizes:
        yield data[:size]
        data = data[size:]
    yield data


SPLITS = st.lists(st.integers(0, 40), max_size=12)


@pytest.mark.parametrize("encoders", [ENCODERS, RAW])
@given(st.binary(max_size=400), st.lists(st.sampled_from([*ENCODERS]), max_size=4), SPLITS)
def test_decoding_undoes_encoding(
    encoders: dict[str, Callable[[bytes], bytes]],
    data: bytes,
    codings: list[str],
    sizes: list[int],
) -> None:
    coded = data
    for coding in codings:
        coded = encoders[coding](coded)
    assert b"".join(decode(split(coded, sizes), tuple(codings))) == data


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
@given(st.lists(st.binary(max_size=60), min_size=1, max_size=4), SPLITS, st.booleans())
def test_members_follow_each_other(
    coding: str, members: list[bytes], sizes: list[int], padded: bool
) -> None:
    coded = b"".join(map(ENCODERS[coding], members)) + b"\0" * 9 * padded
    assert b"".join(decode(split(coded, sizes), (coding,))) == b"".join(members)


@pytest.mark.parametrize("coding", [*ENCODERS])
@given(st.binary(min_size=1, max_size=300), st.data())
def test_a_coded_body_that_ends_early_is_told(
    coding: str, entity: bytes, data: st.DataObject
) -> None:
    coded = ENCODERS[coding](entity)
    cut = data.draw(st.integers(1, len(coded) - 1))
    out = []
    with pytest.raises(BadHttp):
        out.extend(decode([coded[:cut]], (coding,)))
    assert entity.startswith(b"".join(out))


@pytest.mark.parametrize("encoders", [ENCODERS, RAW])
@pytest.mark.parametrize("coding", [*ENCODERS])
@given(st.binary(max_size=120), st.binary(max_size=60), SPLITS)
def test_decoding_anything_gives_bytes_or_is_bad(
    coding: str,
    encoders: dict[str, Callable[[bytes], bytes]],
    data: bytes,
    more: bytes,
    sizes: list[int],
) -> None:
    coded = encoders[coding](data)
    for body in (more, coded + more, coded[: len(coded) // 2] + more):
        try:
            b"".join(decode(split(body, sizes), (coding,)))
        except BadHttp:
            continue


@pytest.mark.parametrize(
    "coding", ["gzip", "x-gzip", "deflate", "br", "zstd", "utf-8", "binary", "aes128gcm"]
)
def test_a_coding_that_was_not_applied_changes_nothing(coding: str) -> None:
    assert b"".join(decode([b"%P", b"DF-1.4\n"], (coding,))) == b"%PDF-1.4\n"


def test_an_empty_body_can_have_any_coding() -> None:
    for coding in ENCODERS:
        assert b"".join(decode([b"", b""], (coding,))) == b""


def test_too_many_codings_are_refused() -> None:
    with pytest.raises(BadHttp):
        list(decode([b"x"], ("gzip",) * 5000))


@pytest.mark.parametrize("coding", [*ENCODERS])
def test_a_bomb_comes_piece_by_piece(coding: str) -> None:
    coded = ENCODERS[coding](bytes(40 << 20))
    pieces = decode([coded], (coding,))
    size = 0
    for piece in pieces:
        assert len(piece) <= 4 << 20
        size += len(piece)
        if size > 8 << 20:
            break
    else:
        pytest.fail("it was not decoded")


@pytest.mark.parametrize("size", [1 << 20, 2_485_716])
@pytest.mark.parametrize("coding", [*ENCODERS])
def test_what_expands_by_much_comes_whole(coding: str, size: int) -> None:
    coded = ENCODERS[coding](bytes(size) + b"end")
    for pieces in ([coded], split(coded, [1] * len(coded)), split(coded, [len(coded) - 1])):
        assert b"".join(decode(pieces, (coding,))) == bytes(size) + b"end"


def test_a_zstd_window_is_bounded() -> None:
    options = {zstd.CompressionParameter.window_log: 27}
    coder = zstd.ZstdCompressor(options=options)
    coded = coder.compress(b"x" * 100) + coder.flush()
    with pytest.raises(BadHttp):
        list(decode([coded], ("zstd",)))


@pytest.mark.parametrize("coding", [*ENCODERS])
@given(st.binary(max_size=300), st.integers(0, 400), st.integers(1, 100))
def test_an_opening_is_the_beginning_of_the_entity(
    coding: str, entity: bytes, cut: int, size: int
) -> None:
    coded = ENCODERS[coding](entity)[:cut]
    begun = opening(coded, coding, size)
    assert begun is None or entity[:size].startswith(begun)
    if cut == 400:
        assert begun == entity[:size]


@pytest.mark.parametrize("coding", [*ENCODERS, "compress", ""])
def test_an_opening_that_contradicts_its_coding_is_none(coding: str) -> None:
    assert opening(b"<html>\xff\xff\xff\xff no coding at all", coding, 99) is None
