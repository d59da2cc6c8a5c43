"""A request's whole way, from its landing page to a result that is by the schema."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lafka.filesets.model.asks import (
    Ask,
    Fetch,
    FetchBundle,
    Fetched,
    Keep,
    Kept,
    Resource,
)
from lafka.filesets.model.bundles import BundleContents
from lafka.filesets.model.manifests import Limits, facts_of
from lafka.filesets.model.messages import IngestRequest, IngestResult, LandingCapture, file_result
from lafka.filesets.model.rows import rows_of
from lafka.filesets.model.types import (
    FilesetManifestFile,
    FilesetPlatformItem,
    IngestStrategy,
    PlatformError,
)
from lafka.filesets.strategies.strategy import HeldVersion
from lafka.filesets.walk import Rules, fileset_pid, refused, walk
from lafka.warc.format.fields import Fields
from tests.filesets.driving import answer_of

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
URL = "https://zenodo.org/records/7"
API = "https://zenodo.org/api/records/7"
PAGE = Resource(
    url=URL, hops=(URL,), size=9, headers=Fields({"Content-Type": "text/html"}), dt="20261120101112"
)
BODIES = {"a.csv": b"1,2\n", "d/b.txt": b"hello"}


def record(**files: Any) -> dict[str, Any]:
    rows = [
        {
            "key": name,
            "size": len(body),
            "checksum": f"md5:{hashlib.md5(body).hexdigest()}",
            "links": {"self": f"https://zenodo.org/api/files/b/{name}"},
        }
        for name, body in (files.get("files") or BODIES).items()
    ]
    metadata = {"access_right": "open", "title": "Soil"}
    return {"id": 7, "conceptrecid": "6", "metadata": metadata, "files": rows}


class Crawl:
    """What would drive a walk; ``wants`` are the names of all that it was asked for."""

    def __init__(self, answer: Any = None, bodies: dict[str, bytes] = BODIES) -> None:
        self.answer = {"json": record()} if answer is None else answer
        self.bodies = bodies
        self.wants: list[str] = []

    def came_of(self, want: Any) -> Any:
        self.wants.append(type(want).__name__)
        if isinstance(want, Ask):
            return answer_of(want.url, self.answer)
        if isinstance(want, Fetch):
            body = self.bodies[want.file.path]
            facts = facts_of([body], want.file.digests)
            return Fetched(status="success", url=want.url, dt="20261120101113", http_status=200,
                           facts=facts)  # fmt: skip
        if isinstance(want, FetchBundle):
            contents = BundleContents(trouble="no ZIP at all")
            return Fetched(status="success", facts=facts_of([b"x"]), contents=contents)
        return Kept(status="success") if isinstance(want, Keep) else None

    def ends(
        self, request: Any = None, resource: Resource = PAGE, rules: Any = None, **more: Any
    ) -> dict[str, Any]:
        keys = {"ingest_type": "dataset", "base_url": URL, **(request or {})}
        given = IngestRequest.of_json(keys)
        landing = LandingCapture.of(resource)
        steps = walk(given, resource, landing, rules or Rules(), **more)
        try:
            want = next(steps)
            while True:
                want = steps.send(self.came_of(want))
        except StopIteration as end:
            return told(end.value)


def told(result: IngestResult) -> dict[str, Any]:
    """The result's JSON, which is by the schema and makes rows."""
    value: dict[str, Any] = json.loads(json.dumps(result.as_json()))
    schema = json.loads((SCHEMAS / "ingest-fileset-result.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(value)
    rows_of(value)
    assert value["hit"] or value.get("error_message")
    return value


def test_the_whole_way_of_a_dataset() -> None:
    crawl = Crawl()
    value = crawl.ends({"our_own": 1})
    assert crawl.wants == ["Ask", "Claim", "Fetch", "Keep", "Fetch", "Keep"]
    assert (value["hit"], value["status"]) == (True, "success")
    assert value["request"]["our_own"] == 1
    assert value["ingest_strategy"] == "web-fileset"
    assert (value["file_count"], value["total_size"]) == (2, 9)
    assert [file["status"] for file in value["manifest"]] == ["success", "success"]
    assert value["lafka"] == {"fileset": "fileset:zenodo:zenodo.org:7", "version": "7"}
    assert value["terminal"]["terminal_url"] == URL
    assert file_result(value) is None


def test_a_single_file_is_told_as_a_file_too() -> None:
    crawl = Crawl({"json": record(files={"a.csv": b"1,2\n"})})
    value = crawl.ends()
    assert value["status"] == "success-file"
    assert file_result(value) is not None


@pytest.mark.parametrize(
    ("request_keys", "limits", "free", "status"),
    [
        ({}, Limits(max_files=1), None, "too-many-files"),
        ({}, Limits(max_file=4), None, "too-large-file"),
        ({}, Limits(max_total=8), None, "too-large-size"),
        ({}, Limits(), 8, "no-space"),
        ({"max_file_count": 1}, Limits(), None, "too-many-files"),
        ({"max_total_size": 8}, Limits(), None, "too-large-size"),
        ({"max_total_size": 9, "max_file_count": 2}, Limits(), 9, "success"),
    ],
)
def test_over_a_limit_no_file_is_asked_for(
    request_keys: Any, limits: Limits, free: int | None, status: str
) -> None:
    crawl = Crawl()
    value = crawl.ends(request_keys, rules=Rules(limits=limits), free=free)
    assert value["status"] == status
    assert crawl.wants.count("Fetch") == (2 if status == "success" else 0)
    assert (value["file_count"], value["total_size"]) == (2, 9)
    assert value.get("manifest_truncated", False) == (status == "too-many-files")


def test_an_unsafe_path_is_found_before_any_file_is_asked_for() -> None:
    crawl = Crawl({"json": record(files={"a.csv": b"1", "../b": b"2"})})
    value = crawl.ends()
    assert value["status"] == "unsafe-path"
    assert crawl.wants == ["Ask"]
    assert [file.get("status") for file in value["manifest"]] == [None, "unsafe-path"]


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ({"status": 0, "trouble": "dns"}, "platform-error"),
        ({"status": 404}, "platform-404"),
        ({"status": 403}, "platform-restricted"),
        ({"status": 500}, "platform-http-error"),
        ({"text": "<html>"}, "platform-error"),
        ({"json": {**record(), "id": 8}}, "platform-scope"),
        ({"json": {**record(), "files": []}}, "empty-manifest"),
    ],
)
def test_what_a_platform_says_has_its_status(answer: dict[str, Any], status: str) -> None:
    crawl = Crawl(answer)
    value = crawl.ends()
    assert value["status"] == status
    assert value["platform_name"] == "zenodo"
    assert crawl.wants == ["Ask"]


