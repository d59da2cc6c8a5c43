import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lafka.warc.writing.appending import Appender
from tests.warc.smalldisks import files_of_at_most


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x"


@pytest.fixture
def file(path: Path) -> Iterator[Appender]:
    appender = Appender.create(path)
    yield appender
    appender.close()


def test_a_file_that_is_there_is_not_opened(path: Path, file: Appender) -> None:
    with pytest.raises(FileExistsError):
        Appender.create(path)


@pytest.mark.parametrize("sizes", [[], [0], [1, 2, 3], [1] * 1500, [3 << 20, 5, 1 << 20, 0, 7]])
def test_pieces_stand_one_behind_the_other(path: Path, file: Appender, sizes: list[int]) -> None:
    pieces = [bytes([65 + n % 26]) * size for n, size in enumerate(sizes)]
    file.write([b"before"])
    file.write(iter(pieces))
    assert path.read_bytes() == b"before" + b"".join(pieces)
    assert file.position == path.stat().st_size


def test_a_disk_that_takes_little_gets_it_all(
    path: Path, file: Appender, monkeypatch: pytest.MonkeyPatch
) -> None:
    vector, single = os.pwritev, os.pwrite
    monkeypatch.setattr(os, "pwritev", lambda fd, pieces, at: vector(fd, [pieces[0][:1]], at))
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: single(fd, data[:2], at))
    file.write([b"abc", b"", b"defgh"])
    assert path.read_bytes() == b"abcdefgh"


def failing(error: BaseException) -> Iterator[bytes]:
    yield b"x" * (2 << 20)
    raise error


@pytest.mark.parametrize("error", [OSError(5, "bad"), ValueError(), KeyboardInterrupt()])
def test_a_group_is_there_or_not(path: Path, file: Appender, error: BaseException) -> None:
    with file.group():
        file.write([b"whole"])
    with pytest.raises(type(error)), file.group():
        file.write(failing(error))
    assert path.read_bytes() == b"whole"
    with file.group():
        file.write([b"!"])
    assert path.read_bytes() == b"whole!"


def test_bytes_of_a_write_that_failed_are_cut_off(
    path: Path, file: Appender, monkeypatch: pytest.MonkeyPatch
) -> None:
    vector = os.pwritev

    def half(fd: int, pieces: list[bytes], at: int) -> int:
        vector(fd, [pieces[0][:3]], at)
        raise OSError(28, "full")

    file.write([b"whole"])
    monkeypatch.setattr(os, "pwritev", half)
    with pytest.raises(OSError, match="full"), file.group():
        file.write([b"torn off"])
    assert path.read_bytes() == b"whole"
    assert file.intact


def test_a_group_that_cannot_be_cut_off_is_known(
    path: Path, file: Appender, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(fd: int, size: int) -> None:
        raise OSError(5, "bad")

    monkeypatch.setattr(os, "ftruncate", refuse)
    with pytest.raises(KeyError), file.group():
        file.write(failing(KeyError()))
    assert not file.intact


def test_a_full_disk_leaves_what_was_there(path: Path, file: Appender) -> None:
    file.write([b"x" * 1000])
    with files_of_at_most(5000), pytest.raises(OSError, match="too large"), file.group():
        file.write([b"y" * 3000, b"z" * 3000])
    assert path.read_bytes() == b"x" * 1000


def test_bytes_are_copied_and_replaced(path: Path, file: Appender, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"0123456789")
    file.write([b"a"])
    with other.open("rb") as source:
        file.copy(source.fileno(), 2, 5)
        file.overwrite(0, b"A")
        file.write([b"b"])
        with pytest.raises(EOFError), file.group():
            file.copy(source.fileno(), 8, 5)
    assert path.read_bytes() == b"A23456b"
