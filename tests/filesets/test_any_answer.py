"""Whatever a platform answers, a helper ends with an item or with one of its own errors."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lafka.filesets.model.asks import Answer, Ask, Resource
from lafka.filesets.model.manifests import judge
from lafka.filesets.model.messages import IngestRequest
from lafka.filesets.model.pages import DeclaredFile, HtmlBiblio
from lafka.filesets.model.types import FilesetPlatformItem, NoStrategy, PlatformError, Status
from lafka.filesets.platforms import PLATFORMS, FilesetPlatformHelper, helpers, matches
from tests.filesets.driving import CASES, biblio_of, resource_of

WHOLE = [
    case
    for path in sorted(CASES.glob("*/*.json"))
    if "strategy" in (case := json.loads(path.read_text("utf-8")))["expected"]
    and case["answers"]
    and not any("status" in answer for answer in case["answers"].values())
]
"""The recorded cases that end with an item, all answers of status 200."""

leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["12", "-1", "1e9", "0", "../x", "file:///etc/passwd", "http://127.0.0.1/",
                       "https://u:p@zenodo.org/", "md5:abc", "https://[::1", "\ud800", "\0"])
)  # fmt: skip
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["files", "id", "data", "metadata", "links"]), inner)
    ),
    max_leaves=12,
)


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to each value within *value*."""
    found = [way] if way else []
    inner: Any = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    for key, part in inner:
        found += places(part, (*way, key))
    return found


def changed(value: Any, way: tuple[Any, ...], new: Any) -> Any:
    """*value* with *new* at the end of *way*; without it where *new* is Ellipsis."""
    copy = json.loads(json.dumps(value))
    part = copy
    for key in way[:-1]:
        part = part[key]
    if new is ...:
        del part[way[-1]]
    else:
        part[way[-1]] = new
    return copy


def text_of(value: Any) -> Any:
    return str(value) if type(value) in (int, float) else value


def ends_well(
    helper: FilesetPlatformHelper,
    request: IngestRequest,
    resource: Resource,
    biblio: HtmlBiblio,
    answers: dict[str, bytes],
    default: bytes = b"{}",
) -> FilesetPlatformItem | None:
    """Drive *helper*: it may end with an item or a ``PlatformError``, and soon."""
    steps = helper.process_request(request, resource, biblio)
    try:
        want = next(steps)
        for _ in range(250):
            assert isinstance(want, Ask)
            assert want.url.startswith(("http://", "https://"))
            body = answers.get(want.url, default)
            want = steps.send(Answer(status=200, url=want.url, body=body))
    except StopIteration as end:
        return sound(helper, end.value)
    except PlatformError as error:
        caught = error
    else:
        raise AssertionError("it asks for ever")
    assert caught.status in list(Status)
    assert str(caught)
    return None


def sound(helper: FilesetPlatformHelper, item: FilesetPlatformItem) -> FilesetPlatformItem:
    """*item*, which can be told as JSON and has a strategy or a name for why not."""
    json.dumps(item.as_json())
    for file in item.manifest or ():
        assert file.size is None or file.size >= 0
        assert file.platform_url is None or file.platform_url.startswith(("http:", "https:"))
    if judge(item.manifest or ()).status is None:
        with suppress(NoStrategy):
            helper.chose_strategy(item)
    return item


def given_case(case: dict[str, Any]) -> tuple[Any, ...]:
    request = IngestRequest.of_json(case["request"])
    resource = resource_of(case["resource"])
    biblio = biblio_of(resource)
    helper = next(matches(helpers(), request, resource, biblio), None)
    assert helper is not None
    answers = {
        url: (json.dumps(answer["json"]) if "json" in answer else answer["text"]).encode()
        for url, answer in case["answers"].items()
    }
    return helper, request, resource, biblio, answers


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_an_answer_with_something_missing_or_swapped(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(WHOLE))
    helper, request, resource, biblio, answers = given_case(case)
    url = data.draw(st.sampled_from(sorted(case["answers"])))
    value = case["answers"][url].get("json")
    for _ in range(data.draw(st.integers(1, 3))):
        ways = places(value)
        if not ways:
            break
        way = data.draw(st.sampled_from(ways))
        value = changed(value, way, data.draw(st.just(...) | values))
    answers[url] = json.dumps(value).encode()
    ends_well(helper, request, resource, biblio, answers)


