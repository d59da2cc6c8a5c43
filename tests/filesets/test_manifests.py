"""Paths made safe and limits held, before anything is fetched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.filesets.model.manifests import (
    LONGEST_PART,
    MOST_PARTS,
    Limits,
    judge,
    kept_apart,
    path_trouble,
)
from lafka.filesets.model.types import FilesetManifestFile, Manifest

LIMITS = Limits(max_total=100, max_files=3, max_file=60)


def files(*sizes: int | None) -> Manifest:
    return tuple(FilesetManifestFile(path=f"{n}.csv", size=size) for n, size in enumerate(sizes))


def named(*paths: str) -> Manifest:
    return tuple(FilesetManifestFile(path=path, size=1) for path in paths)


@pytest.mark.parametrize(
    ("manifest", "status"),
    [
        (files(1, 2, 3), None),
        (files(60, 40), None),
        (files(None, None), None),
        (files(0), None),
        ((), "empty-manifest"),
        (files(1, 1, 1, 1), "too-many-files"),
        (files(99, 1, 1, 1), "too-many-files"),
        (files(61), "too-large-file"),
        (files(61, 60), "too-large-file"),
        (files(60, 41), "too-large-size"),
        (files(60, None, 41), "too-large-size"),
    ],
)
def test_limits_in_their_order(manifest: Manifest, status: str | None) -> None:
    judged = judge(manifest, LIMITS)
    assert judged.status == status
    assert bool(judged.message) == (status is not None)
    assert judged.file_count == len(manifest)
    assert judged.total_size == sum(file.size or 0 for file in manifest)


def test_a_manifest_of_too_many_is_cut_and_counted_whole() -> None:
    judged = judge(files(*range(10)), LIMITS)
    assert judged.truncated
    assert len(judged.manifest) == 3
    assert (judged.file_count, judged.total_size) == (10, 45)


def test_free_disk_is_asked_last() -> None:
    assert judge(files(50), LIMITS, free=50).status is None
    assert judge(files(50), LIMITS, free=49).status == "no-space"
    assert judge(files(61), LIMITS, free=0).status == "too-large-file"
    assert judge(named("../x"), LIMITS, free=0).status == "unsafe-path"


def test_restricted_files_are_not_fetched_and_count_in_no_limit() -> None:
    closed = FilesetManifestFile(path="closed", size=10**9, status="restricted")
    judged = judge((*files(50), closed), LIMITS, free=50)
    assert judged.status is None
    assert judged.total_size == 10**9 + 50


def test_a_request_may_lower_limits_and_never_raise_them() -> None:
    assert LIMITS.lowered(50, 2) == Limits(max_total=50, max_files=2, max_file=60)
    assert LIMITS.lowered(500, 20) == LIMITS
    assert LIMITS.lowered(None, None) == LIMITS
    assert LIMITS.lowered(0, 0).max_files == 0


def test_the_proposals_limits_are_the_defaults() -> None:
    assert Limits() == Limits(max_total=64 << 30, max_files=200, max_file=64 << 30)


UNSAFE = [
    "", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/../b", "a/./b", "a\\b",
    "C:/a", "c:a", "\\\\host\\x", "a\0", "a\nb", "a\x7f", "a\x85",
    "a\u2028b", "\ufeffa", "\ud800", "a/\udfff",
    "a" * (LONGEST_PART + 1), "é" * 128, "/".join(["a"] * (MOST_PARTS + 1)),
    "/".join(["a" * 250] * 5),
]  # fmt: skip
SAFE = [
    "a", "a b", " ", "a.csv", ".hidden", "...", "..a", "a..", "-rf", "~", "CON", "ab:c", "a?*",
    "漢/字", "e\u0301", "\u00e9", "a" * LONGEST_PART, "/".join(["a"] * MOST_PARTS), "1:2", '<>|"',
    "%2e",
]  # fmt: skip


@pytest.mark.parametrize("path", UNSAFE)
def test_an_unsafe_path_ends_the_fileset_before_download(path: str) -> None:
    assert path_trouble(path)
    judged = judge(named("good.csv", path))
    assert judged.status == "unsafe-path"
    assert judged.manifest[1].status == "unsafe-path"
    assert judged.manifest[0].status is None
    assert judged.message.isprintable()


@pytest.mark.parametrize("path", SAFE)
def test_other_paths_are_kept_as_they_are(path: str) -> None:
    judged = judge(named(path))
    assert judged.status is None
    assert judged.manifest == named(path)


def test_a_file_that_is_also_a_folder_is_unsafe() -> None:
    for paths in (("a", "a/b"), ("x/a/b/c", "x/a"), ("a/b", "a")):
        judged = judge(named(*paths))
        assert judged.status == "unsafe-path"
        assert sum(file.status == "unsafe-path" for file in judged.manifest) == 1
    assert judge(named("a", "ab/c", "b/a")).status is None


def test_equal_paths_are_kept_apart_with_the_given_one_told() -> None:
    found = kept_apart(named("d/a.csv", "d/a.csv", "d/a.csv", "d/a~2.csv", "x", "x", ".h", ".h"))
    assert [file.path for file in found] == [
        "d/a.csv", "d/a~3.csv", "d/a~4.csv", "d/a~2.csv", "x", "x~2", ".h", ".h~2",
    ]  # fmt: skip
    assert [(file.extra or {}).get("platform_path") for file in found] == [
        None, "d/a.csv", "d/a.csv", None, None, "x", None, ".h",
    ]  # fmt: skip


ugly = st.lists(
    st.sampled_from(["a", "A", ".", "/", "\\", "~", "2", " ", "\0", "é", "e\u0301", "\ud800", ":"]),
    max_size=8,
).map("".join)


@given(st.lists(ugly, max_size=8))
def test_what_is_safe_has_each_path_once_and_nothing_outside(paths: list[str]) -> None:
    judged = judge(named(*paths))
    if judged.status is not None:
        assert judged.status in ("unsafe-path", "empty-manifest")
        return
    found = [file.path for file in judged.manifest]
    assert len(set(found)) == len(found) == len(paths)
    for path, file in zip(paths, judged.manifest, strict=True):
        assert path == (file.extra or {}).get("platform_path", file.path)
        assert not {"", ".", ".."} & set(file.path.split("/"))
        assert not path_trouble(file.path)
