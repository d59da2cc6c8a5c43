"""The summary and ``item.json``: what they say is read as it was told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.filesets.model.bundles import Member
from lafka.filesets.model.summaries import (
    BundlePlace,
    FilesetSummary,
    FilesetVersion,
    PackedPlace,
    Splap,
    SummaryFile,
)
from lafka.filesets.model.types import FilesetManifestFile, FilesetPlatformItem, IngestStrategy
from lafka.filesets.targets.item import ItemDescription

DIGEST = "sha256:" + "0a" * 32
ID = "fileset:zenodo:zenodo.org:3463499"
# As docs/filesets.md shows it.
SHOWN = {
    ID: {
        "3463499": {
            "complete": True,
            "time": "2026-11-20T10:11:12Z",
            "strategy": "web-fileset",
            "base_urls": ["https://doi.org/10.5281/zenodo.3463499"],
            "splap": {"s": 912, "l": 40112, "url": "https://zenodo.org/records/3463499",
                      "digest": DIGEST},
            "files": {
                "data/a.csv": {"s": 51200, "l": 1830, "url": "https://zenodo.org/a",
                               "time": "2026-11-20T10:11:12Z", "md5": "0b" * 16, "sha1": "0c" * 20,
                               "digest": DIGEST, "mimetype": "text/csv"},
                "big.h5": {"l": 9000000000, "item": "zenodo.org-3463499", "name": "big.h5",
                           "md5": "0b" * 16, "sha1": "0c" * 20, "digest": DIGEST},
            },
        }
    },
    "_warc": {"format": 1, "end": 190312, "chain": DIGEST, "open": []},
}  # fmt: skip


def test_the_summary_of_the_docs_is_read_and_written_again() -> None:
    summary = FilesetSummary.parse(json.dumps(SHOWN).encode(), ID)
    assert json.loads(summary.to_bytes()) == SHOWN
    assert FilesetSummary.parse(summary.to_bytes()) == summary
    version = summary.versions["3463499"]
    assert version.complete
    assert version.files["big.h5"].item == "zenodo.org-3463499"
    assert version.files["data/a.csv"].as_manifest_file("data/a.csv") == FilesetManifestFile(
        path="data/a.csv",
        size=1830,
        md5="0b" * 16,
        sha1="0c" * 20,
        sha256="0a" * 32,
        mimetype="text/csv",
        terminal_url="https://zenodo.org/a",
        terminal_dt="20261120101112",
    )


counts = st.integers(0, 1 << 50)
maybe_text = st.none() | st.text(max_size=6)
digests = st.binary(min_size=32, max_size=32).map(lambda data: f"sha256:{data.hex()}")
bundle_places = st.builds(
    BundlePlace,
    s=st.none() | counts,
    l=counts,
    packed=st.none() | st.builds(PackedPlace, s=counts, l=counts, at=counts),
    method=st.text(max_size=4),
    crc32=st.text(max_size=4),
    flags=counts,
)
common = {"l": counts, "url": maybe_text, "time": maybe_text, "md5": maybe_text, "sha1": maybe_text,
          "digest": digests, "mimetype": maybe_text, "size": st.none() | counts}  # fmt: skip
summary_files = (
    st.builds(SummaryFile, s=counts, bundle=st.none() | bundle_places, **common)
    | st.builds(SummaryFile, item=st.text(max_size=5), name=maybe_text, **common)
    | st.builds(SummaryFile, bundle=bundle_places, **common)
)
versions = st.builds(
    FilesetVersion,
    complete=st.booleans(),
    time=st.just("2026-11-20T10:11:12Z"),
    strategy=st.sampled_from(list(IngestStrategy)),
    base_urls=st.lists(st.text(max_size=5), max_size=2).map(tuple),
    splap=st.none() | st.builds(Splap, s=counts, l=counts, url=st.text(max_size=5), digest=digests),
    files=st.dictionaries(st.text(max_size=8), summary_files, max_size=3),
)
summaries = st.builds(
    FilesetSummary,
    fileset_id=st.text(min_size=1, max_size=9).filter(lambda text: text != "_warc"),
    versions=st.dictionaries(st.text(max_size=5), versions, max_size=3),
    end=counts,
    chain=st.text(max_size=5),
    open=st.lists(st.text(max_size=5), max_size=2).map(tuple),
)


@given(summaries)
def test_a_summary_is_read_as_it_was_written(summary: FilesetSummary) -> None:
    data = summary.to_bytes()
    assert FilesetSummary.parse(data, summary.fileset_id) == summary
    text = json.dumps(json.loads(data), ensure_ascii=False, indent=1)
    assert data == text.encode() + b"\n"


def test_a_lone_surrogate_of_a_platform_is_kept() -> None:
    file = SummaryFile(s=1, l=2, digest=DIGEST, url="https://zenodo.org/\ud83d")
    version = FilesetVersion(complete=True, time="2026-11-20T10:11:12Z",
                             strategy=IngestStrategy.WEB_FILE, files={"a": file})  # fmt: skip
    summary = FilesetSummary(fileset_id=ID, versions={"1": version})
    assert FilesetSummary.parse(summary.to_bytes(), ID) == summary


def broken(way: tuple[Any, ...], value: Any) -> bytes:
    copy = json.loads(json.dumps(SHOWN))
    part = copy
    for key in way[:-1]:
        part = part[key]
    if value is ...:
        del part[way[-1]]
    else:
        part[way[-1]] = value
    return json.dumps(copy).encode()


FILE = (ID, "3463499", "files", "data/a.csv")
MEMBER = {"l": 1, "method": "gzip", "crc32": "0a0b0c0d"}


@pytest.mark.parametrize(
    "data",
    [
        b"", b"[]", b"{}", b"[" * 100_000, b'{"_warc": {"format": 1, "end": 0}}',
        broken(("_warc",), ...), broken(("_warc", "format"), 2), broken(("_warc", "end"), -1),
        broken(("_warc", "end"), True), broken(("_warc", "open"), "x"), broken(("other",), {}),
        broken((ID,), []), broken((ID, "3463499"), None), broken((ID, "3463499", "complete"), 1),
        broken((ID, "3463499", "time"), "yesterday"), broken((ID, "3463499", "strategy"), "web"),
        broken((ID, "3463499", "base_urls"), [1]), broken((ID, "3463499", "splap"), {"s": 1}),
        broken((ID, "3463499", "files"), []), broken(FILE, 5), broken((*FILE, "s"), -1),
        broken((*FILE, "s"), None), broken((*FILE, "l"), "5"), broken((*FILE, "digest"), "md5:0"),
        broken((*FILE, "digest"), ...), broken((*FILE, "url"), 5), broken((*FILE, "item"), "both"),
        broken((*FILE, "bundle"), {"l": 1}), broken((*FILE, "bundle"), MEMBER | {"packed": 5}),
        broken((*FILE, "bundle"), MEMBER | {"packed": {"s": 1, "l": 2}}),
        broken((*FILE, "bundle"), MEMBER | {"packed": {"s": 1, "l": 2, "at": -1}}),
    ],
)  # fmt: skip
def test_what_is_no_summary_is_refused_with_a_reason(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        FilesetSummary.parse(data, ID)


def test_a_summary_of_another_fileset_is_refused() -> None:
    with pytest.raises(ValueError, match="not of fileset:other"):
        FilesetSummary.parse(json.dumps(SHOWN).encode(), "fileset:other")


def test_a_members_place_counts_from_the_warcs_start() -> None:
    member = Member(path="a", size=5, md5="", sha1="", sha256="", crc32="0a0b0c0d", s=30, l=4,
                    method="deflated", flags=8)  # fmt: skip
    place = BundlePlace.of(member, 99, 1000)
    assert place == BundlePlace.of(member, 99).moved(1000)
    assert place.as_json() == {
        "s": 1030, "l": 4, "method": "deflated", "crc32": "0a0b0c0d", "flags": 8,
    }  # fmt: skip


def test_a_place_in_a_gzipped_bundle_says_where_the_bundle_stands() -> None:
    member = Member(path="a", size=5, md5="", sha1="", sha256="", crc32="0a0b0c0d", at=512, l=5,
                    method="gzip")  # fmt: skip
    place = BundlePlace.of(member, 99, 1000)
    assert place == BundlePlace.of(member, 99).moved(1000)
    assert place.as_json() == {
        "l": 5, "packed": {"s": 1000, "l": 99, "at": 512}, "method": "gzip", "crc32": "0a0b0c0d",
        "flags": 0,
    }  # fmt: skip


# item.json ---------------------------------------------------------------------------------

ITEM = FilesetPlatformItem(
    platform_name="zenodo",
    archiveorg_item_name="zenodo.org-3463499",
    archiveorg_item_meta={"collection": "datasets", "title": "Soil", "creator": ["I", "B"]},
)


def test_item_json_is_what_upload_takes() -> None:
    described = ItemDescription.of(ITEM, ["a.csv", "d/A.csv", "d/a.csv", ".h"])
    assert described.as_json() == {
        "identifier": "zenodo.org-3463499",
        "metadata": {"collection": "datasets", "title": "Soil", "creator": ["I", "B"]},
        "files": {
            "a.csv": "files/a.csv",
            "d/A.csv": "files/d/A.csv",
            "d/a.csv": "files/d/%61%2E%63%73%76",
            ".h": "files/%2Eh",
        },
    }
    assert ItemDescription.parse(described.to_bytes()) == described


def test_an_item_goes_to_the_collection_of_the_setting() -> None:
    assert ItemDescription.of(ITEM, [], collection="mine").metadata["collection"] == "mine"


def test_an_item_without_a_fit_name_is_none() -> None:
    for name in (None, "a", "../x", "x" * 81):
        item = FilesetPlatformItem(platform_name="x", archiveorg_item_name=name)
        with pytest.raises(ValueError, match="no name of an item"):
            ItemDescription.of(item, [])


@pytest.mark.parametrize(
    "value",
    [[], {}, {"identifier": "abc", "metadata": {}},
     {"identifier": "..", "metadata": {}, "files": {}},
     {"identifier": "abc", "metadata": [], "files": {}}]
    + [{"identifier": "abc", "metadata": {}, "files": {"x": local}}
       for local in ("/etc/passwd", "files/../../x", "x", "files", "files/", "files/a\\b", 5)],
)  # fmt: skip
def test_an_item_json_that_leads_outside_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        ItemDescription.parse(json.dumps(value).encode())


def test_the_docs_show_the_summary_as_it_is() -> None:
    text = (Path(__file__).parents[2] / "docs" / "filesets.md").read_text("utf-8")
    blocks = [block for block in text.split("```")[1::2] if "_warc" in block]
    (block,) = blocks
    shown = FilesetSummary.parse(block.removeprefix("json").encode())
    assert shown.fileset_id == ID
