from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lafka.errors import BadWarc, StorageTrouble
from lafka.storage import steps
from lafka.storage.folders import draft_of
from lafka.storage.locks import held, is_at, is_locked, is_locked_at, lock_file, locking, vacant
from lafka.storage.steps import done


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"bytes")
    return path


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def just_before_the_lock(monkeypatch: pytest.MonkeyPatch, do: Callable[[], object]) -> None:
    """Let *do* happen once, between the opening of a file and its lock."""
    flock, waiting = fcntl.flock, [do]

    def late(fd: int, operation: int) -> None:
        if waiting:
            waiting.pop()()
        flock(fd, operation)

    monkeypatch.setattr(fcntl, "flock", late)


def test_a_lock_lasts_until_its_file_is_closed(path: Path) -> None:
    fd = lock_file(path, os.O_RDONLY)
    assert fd is not None
    assert lock_file(path, os.O_RDONLY, wait=False) is None
    assert is_locked_at(path)
    os.close(fd)
    assert not is_locked_at(path)
    again = lock_file(path, os.O_RDONLY, wait=False)
    assert again is not None
    os.close(again)


def test_a_file_is_made_where_that_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        lock_file(tmp_path / "new", os.O_RDWR)
    assert not is_locked_at(tmp_path / "new")
    fd = lock_file(tmp_path / "new", os.O_RDWR | os.O_CREAT)
    assert fd is not None
    assert is_locked_at(tmp_path / "new")
    assert not os.get_inheritable(fd)
    os.close(fd)


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("what", ["removed", "renamed", "replaced"])
def test_a_file_that_lost_its_name_meanwhile_is_not_taken(
    path: Path, monkeypatch: pytest.MonkeyPatch, what: str, wait: bool
) -> None:
    other = path.with_name("other")
    other.touch()
    before = descriptors()
    do: dict[str, Callable[[], object]] = {
        "removed": path.unlink,
        "renamed": lambda: path.rename(other),
        "replaced": lambda: other.rename(path),
    }
    just_before_the_lock(monkeypatch, do[what])
    assert lock_file(path, os.O_RDWR, wait=wait) is None
    assert descriptors() == before


def test_a_lock_that_is_refused_leaves_nothing_open(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    before = descriptors()
    just_before_the_lock(monkeypatch, refused)
    with pytest.raises(OSError, match="No locks available"):
        lock_file(path, os.O_RDWR)
    assert descriptors() == before


def test_whether_a_name_is_still_that_of_an_open_file(path: Path) -> None:
    with path.open("rb") as file:
        assert is_at(file.fileno(), path)
        path.unlink()
        assert not is_at(file.fileno(), path)
        path.touch()
        assert not is_at(file.fileno(), path)


def test_a_look_at_a_lock_is_no_lock_for_others_that_look(path: Path) -> None:
    with path.open("rb") as one, path.open("rb") as other:
        assert not is_locked(one.fileno())
        assert not is_locked(other.fileno())
    with path.open("rb") as one, path.open("rb") as other:
        fcntl.flock(one.fileno(), fcntl.LOCK_EX)
        assert is_locked(other.fileno())


def test_a_paper_that_is_not_there_is_locked_by_its_draft(tmp_path: Path) -> None:
    warc = tmp_path / "a" / "1.warc"
    with held(warc) as lock:
        assert lock.path == draft_of(warc)
        assert is_locked_at(draft_of(warc))
        os.write(lock.fd, b"bytes")
        done(lock.naming_for_good())
        assert lock.path == warc
        assert is_locked_at(warc)
    assert [path.name for path in warc.parent.iterdir()] == ["1.warc"]


def test_an_empty_draft_goes_with_its_lock(tmp_path: Path) -> None:
    with held(tmp_path / "1.warc"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_draft_with_bytes_stays(tmp_path: Path) -> None:
    with held(tmp_path / "1.warc") as lock:
        os.write(lock.fd, b"bytes")
    assert draft_of(tmp_path / "1.warc").read_bytes() == b"bytes"


def test_a_draft_that_is_named_meanwhile_is_waited_for_under_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warc = tmp_path / "1.warc"
    draft_of(warc).write_bytes(b"bytes")
    just_before_the_lock(monkeypatch, lambda: draft_of(warc).rename(warc))
    with held(warc) as lock:
        assert not lock.is_draft
        assert is_locked_at(warc)


def test_a_new_draft_beside_a_warc_that_has_come_meanwhile_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warc = tmp_path / "1.warc"
    just_before_the_lock(monkeypatch, warc.touch)
    with held(warc) as lock:
        assert not lock.is_draft
    assert [path.name for path in tmp_path.iterdir()] == ["1.warc"]


def test_the_draft_of_who_was_killed_before_it_saw_the_warc_goes_with_the_next_lock(
    tmp_path: Path,
) -> None:
    warc = tmp_path / "1.warc"
    killed = locking(warc)
    assert any(isinstance(step, steps.FileLock) for step in killed)  # to come; the draft is open
    killed.close()
    warc.write_bytes(b"another's")
    assert draft_of(warc).exists()
    with held(warc) as lock:
        assert lock.path == warc
    assert [path.name for path in tmp_path.iterdir()] == ["1.warc"]


@pytest.mark.parametrize("make", [lambda path: path.write_bytes(b"bytes"), os.mkfifo, Path.mkdir])
def test_what_is_no_empty_file_stays_at_the_place_of_a_draft(
    tmp_path: Path, make: Callable[[Path], object]
) -> None:
    warc = tmp_path / "1.warc"
    warc.touch()
    make(draft_of(warc))
    with held(warc):
        pass
    assert draft_of(warc).exists()


def test_trouble_while_a_paper_is_locked_is_told_with_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(folder: Path) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    draft_of(tmp_path / "1.warc").write_bytes(b"bytes")
    trouble = pytest.raises(StorageTrouble, match=r"1\.warc: Input/output error")
    with trouble, held(tmp_path / "1.warc") as lock:
        monkeypatch.setattr(steps, "sync_folder", refused)
        done(lock.naming_for_good())
    assert not lock.is_draft


def test_a_place_is_vacant_where_neither_a_warc_nor_the_draft_of_one_is(tmp_path: Path) -> None:
    warc = tmp_path / "1.warc"
    with vacant(warc):
        assert is_locked_at(draft_of(warc))
    assert list(tmp_path.iterdir()) == []
    for path in (draft_of(warc), warc):
        path.write_bytes(b"bytes")
        with pytest.raises(BadWarc, match="exists already"), vacant(warc):
            pass
        assert path.read_bytes() == b"bytes"
