"""Every recorded case gives the item, or the named status, that is written beside it."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from lafka.filesets.model.asks import Resource
from lafka.filesets.model.messages import IngestRequest
from lafka.filesets.model.pages import HtmlBiblio
from lafka.filesets.model.types import (
    EmptyManifest,
    FilesetManifestFile,
    FilesetPlatformItem,
    IncompleteManifest,
    IngestStrategy,
    NoStrategy,
    NotThisPlatform,
    PlatformNotFound,
    PlatformRestrictedError,
)
from lafka.filesets.platforms import PLATFORMS, helpers, matches
from lafka.filesets.platforms.archiveorg import ArchiveorgHelper
from lafka.filesets.platforms.dataverse import PAGE, DataverseHelper, parse_dataverse_persistentid
from lafka.filesets.platforms.figshare import FigshareHelper, parse_figshare_url_path
from lafka.filesets.platforms.platform import Thresholds, item_name
from lafka.filesets.platforms.web import file_name
from lafka.filesets.platforms.zenodo import ZenodoHelper
from tests.filesets.driving import CASES, driven, outcome

FILES = sorted(CASES.glob("*/*.json"))
HOST = "https://data.uni.example"
PID = "doi:10.21955/UNI/QX7RTP"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_recorded_case_gives_what_is_written_beside_it(path: Path) -> None:
    case = json.loads(path.read_text("utf-8"))
    assert outcome(case) == case["expected"]


def test_every_platform_has_recorded_cases_with_a_manifest_and_with_an_error() -> None:
    for made in PLATFORMS:
        expected = [
            json.loads(path.read_text("utf-8"))["expected"]
            for path in FILES
            if path.parent.name == made.platform_name
        ]
        assert any(case.get("item", {}).get("manifest") for case in expected), made
        assert any(case.get("status", "").startswith("platform-") for case in expected) or any(
            case.get("status") in ("empty-manifest", "no-platform-match") for case in expected
        ), made


def test_the_web_is_asked_last() -> None:
    names = [made.platform_name for made in PLATFORMS]
    assert names[:4] == ["dataverse", "figshare", "zenodo", "archiveorg"]
    assert names[-1] == "web"
    assert len(set(names)) == len(names)


def test_helpers_can_be_chosen_by_name() -> None:
    found = helpers(names=["figshare", "zenodo"])
    assert [one.platform_name for one in found] == ["figshare", "zenodo"]


# sandcrawler's own examples: python/sandcrawler/fileset_platforms.py, test_parse_*
@pytest.mark.parametrize(
    ("pid", "parts"),
    [
        ("doi:10.25625/LL6WXZ", ("doi", "10.25625", None, "LL6WXZ", None)),
        ("doi:10.5072/FK2/J8SJZB", ("doi", "10.5072", "FK2", "J8SJZB", None)),
        ("doi:10.5072/FK2/J8SJZB/LL6WXZ", ("doi", "10.5072", "FK2", "J8SJZB", "LL6WXZ")),
        (
            "hdl:20.500.12690/RIN/IDDOAH/BTNH25",
            ("hdl", "20.500.12690", "RIN", "IDDOAH", "BTNH25"),
        ),
        ("doi:10.7910/DVN/6HPRIG", ("doi", "10.7910", "DVN", "6HPRIG", None)),
    ],
)
def test_usual_persistent_ids_have_parts(pid: str, parts: tuple[Any, ...]) -> None:
    assert tuple(parse_dataverse_persistentid(pid).values()) == parts


@pytest.mark.parametrize(
    "pid",
    ["doi:10.25625/abcd", "other:10.25625/LL6WXZ", "10.25625/LL6WXZ", "doi:", "doi:10.5072",
     "doi:10.5072/FK2/J8SJZB/LL6WXZv123", "doi:11.5072/FK2/J8SJZB", ""],
)  # fmt: skip
def test_other_persistent_ids_have_none(pid: str) -> None:
    with pytest.raises(ValueError, match="unknown dataverse"):
        parse_dataverse_persistentid(pid)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/articles/Optimized_protocol_of_a_palm_species/8987858/1", ("8987858", "1")),
        ("/articles/Optimized_protocol_of_a_palm_species/8987858", ("8987858", None)),
        ("/articles/CIBERSORT_p-value_0_05/8217188/1", ("8217188", "1")),
        ("/articles/dataset/STable_1_U-Pb_xls/12127176/4", ("12127176", "4")),
        ("/articles/dataset/2019/12127176", ("12127176", None)),
        ("/articles/2019/12127176/4", ("12127176", "4")),
        ("/articles/figure/2019/12127176/4/", ("12127176", "4")),
    ],
)
def test_figshare_paths_have_an_article_and_maybe_a_version(path: str, found: Any) -> None:
    assert parse_figshare_url_path(path) == found


@pytest.mark.parametrize(
    "path",
    ["/articles/Optimized_protocol", "/articles/", "/", "", "/collections/x/1", "/articles/a/b/c",
     "/articles/a/b/1/2/3", "/articles/a/१"],
)  # fmt: skip
def test_other_paths_are_no_articles(path: str) -> None:
    with pytest.raises(ValueError, match="article"):
        parse_figshare_url_path(path)


@pytest.mark.parametrize(
    ("disposition", "name"),
    [
        ('attachment; filename="a b.zip"', "a b.zip"),
        ("attachment; filename=a.zip", "a.zip"),
        ("attachment; filename*=UTF-8''na%C3%AFve.csv; filename=\"x.csv\"", "naïve.csv"),
        (r'attachment; filename="..\..\evil.exe"', "evil.exe"),
        ('attachment; filename="/etc/passwd"', "passwd"),
        ("attachment; filename*=no-such-charset''%61; filename=b", "b"),
        ("inline", None),
        ("", None),
    ],
)
def test_the_name_of_a_download(disposition: str, name: str | None) -> None:
    assert file_name(disposition) == name


def _dataverse_row(number: int) -> dict[str, Any]:
    data = {"id": number, "filename": f"{number}.txt", "filesize": 1, "contentType": "text/plain"}
    return {"label": f"{number}.txt", "dataFile": data}


def _dataverse(
    answers: dict[str, Any], count: int | None = None
) -> tuple[FilesetPlatformItem, list[str]]:
    url = f"{HOST}/dataset.xhtml?persistentId={PID}"
    base = f"{HOST}/api/datasets/:persistentId/versions/:latest-published"
    version = {"versionNumber": 1, "versionMinorNumber": 0, "datasetPersistentId": PID}
    whole = {f"{base}?persistentId={PID}": {"json": {"data": version}}}
    for offset, rows in answers.items():
        page = f"{base}/files?persistentId={PID}&limit={PAGE}&offset={offset}"
        more = {} if count is None else {"totalCount": count}
        whole[page] = {"json": {"data": rows, **more}}
    request, resource = IngestRequest.of_url(url), Resource(url=url)
    return driven(DataverseHelper().process_request(request, resource, HtmlBiblio()), whole)


def test_dataverse_pages_are_read_until_one_is_short() -> None:
    rows = [_dataverse_row(number) for number in range(PAGE + 3)]
    item, asked = _dataverse({"0": rows[:PAGE], str(PAGE): rows[PAGE:]})
    assert item.manifest is not None
    assert [file.path for file in item.manifest] == [f"{number}.txt" for number in range(PAGE + 3)]
    assert len(asked) == 3


def test_a_dataverse_that_knows_no_pages_gives_each_file_once() -> None:
    rows = [_dataverse_row(number) for number in range(PAGE + 3)]
    item, asked = _dataverse({"0": rows, str(PAGE + 3): rows})
    assert item.manifest is not None
    assert len(item.manifest) == PAGE + 3
    assert len(asked) == 3


def test_a_dataverse_that_gives_shorter_pages_is_read_to_its_count() -> None:
    rows = [_dataverse_row(number) for number in range(150)]
    item, asked = _dataverse({"0": rows[:100], "100": rows[100:]}, count=150)
    assert item.manifest is not None
    assert (len(item.manifest), len(asked)) == (150, 3)


def test_a_dataverse_that_counts_more_than_it_lists_is_told() -> None:
    rows = [_dataverse_row(number) for number in range(100)]
    with pytest.raises(IncompleteManifest, match="lists 100 files and counts 150"):
        _dataverse({"0": rows, "100": []}, count=150)


def _figshare(count: int, pages: list[int]) -> tuple[FilesetPlatformItem, list[str], list[str]]:
    """What figshare's article of *count* files of a byte gives where it lists *pages* of them."""
    url = "https://figshare.com/articles/dataset/x/77/1"
    api = "https://api.figshare.com/v2/articles/77/versions/1"
    rows = iter([
        {"id": number, "name": f"{number}", "size": 1,
         "download_url": f"https://ndownloader.figshare.com/files/{number}"}
        for number in range(count)
    ])  # fmt: skip
    listed = [list(islice(rows, page)) for page in pages]
    article = {"id": 77, "version": 1, "size": count, "files": listed[0][:10]}
    answers: dict[str, Any] = {api: {"json": article}}
    for number, page in enumerate(listed, 1):
        answers[f"{api}/files?page={number}&page_size=1000"] = {"json": page}
    steps = FigshareHelper().process_request(
        IngestRequest.of_url(url), Resource(url=url), HtmlBiblio()
    )
    item, asked = driven(steps, answers)
    return item, asked, list(answers)