@pytest.mark.parametrize("case", WHOLE, ids=lambda case: case["request"]["base_url"])
def test_numbers_may_come_as_text(case: dict[str, Any]) -> None:
    helper, request, resource, biblio, answers = given_case(case)
    plain = ends_well(helper, request, resource, biblio, answers)
    for url, answer in case["answers"].items():
        value = answer.get("json")
        for way in places(value):
            part = value
            for key in way:
                part = part[key]
            value = changed(value, way, text_of(part))
        if "json" in answer:
            answers[url] = json.dumps(value).encode()
    as_text = ends_well(helper, request, resource, biblio, answers)
    assert plain is not None
    assert as_text is not None
    assert as_text.manifest == plain.manifest
    assert as_text.platform_id == plain.platform_id


URLS = {
    "dataverse": "https://d.example/dataset.xhtml?persistentId=doi:10.1/X",
    "figshare": "https://figshare.com/articles/dataset/x/1/1",
    "zenodo": "https://zenodo.org/records/1",
    "archiveorg": "https://archive.org/details/one",
    "dryad": "https://datadryad.org/dataset/doi:10.5061/dryad.x",
    "web": "https://lab.example/",
}


@given(st.sampled_from(sorted(URLS)), values, st.binary(max_size=20))
def test_any_json_and_any_bytes(name: str, value: Any, other: bytes) -> None:
    (helper,) = helpers(names=[name])
    request, resource = IngestRequest.of_url(URLS[name]), Resource(url=URLS[name])
    names = ("datapackage.json", "ro-crate-metadata.json", "bagit.txt")
    biblio = HtmlBiblio(descriptors=tuple(f"https://lab.example/{one}" for one in names))
    body = json.dumps(value).encode()
    for default in (body, other):
        ends_well(helper, request, resource, biblio, {}, default)


@given(st.sampled_from(sorted(URLS)), st.text(max_size=40))
def test_any_address_is_matched_or_not(name: str, text: str) -> None:
    (helper,) = helpers(names=[name])
    request = IngestRequest.of_url(URLS[name])
    for url in (text, f"https://{text}", URLS[name] + text, f"https://zenodo.org/{text}"):
        resource = Resource(url=url, hops=(url,))
        biblio = HtmlBiblio(files=(DeclaredFile(url=url),))
        if helper.match_request(request, resource, biblio):
            ends_well(helper, request, resource, biblio, {})


@pytest.mark.parametrize("status", [0, 201, 204, 301, 400, 401, 403, 404, 410, 418, 429, 500, 503])
@pytest.mark.parametrize("name", sorted(set(URLS) - {"web"}))
def test_every_status_has_a_name(name: str, status: int) -> None:
    (helper,) = helpers(names=[name])
    request, resource = IngestRequest.of_url(URLS[name]), Resource(url=URLS[name])
    steps = helper.process_request(request, resource, HtmlBiblio())
    want = next(steps)

    def answered() -> None:
        asked = want
        while True:
            asked = steps.send(Answer(status=status, url=asked.url, trouble="dns"))

    with pytest.raises(PlatformError) as caught:
        answered()
    named = {0: "platform-error", 401: "platform-restricted", 403: "platform-restricted",
             404: "platform-404", 410: "platform-404"}  # fmt: skip
    assert caught.value.status == named.get(status, "platform-http-error")
    assert caught.value.item is not None
    assert caught.value.item.platform_name == name


def test_an_answer_nested_without_end_is_not_json() -> None:
    deep = b"[" * 200_000
    for name in sorted(set(URLS) - {"web"}):
        (helper,) = helpers(names=[name])
        request, resource = IngestRequest.of_url(URLS[name]), Resource(url=URLS[name])
        assert ends_well(helper, request, resource, HtmlBiblio(), {}, deep) is None


def test_every_platform_is_tried() -> None:
    assert {made.platform_name for made in PLATFORMS} == set(URLS)
