"""One damage for each code of a fileset's problem: told by it, mended where it can be."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lafka.filesets.archive.filesets import Filesets
from lafka.filesets.archive.repairs import FilesetRepair
from lafka.filesets.archive.storing import ItemPlace
from lafka.filesets.checking.filesets import check_filesets
from lafka.filesets.model.asks import Keep
from lafka.filesets.model.manifests import facts_of, filled
from lafka.filesets.model.types import FilesetManifestFile, FilesetPlatformItem, IngestStrategy
from lafka.filesets.targets.folder import PartFile
from lafka.filesets.targets.item import ItemDescription
from lafka.filesets.targets.s3 import BucketItem, S3Target
from lafka.storage.folders import draft_of
from lafka.witness.problems import FILESET_CODES
from tests.filesets.archive.test_filesetwarc import BODIES, ID, Store, ended
from tests.services.stores import serving
from tests.stores import files

URL = "https://archive.org/details/an-item"
ITEM_ID = "fileset:archiveorg:archive.org:an-item"
ITEM = FilesetPlatformItem(
    platform_name="archiveorg",
    platform_domain="archive.org",
    platform_id="an-item",
    manifest=tuple(FilesetManifestFile(path=path) for path in BODIES),
    archiveorg_item_name="an-item",
    archiveorg_item_meta={"title": "Data", "collection": "of its own"},
    extra={"version": "1"},
)


class Filled(Store):
    """An archive with a fileset in its WARC and one in an item; ``feed`` tells of the first."""

    def __init__(self, folder: Path, target: S3Target | None = None) -> None:
        super().__init__(folder)
        if target is not None:
            self.filesets = Filesets(folder, target)
        storing = self.storing()
        for path in BODIES:
            self.keep(storing, path)
        ended(self, storing)
        self.item = folder / "items" / "an-item"
        self._fill_item()
        self.log.close()
        for left in (folder / "raw").rglob("*"):
            if left.is_file():
                left.unlink()
        self.feed = folder / "runs" / "20261120T101112000000Z-host-1.jsonl"
        self.feed.parent.mkdir()
        manifest = [
            {"path": path, "sha256": facts_of([body]).digests["sha256"]}
            for path, body in BODIES.items()
        ]
        self.tell(manifest)

    def tell(self, manifest: list[dict[str, str]]) -> None:
        result = {"hit": True, "lafka": {"fileset": ID}, "manifest": manifest}
        self.feed.write_text(json.dumps(result) + "\n")

    def _fill_item(self) -> None:
        storing = self.storing(ITEM_ID)
        storing.version(ITEM, IngestStrategy.ARCHIVEORG_FILESET, anew=False)
        described = ItemDescription.of(ITEM, list(BODIES), collection="of the setting")
        item = self.filesets.items.item(described, ITEM_ID)
        item.make()
        for path, body in BODIES.items():
            part = PartFile(item.final(path))
            part.take_up(URL)
            part.write(body)
            assert part.keep()
            file = filled(FilesetManifestFile(path=path), facts_of([body]))
            place = ItemPlace(item="an-item", name=item.name_of(path))
            if isinstance(item, BucketItem):
                assert item.send(path, file.sha256 or "", lambda: False)
            storing.keep_item(Keep(file=file), [], place, [])
        item.finish()
        storing.end({"hit": True, "status": "success", "request": {}})
        storing.close()

    def codes(self) -> list[str]:
        return sorted({p.code for p in check_filesets(self.filesets.root)})

    def repair(self, **given: Any) -> list[tuple[str, tuple[str, ...], bool]]:
        """Deed, codes and whether it was done, of each."""
        repair = FilesetRepair(self.filesets, collection="of the setting", **given)
        return [(deed.deed, deed.codes, deed.done) for deed in repair.all()]

    def change_summary(self, change: Callable[[dict[str, Any]], object]) -> None:
        values = json.loads(self.summary.read_bytes())
        change(values[ID]["1"]["files"])
        self.summary.write_text(json.dumps(values))


def in_bytes(path: Path, old: bytes, new: bytes, *, last: bool = False) -> None:
    data = path.read_bytes()
    assert old in data
    assert len(old) == len(new)
    head, _, tail = data.rpartition(old) if last else data.partition(old)
    path.write_bytes(head + new + tail)


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """``do`` is told by ``codes``; ``deed`` mends it, empty where nothing is done."""

    do: Callable[[Filled], object]
    codes: tuple[str, ...]
    deed: str = "left"


def _another_place(files: dict[str, Any]) -> None:
    files["a.txt"]["s"] += 1


def _without_place(files: dict[str, Any]) -> None:
    """As of a member of a gzipped bundle before summaries said where it stands."""
    del files["a.txt"]["s"]
    files["a.txt"]["bundle"] = {"l": 1, "method": "stored", "crc32": "00000000"}


def _begun(final: Path) -> None:
    part = PartFile(final)
    part.take_up(URL)
    part.write(b"fir")
    part.sync()
    part.close()


DAMAGES: dict[str, Damage] = {
    "bad-record": Damage(
        do=lambda f: in_bytes(f.warc, b"WARC/1.1", b"WARC/1.!", last=True), codes=("bad-record",)
    ),
    "bad-block": Damage(
        do=lambda f: in_bytes(f.warc, b"first\n", b"fiRst\n"),
        codes=("bad-block", "fileset-digest"),
    ),
    "bad-summary": Damage(
        do=lambda f: f.summary.write_bytes(b"[]"), codes=("bad-summary", "result-lost"),
        deed="rebuild",
    ),
    "no-summary": Damage(
        do=lambda f: f.summary.unlink(), codes=("no-summary", "result-lost"), deed="rebuild"
    ),
    "no-fileset-warc": Damage(do=lambda f: f.warc.unlink(), codes=("no-fileset-warc",)),
    "fileset-short": Damage(
        do=lambda f: f.warc.write_bytes(f.warc.read_bytes()[:-9]), codes=("fileset-short",)
    ),
    "fileset-headers": Damage(
        do=lambda f: in_bytes(f.warc, b"WARC-Date: 2026", b"WARC-Date: 2025"),
        codes=("fileset-headers",),
    ),
    "fileset-tail": Damage(
        do=lambda f: append(f.warc, b"WARC/1.1\r\nWARC-Type: metadata\r\n"),
        codes=("fileset-tail",), deed="recover",
    ),
    "fileset-digest": Damage(
        do=lambda f: f.change_summary(_another_place), codes=("fileset-digest",), deed="rebuild"
    ),
    "member-unchecked": Damage(
        do=lambda f: f.change_summary(_without_place), codes=("member-unchecked",), deed=""
    ),
    "summary-differs": Damage(
        do=lambda f: f.change_summary(lambda files: files.pop("a.txt")),
        codes=("result-lost", "summary-differs"), deed="rebuild",
    ),
    "result-lost": Damage(
        do=lambda f: f.tell([{"path": "c.txt", "sha256": "0" * 64}]), codes=("result-lost",)
    ),
    "item-missing": Damage(
        do=lambda f: (f.item / "files" / "a.txt").unlink(), codes=("item-missing",)
    ),
    "item-description": Damage(
        do=lambda f: (f.item / "item.json").unlink(), codes=("item-description",), deed="describe"
    ),
    "bad-description": Damage(
        do=lambda f: (f.item / "item.json").write_bytes((f.item / "item.json").read_bytes()[:60]),
        codes=("bad-description",), deed="describe",
    ),
    "item-part": Damage(
        do=lambda f: _begun(f.item / "files" / "a.txt"), codes=("item-part",), deed="drop",
    ),
}  # fmt: skip


@pytest.fixture
def filled_archive(tmp_path: Path) -> Filled:
    return Filled(tmp_path / "archive")


def test_there_is_a_damage_for_each_code(filled_archive: Filled) -> None:
    assert set(DAMAGES) == set(FILESET_CODES)
    assert filled_archive.codes() == []
    assert filled_archive.repair() == []


def test_a_bad_record_hides_no_other(filled_archive: Filled) -> None:
    in_bytes(filled_archive.warc, b"WARC/1.1", b"XXXX/1.1")
    in_bytes(filled_archive.warc, b"WARC/1.1", b"WARC/1.!", last=True)
    found = [problem.code for problem in check_filesets(filled_archive.filesets.root)]
    assert found == ["bad-record", "bad-record"]


@pytest.mark.parametrize("code", DAMAGES)
def test_a_damage_is_told_and_mended_where_it_can_be(filled_archive: Filled, code: str) -> None:
    root, damage = filled_archive.filesets.root, DAMAGES[code]
    whole = files(root)
    damage.do(filled_archive)
    assert filled_archive.codes() == sorted(damage.codes)
    damaged = files(root)
    dry = filled_archive.repair(dry=True)
    assert files(root) == damaged
    done = filled_archive.repair()
    assert [deed for deed, *_ in done][:1] == ([damage.deed] if damage.deed else [])
    assert [(deed, codes) for deed, codes, _ in done] == [
        (deed, codes) for deed, codes, _ in dry
        if codes != ("result-lost",)] or damage.deed == "left"  # fmt: skip
    now = files(root)
    if damage.deed in ("left", ""):
        assert now == damaged
        return
    assert filled_archive.codes() == []
    assert {path: now.get(path) for path in whole} == whole
    kept = [path for path in now if ".torn-" in path]
    assert set(now) - set(whole) == set(kept)
    assert bool(kept) == (code in ("bad-summary", "bad-description", "fileset-digest",
                                   "summary-differs", "fileset-tail"))  # fmt: skip


ILL = {
    b'{"identifier"': "it is none",
    b"[]": "it is none",
    b"[" * 9999: "it is none",
    b'{"identifier": "x", "files": {}}': "it is none",
    b'{"identifier": 7, "metadata": {}, "files": {}}': "it names something that is no text",
    b'{"identifier": "x", "metadata": [], "files": {}}': "its metadata are no object",
    b'{"identifier": "x", "metadata": {}, "files": {"a": "/etc/passwd"}}':
        "it names '/etc/passwd', which is outside of files/",
    b'{"identifier": "x", "metadata": {}, "files": {"a": "files/../../b"}}':
        "it names 'files/../../b', which is outside of files/",
    b'{"identifier": "x", "metadata": {}, "files": {"b": "files/b.txt"}}':
        "it does not name 'files/a.txt'",
}  # fmt: skip


@pytest.mark.parametrize("data", ILL, ids=lambda data: data[:40].decode())
def test_an_item_json_is_looked_into(filled_archive: Filled, data: bytes) -> None:
    place = filled_archive.item / "item.json"
    whole = place.read_bytes()
    place.write_bytes(data)
    root = filled_archive.filesets.root
    [told] = check_filesets(root)
    assert (told.code, told.path) == ("bad-description", str(place))
    assert told.sentence == f"no item.json that can be uploaded by: {ILL[data]}"
    assert list(check_filesets(root, quick=True)) == []
    assert filled_archive.repair() == [("describe", ("bad-description",), True)]
    assert place.read_bytes() == whole
    assert (place.parent / "item.json.torn-0").read_bytes() == data


def test_an_item_json_that_was_edited_is_well(filled_archive: Filled) -> None:
    place = filled_archive.item / "item.json"
    values = json.loads(place.read_bytes())
    values["metadata"]["collection"] = "another"
    values["files"]["readme.txt"] = "files/readme.txt"
    place.write_text(json.dumps(values | {"identifier": "another-name"}))
    assert filled_archive.codes() == []


def test_what_an_item_lacks_is_not_described_away(filled_archive: Filled) -> None:
    (filled_archive.item / "item.json").unlink()
    (filled_archive.item / "files" / "a.txt").unlink()
    assert {deed for deed, *_ in filled_archive.repair()} == {"left"}
    assert not (filled_archive.item / "item.json").exists()


def test_a_part_that_somebody_goes_on_with_stays(filled_archive: Filled) -> None:
    _begun(filled_archive.item / "files" / "other.bin")
    foreign = filled_archive.item / "files" / ".part-a.txt"
    foreign.write_bytes(b"somebody's")
    before = files(filled_archive.filesets.root)
    assert filled_archive.repair() == []
    assert files(filled_archive.filesets.root) == before


def test_a_repair_leaves_alone_what_a_crawl_has_in_hand(filled_archive: Filled) -> None:
    append(filled_archive.warc, b"WARC/1.1\r\nWARC-Type: metadata\r\n")
    before = filled_archive.warc.read_bytes()
    writer = filled_archive.filesets.locked(ID, recover=False)
    assert writer is not None
    assert filled_archive.repair() == []
    writer.close()
    assert filled_archive.warc.read_bytes() == before
    assert [deed for deed, *_ in filled_archive.repair()] == ["recover"]


def test_a_bucket_is_read_verified_and_described_again(tmp_path: Path) -> None:
    with serving() as store:
        bucket, at = store.bucket(), "a/b/an-item"
        target = store.target(bucket, tmp_path / "work")
        filled = Filled(tmp_path / "archive", target)
        root = filled.filesets.root
        assert not list((tmp_path / "work").iterdir())
        for path, body in BODIES.items():
            assert b"".join(filled.filesets.file(ITEM_ID, path).pieces()) == body
        assert list(check_filesets(root, target.work, target)) == []
        described = store.body(bucket, f"{at}/item.json")
        store.client.delete_object(Bucket=bucket, Key=f"{at}/item.json")
        assert [p.code for p in check_filesets(root, target.work, target)] == ["item-description"]
        assert filled.repair(bucket=target) == [("describe", ("item-description",), True)]
        assert store.body(bucket, f"{at}/item.json") == described
        assert not list((tmp_path / "work").iterdir())
        store.put(bucket, f"{at}/item.json", described[:60])
        assert [p.code for p in check_filesets(root, target.work, target)] == ["bad-description"]
        assert filled.repair(bucket=target) == [("left", ("bad-description",), False)]
        assert store.body(bucket, f"{at}/item.json") == described[:60]
        store.put(bucket, f"{at}/item.json", described)
        store.put(bucket, f"{at}/files/a.txt", b"other")
        store.client.delete_object(Bucket=bucket, Key=f"{at}/files/b.txt")
        assert sorted(p.code for p in check_filesets(root, target.work, target)) == [
            "fileset-digest", "item-missing"
        ]  # fmt: skip
        assert {deed for deed, *_ in filled.repair(bucket=target)} == {"left"}


def test_what_only_the_draft_of_a_killed_writer_names_is_not_held(filled_archive: Filled) -> None:
    draft = draft_of(filled_archive.summary)
    draft.write_bytes(filled_archive.summary.read_bytes())
    filled_archive.summary.unlink()
    assert filled_archive.codes() == ["no-summary", "result-lost"]
