"""WACZ files: read back by our own reader, by zipfile, and by a stream that cannot seek."""

import gzip
import io
import json
import re
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.warc import Volume, attach
from lafka.warc.converting import packing
from lafka.warc.converting.packing import Package, Piece, pack, stream
from lafka.warc.errors import BadValue, TornWarc
from lafka.warc.foreign.wacz import WaczVolume
from lafka.warc.indexes.base import Entry
from tests.warc import captures


class Stream:
    """Takes bytes and can nothing else."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> int:
        self.data += bytes(data)
        return len(data)


def warc(path: Path, *bodies: bytes) -> Path:
    records = []
    for n, body in enumerate(bodies):
        url = f"http://x.example/{path.name}/{n}"
        records += [captures.request(url), captures.response(body, url)]
    return captures.volume(path, *records)


def every_answer(entry: Entry) -> str:
    return entry.url.rpartition("/")[2] if entry.type == "response" else ""


def read(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None
        return {name: file.read(name) for name in file.namelist()}


@pytest.fixture
def two(tmp_path: Path) -> list[Piece]:
    paths = [warc(tmp_path / "a.warc", b"one", b"two"), warc(tmp_path / "b.warc", b"three")]
    return [Piece(path=path, name=path.name, title=every_answer) for path in paths]


def test_what_is_packed_is_read_back_record_by_record(two: list[Piece], tmp_path: Path) -> None:
    packed = pack(two, tmp_path / "x.wacz", Package(title="Two"))
    assert (packed.warcs, packed.entries, packed.pages) == (2, 3, 3)
    with Volume(tmp_path / "x.wacz") as volume:
        assert isinstance(volume, WaczVolume)
        bodies = [b"".join(record.payload()) for record in volume.records({"response"})]
        assert bodies == [b"one", b"two", b"three"]
        assert volume.problems == []
    members = read(tmp_path / "x.wacz")
    for piece in two:
        assert members[f"archive/{piece.name}"] == piece.path.read_bytes()


def test_the_index_leads_to_records_in_their_warcs(two: list[Piece], tmp_path: Path) -> None:
    pack(two, tmp_path / "x.wacz")
    (tmp_path / "index.cdxj").write_bytes(read(tmp_path / "x.wacz")["indexes/index.cdx"])
    with attach(tmp_path / "index.cdxj") as index:
        found = {entry.url: entry for entry in index}
    assert len(found) == 3
    for url, entry in found.items():
        with Volume(tmp_path / entry.volume) as volume:
            assert volume.at(entry.offset or 0).url == url


def test_pages_and_package_say_what_is_there(two: list[Piece], tmp_path: Path) -> None:
    pack(two, tmp_path / "x.wacz", Package(title="Two", description="Both", software="tests"))
    members = read(tmp_path / "x.wacz")
    head, *pages = [json.loads(line) for line in members["pages/pages.jsonl"].splitlines()]
    assert head["format"] == "json-pages-1.0"
    assert next((p["url"], p["title"]) for p in pages) == ("http://x.example/a.warc/0", "0")
    assert len({p["id"] for p in pages}) == 3
    assert all(p["ts"].endswith("Z") for p in pages)
    told = json.loads(members["datapackage.json"])
    assert (told["title"], told["description"], told["software"]) == ("Two", "Both", "tests")
    assert told["wacz_version"] == "1.1.1"
    names = [resource["name"] for resource in told["resources"]]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[-a-z0-9._]+", name) for name in names)  # Data Package, "name"
    listed = {resource["path"] for resource in told["resources"]}
    assert listed == members.keys() - {"datapackage.json", "datapackage-digest.json"}


def test_a_stream_gets_the_bytes_that_a_file_gets(two: list[Piece], tmp_path: Path) -> None:
    pack(two, tmp_path / "x.wacz")
    pack(two, tmp_path / "y.wacz")
    out = Stream()
    stream(two, out)
    assert out.data == (tmp_path / "x.wacz").read_bytes() == (tmp_path / "y.wacz").read_bytes()


def test_a_piece_ends_where_it_is_said_to(tmp_path: Path) -> None:
    path = warc(tmp_path / "a.warc", b"one")
    whole = path.stat().st_size
    with path.open("ab") as file:
        file.write(captures.response(b"later", "http://x.example/later"))
    pack([Piece(path=path, name="a.warc", length=whole)], tmp_path / "x.wacz")
    members = read(tmp_path / "x.wacz")
    assert len(members["archive/a.warc"]) == whole
    assert b"later" not in members["indexes/index.cdx"]


def test_a_long_index_is_a_zipnum(
    two: list[Piece], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(two, tmp_path / "plain.wacz")
    monkeypatch.setattr(packing, "PLAIN_INDEX_MAX", 100)
    monkeypatch.setattr(packing, "BLOCK_LINES", 2)
    pack(two, tmp_path / "x.wacz")
    members = read(tmp_path / "x.wacz")
    packed, lines = members["indexes/index.cdx.gz"], members["indexes/index.idx"].splitlines()
    assert gzip.decompress(packed) == read(tmp_path / "plain.wacz")["indexes/index.cdx"]
    assert lines[0].startswith(b"!meta 0 ")
    texts = []
    for line in lines[1:]:
        place = json.loads(line.split(b" ", 2)[2])
        block = gzip.decompress(packed[place["offset"] : place["offset"] + place["length"]])
        assert block.split(b" ", 2)[:2] == line.split(b" ", 2)[:2]
        texts.append(block)
    assert [text.count(b"\n") for text in texts] == [2, 1]
    with Volume(tmp_path / "x.wacz") as volume:
        list(volume)
        assert volume.problems == []


def test_what_cannot_be_packed_leaves_no_file(tmp_path: Path) -> None:
    path = warc(tmp_path / "a.warc", b"one")
    twice = [Piece(path=path, name="a.warc")] * 2
    short = [Piece(path=path, name="a.warc", length=path.stat().st_size + 1)]
    gone = [Piece(path=tmp_path / "gone.warc", name="gone.warc")]
    for pieces, error in (([], BadValue), (twice, BadValue), (short, TornWarc), (gone, OSError)):
        with pytest.raises(error):
            pack(pieces, tmp_path / "x.wacz")
        assert [p.name for p in tmp_path.iterdir()] == ["a.warc"]


def test_a_stream_that_breaks_off_gets_no_directory(tmp_path: Path) -> None:
    path = warc(tmp_path / "a.warc", b"one")
    out = Stream()
    with pytest.raises(TornWarc):
        stream([Piece(path=path, name="a", length=path.stat().st_size + 1)], out)
    assert b"PK\x05\x06" not in out.data
    with pytest.raises(zipfile.BadZipFile):
        zipfile.ZipFile(io.BytesIO(out.data))


def test_a_file_that_is_there_is_kept(two: list[Piece], tmp_path: Path) -> None:
    (tmp_path / "x.wacz").write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        pack(two, tmp_path / "x.wacz")
    assert (tmp_path / "x.wacz").read_bytes() == b"mine"


@given(names=st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=4, unique=True))
def test_titles_of_any_script_are_one_line_each(
    names: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("titles")
    path = warc(folder / "a.warc", *[b"x"] * len(names))
    titles = iter(names)
    pack([Piece(path=path, name="a.warc", title=lambda _: next(titles))], folder / "x.wacz")
    lines = read(folder / "x.wacz")["pages/pages.jsonl"].decode("ascii").split("\n")
    assert [json.loads(line).get("title") for line in lines[1:-1]] == names
