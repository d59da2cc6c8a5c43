"""Settings count by whichever door a crawl is begun: seven doors, four sources each."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from lafka import spiders
from tests import starts
from tests.waiting import LIMIT

FUTLI = Path(spiders.__file__).with_name("futli.py")
PROGRAM = """\
import sys
from scrapy.crawler import AsyncCrawlerProcess
{begin}
if sys.argv[1:]:
    settings.set("LAFKA_ARCHIVE", sys.argv[1], priority="{priority}")
process = AsyncCrawlerProcess(settings)
process.crawl("futli", input="list.tsv")
process.start()
"""
NAMED, OF_CLASS = (
    'process.crawl("futli",',
    "from lafka.spiders.futli import FutliSpider\nprocess.crawl(FutliSpider,",
)
SET, SET_ITEM = (
    'settings.set("LAFKA_ARCHIVE", sys.argv[1], priority="project")',
    'settings["LAFKA_ARCHIVE"] = sys.argv[1]',
)
OF_THE_PROJECT = (
    "from scrapy.utils.project import get_project_settings\nsettings = get_project_settings()"
)
OF_THE_MODULE = (
    "from scrapy.settings import Settings\n"
    "settings = Settings()\nsettings.setmodule('lafka.settings', priority='project')"
)
EXECUTE = "from scrapy.cmdline import execute; execute()"


def by_command(*words: str) -> Callable[[str, str], list[str]]:
    def line(priority: str, archive: str) -> list[str]:
        more = ["-s", f"LAFKA_ARCHIVE={archive}"] if archive else []
        return [sys.executable, *words, "-a", "input=list.tsv", *more]

    return line


def by_program(begin: str) -> Callable[[str, str], list[str]]:
    def line(priority: str, archive: str) -> list[str]:
        program = PROGRAM.format(begin=begin, priority=priority)
        return [sys.executable, "-c", program, *filter(None, [archive])]

    return line


DOORS: dict[str, Callable[[str, str], list[str]]] = {
    "lafka crawl": by_command("-m", "lafka", "crawl", "futli"),
    "scrapy crawl": by_command("-m", "scrapy", "crawl", "futli"),
    "scrapy runspider": by_command("-m", "scrapy", "runspider", str(FUTLI)),
    "as scrapyd does": by_command("-c", EXECUTE, "crawl", "futli"),
    "CrawlerProcess": by_program(OF_THE_PROJECT),
    "a notebook": by_program(OF_THE_MODULE),
    "a settings module": by_command("-m", "scrapy", "crawl", "futli"),
}
SOURCES = ["the environment", "scrapy.cfg", "code", "-s"]


@pytest.mark.forms(count=3, most=10)
@pytest.mark.parametrize(("door", "source"), [*product(DOORS, SOURCES)])
def test_a_setting_counts_by_each_door(tmp_path: Path, door: str, source: str) -> None:
    (tmp_path / "list.tsv").write_text("RePEc:aaa:bbbbbb:1\thttp://127.0.0.1:9/x.pdf\n", "utf-8")
    env = {"LAFKA_ARCHIVE": "by-environment"}
    asked, is_code = "", source == "code"
    cfg = "[settings]\ndefault = lafka.settings\n"
    if source == "scrapy.cfg":
        env, cfg = {}, f"{cfg}[lafka]\narchive = by-file\n"
    if source in ("code", "-s"):
        asked = "by-hand"
    if door == "a settings module" and is_code:
        cfg = cfg.replace("lafka.settings", "mine")
        mine = "from lafka.settings import *\nLAFKA_ARCHIVE = 'by-hand'\n"
        (tmp_path / "mine.py").write_text(mine, "utf-8")
        env, asked = env | {"SCRAPY_SETTINGS_MODULE": "mine"}, ""
    (tmp_path / "scrapy.cfg").write_text(cfg, "utf-8")
    line = DOORS[door]("project" if is_code else "cmdline", asked)
    done = run(line, tmp_path, env)
    expected = {"the environment": "by-environment", "scrapy.cfg": "by-file"}
    made = {path.parent.name for path in tmp_path.glob("*/raw")}
    assert made == {expected.get(source, "by-hand")}, done.stderr[-2000:]


WITHOUT = {
    "scrapy runspider": by_command("-m", "scrapy", "runspider", str(FUTLI)),
    "CrawlerProcess": by_program(OF_THE_PROJECT),
    "a notebook": by_program("settings = {}"),
}
"""Doors by which no module of settings is named where no ``scrapy.cfg`` does."""


@pytest.mark.forms(count=1, most=3)
@pytest.mark.parametrize(("door", "archive"), [*product(WITHOUT, ("", "by-hand"))])
def test_a_folder_without_a_scrapy_cfg_is_no_wrong_door(
    tmp_path: Path, door: str, archive: str
) -> None:
    (tmp_path / "list.tsv").write_text("RePEc:aaa:bbbbbb:1\thttp://127.0.0.1:9/x.pdf\n", "utf-8")
    line = WITHOUT[door]("project", archive)
    line = [part.replace(NAMED, OF_CLASS).replace(SET, SET_ITEM) for part in line]
    done = run(line, tmp_path, {"LAFKA_ARCHIVE": "by-environment"})
    made = {path.parent.name for path in tmp_path.glob("*/raw")}
    assert made == {archive or "by-environment"}, done.stderr[-2000:]
    (told,) = (tmp_path / (archive or "by-environment") / "runs").glob("*.jsonl")
    assert '"outcome": "refused"' in told.read_text()


def run(
    line: list[str], folder: Path, env: Mapping[str, str], runs: Callable[..., Any] = subprocess.run
) -> subprocess.CompletedProcess[str]:
    """Run *line* in *folder* with nothing but *env* said of Lafka."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith("LAFKA_")}
    path = os.pathsep.join([str(FUTLI.parents[2]), str(folder)])
    return runs(
        line, cwd=folder, env=bare | {"PYTHONPATH": path} | env, capture_output=True, text=True,
        timeout=LIMIT, check=False,
    )  # fmt: skip


@pytest.mark.forms(count=2, most=4)
@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("LOG_LEVEL=TRACE", "LOG_LEVEL='TRACE' is none of CRITICAL, ERROR, WARNING, INFO, DEBUG"),
        ("DOWNLOAD_DELAY=fast", "DOWNLOAD_DELAY='fast' has to be a number from 0"),
        ("CONCURRENT_REQUESTS=0", "CONCURRENT_REQUESTS='0' has to be a whole number from 1"),
        ("ROBOTSTXT_OBEY=maybe", "ROBOTSTXT_OBEY='maybe' is neither true nor false"),
        ("AUTOTHROTTLE_MAX_DELAY=-1", "AUTOTHROTTLE_MAX_DELAY='-1' has to be a number from 0"),
        ("RETRY_HTTP_CODES=500,x", "RETRY_HTTP_CODES: 'x' is no status of HTTP"),
        ("RETRY_TIMES=two", "RETRY_TIMES='two' has to be a whole number from 0"),
    ],
)
def test_a_setting_of_scrapy_that_is_none_is_refused_in_a_sentence(
    tmp_path: Path, setting: str, told: str
) -> None:
    (tmp_path / "list.tsv").write_text("RePEc:aaa:bbbbbb:1\thttp://127.0.0.1:9/x.pdf\n", "utf-8")
    line = [sys.executable, "-m", "lafka", "crawl", "futli", "-a", "input=list.tsv", "-s", setting]
    done = run(line, tmp_path, {}, starts.run)
    assert (done.returncode, done.stderr) == (2, f"lafka crawl: {told}\n")
    assert not (tmp_path / "archive").exists()
