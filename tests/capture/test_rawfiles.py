import errno
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lafka.capture.rawfiles import RawFiles, load_settings
from lafka.capture.rawlog import RawLog
from lafka.errors import BadArgument, StorageTrouble
from lafka.warc.format.fields import Fields
from lafka.warc.format.records import Record, start, uuid_urn
from lafka.warc.format.sources import MemorySource
from lafka.warc.reading.checking import check
from lafka.warc.reading.volumes import Volume
from tests.stores import exchange, run_named
from tests.warc.smalldisks import files_of_at_most

# As scrapy-warcio 0.0.8 writes it for its users.
TEMPLATE = """\
# export SCRAPY_WARCIO_SETTINGS='/path/to/settings.yml'

---
warc_spec: https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.0/
max_warc_size: 10000000000  # 10GB

collection: ~ # collection name
description: ~ # collection description
operator: ~ # operator email address
robots: ~  # robots policy
user_agent: ~ # your user-agent
warc_prefix: ~ # WARC filename prefix
warc_dest: ~ # WARC files destination
...
"""
FILLED = """\
---
warc_spec: https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.0/
max_warc_size: 2000
collection: Papers of 2026
description: "Working papers: économie"
operator: ops@x.example
robots: obey
user_agent: paperbot
warc_prefix: PPR
warc_dest: /nowhere/at/all
...
"""


def a_record(size: int = 10) -> tuple[bytes, bytes]:
    record = Record(
        fields=start("resource", uuid_urn(), "2026-11-20T10:11:12Z", "urn:x"), block=b"x" * size
    )
    return record.header(), record.block


def read(path: Path) -> list[tuple[str, bytes]]:
    with Volume(path, strict=True) as volume:
        return [(r.type, r.block().read(0, 1 << 20)) for r in volume]


def info_of(path: Path) -> Fields:
    kind, block = read(path)[0]
    assert kind == "warcinfo"
    return Fields.parse(block)


@pytest.fixture
def raw(tmp_path: Path) -> Iterator[RawFiles]:
    files = RawFiles(tmp_path, {}, "Lafka/1")
    yield files
    files.close()


# Settings files ----------------------------------------------------------------------------


