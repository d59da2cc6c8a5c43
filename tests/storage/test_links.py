"""Folders of an archive that are links: the same for whoever walks or opens (docs/adr/0013)."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from lafka.errors import BadArchive, StorageTrouble
from lafka.papers.archive.archives import Archive
from lafka.storage.folders import files_below
from tests import starts
from tests.stores import START, Store, cuts, files, pdf, problems

PIDS = ("RePEc:abc:wpaper:1", "RePEc:abc:wpaper:2", "RePEc:def:series:3")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An archive of three papers, two of them on another disk."""
    root = tmp_path / "archive"
    store = Store(root)
    for number, pid in enumerate(PIDS):
        store.put(store.fut(pdf(number), pid=pid))
    store.raw.close()
    for name in ("warc/RePEc/abc", "suwaf/RePEc/abc"):
        target = tmp_path / "disk" / name
        target.parent.mkdir(parents=True)
        (root / name).rename(target)
        (root / name).symlink_to(target)
    return root


def on(root: Path, verb: str, *args: str) -> subprocess.CompletedProcess[str]:
    return starts.verb("scrapy", verb, *args, "-s", f"LAFKA_ARCHIVE={root}")


def suwafs(root: Path) -> dict[str, bytes]:
    return files(root / "suwaf") | files(root.parent / "disk")


def test_verify_sees_papers_behind_links(root: Path) -> None:
    done = on(root, "verify")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("3 papers, ")


def test_rebuild_makes_suwafs_behind_links(root: Path) -> None:
    before = suwafs(root)
    assert len([name for name in before if name.endswith(".json")]) == 3
    for path in (root.parent / "disk/suwaf").rglob("*.json"):
        path.unlink()
    done = on(root, "rebuild")
    assert (done.returncode, done.stderr.splitlines()[1:]) == (0, ["3 suwafs made"])
    assert suwafs(root) == before


def test_repair_mends_papers_and_finishes_drafts_behind_links(root: Path) -> None:
    wanted = suwafs(root)
    folder = root.parent / "disk/suwaf/RePEc/abc/wpaper"
    (folder / "1.json").unlink()
    (folder / ".draft-2.json").write_bytes(b"{")
    done = on(root, "repair")
    assert done.returncode == 0
    told = {(deed["deed"], deed["path"]) for deed in map(json.loads, done.stdout.splitlines())}
    behind = root / "suwaf/RePEc/abc/wpaper"
    assert told == {("rebuild", f"{behind}/1.json"), ("finish", f"{behind}/.draft-2.json")}
    assert suwafs(root) == wanted


def test_a_writer_goes_through_links(root: Path) -> None:
    store = Store(root, run="run-2")
    store.put(store.fut(pdf("new"), pid=PIDS[0], at=START.replace(year=2027)))
    store.raw.close()
    assert (root / "warc/RePEc/abc").is_symlink()
    assert list(cuts(store.archive, PIDS[0]).values()) == [pdf(0), pdf("new")]
    assert problems(root) == []


def test_a_disk_that_only_warcs_lie_on_is_told_once(root: Path) -> None:
    shutil.rmtree(root.parent / "disk/warc")
    found = [json.loads(problem)["code"] for problem in problems(root)]
    assert sorted(found) == ["broken-link", "no-warc", "no-warc"]


def test_a_disk_that_is_not_mounted_is_told_by_whoever_walks(root: Path) -> None:
    shutil.rmtree(root.parent / "disk")
    links = [str(root / base / "RePEc/abc") for base in ("suwaf", "warc")]
    verified = on(root, "verify")
    assert verified.returncode == 1
    found = [json.loads(line) for line in verified.stdout.splitlines()]
    assert sorted((p["code"], p["path"]) for p in found) == [("broken-link", x) for x in links]
    repaired = on(root, "repair")
    assert repaired.returncode == 1
    left = [json.loads(line) for line in repaired.stdout.splitlines()]
    assert sorted((d["deed"], d["path"]) for d in left) == [("left", link) for link in links]
    rebuilt = on(root, "rebuild")
    assert rebuilt.returncode == 1
    assert rebuilt.stderr.splitlines()[1:] == [
        f"scrapy rebuild: {links[1]}: a link that leads nowhere",
        "1 suwaf made",
    ]
    with pytest.raises(BadArchive, match="leads nowhere"):
        list(Archive(root).warcs())


def test_a_writer_that_needs_what_is_not_mounted_says_so_and_keeps_the_raw_warc(
    root: Path,
) -> None:
    shutil.rmtree(root.parent / "disk")
    store, before = Store(root, run="run-2"), files(root / "suwaf")
    trail = store.end([store.fut(pdf("new"), pid=PIDS[0])])
    with pytest.raises(StorageTrouble, match=r"RePEc/abc: a link that leads nowhere$"):
        store.append(trail.captures)
    store.raw.close()
    assert files(root / "suwaf") == before
    assert pdf("new") in b"".join(files(root / "raw").values())


def test_files_below_end_where_links_make_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/file").touch()
    (tmp_path / "away").mkdir()
    (tmp_path / "away/back").symlink_to(tmp_path / "a")
    (tmp_path / "a/b/away").symlink_to(tmp_path / "away")
    (tmp_path / "a/b/up").symlink_to("..")
    (tmp_path / "a/self").symlink_to("self")
    (tmp_path / "a/linked").symlink_to("b/file")
    lost: list[Path] = []
    found = [path.relative_to(tmp_path).as_posix() for path in files_below(tmp_path, lost.append)]
    assert found == ["a/b/file", "a/linked", "away/back/b/file", "away/back/linked"]
    assert lost == [tmp_path / "a/self", tmp_path / "away/back/self"]
    (tmp_path / "a/self").unlink()
    assert list(files_below(tmp_path / "a/self", lost.append)) == []
    (tmp_path / "a/self").symlink_to("nothing")
    assert list(files_below(tmp_path / "a/self", lost.append)) == []
    assert lost[2:] == [tmp_path / "a/self"]
