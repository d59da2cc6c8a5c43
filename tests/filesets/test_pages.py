"""What a landing page says, and which files it declares."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.filesets.model.pages import DeclaredFile, HtmlBiblio, read_page, whole_bytes

URL = "https://lab.example/data/soil"


def read(body: str, *links: str) -> HtmlBiblio:
    return read_page(URL, body.encode(), "text/html; charset=utf-8", list(links))


def ld(value: object) -> str:
    return f'<script type="application/ld+json">{json.dumps(value)}</script>'


def test_meta_tags_tell_of_the_dataset() -> None:
    page = read(
        '<html lang="de"><meta name="citation_title" content="Böden">'
        '<meta name="citation_author" content="Terra, I."><meta name="citation_author" content="L">'
        '<meta name="citation_publication_date" content="2020/01/02">'
        '<meta name="DC.publisher" content="Lab"><meta name="citation_doi" content="10.1/x">'
        '<meta property="og:title" content="other"><meta name="DC.rights" content="CC0">'
        '<meta name="description" content="About soil.">'
    )
    assert page.as_json() == {
        "title": "Böden",
        "contrib_names": ["Terra, I.", "L"],
        "release_date": "2020/01/02",
        "release_year": 2020,
        "publisher": "Lab",
        "doi": "10.1/x",
        "lang": "de",
        "license": "CC0",
        "abstract": "About soil.",
    }


def test_json_ld_tells_where_meta_tags_are_silent() -> None:
    node = {
        "@type": ["Dataset", "Thing"],
        "name": "Soil",
        "creator": [{"name": "Ivo"}, "Bo"],
        "datePublished": "2021-05-06",
        "publisher": {"name": "Lab"},
        "identifier": [{"value": "https://doi.org/10.1234/soil"}],
        "license": {"url": "https://cc.example/"},
        "description": "Cores.",
        "inLanguage": "en",
    }
    page = read(ld({"@graph": [{"@type": "WebSite", "name": "no"}, node]}))
    assert page.as_json() == {
        "title": "Soil",
        "contrib_names": ["Ivo", "Bo"],
        "release_date": "2021-05-06",
        "release_year": 2021,
        "publisher": "Lab",
        "doi": "10.1234/soil",
        "lang": "en",
        "license": "https://cc.example/",
        "abstract": "Cores.",
    }


def test_distributions_of_a_dataset_are_its_files() -> None:
    files = [
        {"contentUrl": "a.csv", "contentSize": "12 B", "encodingFormat": "text/csv",
         "sha256": "AB" * 32},
        {"contentUrl": "https://m.example/b", "contentSize": "1.2 GB", "sha256": "short"},
        {"contentUrl": "ftp://lab.example/c"},
        {"contentUrl": 5},
        "d",
    ]  # fmt: skip
    assert read(ld({"@type": "Dataset", "distribution": files})).files == (
        DeclaredFile(
            url="https://lab.example/data/a.csv",
            size=12,
            mimetype="text/csv",
            sha256="ab" * 32,
        ),
        DeclaredFile(url="https://m.example/b"),
    )
    assert read(ld({"@type": "Article", "distribution": files})).files == ()
    assert read(ld({"@type": "Dataset", "distribution": files[0]})).files[0].size == 12


def test_links_of_head_and_header_are_files_where_they_say_item() -> None:
    page = read(
        '<link rel="item" href="/f/a" type="text/csv"><link rel="stylesheet" href="/s.css">',
        '</f/b>; rel="item collection"; type="x/y", <https://c.example/>; rel=cite-as',
        "not a link at all",
    )
    assert {(file.url, file.mimetype) for file in page.files} == {
        ("https://lab.example/f/a", "text/csv"),
        ("https://lab.example/f/b", "x/y"),
    }


def test_descriptors_are_known_by_their_names() -> None:
    page = read(
        '<a href="soil/datapackage.json">d</a><a href="/x/bagit.txt?y=1">b</a>'
        '<a href="my-datapackage.json">no</a><a href="file:///bagit.txt">no</a>'
        '<a href="z.csv">z</a>'
    )
    assert page.descriptors == (
        "https://lab.example/data/soil/datapackage.json",
        "https://lab.example/x/bagit.txt?y=1",
    )


def test_a_page_survives_its_json() -> None:
    page = read(
        ld({"@type": "Dataset", "name": "S", "creator": "I", "distribution": {"contentUrl": "a"}})
        + '<a href="datapackage.json">d</a>'
    )
    assert page.files
    assert page.descriptors
    assert HtmlBiblio.of_json(json.loads(json.dumps(page.as_json(whole=True)))) == page


@pytest.mark.parametrize("value", [None, [], {"files": 5}, {"files": [{"x": 1}]}])
def test_what_is_no_page_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"Expected|missing"):
        HtmlBiblio.of_json(value)


@pytest.mark.parametrize(
    ("value", "size"),
    [(5, 5), ("5", 5), (" 5 bytes ", 5), ("5B", 5), ("5 kB", None), (5.5, None), (-1, None),
     (True, None), ("", None), (None, None), ("5,000", None)],
)  # fmt: skip
def test_only_whole_bytes_are_a_size(value: object, size: int | None) -> None:
    assert whole_bytes(value) == size


@pytest.mark.parametrize(
    "body", [b"", b"\0" * 100, b"<", b"<html" * 1000, b"\xff\xfe<\0h\0", b"<a href=" * 5000]
)
def test_broken_pages_say_little_and_break_nothing(body: bytes) -> None:
    page = read_page(
        URL, body, "text/html; charset=no-such-thing", ["<https://a.example/>; rel=item"]
    )
    assert [file.url for file in page.files] == ["https://a.example/"]


@given(st.binary(max_size=300), st.text(max_size=60))
def test_any_page_is_read(body: bytes, link: str) -> None:
    for lead in (b"", b'<script type="application/ld+json">', b"<a href='"):
        page = read_page(URL, lead + body, "text/html", [link, f"<{link}>; rel=item"])
        json.dumps(page.as_json(whole=True))
