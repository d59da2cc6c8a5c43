import errno
import os
import threading
from pathlib import Path

import pytest

from lafka.warc.builders import Builder
from lafka.warc.errors import BadValue
from lafka.warc.fields import Fields
from lafka.warc.names import FileName
from lafka.warc.pools import WriterPool
from lafka.warc.records import Record
from tests.warc.proofs import proved


def pool_of(folder: Path, size: int) -> WriterPool:
    info = Fields([("software", "Test/1")])
    return WriterPool(
        lambda serials: Builder(folder=folder, serials=serials, warcinfo=info, max_size="20K"), size
    )


def a_record(name: str, size: int = 1000) -> Record:
    return Record.resource(f"urn:x:{name}", bytes(size), content_type="text/plain")


def test_threads_write_side_by_side(tmp_path: Path) -> None:
    together = threading.Barrier(3)

    def write(name: str) -> None:
        with pool.borrow() as builder:
            together.wait(10)
            builder.append(a_record(f"{name}-first"))
        for number in range(30):
            with pool.borrow(10) as builder:
                builder.append(a_record(f"{name}-{number}"), a_record(f"{name}-{number}"))

    with pool_of(tmp_path, 3) as pool:
        threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(pool.finished) == sorted(tmp_path.iterdir())
    assert not pool.failed
    serials = [FileName.parse(path.name).serial for path in pool.finished]
    assert sorted(serials) == list(range(len(serials)))
    urls = [record.url for path in pool.finished for record in proved(path)[1:]]
    assert len(urls) == 3 * 61
    assert len(set(urls)) == 3 * 31


def test_waiting_has_a_bound(tmp_path: Path) -> None:
    with pool_of(tmp_path, 1) as pool, pool.borrow(), pytest.raises(TimeoutError), pool.borrow(0):
        pass


def test_one_that_comes_back_is_lent_again(tmp_path: Path) -> None:
    with pool_of(tmp_path, 2) as pool:
        with pool.borrow() as one:
            one.append(a_record("a"))
        with pool.borrow() as again:
            assert again is one
        with pytest.raises(KeyError), pool.borrow() as again:
            raise KeyError
        with pool.borrow() as again:
            assert again is one
    assert len(list(tmp_path.iterdir())) == 1


def test_a_failed_one_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.pwritev

    def half(fd: int, pieces: list[bytes], place: int) -> int:
        real(fd, [b"".join(pieces)[:100]], place)
        return 100

    def refuse(*_: object) -> None:
        raise OSError(errno.EIO, "bad")

    with pool_of(tmp_path, 1) as pool:
        with pool.borrow() as failed:
            failed.append(a_record("before"))
            with monkeypatch.context() as patch:
                patch.setattr(os, "pwritev", half)
                patch.setattr(os, "pwrite", refuse)
                patch.setattr(os, "ftruncate", refuse)
                with pytest.raises(OSError, match="bad"):
                    failed.append(a_record("lost"))
        with pool.borrow() as builder:
            assert builder is not failed
            builder.append(a_record("after"))
    [aside] = pool.failed
    [whole] = pool.finished
    assert aside.name.endswith(".warc.invalid")
    assert sorted(tmp_path.iterdir()) == sorted([aside, whole])
    assert [record.url for record in proved(whole)[1:]] == ["urn:x:after"]


def test_close_waits_for_what_is_lent(tmp_path: Path) -> None:
    pool = pool_of(tmp_path, 2)
    with pool.borrow() as builder:
        closing = threading.Thread(target=pool.close)
        closing.start()
        while True:  # until the pool is closing
            try:
                with pool.borrow(0):
                    pass
            except BadValue:
                break
        builder.append(a_record("last"))
    closing.join()
    assert len(proved(pool.finished[0])) == 2


def test_a_pool_has_builders(tmp_path: Path) -> None:
    with pytest.raises(BadValue):
        pool_of(tmp_path, 0)
