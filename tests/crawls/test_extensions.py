"""What a start imports: no extension that would only say that it is off."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scrapy import Spider
from scrapy.extension import ExtensionManager
from scrapy.settings import Settings
from scrapy.utils.misc import load_object

from lafka.runs.reporting import settings_told
from lafka.spiders.fileset import FilesetSpider
from lafka.spiders.futli import FutliSpider
from lafka.spiders.road import MIDDLEWARES, OFF
from tests import starts
from tests.crawls.running import ROOT, command
from tests.sites.papers import SmallSite
from tests.waiting import LIMIT

COOKIES = "scrapy.downloadermiddlewares.cookies.CookiesMiddleware"
ROBOTS = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"


def extensions(spider: type[Spider] = FutliSpider, **given: Any) -> list[str]:
    settings = Settings()
    settings.setmodule("lafka.settings", priority="project")
    settings.update(given, priority="cmdline")
    spider.update_settings(settings)
    return ExtensionManager._get_mwlist_from_settings(settings)


@pytest.mark.parametrize("spider", [FutliSpider, FilesetSpider])
def test_what_is_off_is_not_imported(spider: type[Spider]) -> None:
    found = extensions(spider)
    assert not set(found) & set(OFF.values())
    assert "scrapy.extensions.closespider.CloseSpider" in found


START = """
import sys
from tests.crawls.test_extensions import extensions
extensions()
print(*sys.modules)
"""


@pytest.mark.long("the short suite looks at a crawl")
def test_to_look_at_the_list_imports_nothing_that_is_off() -> None:
    done = subprocess.run([sys.executable, "-c", START], capture_output=True, check=True, text=True)
    imported = set(done.stdout.split())
    assert "scrapy.extensions.remote_control" not in imported
    assert not imported & {"aiohttp", "twisted.conch"}


def test_a_spider_brings_no_finders_but_the_first_look() -> None:
    script = [sys.executable, "-c", "import sys, lafka.spiders.futli; print(*sys.modules)"]
    done = subprocess.run(script, capture_output=True, check=True, text=True)
    ours = {name for name in done.stdout.split() if name.startswith("lafka.papers.finders.")}
    known = {"first", "identity", "pages", "urls"}
    assert ours == {f"lafka.papers.finders.{name}" for name in known}


@pytest.mark.parametrize("name", OFF)
def test_what_is_on_is_there(name: str) -> None:
    assert OFF[name] in extensions(**{name: True})
    assert load_object(OFF[name])


def test_an_extension_that_is_asked_for_stays() -> None:
    [path, _] = OFF.values()
    assert path in extensions(EXTENSIONS={path: 500})


@pytest.mark.parametrize("name", MIDDLEWARES)
@pytest.mark.parametrize("given", [{}, {"my.Own": 7, COOKIES: None, ROBOTS: 20}])
def test_of_scrapys_own_those_go_that_are_none_and_no_others(
    name: str, given: dict[str, int | None]
) -> None:
    settings = Settings()
    settings.setmodule("lafka.settings", priority="project")
    if given:
        settings.set(name, given, priority="cmdline")
    before = {**settings[f"{name}_BASE"], **settings[name]}
    FutliSpider.update_settings(settings)
    after = {**settings[f"{name}_BASE"], **settings[name]}
    assert after == {path: order for path, order in before.items() if order is not None}
    assert None not in settings[name].values()
    assert name not in settings_told(settings) or given


def test_a_crawl_imports_nothing_of_what_is_off(tmp_path: Path) -> None:
    line = command(tmp_path / "archive", "-a", "input=-")
    line[1:1] = ["-X", "importtime"]
    with SmallSite(count=4) as site:
        done = starts.run(
            line, cwd=ROOT, input=site.list(), capture_output=True, text=True, timeout=LIMIT,
            check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    imported = set(re.findall(r"^import time:.*\| +(\S+)$", done.stderr, re.M))
    assert "lafka.papers.archive.paperwarc" in imported
    # What others import; a component's own module comes by its name, and is not told.
    assert not imported & {"aiohttp", "twisted.conch", "tldextract", "requests"}
