"""Papers as a WACZ: what is in it is what the archive holds, no byte more."""

import json
import zipfile
from pathlib import Path

import pytest

from lafka.errors import NotHeld, ShortWarc
from lafka.papers.archive.wacz import name_of, package, pieces
from lafka.warc import Volume
from lafka.warc.converting.packing import pack
from tests.stores import PID, Store, page, pdf

OTHER = "RePEc:abc:wpaper:2"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "archive")
    splap = store.splap(page("one"))
    store.put(splap, store.found(splap, "http://x.example/1.pdf", pdf("one")))
    store.put(store.fut(pdf("two"), "chunked", pid=OTHER, futli="http://x.example/2.pdf"))
    return store


def packed(store: Store, path: Path) -> dict[str, bytes]:
    pack(pieces(store.archive, [PID, OTHER]), path, package("Two papers"))
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def test_each_paper_warc_is_in_it_up_to_its_end(store: Store, tmp_path: Path) -> None:
    whole = store.warc().read_bytes()
    with store.warc().open("ab") as file:
        file.write(b"WARC/1.1\r\nwhat a killed writer left")
    members = packed(store, tmp_path / "x.wacz")
    assert members["archive/RePEc%3Aabc%3Awpaper%3A1.warc"] == whole
    assert members["archive/RePEc%3Aabc%3Awpaper%3A2.warc"] == store.warc(OTHER).read_bytes()
    with Volume(tmp_path / "x.wacz") as volume:
        list(volume)
        assert volume.problems == []


def test_a_fut_and_a_splap_are_pages(store: Store, tmp_path: Path) -> None:
    lines = packed(store, tmp_path / "x.wacz")["pages/pages.jsonl"].splitlines()[1:]
    told = [(page["url"], page["title"]) for page in map(json.loads, lines)]
    assert ("http://x.example/1.pdf", f"{PID} (full text)") in told
    assert ("http://x.example/2.pdf", f"{OTHER} (full text)") in told


def test_names_are_of_one_paper_and_fit_on_a_disk(store: Store) -> None:
    long = ["RePEc:abc:wpaper:" + "ä" * 500 + end for end in "xy"]
    pids = [
        store.archive.pid(text) for text in [PID, OTHER, "RePEc:abc:a b".replace(" ", ":"), *long]
    ]
    names = [name_of(pid) for pid in pids]
    assert len(set(names)) == len(names)
    assert all(len(name) < 220 and "/" not in name for name in names)


def test_a_paper_that_is_not_whole_is_not_packed(store: Store, tmp_path: Path) -> None:
    with pytest.raises(NotHeld):
        pack(pieces(store.archive, ["RePEc:abc:wpaper:3"]), tmp_path / "x.wacz")
    data = store.warc().read_bytes()
    store.warc().write_bytes(data[:-10])
    with pytest.raises(ShortWarc):
        pack(pieces(store.archive, [PID]), tmp_path / "x.wacz")
    assert not (tmp_path / "x.wacz").exists()
