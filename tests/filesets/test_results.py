"""Results as published: by their schemas, and as the rows they make."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from lafka.filesets.crawling.services import without_manifest
from lafka.filesets.model.asks import Resource
from lafka.filesets.model.messages import (
    IngestResult,
    LandingCapture,
    check_result,
    file_result,
)
from lafka.filesets.model.pages import HtmlBiblio
from lafka.filesets.model.rows import json_text, rows_of
from lafka.filesets.model.types import (
    ArchiveStrategyResult,
    FilesetManifestFile,
    FilesetPlatformItem,
    FileStatus,
    IngestStrategy,
    Status,
)
from lafka.filesets.strategies.strategy import file_meta, terminal

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "docs" / "schemas"
SCHEMA = ROOT / "lafka" / "jobs" / "database" / "schema.sqlite.sql"
REQUEST = {
    "ingest_type": "dataset",
    "base_url": "https://doi.org/10.5281/zenodo.1",
    "link_source": "doi",
    "our_own": [1],
}
DATA = b"1,2\n"
FILE = FilesetManifestFile(
    path="a.csv",
    size=4,
    md5=hashlib.md5(DATA).hexdigest(),
    sha1=hashlib.sha1(DATA).hexdigest(),
    sha256=hashlib.sha256(DATA).hexdigest(),
    mimetype="text/csv",
    status="success",
    platform_url="https://zenodo.org/a.csv",
    terminal_url="https://zenodo.org/a.csv",
    terminal_dt="20261120101112",
)
ITEM = FilesetPlatformItem(
    platform_name="zenodo",
    platform_domain="zenodo.org",
    platform_id="1",
    archiveorg_item_name="zenodo.org-1",
    web_base_url="https://zenodo.org/records/1",
)
CDX = {
    "surt": "org,zenodo)/a.csv", "datetime": "20261120101112", "url": "https://zenodo.org/a.csv",
    "mimetype": "text/csv", "status_code": 200, "sha1b32": "x", "sha1hex": FILE.sha1,
    "warc_csize": 500, "warc_offset": 90, "warc_path": "fileset/warc/any/x.warc",
}  # fmt: skip
LANDING = LandingCapture.of(
    Resource(url="https://zenodo.org/records/1", hops=(REQUEST["base_url"],), dt="20261120101111"),
    file_meta={**file_meta(FILE), "sha1hex": "1" * 40, "mimetype": "text/html"},
    cdx={**CDX, "url": "https://zenodo.org/records/1", "sha1hex": "1" * 40},
    html_biblio=HtmlBiblio(title="Soil", descriptors=("https://zenodo.org/bagit.txt",)),
)  # fmt: skip


def archived(strategy: IngestStrategy, **values: Any) -> ArchiveStrategyResult:
    status = Status.SUCCESS_FILE if strategy.is_file else Status.SUCCESS
    told: dict[str, Any] = {"ingest_strategy": strategy, "status": status, "manifest": (FILE,)}
    if strategy.is_file:
        told |= {"file_file_meta": file_meta(FILE), "file_terminal": terminal(FILE)}
        told |= {"file_cdx": CDX} if strategy.is_web else {}
    if strategy.is_bundled:
        told |= {"bundle_file_meta": file_meta(FILE), "bundle_terminal": terminal(FILE)}
        told |= {"bundle_archiveorg_path": "all.zip"} if not strategy.is_web else {}
    return ArchiveStrategyResult(**{**told, **values})


def result_of(strategy: IngestStrategy = IngestStrategy.WEB_FILE, **values: Any) -> IngestResult:
    done = archived(strategy)
    return IngestResult(
        **{
            "request": REQUEST,
            "status": done.status,
            "landing": LANDING,
            "item": ITEM,
            "archived": done,
            "manifest": done.manifest,
            "file_count": 1,
            "total_size": 4,
            "lafka": {"fileset": "fileset:zenodo:zenodo.org:1", "version": "1", "seconds": 0.5},
            **values,
        }
    )


@cache
def schema(name: str) -> Draft202012Validator:
    found = json.loads((SCHEMAS / f"{name}.json").read_text("utf-8"))
    Draft202012Validator.check_schema(found)
    return Draft202012Validator(found)


def valid(name: str, value: Any) -> None:
    schema(name).validate(json.loads(json.dumps(value)))


@pytest.mark.parametrize("strategy", list(IngestStrategy))
def test_a_result_of_each_strategy_is_by_the_schema(strategy: IngestStrategy) -> None:
    value = result_of(strategy).as_json()
    valid("ingest-fileset-result", value)
    valid("ingest-request", value["request"])
    assert ("archiveorg_item_name" in value) == (not strategy.is_web)
    assert ("fileset_bundle" in value) == strategy.is_bundled
    assert ("fileset_file" in value) == strategy.is_file
    assert value["request"] == REQUEST
    assert check_result(json.loads(json.dumps(value))) == json.loads(json.dumps(value))
    assert [FilesetManifestFile.of_json(file) for file in value["manifest"]] == [FILE]


@pytest.mark.parametrize("status", list(Status))
def test_a_result_of_each_status_is_by_the_schema(status: Status) -> None:
    bare = IngestResult(request=REQUEST, status=status, error_message="why\n" * 800).as_json()
    valid("ingest-fileset-result", bare)
    assert bare["hit"] == (status in list(Status)[:3])
    assert set(bare) == {"hit", "status", "request", "error_message"}
    assert len(bare["error_message"]) == 1600
    check_result(bare)


def test_the_schemas_know_every_word() -> None:
    schema = json.loads((SCHEMAS / "ingest-fileset-result.json").read_text("utf-8"))
    assert schema["properties"]["status"]["enum"] == list(Status)
    assert schema["properties"]["ingest_strategy"]["enum"] == list(IngestStrategy)
    files = schema["$defs"]["manifest_file"]["properties"]
    assert files["status"]["enum"] == list(FileStatus)
    assert list(files) == list(FilesetManifestFile.__dataclass_fields__)


def test_keys_without_a_value_are_left_out_and_zeros_are_not() -> None:
    value = result_of(total_size=0, file_count=0, lafka={"requests": 0, "run": None}).as_json()
    assert (value["total_size"], value["file_count"]) == (0, 0)
    assert value["lafka"] == {"requests": 0}
    assert "revisit_cdx" not in value
    assert "manifest_truncated" not in value
    assert value["html_biblio"] == {"title": "Soil"}
    assert value["hops"] == [REQUEST["base_url"]]
    assert value["terminal"] == {
        "terminal_url": "https://zenodo.org/records/1",
        "terminal_dt": "20261120101111",
        "terminal_status_code": 200,
        "terminal_sha1hex": "1" * 40,
    }


def test_a_result_that_is_too_large_goes_without_its_manifest() -> None:
    value = without_manifest(result_of().as_json())
    assert "manifest" not in value
    assert value["manifest_truncated"] is True
    assert value["file_count"] == 1
    valid("ingest-fileset-result", value)


@pytest.mark.parametrize("strategy", [IngestStrategy.WEB_FILE, IngestStrategy.ARCHIVEORG_FILE])
def test_a_success_file_publishes_a_result_of_its_file(strategy: IngestStrategy) -> None:
    value = result_of(strategy).as_json()
    second = file_result(value)
    assert second is not None
    valid("ingest-file-result", second)
    assert second["request"] == {**REQUEST, "ingest_type": "dataset-file"}
    assert second["file_meta"] == value["fileset_file"]["file_meta"]
    assert ("cdx" in second) == strategy.is_web
    assert value["request"]["ingest_type"] == "dataset"


def test_only_a_success_file_does() -> None:
    for status in (Status.SUCCESS, Status.SUCCESS_EXISTING, Status.MISMATCH_MD5):
        assert file_result(result_of(status=status).as_json()) is None
    assert file_result(result_of(IngestStrategy.WEB_FILESET).as_json()) is None


@pytest.mark.parametrize(
    "change",
    [{"hit": 1}, {"status": "fine"}, {"status": None}, {"request": None}, {"request": {}},
     {"request": {"ingest_type": "dataset", "base_url": ""}}, {"manifest": {}}, {"manifest": [5]}],
)  # fmt: skip
def test_what_is_no_result_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        check_result({**result_of().as_json(), **change})


def test_statuses_of_others_are_read() -> None:
    assert check_result({**result_of().as_json(), "hit": False, "status": "cdx-error"})


# Rows --------------------------------------------------------------------------------------


def stored(row: dict[str, Any]) -> dict[str, Any]:
    """*row* as the proposal's table gives it back."""
    with sqlite3.connect(":memory:") as base:
        base.row_factory = sqlite3.Row
        base.executescript(SCHEMA.read_text("utf-8"))
        names = ", ".join(row)
        marks = ", ".join(f":{name}" for name in row)
        base.execute(f"INSERT INTO ingest_fileset_platform ({names}) VALUES ({marks})", row)
        return dict(base.execute(f"SELECT {names} FROM ingest_fileset_platform").fetchone())