@pytest.mark.parametrize(
    ("values", "status"),
    [
        ({"status": 404}, "terminal-bad-status"),
        ({"status": 410}, "terminal-bad-status"),
        ({"status": 503, "url": "https://a.example/"}, "terminal-bad-status"),
        ({"size": 0, "url": "https://a.example/"}, "empty-blob"),
        ({"url": "https://a.example/"}, "no-platform-match"),
    ],
)
def test_a_landing_page_that_leads_nowhere_has_its_status(values: Any, status: str) -> None:
    crawl = Crawl()
    request = {"base_url": "https://a.example/"}
    url = values.get("url", URL)
    value = crawl.ends(request, replace(PAGE, hops=(url,), **values))
    assert value["status"] == status
    assert crawl.wants == []
    assert "platform_name" not in value


GUARDS = [
    ({"status": 202}, "terminal-bad-status"),
    ({"status": 403}, "terminal-bad-status"),
    ({"status": 503}, "terminal-bad-status"),
    ({"headers": Fields({"cf-mitigated": "challenge"})}, "blocked-captcha"),
    ({"size": 0}, "empty-blob"),
]


@pytest.mark.parametrize(("values", "landing"), GUARDS)
def test_a_page_that_is_kept_from_programs_is_no_end_where_there_is_an_api(
    values: Any, landing: str
) -> None:
    value = Crawl().ends(resource=replace(PAGE, **values))
    assert (value["status"], value["lafka"]["landing"]) == ("success", landing)
    assert value["terminal"]["terminal_status_code"] == values.get("status", 200)


def test_some_requests_are_not_begun() -> None:
    rules = Rules(blocked=(re.compile(r"zenodo\.org/records/7$"),))
    request = IngestRequest.of_url(URL)
    blocked = refused(request, rules)
    assert blocked is not None
    assert told(blocked)["status"] == "skip-url-blocklist"
    other = refused(replace(request, ingest_type="html"), rules)
    assert other is not None
    assert told(other)["status"] == "not-implemented"
    assert refused(IngestRequest.of_url(URL + "0"), rules) is None


CLOSED = {**record(), "access": {"files": "restricted"}}


