"""The same dataset on each platform gives the same manifest, and the same files archived."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.filesets.model.asks import Ask, Fetch, Fetched, Keep, Kept, Resource
from lafka.filesets.model.manifests import facts_of
from lafka.filesets.model.messages import IngestRequest, IngestResult, LandingCapture
from lafka.filesets.model.pages import HtmlBiblio
from lafka.filesets.platforms import PLATFORMS
from lafka.filesets.walk import Rules, walk
from lafka.warc import Fields
from tests.filesets.driving import answer_of
from tests.filesets.playing import PLAYED, PlayedFile, PlayedSet


def file_of(name: str, body: bytes = b"x", folder: str = "", **more: Any) -> PlayedFile:
    md5 = hashlib.md5(body).hexdigest()
    return PlayedFile(name=name, body=body, md5=md5, folder=folder, **more)


def ingested(platform: str, played: PlayedSet, rules: Rules | None = None) -> IngestResult:
    """The walk over *played*; files are told apart by their MD5, so a swapped URL is a mismatch."""
    url, answers = PLAYED[platform](played)
    bodies = {file.md5: file.body for file in played.files}
    links = tuple(url for url in answers if platform == "web")
    page = Resource(url=url, hops=(url,), headers=Fields({"Content-Type": "text/html"}), size=9)
    landing = LandingCapture.of(page, html_biblio=HtmlBiblio(descriptors=links))
    steps = walk(IngestRequest.of_url(url), page, landing, rules or Rules())
    got: Any = None
    try:
        while True:
            want = steps.send(got)
            if isinstance(want, Ask):
                got = answer_of(want.url, answers[want.url])
            elif isinstance(want, Fetch):
                assert want.file.md5
                facts = facts_of([bodies[want.file.md5]])
                got = Fetched(status="success", url=want.url, dt="20261120101112", facts=facts)
            else:
                got = Kept(status="success") if isinstance(want, Keep) else None
    except StopIteration as end:
        return end.value


names = st.text(st.sampled_from("abcDé漢 -_.%~(1"), min_size=1, max_size=6).filter(
    lambda name: name.strip(".") and not name.startswith("_")
)
played_files = st.lists(
    st.builds(file_of, names, st.binary(min_size=1, max_size=9), st.sampled_from(["", "a", "a/b"])),
    min_size=1,
    max_size=30,
    unique_by=lambda file: file.path,
)


def is_clash(files: list[PlayedFile]) -> bool:
    """Whether a file is a folder of another."""
    folders = {"a", "a/b"} & {file.folder for file in files} | {
        "a" for file in files if file.folder == "a/b"
    }
    return any(file.path in folders for file in files)


@pytest.mark.parametrize("platform", PLAYED)
@given(files=played_files.filter(lambda files: not is_clash(files)))
def test_each_platform_gives_the_dataset_as_it_was_deposited(
    platform: str, files: list[PlayedFile]
) -> None:
    # The web declares only what has a URL of its own, which these names are within.
    result = ingested(platform, PlayedSet(files=tuple(files)))
    assert result.manifest is not None
    assert [(file.path, file.size, file.md5) for file in result.manifest] == [
        (file.path, len(file.body), file.md5) for file in files
    ]
    assert result.status == ("success-file" if len(files) == 1 else "success")
    assert {file.status for file in result.manifest} == {"success"}


@pytest.mark.parametrize("platform", sorted(set(PLAYED) - {"web"}))
def test_each_platform_says_when_a_file_is_closed(platform: str) -> None:
    files = (file_of("open.csv"), file_of("closed.csv", b"y", restricted=True))
    assert ingested(platform, PlayedSet(files=files)).status == "platform-restricted"


@pytest.mark.parametrize("platform", ["dataverse", "figshare", "dryad"])
@pytest.mark.parametrize("count", [2, 10, 11, 200])
def test_lists_are_read_to_their_end(platform: str, count: int) -> None:
    files = tuple(file_of(f"{number}.csv", b"%d" % number) for number in range(count))
    result = ingested(platform, PlayedSet(files=files))
    assert result.status == "success"
    assert result.file_count == count


@pytest.mark.parametrize("platform", PLAYED)
def test_one_file_more_is_too_many(platform: str) -> None:
    files = tuple(file_of(f"{number}.csv") for number in range(201))
    result = ingested(platform, PlayedSet(files=files))
    assert result.status == "too-many-files"
    assert result.file_count == 201
    assert result.manifest is not None
    assert len(result.manifest) == 200


def test_all_platforms_are_played() -> None:
    assert set(PLAYED) == {made.platform_name for made in PLATFORMS}