@pytest.mark.parametrize("strategy", list(IngestStrategy))
def test_a_result_of_each_strategy_is_a_row_of_the_proposals_table(
    strategy: IngestStrategy,
) -> None:
    value = result_of(strategy).as_json()
    row = rows_of(value).fileset
    assert row is not None
    found = stored(row)
    assert found == {**row, "hit": 1}
    assert json.loads(found["manifest"]) == value["manifest"]
    assert found["ingest_strategy"] == strategy
    assert (found["archiveorg_item_name"] is not None) == (not strategy.is_web)
    assert (found["web_bundle_url"] is not None) == strategy.is_bundled
    in_item = strategy is IngestStrategy.ARCHIVEORG_FILESET_BUNDLED
    assert (found["archiveorg_item_bundle_path"] is not None) == in_item


def test_a_row_is_written_only_of_a_platform_that_is_known() -> None:
    for name in ("platform_name", "platform_domain", "platform_id"):
        value = result_of().as_json()
        del value[name]
        assert rows_of(value).fileset is None


def test_the_other_tables_get_their_rows() -> None:
    told = result_of().as_json()
    assert rows_of(told).request is None  # it does not say of which source it is
    told["request"] = {**told["request"], "link_source_id": "10.5281/zenodo.1"}
    rows = rows_of(told)
    assert rows.request == {
        "link_source": "doi",
        "link_source_id": "10.5281/zenodo.1",
        "ingest_type": "dataset",
        "base_url": REQUEST["base_url"],
        "ingest_request_source": None,
        "release_stage": None,
        "request": '{"our_own": [1]}',
    }
    assert rows.file_result == {
        "ingest_type": "dataset",
        "base_url": REQUEST["base_url"],
        "hit": True,
        "status": "success-file",
        "terminal_url": "https://zenodo.org/records/1",
        "terminal_dt": "20261120101111",
        "terminal_status_code": 200,
        "terminal_sha1hex": "1" * 40,
    }
    assert [meta["sha1hex"] for meta in rows.file_metas] == ["1" * 40, FILE.sha1]
    assert [cdx["url"] for cdx in rows.cdxs] == [
        "https://zenodo.org/records/1",
        "https://zenodo.org/a.csv",
    ]


