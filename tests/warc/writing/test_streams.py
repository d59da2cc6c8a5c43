"""One rule for compression; a builder onto any writable."""

import io
import os
import threading
from pathlib import Path

import pytest

from lafka.warc import Builder, Fields, Record, Volume, check, recompress, repair
from lafka.warc.converting.arc2warc import arc2warc
from lafka.warc.converting.warc2arc import warc2arc
from lafka.warc.errors import BadValue
from lafka.warc.format.sources import MemorySource
from lafka.warc.indexes import builder as index_builder
from tests.warc.arcs import FILEDESC, PAGE

URL = "http://x.example/"
INFO = Fields({"software": "Test/1"})
HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


def answer(size: int) -> Record:
    block = MemorySource(HEAD + b"x" * size)
    return Record.response(URL, block, date="2026-11-20T10:11:12Z", id=f"<urn:y:{size}>")


@pytest.mark.parametrize("asked", [None, True, False])
@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz"])
def test_what_is_written_is_compressed_by_its_name_or_as_asked(
    tmp_path: Path, name: str, asked: bool | None
) -> None:
    packed = asked if asked is not None else name.endswith(".gz")
    with Builder(tmp_path / name, gzip=asked) as builder:
        builder.append(answer(10))
    (tmp_path / "old.arc").write_bytes(FILEDESC + PAGE)
    made = [tmp_path / name]
    for number, way in enumerate((recompress, repair)):
        made.append(tmp_path / f"{number}{name}")
        way(tmp_path / name, made[-1], gzip=asked)
    made.append(tmp_path / f"from-{name}")
    arc2warc(tmp_path / "old.arc", made[-1], gzip=asked)
    made.append(tmp_path / name.replace("warc", "arc"))
    warc2arc(tmp_path / name, made[-1], gzip=asked)
    assert [Volume(path).compression for path in made] == ["gzip" if packed else ""] * 5


def test_names_by_a_template_say_it_too(tmp_path: Path) -> None:
    template = "{prefix}-{serial}.warc.gz"
    with Builder(folder=tmp_path, template=template) as builder:
        builder.append(answer(10))
    assert Volume(builder.finished[0]).compression == "gzip"
    assert builder.finished[0].name == "WARC-0.warc.gz"
    with pytest.raises(BadValue, match=r"plain or as \.gz"):
        Builder(tmp_path / "a.warc.zst")


@pytest.mark.parametrize("how", [{}, {"gzip": True}, {"gzip": True, "skip_lengths": True}])
def test_a_stream_gets_what_a_file_gets(tmp_path: Path, how: dict) -> None:
    ids = [f"<urn:x:{number}>" for number in range(5)]
    written = []
    stream = io.BytesIO()
    for target in (tmp_path / "a.warc", stream):
        with Builder(
            target, warcinfo=INFO, ids=iter(ids).__next__, clock=lambda: answer(0).date, **how
        ) as builder:
            written.append([builder.append(answer(size)) for size in (10, 3 << 20)])
            assert builder.is_single
    file = (tmp_path / "a.warc").read_bytes().replace(b"a.warc", b"<stream>")
    assert [p.length for places in written[1] for p in places] == [
        p.length for places in written[0] for p in places
    ]
    if not how:
        assert len(stream.getvalue()) == len(file)
    (tmp_path / "b.warc").write_bytes(stream.getvalue())
    assert list(check(tmp_path / "b.warc")) == []
    places = [place for group in written[1] for place in group]
    with Volume(tmp_path / "b.warc") as volume:
        assert [volume.at(place.offset).id for place in places] == [place.id for place in places]
        assert [record.type for record in volume] == ["warcinfo", "response", "response"]


def test_a_pipe_gets_records_as_they_are_appended() -> None:
    read, write = os.pipe()
    got: list[bytes] = []
    with os.fdopen(read, "rb") as source:
        thread = threading.Thread(target=lambda: got.append(source.read()))
        thread.start()
        with os.fdopen(write, "wb", buffering=0) as target, Builder(target, gzip=True) as builder:
            for _ in range(3):
                builder.append(answer(200_000))
        thread.join()
    assert len(list(Volume(io.BytesIO(got[0])))) == 3


def test_nothing_of_a_group_that_fails_is_on_the_stream() -> None:
    stream = io.BytesIO()

    class Short(MemorySource):
        size = 100  # type: ignore[assignment]

    with Builder(stream) as builder:
        builder.append(answer(5))
        before = stream.getvalue()
        with pytest.raises(BadValue, match="early"):
            builder.append(answer(7), Record.response(URL, Short(HEAD + b"x")))
        assert stream.getvalue() == before
        builder.append(answer(9))
    assert len(list(Volume(io.BytesIO(stream.getvalue())))) == 2


def test_a_stream_that_breaks_is_set_aside() -> None:
    class Broken(io.RawIOBase):
        def write(self, data: bytes) -> int:
            raise BrokenPipeError(32, "Broken pipe")

    builder = Builder(Broken())
    with pytest.raises(BrokenPipeError):
        builder.append(answer(5))
    assert len(builder.failed) == 1
    with pytest.raises(BadValue, match="set aside"):
        builder.append(answer(5))
    builder.close()


def test_an_index_needs_a_file(tmp_path: Path) -> None:
    with index_builder(tmp_path / "a.sqlite") as index, pytest.raises(BadValue, match="a stream"):
        Builder(io.BytesIO(), indexes=[index])


def test_the_stream_s_name_says_how_it_is_compressed(tmp_path: Path) -> None:
    with (tmp_path / "a.warc.gz").open("wb") as file, Builder(file) as builder:
        builder.append(answer(5))
    assert Volume(tmp_path / "a.warc.gz").compression == "gzip"