def dataverse(*closed: bool) -> tuple[dict[str, Any], dict[str, Any], Resource]:
    rows = [
        {"label": name, "restricted": shut, "dataFile": {"id": number, "filesize": len(body),
         "md5": hashlib.md5(body).hexdigest()}}
        for number, ((name, body), shut) in enumerate(
            zip({"a.csv": b"1,2\n", "d": b"hello"}.items(), closed, strict=True))
    ]  # fmt: skip
    version = {"versionNumber": 1, "datasetPersistentId": "doi:10.1/X", "files": rows}
    url = "https://d.example/dataset.xhtml?persistentId=doi:10.1/X"
    page = replace(PAGE, url=url, hops=(url,))
    return {"json": {"data": version}}, {"base_url": url}, page


def test_restricted_files_end_a_fileset_unless_parts_are_wanted() -> None:
    answer, request, page = dataverse(False, True)
    crawl = Crawl(answer, {"a.csv": b"1,2\n", "d": b"hello"})
    value = crawl.ends(request, page)
    assert (value["hit"], value["status"]) == (False, "platform-restricted")
    assert [file.get("status") for file in value["manifest"]] == [None, "restricted"]
    assert crawl.wants == ["Ask"]

    value = crawl.ends(request, page, Rules(partial=True))
    assert (value["hit"], value["status"]) == (False, "partial")
    assert [file["status"] for file in value["manifest"]] == ["success", "restricted"]

    answer, request, page = dataverse(True, True)
    assert Crawl(answer).ends(request, page, Rules(partial=True))["status"] == "platform-restricted"


def test_the_operators_token_opens_what_is_restricted() -> None:
    answer, request, page = dataverse(False, True)
    crawl = Crawl(answer, {"a.csv": b"1,2\n", "d": b"hello"})
    value = crawl.ends(request, page, Rules(token_hosts=frozenset({"d.example"})))
    assert value["status"] == "success"
    assert value["manifest"][1]["extra"] == {"access": "token"}
    assert Crawl({"json": CLOSED}).ends()["status"] == "platform-restricted"


@pytest.mark.parametrize(
    ("wanted", "status"),
    [
        ("archiveorg-fileset", "success"),
        ("web-fileset", "success"),
        ("web-file", "no-strategy-helper"),
        ("web-fileset-bundled", "no-strategy-helper"),
    ],
)
def test_a_strategy_may_be_asked_for(wanted: str, status: str) -> None:
    value = Crawl().ends({"ingest_strategy": wanted})
    assert value["status"] == status
    by_rules = Crawl().ends(rules=Rules(strategy=IngestStrategy(wanted)))
    assert by_rules["status"] == status
    if status == "success":
        assert value["ingest_strategy"] == by_rules["ingest_strategy"] == wanted


def test_a_bundle_may_be_asked_for_where_the_platform_has_one() -> None:
    links = {"archive": "https://zenodo.org/api/records/7/files-archive"}
    crawl = Crawl({"json": {**record(), "links": links}})
    value = crawl.ends({"ingest_strategy": "archiveorg-fileset-bundled"})
    assert value["status"] == "bundle-unreadable"
    assert crawl.wants == ["Ask", "Claim", "FetchBundle", "FetchBundle", "SetAside"]


class Holding:
    def __init__(self, md5: str | None = None) -> None:
        self.asked: list[FilesetPlatformItem] = []
        self.md5 = md5

    def version(self, item: FilesetPlatformItem) -> HeldVersion:
        self.asked.append(item)
        files = {
            path: FilesetManifestFile(
                path=path, size=len(body), md5=self.md5 or hashlib.md5(body).hexdigest()
            )
            for path, body in BODIES.items()
        }
        return HeldVersion(complete=True, files=files, time="2026-11-10T00:00:00Z")


def test_what_is_held_costs_no_file_request() -> None:
    crawl, holding = Crawl(), Holding()
    value = crawl.ends(held=lambda: holding)
    assert (value["hit"], value["status"]) == (True, "success-existing")
    assert crawl.wants == ["Ask", "Claim"]
    assert holding.asked[0].version == "7"
    assert [file["status"] for file in value["manifest"]] == ["exists", "exists"]


def test_a_refresh_fetches_again_but_never_over_other_content() -> None:
    crawl = Crawl()
    value = crawl.ends(rules=Rules(refresh=True), held=Holding)
    assert value["status"] == "success"
    assert crawl.wants.count("Fetch") == 2
    other = Holding(md5="0" * 32)
    crawl = Crawl()
    value = crawl.ends(rules=Rules(refresh=True), held=lambda: other)
    assert value["status"] == "mismatch-existing"
    assert crawl.wants == ["Ask", "Claim"]
    value = Crawl().ends({"force_recrawl": True}, held=lambda: other)
    assert value["status"] == "success"


