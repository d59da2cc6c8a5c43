from __future__ import annotations

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from lafka.errors import BadSuwaf, BadWarc, ShortWarc, StorageTrouble
from lafka.papers.archive import cache
from lafka.papers.archive.archives import Archive
from lafka.papers.archive.contents import PaperScanner
from lafka.papers.archive.paperwarc import PaperWarc
from lafka.papers.archive.suwafs import Suwaf
from lafka.papers.lists.futlis import Futli
from lafka.papers.walk import Capture
from lafka.storage import drafts
from tests.stores import FUTLI, PID, START, Store, cuts, page, pdf, problems


class Reads:
    """How often a suwaf was parsed and a WARC scanned."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.suwafs = self.warcs = 0
        of_json, read = Suwaf.of_json, PaperScanner.read

        def parsed(values: Any, pid: Any) -> Suwaf:
            self.suwafs += 1
            return of_json(values, pid)

        def scanned(scanner: PaperScanner) -> Any:
            self.warcs += 1
            return read(scanner)

        monkeypatch.setattr(Suwaf, "of_json", parsed)
        monkeypatch.setattr(PaperScanner, "read", scanned)

    def taken(self) -> tuple[int, int]:
        found = self.suwafs, self.warcs
        self.suwafs = self.warcs = 0
        return found


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)


def futli(store: Store, number: int) -> Futli:
    return Futli(pid=store.archive.pid(PID), url=f"{FUTLI}?{number}")


def fut(store: Store, number: int, kind: str = "literal", **more: Any) -> Capture:
    return store.fut(pdf(number), kind, futli=f"{FUTLI}?{number}", **more)


def sound(store: Store) -> None:
    """Nothing to complain of, and the files are those that the WARC alone makes."""
    assert problems(store.root, "raw-left") == []
    kept = store.suwaf().read_bytes()
    values = json.dumps(json.loads(kept), ensure_ascii=False, indent=1) + "\n"
    assert kept == values.encode("utf-8", "surrogatepass")
    Archive(store.root).rebuild(store.archive.pid(PID))
    assert store.suwaf().read_bytes() == kept


def test_many_lines_of_a_pid_read_its_files_once(store: Store, reads: Reads) -> None:
    for number in range(30):
        assert not store.archive.has_fut(futli(store, number))
        store.put(fut(store, number, "gzip" if number % 3 else "literal"))
    assert all(store.archive.has_fut(futli(store, number)) for number in range(30))
    assert reads.suwafs == 0
    assert reads.warcs <= 1
    assert len(cuts(store.archive)) == 30
    sound(store)


def test_what_the_list_asked_first_is_not_read_again_by_writers(
    store: Store, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "SMALL", 0)
    for number in range(3):
        store.put(fut(store, number))
    store.archive = Archive(store.root)
    reads.taken()
    assert all(store.archive.has_fut(futli(store, number)) for number in range(3))
    store.put(fut(store, 3))
    store.put(fut(store, 1, at=START + timedelta(days=1)))
    assert reads.taken() == (1, 1)
    sound(store)


def test_a_small_suwaf_that_was_only_read_takes_no_place(store: Store, reads: Reads) -> None:
    store.put(fut(store, 0))
    store.archive = Archive(store.root)
    reads.taken()
    assert all(store.archive.has_fut(futli(store, 0)) for _ in range(2))
    assert reads.taken() == (2, 0)
    store.put(fut(store, 1))
    reads.taken()
    assert all(store.archive.has_fut(futli(store, 1)) for _ in range(2))
    assert reads.taken() == (0, 0)  # its writer has kept it


def test_two_that_write_to_one_archive_see_each_other(store: Store, reads: Reads) -> None:
    mine, yours = store.archive, Archive(store.root)
    for number in range(6):
        store.archive = mine if number % 2 else yours
        store.put(fut(store, number))
        store.put(fut(store, number, at=START + timedelta(days=1)))  # a revisit of it
        for archive in (mine, yours):
            assert archive.has_fut(futli(store, number))
            assert not archive.has_fut(futli(store, number + 1))
    assert len(cuts(mine)) == 12
    assert store.warc().read_bytes().count(b"WARC-Type: revisit") == 6
    assert reads.suwafs
    sound(store)


def test_what_is_kept_is_not_believed_of_other_files(store: Store) -> None:
    store.put(fut(store, 0))
    earlier = store.warc().read_bytes(), store.suwaf().read_bytes()
    store.put(fut(store, 1))
    for path, data in zip((store.warc(), store.suwaf()), earlier, strict=True):
        drafts.replace(path, [data])  # a backup was restored
    assert not store.archive.has_fut(futli(store, 1))
    store.put(fut(store, 2))
    assert store.archive.has_fut(futli(store, 2))
    assert [name for name, _ in cuts(store.archive)] == [f"{FUTLI}?0", f"{FUTLI}?2"]
    sound(store)


def test_a_warc_that_was_written_over_is_read_again(store: Store) -> None:
    store.put(fut(store, 0))
    data = store.warc().read_bytes()
    with store.warc().open("r+b") as file:
        file.write(data.replace(b"\r\nFutli:", b"\r\nfutli:").replace(b"WARC-Date", b"wARC-Date"))
    with pytest.raises(BadWarc, match="headers are not as they were"):
        store.append([fut(store, 1)])
    store.warc().write_bytes(data)
    store.put(fut(store, 1))
    sound(store)


def test_a_damage_between_two_lines_is_found(store: Store) -> None:
    store.put(fut(store, 0))
    store.warc().write_bytes(store.warc().read_bytes()[:-1])
    for _ in range(2):
        with pytest.raises(ShortWarc):
            store.archive.has_fut(futli(store, 0))
        with pytest.raises(ShortWarc):
            store.append([fut(store, 1)])
    store.suwaf().write_bytes(b"{}")
    with pytest.raises(BadSuwaf):
        store.archive.has_fut(futli(store, 0))
    store.suwaf().unlink()
    assert not store.archive.has_fut(futli(store, 0))


def test_a_commit_that_the_disk_refuses_was_none(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(fut(store, 0))
    second, third = fut(store, 1), fut(store, 2)

    def refused(*_: Any, **__: Any) -> None:
        raise StorageTrouble(store.suwaf(), OSError(28, "No space left on device"))

    with monkeypatch.context() as patch:
        patch.setattr(PaperWarc, "committing", refused)
        with pytest.raises(StorageTrouble):
            store.append([second])
        assert not store.archive.has_fut(futli(store, 1))
    store.append([third])
    store.append([second])
    assert store.archive.has_fut(futli(store, 1))  # its WARC was synced, so it was rolled forward
    assert len(cuts(store.archive)) == 3
    sound(store)


def test_a_commit_refused_within_a_hold_leaves_nothing_wrong_behind(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(fut(store, 0))
    captures = [fut(store, number) for number in range(1, 4)]
    fdatasync = os.fdatasync

    def refused(fd: int) -> None:
        monkeypatch.setattr(os, "fdatasync", fdatasync)
        raise OSError(5, "Input/output error")

    with store.archive.paper(store.archive.pid(PID)) as paper:
        paper.append(captures[:1])
        monkeypatch.setattr(os, "fdatasync", refused)
        with pytest.raises(StorageTrouble):
            paper.append(captures[1:2])
    store.append(captures[2:])
    store.append(captures[1:2])
    assert len(cuts(store.archive)) == 4
    sound(store)


def test_what_is_open_is_known(store: Store, reads: Reads) -> None:
    splap = store.splap(page(), futli=f"{FUTLI}?0")
    store.append([splap], opened=True)
    store.append([fut(store, 1)], opened=True)
    assert not store.archive.has_fut(futli(store, 1))
    store.archive.close(futli(store, 1))
    assert store.archive.has_fut(futli(store, 1))
    store.append([fut(store, 2)])
    assert reads.taken()[0] == 0
    assert reads.warcs <= 1
    assert json.loads(store.suwaf().read_bytes())["_warc"]["open"] == [f"{FUTLI}?0"]
    sound(store)


def test_what_a_reader_has_is_never_changed_under_it(store: Store) -> None:
    pid = store.archive.pid(PID)
    store.put(fut(store, 0))
    seen = []
    for number in range(1, 5):
        suwaf = store.archive._cache.suwaf(store.suwaf(), pid)
        assert suwaf is not None
        times = suwaf.futlis[f"{FUTLI}?0"]
        seen.append((suwaf, suwaf.to_bytes(), times, dict(times)))
        store.put(fut(store, 0, at=START + timedelta(days=number)), fut(store, number))
    for suwaf, data, times, then in seen:
        assert suwaf.to_bytes() == data
        assert times == then
    assert len({id(suwaf) for suwaf, *_ in seen}) == len(seen)


def test_the_list_asks_while_writers_write(store: Store) -> None:
    count = 40
    captures = [fut(store, number) for number in range(count)]
    committed, done = [0] * count, threading.Event()

    def write(number: int) -> None:
        store.append([captures[number]])
        committed[number] = 1

    def ask() -> int:
        rounds = 0
        while not done.is_set() or not rounds:
            for number in range(count):
                known = committed[number]
                assert store.archive.has_fut(futli(store, number)) >= known
            rounds += 1
        return rounds

    with ThreadPoolExecutor(6) as threads:
        asking = [threads.submit(ask) for _ in range(2)]
        writing = [threads.submit(write, number) for number in range(count)]
        try:
            for each in writing:
                each.result()
        finally:
            done.set()
        assert all(each.result() for each in asking)
    assert len(cuts(store.archive)) == count
    sound(store)


def test_few_papers_are_kept_and_those_used_last(
    store: Store, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "PAPERS_MAX", 3)
    for number in range(5):
        store.put(store.fut(pdf(number), pid=f"RePEc:abc:wpaper:{number}"))
        store.archive.has_fut(Futli(pid=store.archive.pid("RePEc:abc:wpaper:0"), url=FUTLI))
    assert reads.taken()[0] == 0
    assert [str(pid)[-1] for pid in store.archive._cache._papers] == ["3", "4", "0"]


def test_papers_of_many_records_leave_room_for_fewer(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "ENTRIES_MAX", 11)  # a fut: an entry, a warcinfo, two records
    for number in range(4):
        store.put(store.fut(pdf(number), pid=f"RePEc:abc:wpaper:{number}"))
    assert [str(pid)[-1] for pid in store.archive._cache._papers] == ["2", "3"]
    for number in range(9):
        store.put(fut(store, number))
    assert [str(pid) for pid in store.archive._cache._papers] == [PID]


def test_a_fut_that_waits_for_its_conversion_is_not_kept_by_a_closed_file(
    store: Store, reads: Reads
) -> None:
    """Its record is read through the descriptor of who had the lock."""
    store.put(fut(store, 0))
    pid = store.archive.pid(PID)
    with store.archive.paper(pid) as paper:
        paper.contents.unconverted["sha256:0"] = None  # type: ignore[assignment]
        paper.append([])
    reads.taken()
    store.put(fut(store, 1))
    assert reads.taken() == (0, 1)
    sound(store)
