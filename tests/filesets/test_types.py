"""The proposal's types: its field names, letter by letter, and their JSON."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lafka.filesets
from lafka.filesets.model.types import (
    ArchiveStrategyResult,
    FilesetManifestFile,
    FilesetPlatformItem,
    FileStatus,
    IngestStrategy,
    PlatformError,
    PlatformScopeError,
    Status,
    is_known,
)
from tests.starts import ROOT

READ_WITHOUT_NAMES = """
import msgspec
from lafka.filesets.model import bundles, pages, summaries, types
kinds = (types.FilesetManifestFile, summaries.FilesetVersion, summaries._Writer,
         bundles.BundleContents, pages.HtmlBiblio)
for module in (types, bundles, summaries, pages):
    vars(module).clear()
for kind in kinds:
    try:
        msgspec.convert([], kind)
    except msgspec.ValidationError:
        print(kind.__name__)
"""


def names(kind: type) -> list[str]:
    return [part.name for part in fields(kind)]


def test_the_types_have_the_proposals_fields_in_its_order() -> None:
    assert names(FilesetManifestFile) == [
        "path", "size", "md5", "sha1", "sha256", "mimetype", "extra", "status", "platform_url",
        "terminal_url", "terminal_dt",
    ]  # fmt: skip
    assert names(FilesetPlatformItem)[:9] == [
        "platform_name", "platform_status", "platform_domain", "platform_id", "manifest",
        "archiveorg_item_name", "archiveorg_item_meta", "web_base_url", "web_bundle_url",
    ]  # fmt: skip
    proposed = [
        "ingest_strategy", "status", "manifest", "file_file_meta", "file_terminal", "file_cdx",
        "bundle_file_meta", "bundle_terminal", "bundle_cdx", "bundle_archiveorg_path",
    ]  # fmt: skip
    assert [name for name in names(ArchiveStrategyResult) if name in proposed] == proposed


def test_the_strategies_are_the_proposals_six() -> None:
    assert list(IngestStrategy) == [
        "web-file", "web-fileset", "web-fileset-bundled",
        "archiveorg-file", "archiveorg-fileset", "archiveorg-fileset-bundled",
    ]  # fmt: skip
    assert [strategy.is_web for strategy in IngestStrategy] == [True] * 3 + [False] * 3
    assert [strategy.is_file for strategy in IngestStrategy] == [True, False, False] * 2
    assert [strategy.is_bundled for strategy in IngestStrategy] == [False, False, True] * 2


def test_hits_are_the_first_three_statuses() -> None:
    assert [status for status in Status if status.is_hit] == list(Status)[:3]
    assert [status for status in FileStatus if status.is_held] == ["success", "exists"]


def test_statuses_of_others_are_known_when_read() -> None:
    assert is_known("success-file")
    assert is_known("petabox-error")
    assert not is_known("petabox-success")
    assert "petabox-error" not in list(Status)


def test_every_trouble_of_a_file_can_be_a_filesets_status() -> None:
    own = {"exists", "restricted", "not-processed"}
    assert {str(status) for status in FileStatus} - own <= {str(status) for status in Status}


texts = st.none() | st.text(max_size=5)
manifest_files = st.builds(
    FilesetManifestFile,
    path=st.text(max_size=5),
    size=st.none() | st.integers(0, 2**63),
    md5=texts,
    sha1=texts,
    sha256=texts,
    mimetype=texts,
    extra=st.none() | st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3)),
    status=texts,
    platform_url=texts,
    terminal_url=texts,
    terminal_dt=texts,
)


@given(manifest_files)
def test_a_manifest_file_is_read_as_it_was_told(file: FilesetManifestFile) -> None:
    assert FilesetManifestFile.of_json(file.as_json()) == file
    assert pickle.loads(pickle.dumps(file)) == file
    assert None not in file.as_json().values()


@pytest.mark.parametrize(
    "value",
    [None, [], {}, {"path": 1}, {"path": "x", "size": "1"}, {"path": "x", "size": -1},
     {"path": "x", "size": True}, {"path": "x", "extra": []}, {"path": "x", "md5": 5}],
)  # fmt: skip
def test_what_is_no_manifest_file_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"Expected|missing"):
        FilesetManifestFile.of_json(value)


def test_an_item_knows_its_fileset_and_version() -> None:
    item = FilesetPlatformItem(platform_name="zenodo")
    assert (item.fileset_id, item.version, item.total_size) == (None, None, 0)
    item = FilesetPlatformItem(
        platform_name="zenodo",
        platform_domain="zenodo.org",
        platform_id="3463499",
        manifest=(FilesetManifestFile(path="a", size=3), FilesetManifestFile(path="b")),
        extra={"version": "3463499"},
    )
    assert item.fileset_id == "fileset:zenodo:zenodo.org:3463499"
    assert (item.version, item.total_size) == ("3463499", 3)
    assert item.as_json()["manifest"] == [{"path": "a", "size": 3}, {"path": "b"}]


def test_digests_are_those_that_could_be_computed() -> None:
    file = FilesetManifestFile(
        path="x", md5="A" * 32, sha1="a" * 40, extra={"sha512": "b" * 128, "crc32": 5, "other": "c"}
    )
    assert file.digests == {"sha1": "a" * 40, "sha512": "b" * 128}


def test_a_platforms_errors_have_a_status_and_what_is_known() -> None:
    item = FilesetPlatformItem(platform_name="zenodo")
    error = pickle.loads(pickle.dumps(PlatformScopeError("one file", item)))
    assert (error.status, str(error), error.item) == ("platform-scope", "one file", item)
    assert isinstance(error, PlatformError)


def test_the_face_hands_on_what_it_names() -> None:
    assert lafka.filesets.IngestStrategy is IngestStrategy
    assert "PLATFORMS" in dir(lafka.filesets)
    assert all(hasattr(lafka.filesets, name) for name in dir(lafka.filesets))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        lafka.filesets.Nothing  # noqa: B018


def test_what_is_read_in_threads_is_known_to_msgspec_before_there_are_any() -> None:
    """Nothing is looked up any more when it is read: two threads at once would crash."""
    line = [sys.executable, "-c", READ_WITHOUT_NAMES]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 5
