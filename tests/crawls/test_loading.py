"""Which spiders there are, and how one is found."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from scrapy.settings import Settings
from scrapy.spiderloader import SpiderLoader, get_spider_loader

from lafka.spiders.loading import LoaderByName

GUEST = """
import scrapy

class Guest(scrapy.Spider):
    name = "visitor"

class Namesake(scrapy.Spider):
    name = "guests"
"""


def project_settings() -> Settings:
    """Lafka's; Scrapy's own function leaves its mark in the environment."""
    settings = Settings()
    settings.setmodule("lafka.settings")
    return settings


@pytest.fixture
def loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LoaderByName:
    package = tmp_path / "other_spiders"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "guests.py").write_text(GUEST)
    monkeypatch.syspath_prepend(tmp_path)
    settings = project_settings()
    settings.set("SPIDER_MODULES", ["lafka.spiders", "other_spiders"])
    return LoaderByName.from_settings(settings)


def test_the_project_uses_it() -> None:
    assert isinstance(get_spider_loader(project_settings()), LoaderByName)


@pytest.mark.parametrize("name", ["futli", "fobi", "fileset"])
def test_each_of_ours_stands_in_the_module_of_its_name(loader: LoaderByName, name: str) -> None:
    assert loader.load(name).name == name
    assert "_all" not in vars(loader)


@pytest.mark.parametrize("name", ["visitor", "guests"])
def test_a_guest_is_found_whatever_its_module_is_called(loader: LoaderByName, name: str) -> None:
    assert loader.load(name).__module__ == "other_spiders.guests"
    assert ("_all" in vars(loader)) == (name == "visitor")


@pytest.mark.parametrize("name", ["nobody", "road", "", "..", "a.b", "os"])
def test_who_is_no_spider_is_not_found(loader: LoaderByName, name: str) -> None:
    with pytest.raises(KeyError):
        loader.load(name)


def test_a_module_of_spiders_need_be_no_package(loader: LoaderByName) -> None:
    settings = project_settings()
    settings.set("SPIDER_MODULES", ["other_spiders.guests", "lafka.spiders"])
    found = LoaderByName.from_settings(settings)
    assert found.load("futli").name == "futli"
    assert found.load("visitor").__module__ == "other_spiders.guests"
    settings.set("SPIDER_MODULES", ["not_there.at_all"])
    with pytest.raises(ImportError):
        LoaderByName.from_settings(settings).load("futli")


def test_the_list_is_that_of_scrapys_loader(loader: LoaderByName) -> None:
    settings = project_settings()
    settings.set("SPIDER_MODULES", ["lafka.spiders", "other_spiders"])
    assert loader.list() == SpiderLoader(settings).list()
    assert {"futli", "fobi", "fileset", "visitor"} <= set(loader.list())
    sys.modules.pop("other_spiders.guests")