@pytest.mark.parametrize(
    ("before", "status"),
    [("", "success-existing"), ("2026-11-09T", "success-existing"), ("2026-11-11T", "success")],
)
def test_what_was_had_before_a_time_is_fetched_again(before: str, status: str) -> None:
    rules = Rules(refresh_before=before)
    value = Crawl().ends(rules=rules, held=Holding)
    assert value["status"] == status


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("https://x.example/cookieAbsent", "blocked-cookie"),
        ("https://x.example/a?cookieSet=1", "blocked-cookie"),
        ("https://x.example/captcha", "blocked-captcha"),
        ("https://idp.x.example/idp/profile", "blocked-wall"),
        ("https://x.example/login?to=1", "blocked-wall"),
        ("https://zenodo.org/records/7?q=login", "success"),
        ("https://zenodo.org/records/7#login", "success"),
    ],
)
def test_a_way_that_ends_before_a_guard_is_told(url: str, status: str) -> None:
    start = "https://x.example/"
    value = Crawl().ends({"base_url": start}, replace(PAGE, url=url, hops=(start, url)))
    assert value["status"] == status
    behind = Crawl().ends(resource=replace(PAGE, url=url, hops=(URL, url)))
    assert behind["status"] == "success"
    assert behind["lafka"].get("landing", "success") == status


def test_a_platforms_name_that_is_no_id_is_its_error() -> None:
    for name in ("doi:10.1/a b", "doi:10.1/" + "x" * 9000):
        answer, request, page = dataverse(False, False)
        answer["json"]["data"]["datasetPersistentId"] = name
        value = Crawl(answer).ends(request, page)
        assert value["status"] == "platform-error"
        assert "the fileset's id" in value["error_message"]


def test_a_filesets_place_is_that_of_a_pid_of_any() -> None:
    item = FilesetPlatformItem(
        platform_name="zenodo", platform_domain="zenodo.org", platform_id="3463499"
    )
    pid = fileset_pid(item)
    assert pid.text == "fileset:zenodo:zenodo.org:3463499"
    assert re.fullmatch(r"any/[0-9a-f]{2}/[0-9a-f]{2}/fileset%3Azenodo%3A.*", pid.path)
    with pytest.raises(PlatformError, match="what it is"):
        fileset_pid(replace(item, platform_id=None))


def test_latest_is_a_rule_too() -> None:
    base = {"base_url": "https://zenodo.org/records/6"}
    page = replace(PAGE, hops=("https://zenodo.org/records/6", URL))
    assert Crawl().ends(base, page)["status"] == "platform-scope"
    assert Crawl().ends({**base, "latest": True}, page)["status"] == "success"
    assert Crawl().ends(base, page, Rules(latest=True))["status"] == "success"


def test_a_page_that_only_looks_like_a_platforms_is_the_next_ones() -> None:
    """A page of records whose host has another API: what it declares, else no platform."""
    url = "https://museum.example/records/7"
    page = replace(PAGE, url=url, hops=(url,), body=b"<html></html>")
    crawl = Crawl({"json": {"object": "a vase"}})
    value = crawl.ends({"base_url": url}, resource=page)
    assert (value["status"], crawl.wants) == ("no-platform-match", ["Ask"])
    assert value["error_message"] == f"{url}: no platform that is known"
    guarded = replace(page, status=403)
    assert Crawl({"text": "no"}).ends({"base_url": url}, resource=guarded)["status"] == (
        "terminal-bad-status"
    )
    file = replace(page, headers=Fields({"Content-Type": "text/csv"}))
    crawl = Crawl({"text": "no"}, {"7": b"1,2\n3,45\n"})
    value = crawl.ends({"base_url": url}, resource=file)
    assert (value["status"], value["platform_name"]) == ("success-file", "web")


def test_an_unknown_host_of_records_is_one_of_inveniordm_by_its_answer() -> None:
    url = "https://rdm.uni.example/records/7"
    text = json.dumps(record()).replace("zenodo.org", "rdm.uni.example")
    page = replace(PAGE, url=url, hops=(url,), status=403)
    value = Crawl({"text": text}).ends({"base_url": url}, resource=page)
    assert (value["status"], value["platform_domain"]) == ("success", "rdm.uni.example")
    assert value["lafka"]["landing"] == "terminal-bad-status"
