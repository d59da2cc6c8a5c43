from __future__ import annotations

import os
import random
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lafka.warc.errors import BadValue
from lafka.warc.foreign import zips
from lafka.warc.foreign.zips import content, content_range, members, overlapping


@contextmanager
def opened(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_RDONLY)
    try:
        yield fd
    finally:
        os.close(fd)


def packed(path: Path, contents: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return path


CONTENTS = {"a.txt": b"a" * 1000, "ü/b.txt": b"", "../../etc/passwd": os.urandom(3000)}


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("front", [b"", b"#!/bin/sh\n"])
def test_members_and_what_they_hold(tmp_path, method, front):
    path = packed(tmp_path / "a.zip", CONTENTS, method)
    path.write_bytes(front + path.read_bytes())
    with opened(path) as fd:
        listed = members(fd)
        assert {m.name: content(fd, m).read(0, 1 << 20) for m in listed} == CONTENTS
        assert all(m.stored for m in listed) == (method == zipfile.ZIP_STORED)
        assert not list(overlapping(listed))
    assert [p.name for p in tmp_path.iterdir()] == ["a.zip"]


def test_a_stored_member_stands_in_the_file(tmp_path):
    path = packed(tmp_path / "a.zip", CONTENTS, zipfile.ZIP_STORED)
    with opened(path) as fd:
        offset, length = content_range(fd, members(fd)[2])
    assert path.read_bytes()[offset : offset + length] == CONTENTS["../../etc/passwd"]


@pytest.mark.long("seventy thousand members")
def test_zip64(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", allowZip64=True) as archive:
        with archive.open("big", "w", force_zip64=True) as member:
            member.write(b"big")
        for number in range(70_000):
            archive.writestr(zipfile.ZipInfo(f"{number}"), b"")
    with opened(path) as fd:
        listed = members(fd)
        assert len(listed) == 70_001
        assert content(fd, listed[0]).read(0, 9) == b"big"


def test_a_bomb_is_left_when_it_is_too_big(tmp_path):
    path = packed(tmp_path / "a.zip", {"bomb": bytes(50_000_000)})
    with opened(path) as fd:
        (member,) = members(fd)
        with pytest.raises(BadValue, match="more than 1000000"):
            content(fd, member, 1_000_000)
        assert content(fd, member).size == 50_000_000


def test_members_in_members_are_named(tmp_path):
    path = packed(tmp_path / "a.zip", {"a": bytes(1000), "b": bytes(1000)}, zipfile.ZIP_STORED)
    data = path.read_bytes()
    at = data.rfind(b"PK\x01\x02") + 42
    path.write_bytes(data[:at] + struct.pack("<L", 500) + data[at + 4 :])
    with opened(path) as fd:
        assert [m.name for m in overlapping(members(fd))] == ["b"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (b"", "no end"),
        (b"PK\x05\x06" + bytes(17), "no end"),
        (
            b"PK\x05\x06" + bytes(4) + b"\x01\0\x01\0" + struct.pack("<2LH", 46, 9, 0),
            "begins before",
        ),
        (bytes(46) + b"PK\x05\x06" + bytes(8) + struct.pack("<2LH", 46, 0, 0), "no member"),
        (b"PK\x05\x06" + bytes(8) + struct.pack("<2LH", 1 << 30, 0, 0), "1073741824 bytes"),
        (b"PK\x05\x06" + bytes(8) + struct.pack("<2LH", 0xFFFFFFFF, 0, 0), "locator"),
    ],
)
def test_what_is_no_directory(tmp_path, value, message):
    path = tmp_path / "a.zip"
    path.write_bytes(value)
    with opened(path) as fd, pytest.raises(BadValue, match=message):
        members(fd)


def test_too_many_members(tmp_path, monkeypatch):
    monkeypatch.setattr(zips, "MEMBERS_MAX", 2)
    with opened(packed(tmp_path / "a.zip", CONTENTS)) as fd, pytest.raises(BadValue, match="3 mem"):
        members(fd)


def test_damage_raises_nothing_else(tmp_path):
    data = packed(tmp_path / "a.zip", CONTENTS).read_bytes()
    dice = random.Random(5)
    path = tmp_path / "b.zip"
    refused = 0
    for _ in range(600):
        changed = bytearray(data)
        for _ in range(dice.randint(1, 4)):
            changed[dice.randrange(len(changed))] = dice.randrange(256)
        path.write_bytes(changed[: dice.choice([len(changed), dice.randrange(len(changed))])])
        with opened(path) as fd:
            try:
                for member in members(fd):
                    content(fd, member, 1 << 20)
            except BadValue:
                refused += 1
    assert refused > 100