def settings_file(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "settings.yml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_the_template_says_nothing_but_a_size(tmp_path: Path) -> None:
    values = load_settings(settings_file(tmp_path, TEMPLATE))
    assert set(values) == {"warc_spec", "max_warc_size"}


def test_a_users_file_works_as_it_is(tmp_path: Path) -> None:
    values = load_settings(settings_file(tmp_path, FILLED))
    folder = tmp_path / "raw"
    folder.mkdir()
    files = RawFiles(folder, values, "Lafka/1")
    files.room_for(0)
    assert files.path.parent == folder
    assert files.path.name.startswith("PPR-")
    info = info_of(files.path)
    files.close()
    assert info.sole("operator") == "ops@x.example"
    assert info.sole("isPartOf") == "Papers of 2026"
    assert info.sole("description") == "Working papers: économie"
    assert info.sole("robots") == "obey"
    assert info.sole("http-header-user-agent") == "paperbot"
    assert info.sole("software") == "Lafka/1"
    # What is written is WARC/1.1, whatever the file says.
    assert info.sole("format") == "WARC File Format 1.1"
    assert info.sole("conformsTo").endswith("/warc-1.1/")


@pytest.mark.parametrize(
    "text",
    [
        "", "- a\n- b\n", "text", "a: b: c", "a: [", "\t", b"\xff\xfe\0", b"a: \xff",
        "a: 2026-02-30", "!!python/object/apply:os.system ['true']", "[" * 2000, "a: !!int x",
        "a: !!timestamp x",
        "? [a]\n: b", "max_warc_size: 10GB", "max_warc_size: 0", "max_warc_size: -1",
        "max_warc_size: true", "max_warc_size: 1.5", "warc_prefix: ../../etc/x", "warc_prefix: a/b",
        "warc_prefix: ''", "warc_prefix: .hidden", 'warc_prefix: "a\\nb"', "warc_prefix: a b",
    ],
)  # fmt: skip
def test_a_bad_file_is_one_sentence_that_names_it(tmp_path: Path, text: str | bytes) -> None:
    path = settings_file(tmp_path, text)
    with pytest.raises(BadArgument) as caught:
        load_settings(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_one_sentence_that_names_it(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yml", tmp_path):
        with pytest.raises(BadArgument, match=re.escape(f"{path}: ")):
            load_settings(path)


# Names and warcinfo ------------------------------------------------------------------------


def test_a_file_is_named_as_scrapy_warcio_names_it_but_plain(raw: RawFiles) -> None:
    raw.room_for(0)
    host = re.escape(socket.gethostname().partition(".")[0])
    assert re.fullmatch(rf"LAFKA-\d{{14}}-00000-{host}\.warc", raw.path.name)
    first = next(iter(Volume(raw.path)))
    assert first.fields.sole("WARC-Filename") == raw.path.name


@pytest.mark.parametrize("key", ["operator", "description", "collection", "robots", "user_agent"])
def test_a_setting_cannot_write_a_line(tmp_path: Path, key: str) -> None:
    value = "x\r\nPaper-Id: evil\r\n\r\nWARC/1.1\n\0\x1b"
    files = RawFiles(tmp_path, {key: value}, "Lafka/1")
    files.room_for(0)
    files.close()
    info = info_of(files.path)
    assert info.all("Paper-Id") == []
    assert any("%0D%0APaper-Id: evil" in text for _, text in info)


@pytest.mark.parametrize("value", [2026, ["a", "b"], {"a": 1}, 1.5, True])
def test_a_setting_can_be_any_yaml(tmp_path: Path, value: Any) -> None:
    files = RawFiles(tmp_path, {"operator": value, "warc_prefix": 2026}, "Lafka/1")
    files.room_for(0)
    files.close()
    assert files.path.name.startswith("2026-")
    assert info_of(files.path).sole("operator") == str(value)


def test_a_setting_without_a_value_is_no_line(raw: RawFiles) -> None:
    raw.room_for(0)
    names = [name for name, _ in info_of(raw.path)]
    assert names == ["software", "hostname", "format", "conformsTo", "robots"]


# Appending ---------------------------------------------------------------------------------


def test_records_are_where_append_says(raw: RawFiles) -> None:
    raw.room_for(0)
    places = [
        raw.append(*a_record(5)),
        raw.append(a_record(9)[0], MemorySource(b"x" * 9)),
        raw.append(*a_record(0)),
    ]
    data = raw.path.read_bytes()
    for path, offset, length in places:
        assert path == raw.path
        record = data[offset : offset + length]
        assert record.startswith(b"WARC/1.1\r\n")
        assert record.endswith(b"\r\n\r\n")
    assert [block for _, block in read(raw.path)[1:]] == [b"x" * 5, b"x" * 9, b""]


def test_a_full_file_is_followed_by_the_next(tmp_path: Path) -> None:
    files = RawFiles(tmp_path, {"max_warc_size": 3000}, "Lafka/1")
    paths = []
    for _ in range(6):
        files.room_for(1000)
        paths.append(files.append(*a_record(800))[0])
    files.close()
    assert len({*paths}) > 2
    assert {*paths} == {*tmp_path.iterdir()}
    assert [p.name.split("-")[2] for p in sorted({*paths})] == [
        f"{n:05}" for n in range(len({*paths}))
    ]
    for path in paths:
        assert path.stat().st_size < 3000
        assert info_of(path)


def test_a_group_bigger_than_a_file_has_one_of_its_own(tmp_path: Path) -> None:
    files = RawFiles(tmp_path, {"max_warc_size": 1000}, "Lafka/1")
    for _ in range(2):
        files.room_for(5000)
        files.append(*a_record(5000))
    files.close()
    assert len([*tmp_path.iterdir()]) == 2


def test_the_serial_number_has_no_end(tmp_path: Path) -> None:
    files = RawFiles(tmp_path, {}, "Lafka/1")
    files.warc_count = 100_000
    files.room_for(0)
    files.close()
    assert "-100000-" in files.path.name


def test_two_writers_of_one_name_do_not_share_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = RawFiles(tmp_path, {}, "Lafka/1"), RawFiles(tmp_path, {}, "Lafka/1")
    monkeypatch.setattr(RawFiles, "warcfile", lambda self: str(self.folder / "same.warc"))
    one.room_for(0)
    with pytest.raises(StorageTrouble):
        other.room_for(0)
    assert len(read(one.path)) == 1
    one.close()


def test_a_file_that_was_removed_is_not_written_on(raw: RawFiles) -> None:
    raw.room_for(0)
    raw.path.unlink()
    raw.room_for(0)
    path, offset, length = raw.append(*a_record())
    assert path.stat().st_size == offset + length


# A disk that refuses -----------------------------------------------------------------------


class FailingSource(MemorySource):
    def __init__(self, error: BaseException) -> None:
        super().__init__(b"x" * 100)
        self.error = error

    def chunks(self, start: int = 0, size: int = 50) -> Iterator[bytes]:
        yield b"x" * (2 << 20)  # so much that it is written at once
        raise self.error


@pytest.mark.parametrize("error", [OSError(errno.EIO, "bad"), KeyboardInterrupt()])
def test_half_a_record_is_taken_back(raw: RawFiles, error: BaseException) -> None:
    raw.room_for(0)
    raw.append(*a_record())
    before = raw.path.read_bytes()
    with pytest.raises((StorageTrouble, KeyboardInterrupt)):
        raw.append(a_record(100)[0], FailingSource(error))
    assert raw.path.read_bytes() == before
    raw.append(*a_record())
    assert len(read(raw.path)) == 3


def test_what_follows_a_torn_record_goes_into_a_new_file(
    raw: RawFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw.room_for(0)
    torn = raw.path

    def refuse(fd: int, size: int) -> None:
        raise OSError(errno.EIO, "bad")

    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", refuse)
        with pytest.raises(StorageTrouble, match=re.escape(str(torn))):
            raw.append(a_record(100)[0], FailingSource(OSError(errno.EIO, "bad")))
    raw.room_for(0)
    path, _, _ = raw.append(*a_record())
    assert path != torn
    assert len(read(path)) == 2


@pytest.mark.parametrize(("limit", "refused", "kept"), [(20_000, 2, 4), (100, 5, 0)])
def test_a_full_disk_leaves_whole_records_only(
    tmp_path: Path, limit: int, refused: int, kept: int
) -> None:
    files, told = RawFiles(tmp_path, {}, "Lafka/1"), list[str]()
    with files_of_at_most(limit):
        for size in (1000, 100_000, 1000, 100_000, 1000):
            try:
                files.room_for(size)
                files.append(*a_record(size))
            except StorageTrouble as error:
                told.append(str(error))
    files.close()
    assert len(told) == refused
    assert all("File too large" in one for one in told)
    assert sum(len(read(path)) for path in tmp_path.iterdir()) == kept


def test_a_folder_that_is_gone_is_storage_trouble(tmp_path: Path) -> None:
    files = RawFiles(tmp_path / "gone", {}, "Lafka/1")
    with pytest.raises(StorageTrouble):
        files.room_for(0)
    (tmp_path / "gone").mkdir()
    files.room_for(0)
    assert len(read(files.path)) == 1
    files.close()


@pytest.mark.parametrize("answer", [b"SSH-2.0-x\r\n", b"HTTP/1.1 200 OK\r\n\r\n%PDF-1.4"])
def test_the_digest_of_a_block_is_of_all_that_came(tmp_path: Path, answer: bytes) -> None:
    log = RawLog(tmp_path, run_named("1"), config={}, keep=True)
    assert log.record(exchange("http://x.example/1.pdf", answer))
    log.close()
    (path,) = tmp_path.glob("*/*.warc")
    assert [kind for kind, _ in read(path)][-2:] == ["request", "response"]
    assert [told for told in check(path) if told.severity == "error"] == []
