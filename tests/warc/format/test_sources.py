import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.warc.format.sources import FileSource, MemorySource, Source, SourceSlice

DATA = bytes(range(256)) * 5


@pytest.fixture(params=["memory", "file", "part"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Source]:
    if request.param == "memory":
        yield MemorySource(DATA)
        return
    if request.param == "part":
        yield SourceSlice(MemorySource(b"before" + DATA + b"after"), len(b"before"), len(DATA))
        return
    path = tmp_path / "data"
    path.write_bytes(b"before" + DATA + b"after")
    fd = os.open(path, os.O_RDONLY)
    try:
        yield FileSource(fd, len(b"before"), len(DATA))
    finally:
        os.close(fd)


def test_any_place_can_be_read(source: Source) -> None:
    assert source.size == len(DATA)
    assert source.read(0, len(DATA)) == DATA
    assert source.read(100, 7) == DATA[100:107]
    assert source.read(len(DATA) - 3, 50) == DATA[-3:]
    assert source.read(len(DATA), 1) == source.read(len(DATA) + 9, 1) == b""


def test_chunks_are_all_bytes_from_a_place_on(source: Source) -> None:
    assert list(source.chunks(1275, 2)) == [DATA[1275:1277], DATA[1277:1279], DATA[1279:]]
    assert b"".join(source.chunks()) == DATA
    assert list(source.chunks(len(DATA))) == []


def test_a_file_that_is_too_short_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"12345")
    with path.open("rb") as file:
        source = FileSource(file.fileno(), 2, 10)
        with pytest.raises(OSError, match="ends at byte 5"):
            source.read(0, 10)


@given(st.binary(max_size=60), st.integers(0, 70), st.integers(1, 70))
def test_chunks_are_a_split(data: bytes, start: int, size: int) -> None:
    for source in (MemorySource(data), SourceSlice(MemorySource(b"x" + data + b"y"), 1, len(data))):
        chunks = list(source.chunks(start, size))
        assert b"".join(chunks) == data[start:]
        assert all(len(chunk) == size for chunk in chunks[:-1])
