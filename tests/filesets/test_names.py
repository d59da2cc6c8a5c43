"""Local names: no two files of a manifest share one, and none leads out of the item."""

from __future__ import annotations

import unicodedata
from pathlib import PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.filesets.model.manifests import judge
from lafka.filesets.model.types import FilesetManifestFile
from lafka.filesets.targets.item import LONGEST_NAME, local_names

ITEM = "data.example-x-v1"


def folded(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def test_plain_names_stand_for_themselves() -> None:
    plain = ["a.csv", "Data/Table 1.csv", "漢字.txt", "x/y/z", "a~2.csv", "é", "con2", "a.b..c"]
    assert local_names(plain) == {path: path for path in plain}


@pytest.mark.parametrize(
    ("path", "local"),
    [
        (".htaccess", "%2Ehtaccess"),
        ("-rf", "%2D%72%66"),
        ("a.", "a%2E"),
        ("a ", "a%20"),
        (" a", "%20a"),
        ("a:b", "a%3Ab"),
        ("what?", "what%3F"),
        ("50%", "50%25"),
        ("%41", "%2541"),
        ("CON", "%43%4F%4E"),
        ("nul.txt", "%6Eul.txt"),
        ("dir/lpt1", "dir/%6Cpt1"),
        ("e\u0301.txt", "e%CC%81.txt"),
        ("name", "%6E%61%6D%65"),
        ("__ia_thumb.jpg", "".join(f"%{ord(c):02X}" for c in "__ia_thumb.jpg")),
        (f"{ITEM}_meta.xml", "".join(f"%{ord(c):02X}" for c in f"{ITEM}_meta.xml")),
    ],
)
def test_names_that_some_system_minds_are_escaped(path: str, local: str) -> None:
    assert local_names([path], ITEM) == {path: local}


def test_of_names_that_a_disk_may_take_for_one_the_first_keeps_its_own() -> None:
    found = local_names(["Data.csv", "data.csv", "DATA.csv", "straße", "STRASSE"])
    assert found["Data.csv"] == "Data.csv"
    assert found["data.csv"] == "%64%61%74%61%2E%63%73%76"
    assert found["DATA.csv"] == "%44%41%54%41%2E%63%73%76"
    assert found["straße"] == "straße"
    assert found["STRASSE"].startswith("%53")


def test_folders_are_kept_apart_too_and_their_files_stay_together() -> None:
    found = local_names(["Data/a", "data/a", "Data/b"])
    assert found["Data/a"] == "Data/a"
    assert found["Data/b"] == "Data/b"
    assert found["data/a"] == "%64%61%74%61/a"


def test_long_names_that_differ_in_case_are_cut_and_stay_apart() -> None:
    found = local_names(["x" * 150, "X" * 150, "X" * 149 + "x"])
    assert found["x" * 150] == "x" * 150
    others = [local for path, local in found.items() if path != "x" * 150]
    assert len(set(others)) == 2
    assert all(len(name) <= LONGEST_NAME and "%%" in name for name in others)


def test_long_names_are_cut_and_stay_apart() -> None:
    paths = ["x" * 250 + end for end in ("a", "b")]
    found = local_names(paths)
    assert len(set(found.values())) == 2
    assert all(len(name) <= LONGEST_NAME for name in found.values())


letters = st.sampled_from(
    ["a", "A", "b", "%", "4", "1", ".", "-", " ", "~", ":", "é", "É", "e\u0301", "ß", "s", "漢",
     "\u212a", "k", "K", "i", "\u0130", "\u0307"]
)  # fmt: skip
whole_parts = st.sampled_from(
    ["CON", "con", "Con.txt", "nul", "x" * 250, "X" * 250, "x" * 201, "name", "NAME", "é" * 110,
     f"{ITEM}_meta.xml", "__ia_thumb.jpg", "%63on", "%2E"]
)  # fmt: skip
parts = st.lists(letters, min_size=1, max_size=5).map("".join) | whole_parts
paths = st.lists(parts, min_size=1, max_size=3).map("/".join)


@given(st.lists(paths, min_size=1, max_size=10))
def test_no_two_files_share_a_name_and_nothing_is_outside(given_paths: list[str]) -> None:
    manifest = tuple(FilesetManifestFile(path=path) for path in given_paths)
    judged = judge(manifest)
    if judged.status is not None:
        return
    found = local_names([file.path for file in judged.manifest], ITEM)
    assert len({folded(local) for local in found.values()}) == len(given_paths)
    folders = {folded(str(folder)) for local in found.values()
               for folder in PurePosixPath(local).parents}  # fmt: skip
    for local in found.values():
        assert folded(local) not in folders
        assert not PurePosixPath(local).is_absolute()
        assert not PureWindowsPath(local).is_reserved()
        for part in local.split("/"):
            assert part not in ("", ".", "..")
            assert len(part.encode()) <= LONGEST_NAME
            assert part[0] not in ".- "
            assert part[-1] not in ". "
            assert not set(part) & set(':*?"<>|\\\0')
            assert unicodedata.is_normalized("NFC", part)


@given(st.lists(paths, min_size=1, max_size=6, unique=True))
def test_names_depend_on_what_stands_before_alone(given_paths: list[str]) -> None:
    known = [
        path for path in given_paths if judge((FilesetManifestFile(path=path),)).status is None
    ]
    whole = local_names(known, ITEM)
    for count in range(len(known)):
        part = local_names(known[:count], ITEM)
        assert part == {path: whole[path] for path in known[:count]}
