"""Ingest requests: what can be begun, and one sentence for what cannot."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.filesets.model.messages import LONGEST_BASE_URL, BadRequest, IngestRequest

URL = "https://zenodo.org/records/1"


def test_a_request_keeps_all_that_came_with_it() -> None:
    raw = {
        "ingest_type": "dataset",
        "base_url": URL,
        "link_source": "doi",
        "ext_ids": {"doi": "10.5281/zenodo.1"},
        "force_recrawl": True,
        "latest": True,
        "ingest_strategy": "archiveorg-fileset",
        "max_total_size": 5,
        "max_file_count": 6,
        "our_own_key": [1, {"x": None}],
    }
    request = IngestRequest.parse(json.dumps(raw))
    assert request.raw == raw
    assert (request.ingest_type, request.base_url, request.url) == ("dataset", URL, URL)
    assert request.force_recrawl
    assert request.latest
    assert request.ingest_strategy == "archiveorg-fileset"
    assert (request.max_total_size, request.max_file_count) == (5, 6)


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("10.7910/DVN/Q5PV4U", "https://doi.org/10.7910/DVN/Q5PV4U"),
        ("doi:10.7910/DVN/Q5PV4U", "https://doi.org/10.7910/DVN/Q5PV4U"),
        ("DOI: 10.1/a#b?c", "https://doi.org/10.1/a%23b%3Fc"),
        ("hdl:20.500.12690/RIN/IDDOAH", "https://hdl.handle.net/20.500.12690/RIN/IDDOAH"),
        ("http://a.example/x y", "http://a.example/x y"),
    ],
)
def test_persistent_ids_are_asked_at_their_resolver(base_url: str, url: str) -> None:
    request = IngestRequest.of_url(base_url)
    assert (request.base_url, request.url) == (base_url, url)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        (b"\xff\xfe", "not JSON"),
        ("[]", "no JSON object"),
        ("null", "no JSON object"),
        ('{"base_url": "https://a.example/"}', "ingest_type"),
        ('{"ingest_type": "dataset"}', "base_url"),
        ('{"ingest_type": 5, "base_url": "https://a.example/"}', "ingest_type"),
        ('{"ingest_type": "data set", "base_url": "https://a.example/"}', "ingest_type"),
        ('{"ingest_type": "dataset", "base_url": ""}', "base_url"),
        (" " * (1 << 20) + "{}", "over 1048576 bytes"),
    ],
)
def test_what_is_no_request_has_a_sentence(text: str | bytes, why: str) -> None:
    with pytest.raises(BadRequest, match=why):
        IngestRequest.parse(text)


@pytest.mark.parametrize(
    "base_url",
    ["ftp://a.example/", "file:///etc/passwd", "a.example/x", "javascript:1", "https://", "hdl:x",
     "https://a.example/\0", "https://a.example/a\nb", "https://a.example:0/", "https://[::1",
     "https://a.example/\ud800", "10.1/\ud800", "https://a.example/" + "x" * LONGEST_BASE_URL],
)  # fmt: skip
def test_addresses_that_cannot_be_asked_are_refused(base_url: str) -> None:
    with pytest.raises(BadRequest, match="base_url"):
        IngestRequest.of_url(base_url)


def test_1500_characters_are_the_most() -> None:
    url = "https://a.example/".ljust(LONGEST_BASE_URL, "x")
    assert IngestRequest.of_url(url).url == url
    with pytest.raises(BadRequest, match="1500 characters"):
        IngestRequest.of_url(url + "x")


@pytest.mark.parametrize(
    "values",
    [{"link_source": 5}, {"rel": {}}, {"ext_ids": "x"}, {"fatcat": []}, {"force_recrawl": "yes"},
     {"latest": 1}, {"ingest_strategy": "web-fileset-bundle"}, {"ingest_strategy": ["web-file"]},
     {"max_total_size": "1G"}, {"max_file_count": -1}, {"max_file_count": True}],
)  # fmt: skip
def test_known_keys_of_another_type_are_refused(values: dict[str, Any]) -> None:
    (name,) = values
    with pytest.raises(BadRequest, match=name):
        IngestRequest.of_json({"ingest_type": "dataset", "base_url": URL, **values})


def test_null_stands_for_a_key_that_is_missing() -> None:
    keys = ("link_source", "ext_ids", "force_recrawl", "latest", "ingest_strategy",
            "max_total_size", "max_file_count")  # fmt: skip
    raw = {"ingest_type": "dataset", "base_url": URL, **dict.fromkeys(keys)}
    request = IngestRequest.of_json(raw)
    assert request == IngestRequest.of_json({"ingest_type": "dataset", "base_url": URL}).__class__(
        ingest_type="dataset", base_url=URL, url=URL, raw=raw
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


@given(json_values, json_values, json_values)
def test_any_values_are_a_request_or_refused(kind: Any, base_url: Any, other: Any) -> None:
    value = {"ingest_type": kind, "base_url": base_url, "latest": other, "ingest_strategy": other}
    for given_value in (value, other):
        try:
            IngestRequest.of_json(given_value)
        except BadRequest as error:
            assert str(error)  # noqa: PT017  most values are refused, some are not


@given(st.text(max_size=60))
def test_any_base_url_is_asked_or_refused(text: str) -> None:
    for base_url in (text, f"https://{text}", f"doi:10.1/{text}"):
        try:
            url = IngestRequest.of_url(base_url).url
        except BadRequest:
            continue
        assert url.lower().startswith(("http://", "https://"))