@pytest.mark.parametrize(("count", "pages"), [(1005, [1000, 5]), (150, [100, 50]), (12, [12])])
def test_figshare_pages_are_read_until_its_size_is_there(count: int, pages: list[int]) -> None:
    item, asked, answers = _figshare(count, pages)
    assert item.manifest is not None
    assert (len(item.manifest), asked) == (count, answers)


def test_a_figshare_whose_files_are_less_than_its_size_is_told() -> None:
    with pytest.raises(IncompleteManifest, match="lists 100 bytes and counts 150"):
        _figshare(150, [100, 0])


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"count": 5, "total_bytes": 6}, "lists 3 files and counts 5"),
        ({"count": 3, "total_bytes": 60}, "lists 6 bytes and counts 60"),
    ],
)
def test_a_zenodo_that_counts_more_than_it_lists_is_told(files: dict[str, int], told: str) -> None:
    url = "https://zenodo.org/records/4"
    entries = [{"key": f"{size}", "size": size, "links": {}} for size in (1, 2, 3)]
    record = {"id": 4, "metadata": {}, "files": {"enabled": True, "entries": entries, **files}}
    steps = ZenodoHelper().process_request(
        IngestRequest.of_url(url), Resource(url=url), HtmlBiblio()
    )
    with pytest.raises(IncompleteManifest, match=told):
        driven(steps, {"https://zenodo.org/api/records/4": {"json": record}})


