"""The house as a whole: docs hang together, habits are kept."""

from __future__ import annotations

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "lafka").rglob("*.py"))
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def room(path: Path) -> str:
    return path.relative_to(ROOT / "lafka").with_suffix("").parts[0]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def test_each_module_with_code_says_what_it_is():
    bare = [
        path.relative_to(ROOT).as_posix()
        for path in SOURCES
        if (text := path.read_bytes().strip()) and not re.match(rb'(#.*\n|\n)*r?"""', text)
    ]
    assert not bare


def test_commands_are_short():
    for path in (ROOT / "lafka" / "cli").rglob("*.py"):
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and node.name.endswith("Command"):
                assert node.end_lineno - node.lineno < 75, f"{path.name}: {node.name}"


def test_nothing_is_called_for_what_everything_is():
    names = [path.stem for path in SOURCES]
    platforms = {path.stem for path in (ROOT / "lafka/filesets/platforms").glob("*.py")}
    classes = [
        name
        for path in SOURCES
        for name in re.findall(r"(?m)^ *class (\w+)", path.read_text("utf-8"))
    ]
    assert not {"utils", "util", "helpers", "helper", "common", "misc"} & set(names)
    # What knows a dataset's platform is a helper in the fileset proposal, letter by letter.
    proposed = {f"{name}helper" for name in platforms} | {"filesetplatformhelper"}
    rest = [name for name in classes if name.lower() not in proposed]
    assert not [name for name in rest if re.search(r"(Manager|Helper|Utils?)$", name)]


def test_print_is_for_commands():
    for path in SOURCES:
        if room(path) == "cli" or b"print(" not in path.read_bytes():
            continue
        for node in ast.walk(parsed(path)):
            called = node.func if isinstance(node, ast.Call) else None
            assert not (isinstance(called, ast.Name) and called.id == "print"), path


def tracked() -> list[Path]:
    done = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip("not in a git work tree")
    return [ROOT / name for name in done.stdout.splitlines()]


def test_no_file_names_a_place_on_one_machine():
    signs = re.compile(rb"/(?:home|root|Users)/[a-z]|/work/[a-z]|/tmp/[a-z]")
    found = [
        path.relative_to(ROOT).as_posix()
        for path in tracked()
        if path.is_file() and path != Path(__file__) and signs.search(path.read_bytes())
    ]
    assert not found


def test_the_changelog_has_unreleased_with_formats_first():
    lines = (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()
    headings = [line for line in lines if line.startswith("#")]
    assert headings[1] == "## Unreleased"
    versions = [line for line in headings if line.startswith("## ")][1:]
    assert all(re.fullmatch(r"## \d+\.\d+\.\d+, \d{4}-\d\d-\d\d", line) for line in versions)
    assert next(line for line in headings if line.startswith("###")) == "### On disk"
    assert all(line.endswith(".") for line in lines if line.startswith("- "))


def decisions() -> list[Path]:
    return sorted((ROOT / "docs" / "adr").glob("*.md"))


def test_decisions_are_numbered_without_a_gap():
    assert [int(path.name[:4]) for path in decisions()] == [*range(1, len(decisions()) + 1)]


@pytest.mark.parametrize("path", decisions(), ids=lambda path: path.stem)
def test_a_decision_is_short_and_whole(path):
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= 60
    assert text.startswith(f"# {int(path.name[:4])}. ")
    assert re.search(r"(?m)^Status: (proposed|accepted|superseded)", text)
    for heading in ("Context", "Decision", "Consequences", "Rejected"):
        assert f"\n## {heading}\n" in text


def anchors(text: str) -> set[str]:
    """The ids that GitHub gives to the headings of a page."""
    headings = re.findall(r"(?m)^#+ +(.+?) *$", text)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    text = re.sub(r"(?s)```.*?```", "", page.read_text("utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        place = (page.parent / file).resolve() if file else page
        assert place.exists(), target
        if anchor and place.suffix == ".md":
            assert anchor in anchors(place.read_text("utf-8")), target


def test_each_page_is_in_the_index():
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    for page in [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "how-to").glob("*.md")]:
        if page.name != "README.md":
            assert f"({page.relative_to(ROOT / 'docs').as_posix()})" in index, page.name


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs" / "how-to").glob("*.md")), ids=lambda path: path.stem
)
def test_a_how_to_names_tests_that_are_there(page):
    named = re.findall(r"(?<!\w)tests/[\w/]*\w(?:\.py)?", page.read_text("utf-8"))
    assert named or not page.name.startswith("add-a-")
    for name in named:
        assert (ROOT / name).exists(), name


def test_each_place_that_says_the_version_says_the_same():
    version = re.search(r'__version__ = "(.*)"', (ROOT / "lafka/__init__.py").read_text())[1]
    packaged = (ROOT / "packaging/lafka-warc/pyproject.toml").read_text()
    assert f'version = "{version}"' in packaged
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {version}, " in (ROOT / "CHANGELOG.md").read_text()


def test_ci_runs_each_python_that_is_named():
    named = re.findall(r":: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    ci = (ROOT / ".github/workflows/ci.yml").read_text()
    assert named == re.findall(r'"(3\.\d+)"', ci)
    assert "- run: .ci/run" in ci


def _defined(place: Path) -> set[str]:
    """The names of the module or package at *place*, a path without its ending."""
    found = {path.stem for path in place.iterdir()} if place.is_dir() else set()
    source = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    for node in ast.walk(parsed(source)) if source.is_file() else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def test_benchmarks_import_what_is_there():
    missing = []
    for path in sorted((ROOT / "benchmarks").glob("*.py")):
        for node in ast.walk(parsed(path)):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            if module.partition(".")[0] in ("lafka", "tests"):
                names = {alias.name for alias in node.names}
                names -= _defined(ROOT / module.replace(".", "/"))
                missing += [f"{path.name}: {module}.{name}" for name in sorted(names)]
    assert not missing


def test_the_house_stays_small():
    """Limits of the second drawing, 360 and 80, are lower yet; these come down with the house."""
    small = [path for path in SOURCES if path.read_bytes().count(b"\n") < 80]
    late = [
        node
        for path in SOURCES
        if re.search(rb"(?m)^ +(from|import) ", path.read_bytes())
        for function in ast.walk(parsed(path))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert len(SOURCES) <= 390
    assert len(small) <= 74
    assert len(late) <= 30
