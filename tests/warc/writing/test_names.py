import errno
import os
from pathlib import Path

import pytest

from lafka.warc.errors import BadValue
from lafka.warc.format.dates import WarcDate
from lafka.warc.writing.names import (
    TEMPLATE,
    is_gzip,
    make_name,
    rename_free,
    rename_new,
    this_host,
)

DATE = WarcDate.parse("2026-11-20T10:11:12.987654Z")


def named(template: str = TEMPLATE, *, prefix: str = "X", serial: int = 7) -> str:
    return make_name(template, prefix=prefix, host="h", date=DATE, serial=serial)


def test_a_name_by_the_guidelines() -> None:
    assert named() == "X-20261120101112987-00007-h.warc"
    assert named("{host}_{timestamp14}_{serial}.warc.gz") == "h_20261120101112_7.warc.gz"
    assert named("{prefix:>3}.warc") == "  X.warc"


@pytest.mark.parametrize(
    "template",
    ["", "{", "{0}", "{}", "{pid}", "{prefix.x}", "{prefix[0]}", "{serial:x y}", "a/b", "..",
     ".hidden", "a\nb", "a\0b", "x" * 250, "{prefix!z}"],
)  # fmt: skip
def test_a_template_that_names_no_file_is_refused(template: str) -> None:
    with pytest.raises(BadValue):
        named(template)


def test_a_prefix_cannot_leave_the_folder() -> None:
    with pytest.raises(BadValue, match="not the name of a file"):
        named(prefix="../x")


def test_this_host_can_stand_in_a_name() -> None:
    assert named(prefix=this_host()).startswith(this_host())


def test_a_file_that_is_gone_takes_no_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        rename_new(tmp_path / "gone", tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("links", [True, False])
def test_a_renamed_file_overwrites_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, links: bool
) -> None:
    if not links:

        def refuse(*_: object, **__: object) -> None:
            raise OSError(errno.EPERM, "no hard links here")

        monkeypatch.setattr(os, "link", refuse)
    source, target = tmp_path / "a.open", tmp_path / "a"
    source.write_text("new")
    rename_new(source, target)
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"a": "new"}
    source.write_text("newer")
    with pytest.raises(FileExistsError):
        rename_new(source, target)
    assert target.read_text() == "new"
    assert rename_free(source, target) == tmp_path / "a-1"
    source.write_text("newest")
    assert rename_free(source, target) == tmp_path / "a-2"
    assert {p.name for p in tmp_path.iterdir()} == {"a", "a-1", "a-2"}


def test_a_name_says_whether_what_is_written_is_compressed() -> None:
    assert [is_gzip(name) for name in ("a.warc.gz", Path("a.WARC.GZ"), "a.warc", "gz")] == [
        True, True, False, False,
    ]  # fmt: skip
    assert is_gzip("a.warc", True)
    assert not is_gzip("a.warc.gz", False)
    for name in ("a.warc.bz2", "a.warc.zst", "a.warc.lz4"):
        with pytest.raises(BadValue, match=r"plain or as \.gz"):
            is_gzip(name)