def test_an_item_of_the_archive_that_counts_more_than_it_lists_is_told() -> None:
    url = "https://archive.org/details/x"
    value = {"metadata": {}, "files": [{"name": "a", "source": "original"}], "files_count": 9}
    steps = ArchiveorgHelper().process_request(
        IngestRequest.of_url(url), Resource(url=url), HtmlBiblio()
    )
    with pytest.raises(IncompleteManifest, match="lists 1 files and counts 9"):
        driven(steps, {"https://archive.org/metadata/x": {"json": value}})


@pytest.mark.parametrize(
    "row", [{"name": "history/files/a.~1~"}, {"name": "a.~1~", "old_version": "true"}]
)
def test_former_versions_of_an_items_file_are_none_of_its_files(row: dict[str, str]) -> None:
    url = "https://archive.org/details/x"
    rows = [{"name": "a", "source": "original"}, {"source": "original", **row}]
    steps = ArchiveorgHelper().process_request(
        IngestRequest.of_url(url), Resource(url=url), HtmlBiblio()
    )
    value = {"metadata": {}, "files": rows, "files_count": 2}
    item, _ = driven(steps, {"https://archive.org/metadata/x": {"json": value}})
    assert [file.path for file in item.manifest or ()] == ["a"]


def test_of_equal_figshare_names_the_later_gets_its_id() -> None:
    url = "https://figshare.com/articles/dataset/x/77/1"
    rows = [
        {"id": number, "name": "same.csv", "size": 1,
         "download_url": f"https://ndownloader.figshare.com/files/{number}"}
        for number in (5, 6)
    ]  # fmt: skip
    answers = {
        "https://api.figshare.com/v2/articles/77/versions/1": {
            "json": {"id": 77, "version": 1, "files": rows}
        }
    }
    steps = FigshareHelper().process_request(
        IngestRequest.of_url(url), Resource(url=url), HtmlBiblio()
    )
    item, _ = driven(steps, answers)
    assert item.manifest is not None
    assert [file.path for file in item.manifest] == ["same.csv", "same~6.csv"]
    assert item.manifest[1].extra == {"platform_path": "same.csv"}


RDM = "https://rdm.uni.example/records/ab1cd-2ef34"


@pytest.mark.parametrize(
    ("hosts", "body", "robots"),
    [
        ((), b"<title>Records</title>", True),
        ((), b"<div data-invenio-config='{}'>", False),
        (("rdm.uni.example",), b"", False),
    ],
)
def test_a_host_that_nobody_knows_is_asked_as_robots_txt_says(
    hosts: tuple[str, ...], body: bytes, robots: bool
) -> None:
    resource, request = Resource(url=RDM, body=body), IngestRequest.of_url(RDM)
    known = helpers(hosts={"zenodo": frozenset(hosts)})
    found = next(matches(known, request, resource, HtmlBiblio()), None)
    assert found is not None
    assert found.platform_name == "zenodo"
    want = next(found.process_request(request, resource, HtmlBiblio()))
    assert want.url == "https://rdm.uni.example/api/records/ab1cd-2ef34"
    assert want.robots is robots


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"text": "<html>a museum's records</html>"}, NotThisPlatform),
        ({"json": {"id": "ab1cd-2ef34", "name": "no record"}}, NotThisPlatform),
        ({"json": {"error": "no such page"}, "status": 404}, NotThisPlatform),
        ({"status": 0, "trouble": "robots.txt forbids it", "text": ""}, NotThisPlatform),
        ({"json": {"status": 403, "message": "Permission denied."}, "status": 403},
         PlatformRestrictedError),
        ({"json": {"status": 410, "message": "gone", "tombstone": {}}, "status": 410},
         PlatformNotFound),
    ],
)  # fmt: skip
def test_an_unknown_host_is_what_its_answer_shows(
    answer: dict[str, Any], error: type[Exception]
) -> None:
    api = RDM.replace("/records", "/api/records")
    steps = ZenodoHelper().process_request(
        IngestRequest.of_url(RDM), Resource(url=RDM), HtmlBiblio()
    )
    with pytest.raises(error) as raised:
        driven(steps, {api: answer})
    assert type(raised.value) is error


