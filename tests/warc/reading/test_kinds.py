"""A volume, and a check, look at what a file is."""

import bz2
import gzip
from pathlib import Path

import pytest

from lafka.warc import Volume, check
from lafka.warc.foreign.arc import ArcVolume
from lafka.warc.foreign.mhtml import MhtmlVolume
from lafka.warc.foreign.wacz import WaczVolume
from tests.warc.arcs import FILEDESC, PAGE
from tests.warc.captures import response

MHTML = (
    b"MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=x\r\n\r\n"
    b"--x\r\nContent-Type: text/html\r\nContent-Location: http://a/\r\n\r\nhi\r\n--x--\r\n"
)


@pytest.mark.parametrize(
    ("data", "kind", "count"),
    [
        (FILEDESC + PAGE, ArcVolume, 2),
        (gzip.compress(FILEDESC) + gzip.compress(PAGE), ArcVolume, 2),
        (bz2.compress(FILEDESC + PAGE), ArcVolume, 2),
        (MHTML, MhtmlVolume, 1),
        (response(), Volume, 1),
        (b"", Volume, 0),
        (b"junk\r\n" + response(), Volume, 1),
    ],
)
def test_a_volume_is_what_the_file_is(
    tmp_path: Path, data: bytes, kind: type[Volume], count: int
) -> None:
    path = tmp_path / "whatever"
    path.write_bytes(data)
    with Volume(path) as volume:
        assert type(volume) is kind
        assert len(list(volume)) == count
    assert check(path).volume.__class__ is kind
    with Volume(path, part=(0, None)) as volume:  # which is told to be a WARC
        assert type(volume) is Volume


def test_a_zip_is_a_wacz(tmp_path: Path) -> None:
    path = tmp_path / "a.wacz"
    path.write_bytes(b"PK\3\4 and no more")
    assert type(Volume(path)) is WaczVolume
    assert "bad-zip" in [problem.code for problem in check(path)]


def test_arcs_are_checked_for_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "a.arc"
    path.write_bytes(FILEDESC + PAGE)
    checked = check(path)
    assert list(checked) == []
    assert (checked.records, checked.passed) == (2, True)


def test_a_file_that_is_not_there_raises_when_it_is_read(tmp_path: Path) -> None:
    volume = Volume(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        list(volume)


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"\x04\x22\x4d\x18d@\xa7", "LZ4"),
        (b"\xfd7zXZ\0\0\4", "xz"),
        (b"7z\xbc\xaf\x27\x1c\0\4", "7z"),
    ],
)
def test_a_compression_that_is_not_read_is_named(tmp_path: Path, head: bytes, name: str) -> None:
    path = tmp_path / "a.warc.lz4"
    path.write_bytes(head + bytes(5000) + response())
    volume = Volume(path)
    assert list(volume) == []
    assert [problem.sentence for problem in volume.problems] == [
        f"it is compressed by {name}, which is not read here"
    ]
    checked = check(path)
    assert [problem.code for problem in checked] == ["unread-compression", "no-records"]
    assert not checked.passed


def test_an_empty_file_does_not_pass(tmp_path: Path) -> None:
    path = tmp_path / "a.warc"
    path.touch()
    checked = check(path)
    assert [(problem.code, problem.severity) for problem in checked] == [("no-records", "error")]
    assert not checked.passed