def test_a_terminal_url_that_no_column_takes_is_left_out_and_counted() -> None:
    value = result_of().as_json()
    value["terminal"]["terminal_url"] = "https://a.example/".ljust(2049, "x")
    rows = rows_of(value)
    assert rows.file_result["terminal_url"] is None
    assert rows.dropped_urls == 1
    assert rows_of(result_of().as_json()).dropped_urls == 0


@pytest.mark.parametrize("dt", ["2026112010111", "202611201011123", "2026-11-20T10:1", 5, None])
def test_a_time_that_is_none_is_left_out(dt: Any) -> None:
    value = result_of(IngestStrategy.ARCHIVEORG_FILESET_BUNDLED).as_json()
    value["fileset_bundle"]["terminal"]["terminal_dt"] = dt
    value["terminal"]["terminal_dt"] = dt
    rows = rows_of(value)
    assert rows.fileset is not None
    assert stored(rows.fileset)["web_bundle_dt"] is None
    assert rows.file_result["terminal_dt"] is None


ugly = st.recursive(
    st.none() | st.integers() | st.text(st.sampled_from("a\0\ud800é\ufffd"), max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(ugly)
def test_json_columns_take_what_they_are_given(value: Any) -> None:
    text = json_text(value)
    assert "\0" not in text
    assert "\\u0000" not in text
    text.encode("utf-8")
    json.loads(text)


@given(ugly, ugly, ugly)
def test_any_values_make_rows_that_the_table_takes(first: Any, second: Any, third: Any) -> None:
    value = {
        **result_of(IngestStrategy.ARCHIVEORG_FILESET_BUNDLED).as_json(),
        "total_size": first,
        "archiveorg_item_name": second,
        "fileset_bundle": third,
        "terminal": first,
        "cdx": second,
        "file_meta": third,
        "platform_id": second if isinstance(second, str) else "1",
    }
    row = rows_of(value).fileset
    if row is not None:
        stored(row)
