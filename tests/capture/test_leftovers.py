"""What may be taken away of a dead run: what Lafka wrote and has read, and nothing else."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lafka.capture.leftovers import RUN, leftovers
from lafka.capture.run import run_name
from lafka.papers.archive.archives import Archive
from lafka.papers.archive.recovery import Recovery, recover
from tests.stores import Store, cuts, pdf, quick_folder, run_named


@pytest.fixture
def dead() -> Iterator[Store]:
    """An archive with a dead run that has one fut."""
    with quick_folder() as root:
        store = Store(root / "archive")
        store.fut(pdf("a"))
        store.die()
        yield store


def tree(folder: Path) -> dict[str, object]:
    """All below *folder*, no link followed: the bytes of files, the targets of links."""
    found: dict[str, object] = {}
    for base, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(base, name)
            what = path.readlink() if path.is_symlink() else path.is_file() and path.read_bytes()
            found[str(path.relative_to(folder))] = what
    return found


def recovered(store: Store, *, keep: bool = False) -> list[Recovery]:
    return list(recover(store.archive, keep=keep))


def the_warc(store: Store) -> Path:
    [warc] = store.raw.folder.glob("*.warc")
    return warc


def test_a_run_s_own_name_is_one() -> None:
    assert RUN.fullmatch(run_name())
    assert RUN.fullmatch(run_named("x"))


@pytest.mark.parametrize("prefix", ["LAFKA", "repec.2026_a-b", "_"])
def test_raw_warcs_of_any_prefix_are_read_and_removed(tmp_path: Path, prefix: str) -> None:
    store = Store(tmp_path / "a", config={"warc_prefix": prefix})
    store.fut(pdf("a"))
    store.die()
    [found] = recovered(store)
    assert (found.trails, found.problems) == (1, ())
    assert list((tmp_path / "a" / "raw").iterdir()) == []


def test_folders_and_links_in_raw_that_are_no_run_s_stay_and_are_told(tmp_path: Path) -> None:
    archive = Archive.create(tmp_path / "a")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "thesis.warc").write_bytes(b"WARC/1.1\r\n")
    (elsewhere / "lock").write_bytes(b"")
    raw = archive.root / "raw"
    (raw / "link").symlink_to(elsewhere)
    (raw / run_named("link")).symlink_to(elsewhere)
    (raw / "dangling").symlink_to(elsewhere / "nothing")
    (raw / "mine").mkdir()
    (raw / "mine" / "notes.txt").write_text("mine")
    (raw / "all.sqlite").write_bytes(b"an index of raw WARCs")
    before = tree(tmp_path)
    for _ in range(2):
        [found] = recover(archive)
        assert found.run == ""
        [problem] = found.problems
        assert problem.startswith(f"{raw}: '{run_named('link')}', 'dangling', 'link' and 1 more")
        assert "all.sqlite" not in problem
    assert tree(tmp_path) == before


def _file(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine")


def _folder(folder: Path) -> None:
    (folder / "mine").mkdir()
    (folder / "mine" / "notes.txt").write_text("mine")


def _linked_warc(folder: Path) -> None:
    target = folder.parent.parent / "mine.warc"
    target.write_bytes(b"mine")
    (folder / "LAFKA-20261120101112-00007-host.warc").symlink_to(target)


def _another_s_warc(folder: Path) -> None:
    (folder / "OTHER-20261120101112-00000-host.warc").write_bytes(
        b"WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Filename: theirs.warc\r\n\r\n"
    )


def _pipe(folder: Path) -> None:
    os.mkfifo(folder / "LAFKA-20261120101112-00008-host.warc")


def _full_lock(folder: Path) -> None:
    (folder / "lock").write_text("my own lock")


def _linked_queue(folder: Path) -> None:
    (folder / "list.sqlite").symlink_to(folder.parent.parent / "lafka.json")


@pytest.mark.parametrize(
    "plant",
    [_file, _folder, _linked_warc, _another_s_warc, _pipe, _full_lock, _linked_queue],
)
def test_what_is_foreign_in_a_dead_run_stays_and_the_run_s_own_goes(
    dead: Store, plant: Callable[[Path], None]
) -> None:
    own = the_warc(dead)
    before = tree(dead.root)
    plant(dead.raw.folder)
    planted = {name: what for name, what in tree(dead.root).items() if before.get(name) != what}
    [found] = recovered(dead)
    assert (found.trails, len(found.problems)) == (1, 1)
    assert found.problems[0].startswith(f"{dead.raw.folder}: it stays, for Lafka did not write ")
    assert not own.exists()
    after = tree(dead.root)
    assert {name: after[name] for name in planted} == planted
    [again] = recovered(dead)
    assert (again.trails, again.problems) == (0, found.problems)
    assert {name: what for name, what in tree(dead.root).items() if name in planted} == planted
    assert list(cuts(dead.archive).values()) == [pdf("a")]


def _link(lock: Path) -> None:
    lock.symlink_to(lock.parent.parent / "elsewhere")


@pytest.mark.parametrize("plant", [_link, Path.mkdir])
def test_a_lock_that_is_none_keeps_the_run_and_nothing_is_made_through_it(
    dead: Store, plant: Callable[[Path], None]
) -> None:
    lock = dead.raw.folder / "lock"
    lock.unlink()
    plant(lock)
    before = tree(dead.root)
    [found] = recovered(dead)
    assert found.problems == (f"{dead.raw.folder}: it stays, for Lafka did not write 'lock' in it",)
    assert tree(dead.root) == before


def test_a_raw_warc_that_was_compressed_stays_with_all_beside_it(dead: Store) -> None:
    warc = the_warc(dead)
    packed = warc.with_name(f"{warc.name}.gz")
    packed.write_bytes(gzip.compress(warc.read_bytes()))
    warc.unlink()
    queue = dead.raw.folder / "list.sqlite"
    queue.write_bytes(b"")
    before = tree(dead.root)
    [found] = recovered(dead)
    assert packed.name in found.problems[0]
    assert tree(dead.root) == before
    warc.write_bytes(gzip.decompress(packed.read_bytes()))
    packed.unlink()
    [found] = recovered(dead)
    assert (found.trails, found.problems) == (1, ())
    assert list(cuts(dead.archive).values()) == [pdf("a")]


def test_what_was_not_read_to_its_end_stays(dead: Store) -> None:
    warc = the_warc(dead)
    [left] = leftovers(dead.root / "raw")
    left.done(keep=False)
    assert warc.exists()
    for left in leftovers(dead.root / "raw"):
        with pytest.raises(ZeroDivisionError), left.reading(warc.name):
            raise ZeroDivisionError
        left.done(keep=False)
        assert warc.exists()
    for left in leftovers(dead.root / "raw"):
        with left.reading(warc.name):
            pass
        data = warc.read_bytes()
        warc.write_bytes(data + b"more")  # who writes to it has more to say
        left.done(keep=False)
        assert warc.exists()


@pytest.mark.parametrize("cut", [0, 3, 40])
def test_a_raw_warc_that_hardly_began_goes(dead: Store, cut: int) -> None:
    warc = the_warc(dead)
    warc.write_bytes(warc.read_bytes()[:cut])
    [found] = recovered(dead)
    assert (found.trails, found.problems) == (0, ())
    assert list((dead.root / "raw").iterdir()) == []


def test_a_run_that_ends_leaves_what_somebody_put_into_its_folder(tmp_path: Path) -> None:
    store = Store(tmp_path / "a", config={"max_warc_size": 6_000})
    mine = store.raw.folder / "LAFKA-20261120101112-00000-host.warc"
    mine.write_bytes(b"mine")
    for n in range(8):
        store.put(store.fut(pdf(n, 2_000), pid=f"RePEc:abc:wpaper:{n + 10}"))
    replaced = store.raw._files.path
    replaced.unlink()
    replaced.write_bytes(b"mine, too")
    store.raw.close()
    assert tree(store.raw.folder) == {mine.name: b"mine", replaced.name: b"mine, too"}
    [found] = recovered(store)
    assert len(found.problems) == 1
    assert tree(store.raw.folder) == {mine.name: b"mine", replaced.name: b"mine, too"}


def test_a_kept_run_with_something_foreign_in_it_is_marked_and_told_once(dead: Store) -> None:
    _file(dead.raw.folder)
    assert [len(found.problems) for found in recovered(dead, keep=True)] == [1]
    assert recovered(dead, keep=True) == []
    assert the_warc(dead).exists()
