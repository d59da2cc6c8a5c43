"""Output goes into a file whole or not at all, into a device or pipe, and never replaces one."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lafka.errors import BadArgument, StorageTrouble
from lafka.storage.outputs import file_at, write_output

NULL = os.makedev(1, 3)


def test_a_file_is_made_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    write_output(str(path), [b"a", b"b"])
    write_output(str(path), [b"c"])
    assert path.read_bytes() == b"c"
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("before", [b"old", None])
def test_the_file_behind_a_link_is_written_and_the_link_stays(
    tmp_path: Path, before: bytes | None
) -> None:
    path, link = tmp_path / "files" / "x", tmp_path / "link"
    path.parent.mkdir()
    if before is not None:
        path.write_bytes(before)
    link.symlink_to(path)
    write_output(str(link), [b"new"])
    assert link.is_symlink()
    assert path.read_bytes() == b"new"


def test_what_fails_half_way_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    def torn() -> Iterator[bytes]:
        yield b"half"
        raise OSError(28, "No space left on device")

    path = tmp_path / "x"
    path.write_bytes(b"old")
    with pytest.raises(StorageTrouble):
        write_output(str(path), torn())
    assert path.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [path]


def test_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    for name in (str(tmp_path), str(tmp_path / "link")):
        with pytest.raises(BadArgument, match="a folder"):
            write_output(name, [b"x"])


def test_a_pipe_is_written_into_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert reading(path, lambda: write_output(str(path), [b"one", b"two"])) == b"onetwo"
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert file_at(str(path)) is None


def reading(path: Path, act: Callable[[], None]) -> bytes:
    """What comes out of the pipe at *path* while *act* is done."""
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()))
    reader.start()
    act()
    reader.join()
    return found[0]


def test_a_device_is_written_into_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "null"
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, NULL)
        path.open("wb").close()
    except PermissionError:
        pytest.skip("devices can be made and used by root alone")
    write_output(str(path), [b"x"])
    assert stat.S_ISCHR(path.stat().st_mode)
    assert [*tmp_path.iterdir()] == [path]


def test_a_link_in_a_circle_is_trouble(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(StorageTrouble):
        file_at(str(tmp_path / "a"))


@pytest.mark.parametrize("name", ["-", ""])
def test_standard_output(name: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    write_output(name, [b"\xffx"])
    assert capfdbinary.readouterr().out == b"\xffx"
