"""What foreign bytes could make stop is done in a child, and the crawl outlives the child."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lafka.filesets.bundles.children import BundleChildren
from lafka.filesets.model.bundles import BundleLimits
from lafka.storage import children as module

LIMITS = BundleLimits(max_members=50, max_total=1 << 30)


@pytest.fixture
def children() -> Iterator[BundleChildren]:
    made = BundleChildren(count=1)
    yield made
    made.stop()


def test_a_child_tells_types(children: BundleChildren) -> None:
    assert children.mimetype(b"%PDF-1.5\n%\xd0\xd4\n") == "application/pdf"
    assert children.mimetype(b"") == ""


def test_a_child_reads_a_bundle_where_it_stands_in_a_file(
    children: BundleChildren, tmp_path: Path
) -> None:
    bundle = tmp_path / "all.zip"
    with zipfile.ZipFile(bundle, "w") as archive:
        archive.writestr("a.txt", b"hello")
    data = bundle.read_bytes()
    inside = tmp_path / "some.warc"
    inside.write_bytes(b"head" + data + b"tail")
    alone = children.bundle(bundle, LIMITS, others=("sha512",))
    assert [member.path for member in alone.members] == ["a.txt"]
    assert alone.members[0].others is not None
    assert alone == children.bundle(inside, LIMITS, start=4, length=len(data), others=("sha512",))
    assert children.bundle(inside, LIMITS, start=0, length=3).trouble


def test_a_child_reads_a_page(children: BundleChildren) -> None:
    body = b'<html lang="de"><meta name="citation_title" content="Regen"></html>'
    biblio = children.page("https://a.example/", body, "text/html", [])
    assert (biblio.title, biblio.lang) == ("Regen", "de")


def test_a_child_that_works_too_long_is_ended(
    children: BundleChildren, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0)  # no time at all: whatever is asked is late
    bundle = tmp_path / "all.zip"
    with zipfile.ZipFile(bundle, "w") as archive:
        archive.writestr("a.txt", b"hello")
    assert "no answer after" in children.bundle(bundle, LIMITS).trouble
    assert children.mimetype(b"GIF89a") == ""
    monkeypatch.undo()
    assert children.mimetype(b"GIF89a") == "image/gif"


def test_a_child_has_a_bound_on_memory(children: BundleChildren, tmp_path: Path) -> None:
    # A pax header is read whole: this one says that it has 4 GiB.
    header = bytearray(512)
    header[:1] = b"x"
    header[124:136] = b"%011o\0" % ((1 << 32) - 512)
    header[156:157] = b"x"
    header[257:265] = b"ustar\x0000"
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    tar = tmp_path / "all.tar"
    with tar.open("wb") as file:
        file.write(header)
        file.truncate(1 << 32)
    contents = children.bundle(tar, BundleLimits(max_members=50, max_total=1 << 40))
    assert contents.trouble
    assert children.mimetype(b"GIF89a") == "image/gif"
