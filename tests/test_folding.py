"""In a folder that folds case papers, datasets and files of items are kept apart, or refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lafka.filesets.checking.filesets import check_filesets
from lafka.filesets.targets.folder import FolderTarget, PartFile
from lafka.filesets.targets.item import ForeignItem, ItemDescription
from tests.crawls.test_names import LONG, NAMES
from tests.filesets.archive.test_filesetwarc import BODIES, Store, ended
from tests.filesets.archive.test_repairs import ITEM, ITEM_ID
from tests.folding import folding
from tests.sites.papers import pdf
from tests.stores import Store as PaperStore
from tests.stores import problems

FEW = tuple(name for name in NAMES if len(name) < len(LONG))


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    made = tmp_path / "folds"
    made.mkdir()
    with folding(made):
        yield made


def test_the_stand_in_folds_as_such_a_folder_does(root: Path) -> None:
    (root / "Caf\u00e9").mkdir()
    (root / "CAFE\u0301" / "stra\u00dfe").write_bytes(b"one")
    assert (root / "caf\u00e9" / "STRASSE").read_bytes() == b"one"
    assert [path.name for path in root.glob("*/*")] == ["stra\u00dfe"]
    with pytest.raises(FileExistsError):
        (root / "cafe\u0301").mkdir()
    (root / "CAFE\u0301" / "strasse").replace(root / "other")
    assert (root / "OTHER").exists()
    assert not (root / "Caf\u00e9" / "stra\u00dfe").exists()


def test_papers_whose_pids_fold_are_kept_apart(root: Path) -> None:
    store = PaperStore(root / "archive")
    own = {f"RePEc:tst:names:{name}": pdf(name) for name in NAMES}
    for pid, body in own.items():
        store.put(store.fut(body, pid=pid))
    assert {pid: store.archive.fut(pid).read() for pid in own} == own
    warcs = list(store.archive.warcs())
    assert {store.archive.pid_at(warc).text for warc in warcs} == set(own)
    assert len(warcs) == len(own)
    assert problems(store.root, "raw-left") == []
    store.die()


def test_datasets_whose_ids_fold_are_kept_apart(root: Path, tmp_path: Path) -> None:
    store = Store(root, logs=tmp_path / "logs")
    ids = [f"fileset:web:x.example:{name}" for name in FEW]
    for turn, fileset in enumerate(ids):
        storing = store.storing(fileset)
        store.keep(storing, list(BODIES)[turn % 2])
        ended(store, storing)
    for turn, fileset in enumerate(ids):
        path = list(BODIES)[turn % 2]
        _, version = store.filesets.version(fileset)
        assert list(version.files) == [path]
        assert b"".join(store.filesets.file(fileset, path).pieces()) == BODIES[path]
    assert sorted(store.filesets.ids()) == sorted(ids)
    assert list(check_filesets(root)) == []


def test_files_of_an_item_whose_names_fold_are_kept_apart(root: Path) -> None:
    described = ItemDescription.of(ITEM, list(NAMES))
    item = FolderTarget(root).item(described, ITEM_ID)
    item.make()
    for name in NAMES:
        part = PartFile(item.final(name))
        part.take_up("https://x.example/f")
        part.write(name.encode())
        part.sync()
        assert part.keep()
    assert {name: item.final(name).read_bytes().decode() for name in NAMES} == {
        name: name for name in NAMES
    }


def test_an_item_whose_name_folds_to_anothers_is_refused(root: Path) -> None:
    target = FolderTarget(root)
    first, second = (
        target.item(ItemDescription(identifier=name), f"fileset:web:x.example:{name}")
        for name in ("x.example-Case", "x.example-case")
    )
    first.make()
    with pytest.raises(ForeignItem, match=r"of fileset:web:.*example-Case"):
        second.make()
