"""Imports have a direction (docs/architecture.md); this reads it out of the syntax trees."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# What a module may import of ours, for those below the Scrapy line; a package stands for all of it.
BELOW = {
    "errors": "warc",
    "candidates": "",
    "pids": "errors",
    "urls": "errors",
    "futlis": "pids",
    "rows": "",
    "verdicts": "errors pids futlis rows urls",
    "listfiles": "errors pids futlis rows verdicts warc",
    "excludes": "errors pids listfiles",
    "feeder": "errors pids futlis",
    "places": "feeder futlis",
    "warc": "",
    "payloads": "errors warc",
    "logged": "payloads",
    "origins": "warc",
    "trails": "errors pids futlis payloads candidates logged origins warc",
    "finders": "errors candidates",
    "folders": "errors warc",
    "drafts": "errors folders locks",
    "locks": "errors folders",
    "suwafs": "errors pids drafts origins warc",
    "contents": "errors pids origins payloads suwafs warc",
    "plans": "errors logged payloads trails warc contents",
    "papers": "errors pids trails suwafs warc contents folders drafts locks plans",
    "archives": "errors pids futlis suwafs contents papers folders drafts locks",
    "suwafindex": "errors suwafs archives warc",
    "exchanges": "errors payloads warc",
    "rawfiles": "errors warc",
    "leftovers": "errors folders locks",
    "rawlog": "errors exchanges leftovers logged payloads rawfiles warc",
    "raws": "errors futlis payloads trails logged origins warc contents archives leftovers",
    "addresses": "errors",
    "certificates": "",
    "verify": "errors pids",
    "archec": "errors pids urls payloads storage warc",
}
# Other people's packages that only one of ours may know.
ONLY_IN = {
    "warcio": {"warc"},
    "scrapy_warcio": {"rawfiles"},
    "yaml": {"rawfiles"},
    "hanzo": {"rawfiles"},
    "pymongo": {"archec"},
}
SCRAPY = {"scrapy", "twisted", "itemadapter"}


def files() -> list[Path]:
    return sorted((ROOT / "lafka").rglob("*.py"))


def module_of(path: Path) -> str:
    """``lafka.warc.format.fields`` for its file, ``lafka.warc`` for the package's own."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> frozenset[str]:
    return frozenset(map(module_of, files()))


def area(module: str) -> str:
    """The part of the house a module of ours is in; empty for the package itself."""
    return [*module.split("."), ""][1]


def imports(path: Path) -> Iterator[tuple[str, ast.stmt]]:
    """Every module that a file names in an import, wherever in the file that stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield name.name, node
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            assert node.module is not None
            inside = [f"{node.module}.{name.name}" for name in node.names]
            yield from ((name, node) for name in inside if name in modules())
            if any(name not in modules() for name in inside):
                yield node.module, node


def at_run_time(path: Path) -> Iterator[str]:
    """The modules that importing a file imports: no function's imports, none for types only."""

    def walk(nodes: list[ast.stmt]) -> Iterator[ast.stmt]:
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                continue
            yield node
            for part in ("body", "orelse", "finalbody"):
                yield from walk(getattr(node, part, []))

    tree = ast.parse(path.read_text())
    wanted = {(node.lineno, node.col_offset) for node in walk(tree.body)}
    for module, node in imports(path):
        if (node.lineno, node.col_offset) in wanted:
            yield module


@pytest.mark.parametrize("path", files(), ids=module_of)
def test_who_may_import_whom(path: Path) -> None:
    mine = area(module_of(path))
    for module, node in imports(path):
        place = f"{path}:{node.lineno} imports {module}"
        top = module.partition(".")[0]
        assert mine in ONLY_IN.get(top, {mine}), place
        if mine not in BELOW:
            continue
        assert top not in SCRAPY, place
        if top == "lafka" and area(module) != mine:
            assert area(module) in BELOW[mine].split(), place


@pytest.mark.parametrize("path", files(), ids=module_of)
def test_spiders_and_finders_reach_no_writer_and_commands_no_crawl(path: Path) -> None:
    mine = area(module_of(path))
    forbidden = {
        "spiders": {"papers", "raws", "suwafs", "pipelines"},
        "finders": {"papers", "raws", "suwafs", "archives"},
        "commands": {"middlewares", "pipelines", "wire"},
    }.get(mine, set())
    if module_of(path) == "lafka.commands.crawl":
        return  # it is the crawl, and asks why it finished
    for module, node in imports(path):
        if module.startswith("lafka."):
            assert area(module) not in forbidden, f"{path}:{node.lineno} imports {module}"


PURE_OF_ARCHEC = {"handles", "uris", "problems", "redif", "tists", "names", "texts"}
RIM = {"os", "pathlib", "io", "socket", "tempfile", "shutil", "subprocess", "sqlite3", "threading"}


def test_the_pure_parts_of_archec_touch_no_file_and_no_socket() -> None:
    for path in files():
        parts = module_of(path).split(".")
        if parts[1:2] == ["archec"] and set(parts[2:3]) & PURE_OF_ARCHEC:
            assert not {module.partition(".")[0] for module, _ in imports(path)} & RIM, path


def test_every_part_below_the_line_is_there() -> None:
    areas = {area(module_of(path)) for path in files()}
    assert set(BELOW) <= areas


# The strict reader of the verifier: none of these imports anything of ours but another of them.
READER = {"problems", "tables", "headers", "blocks", "digests", "reader"}


def test_the_verifier_shares_no_code_with_the_writer() -> None:
    known = {module_of(path): path for path in files()}
    verifier = {module for module in known if area(module) == "verify"}
    reached = set(verifier)
    while more := {m for module in reached for m, _ in imports(known[module]) if m in known}:
        if more <= reached:
            break
        reached |= more
    # The errors of the WARC library are among ours; errors hold no code that reads or writes.
    assert reached - verifier == {"lafka.errors", "lafka.pids", "lafka.warc.errors"}


def test_the_strict_reader_imports_nothing_of_ours_but_itself() -> None:
    package = "lafka.papers.verify"
    for name in READER:
        path = ROOT / "lafka" / "verify" / f"{name}.py"
        ours = {module for module, _ in imports(path) if module.startswith("lafka")}
        assert ours <= {package, *(f"{package}.{other}" for other in READER)}, path
    program = f"import {package}.reader, sys; print(*(m for m in sys.modules if 'lafka' in m))"
    told = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(told.stdout.split())
    assert loaded == {"lafka", package, *(f"{package}.{name}" for name in READER)}


def test_there_are_no_cycles() -> None:
    known = {module_of(path): path for path in files()}
    graph = {
        module: {m for m in at_run_time(path) if m in known and m != "lafka"}
        for module, path in known.items()
    }
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, " -> ".join((*way, module))
        if module in done:
            return
        for other in graph[module]:
            visit(other, (*way, module))
        done.add(module)

    for module in graph:
        visit(module, ())