# Strategies --------------------------------------------------------------------------------

MI = 1 << 20


def _item(*sizes: int | None, urls: bool = True, bundle: bool = False) -> FilesetPlatformItem:
    files = tuple(
        FilesetManifestFile(
            path=f"{number}", size=size, platform_url="https://x.example/" if urls else None
        )
        for number, size in enumerate(sizes)
    )
    bundle_url = "https://x.example/all.zip" if bundle else None
    return FilesetPlatformItem(platform_name="figshare", manifest=files, web_bundle_url=bundle_url)


@pytest.mark.parametrize(
    ("item", "strategy"),
    [
        (_item(128 * MI), "web-file"),
        (_item(128 * MI + 1), "archiveorg-file"),
        (_item(None), "archiveorg-file"),
        (_item(1, 2), "web-fileset"),
        (_item(1, 128 * MI + 1), "archiveorg-fileset"),
        (_item(1, None), "archiveorg-fileset"),
        (_item(*[1] * 20), "web-fileset"),
        (_item(*[1] * 21), "archiveorg-fileset"),
        (_item(*[128 * MI] * 8), "web-fileset"),
        (_item(*[128 * MI] * 8, 1), "archiveorg-fileset"),
        (_item(1, 2, bundle=True), "web-fileset"),
        (_item(*[1] * 21, bundle=True), "archiveorg-fileset"),
        (_item(1, 2, urls=False, bundle=True), "web-fileset-bundled"),
        (_item(1, None, urls=False, bundle=True), "archiveorg-fileset-bundled"),
    ],
)
def test_the_strategy_follows_number_and_sizes(item: FilesetPlatformItem, strategy: str) -> None:
    assert FigshareHelper().chose_strategy(item) == strategy


def test_many_files_may_come_as_a_bundle() -> None:
    helper = FigshareHelper(Thresholds(bundle="many"))
    assert helper.chose_strategy(_item(*[1] * 21, bundle=True)) == "web-fileset-bundled"
    huge = _item(*[128 * MI] * 21, bundle=True)
    assert helper.chose_strategy(huge) == "archiveorg-fileset-bundled"
    assert helper.chose_strategy(_item(*[1] * 20, bundle=True)) == "web-fileset"


def test_what_no_strategy_can_archive_has_a_name() -> None:
    with pytest.raises(NoStrategy):
        FigshareHelper().chose_strategy(_item(1, urls=False))
    with pytest.raises(NoStrategy):
        FigshareHelper(Thresholds(bundle="never")).chose_strategy(_item(1, urls=False, bundle=True))
    with pytest.raises(EmptyManifest):
        FigshareHelper().chose_strategy(_item())
    unlisted = FilesetPlatformItem(platform_name="x", web_bundle_url="https://x.example/all.zip")
    chosen = FigshareHelper().chose_strategy(unlisted)
    assert chosen is IngestStrategy.ARCHIVEORG_FILESET_BUNDLED


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("zenodo.org-3463499", "zenodo.org-3463499"),
        ("data.uni.example-QX7RTP-v2.1", "data.uni.example-QX7RTP-v2.1"),
    ],
)
def test_a_fit_name_of_an_item_stays(wanted: str, name: str) -> None:
    assert item_name(wanted, FilesetPlatformItem(platform_name="x")) == name


def test_a_name_that_is_made_fit_tells_its_fileset() -> None:
    def of(number: str, wanted: str) -> str:
        item = FilesetPlatformItem(platform_name="x", platform_domain="d", platform_id=number)
        return item_name(wanted, item)

    first, second = of("1", "x" * 200), of("2", "x" * 200)
    assert first != second
    assert len(first) == len(second) == 80
    assert of("1", "ä é") == of("1", "ä é") != of("2", "ä é")
    assert of("1", "..").endswith(first[-8:])
