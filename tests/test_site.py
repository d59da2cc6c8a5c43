"""The site over docs/: each page has its place, the drawings are those of their maker."""

from __future__ import annotations

import re
import runpy
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from lafka.cli.docs import WEB
from lafka.papers.outcomes import Group
from tests import starts
from tests.starts import ROOT

DOCS = ROOT / "docs"
HOOKS = runpy.run_path(str(DOCS / "site/hooks.py"))
MADE = runpy.run_path(str(DOCS / "drawings/make.py"))["all_drawings"]()


def pages(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav
    return [page for part in parts for page in pages(part)]


def test_each_page_has_a_place_in_the_site() -> None:
    config = HOOKS["on_config"](SimpleNamespace())
    there = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert sorted(pages(config.nav)) == sorted(there)


def test_weaknesses_are_reported_where_the_repository_is() -> None:
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    assert f"<{urls['Repository']}/security/advisories/new>" in (ROOT / "SECURITY.md").read_text()
    assert HOOKS["SOURCE"] == f"{urls['Repository']}/blob/main/"
    assert urls["Documentation"] == WEB == f"{urls['Repository']}/tree/main/docs"


def test_a_link_out_of_the_docs_leads_to_the_repository() -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="how-to/upgrade.md"))
    led = HOOKS["on_page_markdown"]("[a](../../CHANGELOG.md) [b](../formats.md)", page)
    assert led == f"[a]({HOOKS['SOURCE']}CHANGELOG.md) [b](../formats.md)"


@pytest.mark.parametrize("name", MADE)
def test_a_drawing_is_what_its_maker_draws(name: str) -> None:
    drawn = (DOCS / "drawings" / name).read_text("utf-8")
    assert drawn == MADE[name], "make drawings"


@pytest.mark.parametrize("name", MADE)
def test_a_drawing_is_read_on_light_and_dark_pages_without_a_network(name: str) -> None:
    root = ET.fromstring(MADE[name])
    wide = root.get("viewBox", "").split()[2]
    behind = next(part for part in root if part.tag.endswith("}rect"))
    assert behind.get("width") in ("100%", wide)
    assert behind.get("fill") or "fill:#fff" in behind.get("style", "")
    assert re.findall(r"https?:[^\s\"]+", MADE[name].partition("<title>")[0]) == [root.tag[1:27]]
    assert re.findall(r"(?:href|src|url)\W+https?:", MADE[name]) == []
    assert name != "session.svg" or 8 * max(len(part.text or "") for part in root) <= int(wide)


def test_the_page_on_security_names_modules_and_tests_that_are_there() -> None:
    """The third column of its tables has modules, the fourth files below the folder of its head."""
    folder, missing = ROOT, []
    for line in (DOCS / "security.md").read_text("utf-8").splitlines():
        if head := re.search(r"tested in `(tests/.*)` \|$", line):
            folder = ROOT / head[1]
        elif len(cells := line.split(" | ")) == 4:
            modules = re.findall(r"`([a-z.0-9]+)`", cells[2])
            files = [ROOT / "lafka" / name.replace(".", "/") for name in modules]
            files += [folder / name for name in re.findall(r"`([a-z0-9_/]*test_\w+)`", cells[3])]
            missing += [f for f in files if not f.is_dir() and not f.with_suffix(".py").is_file()]
    assert missing == []
    assert folder != ROOT


def test_the_tree_of_the_house_has_folders_that_are_there() -> None:
    (tree,) = re.findall(r"(?ms)^```\nlafka/\n(.*?)^```", (DOCS / "architecture.md").read_text())
    above, missing = [ROOT / "lafka"], []
    for line in tree.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        if depth > 2 or not (names := re.match(r" *((?:\S+ )*\S+)(?:  |$)", line)):
            continue  # the text beside the names goes on
        paths = [[ROOT, *above][depth] / name for name in names[1].split() if name[-1] == "/"]
        above[1:] = paths[:1] if depth == 1 else above[1:]
        missing += [path for path in paths if not path.is_dir()]
    assert missing == []


def test_the_tree_of_outcomes_has_each_group() -> None:
    assert [group for group in Group if f">{group}<" not in MADE["outcomes.svg"]] == []


@pytest.mark.long("builds the whole site, as make docs does")
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    if find_spec("mkdocs") is None or find_spec("mkdocstrings") is None:
        pytest.skip("requirements-docs.txt is not installed: make docs")
    line = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)]
    done = starts.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "lafka.papers.archive.archives.Archive" in (tmp_path / "site/api/index.html").read_text()
    assert (tmp_path / "search/search_index.json").stat().st_size > 100_000
