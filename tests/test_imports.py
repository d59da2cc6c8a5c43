"""Imports have a direction (docs/architecture.md); this reads it out of the syntax trees.

Imports inside functions, for types only, and names of modules in strings count like any other.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

GROUND = "errors pids urls payloads"
SHARED = f"{GROUND} storage warc politeness capture runs jobs gateway"
# What a room may import of ours; the rooms of papers stand for themselves.
MAY = {
    "warc": "",
    "errors": "warc.errors",
    "settings": "",
    "pids": "errors",
    "urls": "errors",
    "payloads": "errors warc",
    "storage": "errors warc",
    "politeness": "errors",
    "capture": f"{GROUND} storage warc politeness settings gateway.memento gateway.addresses",
    "jobs": "errors storage",
    "gateway": "errors urls payloads",
    "runs": f"{GROUND} storage warc politeness capture settings",
    "papers": SHARED,  # its face
    "papers.candidates": "",
    "papers.origins": "warc",
    "papers.finders": "errors papers.candidates",
    "papers.lists": "errors pids urls warc storage politeness.feeder",
    "papers.walk": f"{GROUND} warc capture.logged capture.outcomes papers.candidates"
    " papers.origins papers.lists papers.finders",
    "papers.archive": f"{GROUND} storage warc capture papers.origins papers.lists papers.walk"
    " papers.verify",
    "papers.crawling": f"{SHARED} papers.candidates papers.origins papers.lists papers.finders"
    " papers.walk papers.archive",
    "papers.verify": "errors pids",
    "archec": SHARED,
    "filesets": SHARED,
    # Readers over the faces of wings; they write to no archive.
    "index": f"{GROUND} storage warc runs papers archec",
    "reports": f"{GROUND} storage warc papers index",
    "web": f"{GROUND} storage warc papers index gateway",
}
FACES_ONLY = {"index", "reports", "web"}
"""Rooms that see of a wing what its face hands on."""
ANYTHING = {
    "",
    "spiders",
    "pipelines",
    "items",
    "commands",
    "cli",
    "validation",
    "demo",
    "__main__",
}
"""What stands at the rim, and may import whatever is behind a face or of its own wing."""
SHIMS = {"archives", "wire", "wayback"}
VERIFIER_OF = {"papers.archive.repairs"}
"""Of the archive's modules only these may ask the proof, which shares no code with them."""
WINGS = ("papers", "archec", "filesets")
# Other people's packages that only some rooms may know; a module where it is one of a room.
SCRAPY = {"scrapy", "twisted", "itemadapter"}
SCRAPY_IN = (
    *ANYTHING, *SHIMS, "politeness", "capture", "runs", "storage.threads", "storage.stopping",
    "papers.crawling", "filesets.crawling",
)  # fmt: skip
NO_SCRAPY = (
    "capture.exchanges", "capture.rawlog", "capture.rawfiles", "capture.leftovers",
    "capture.logged", "capture.pulled", "capture.outcomes", "capture.addresses",
    "capture.certificates", "capture.client.answers", "capture.client.beginnings", "runs.reports",
)  # fmt: skip
ONLY_IN = {
    "warcio": ("warc",),
    "scrapy_warcio": ("capture.rawfiles",),
    "yaml": ("capture.rawfiles",),
    "hanzo": ("capture.rawfiles",),
    "pymongo": ("archec.records.mongo", "archec.records.mongowrites"),
    "confluent_kafka": ("jobs.kafka",),
    "starlette": ("gateway.app", "gateway.serving", "web"),
    "uvicorn": ("gateway.connections", "gateway.serving", "web"),
    "httptools": ("gateway.connections",),
    "boto3": ("filesets.targets.s3",),
    "botocore": ("filesets.targets.s3",),
    "psycopg": ("jobs.database.postgresql",),
    "jinja2": ("web",),
    "markupsafe": ("web",),
    "nh3": ("web.splaps",),
    "altair": ("reports.plots",),
    "vl_convert": ("reports.plots",),
}
PURE = (
    "index.links", "index.rows",
    "gateway.memento", "gateway.addresses", "gateway.ranges", "gateway.holdings",
    "papers.walk", "papers.finders", "papers.candidates", "papers.origins", "capture.outcomes",
    "archec.handles", "archec.uris", "archec.problems", "archec.redif", "archec.tists",
    "archec.names", "archec.texts", "archec.records.folding", "archec.losses",
    *(f"filesets.{part}" for part in (
        "types", "statuses", "requests", "results", "rows", "asks", "pages", "manifests",
        "verifying", "sniffing", "bundles", "unpacking", "slices", "summaries", "platforms",
        "strategies", "walk", "ids", "targets.item", "targets.names", "targets.parts",
    )),
)  # fmt: skip
"""No file, no socket, no clock: what these import of the standard library that could, is told."""
IO = {"socket", "subprocess", "tempfile", "shutil", "threading", "asyncio", "sqlite3", "os"}
STRICT = ("reader", "headers", "tables", "blocks", "digests", "problems")
"""The strict reader of the verifier: nothing of ours but these, not even errors."""


def files() -> list[Path]:
    return sorted((ROOT / "lafka").rglob("*.py"))


def module_of(path: Path) -> str:
    """``lafka.warc.format.fields`` for its file, ``lafka.warc`` for the package's own."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> frozenset[str]:
    return frozenset(map(module_of, files()))


def room(module: str) -> str:
    """The room a module of ours is in; of papers, the room of that wing."""
    parts = module.split(".")[1:]
    return ".".join(parts[: 2 if parts[:1] == ["papers"] else 1])


def is_in(module: str, places: tuple[str, ...]) -> bool:
    """Whether a module of ours is one of *places*, or lies in one."""
    inside = module.removeprefix("lafka").lstrip(".")
    return any(inside == place or inside.startswith(f"{place}.") for place in places if place) or (
        "" in places and not inside
    )


_NAME = re.compile(r"lafka(?:\.\w+)+")


@cache
def imports(path: Path) -> tuple[tuple[str, int], ...]:
    """Every module that a file names, in an import or as a string, with its line."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield name.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            module = imported_from(path, node)
            inside = [f"{module}.{name.name}" for name in node.names]
            yield from ((name, node.lineno) for name in inside if name in modules())
            if any(name not in modules() for name in inside):
                yield module, node.lineno
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if path.name == "settings.py":
                continue  # it names what Scrapy is to load, and loads nothing
            # A docstring may speak of what stands above; a string that is a module's name acts.
            text = node.value.partition(":")[0]
            if _NAME.fullmatch(text) and (named := _module_in(text)):
                yield named, node.lineno


def imported_from(path: Path, node: ast.ImportFrom) -> str:
    """The module that an import is from; relative inside ``lafka.warc``, which is a wheel, too."""
    of_warc, place = ROOT / "lafka" / "warc" in path.parents, f"{path}:{node.lineno}"
    if not node.level:
        assert node.module is not None
        own = f"{node.module}.".startswith("lafka.warc.")
        assert not (of_warc and own), f"{place}: its own package by its full name"
        return node.module
    assert of_warc, f"{place}: a relative import"
    package = path.relative_to(ROOT).parent.parts
    above = package[: len(package) - node.level + 1]
    assert above[:2] == ("lafka", "warc"), f"{place}: out of the package"
    return ".".join(filter(None, (*above, node.module)))


def _module_in(text: str) -> str:
    """The module of ours that a dotted name begins with, ``lafka.x.Class`` included."""
    while text and text not in modules():
        text = text.rpartition(".")[0]
    return "" if text == "lafka" else text


@pytest.mark.parametrize("path", files(), ids=module_of)
def test_who_may_import_whom(path: Path) -> None:
    module = module_of(path)
    mine = room(module)
    if mine in ANYTHING | SHIMS:
        return
    allowed = tuple(MAY[mine].split())
    for other, line in imports(path):
        if not other.startswith("lafka.") or room(other) == mine:
            continue
        if mine == "papers" and other.startswith("lafka.papers."):
            continue  # a face hands on what is in its wing
        assert is_in(other, allowed), f"{path}:{line} imports {other}"
        if mine in FACES_ONLY and other.split(".")[1] in WINGS:
            assert other.count(".") == 1, f"{path}:{line} imports {other}, past its face"
        if room(other) == "papers.verify" and mine == "papers.archive":
            assert is_in(module, tuple(VERIFIER_OF)), f"{path}:{line} imports {other}"


@pytest.mark.parametrize("path", files(), ids=module_of)
def test_who_may_know_other_peoples_packages(path: Path) -> None:
    module = module_of(path)
    for other, line in imports(path):
        top = other.partition(".")[0]
        place = f"{path}:{line} imports {other}"
        assert top not in ONLY_IN or is_in(module, ONLY_IN[top]), place
        if top in SCRAPY:
            assert is_in(module, SCRAPY_IN), place
            assert not is_in(module, NO_SCRAPY), place
        if is_in(module, PURE):
            assert top not in IO, place


def test_wings_never_know_each_other_and_commands_never_a_crawl() -> None:
    for path in files():
        module = module_of(path)
        mine = module.split(".")[1] if "." in module else ""
        for other, line in imports(path):
            theirs = other.split(".")[1] if other.startswith("lafka.") else ""
            place = f"{path}:{line} imports {other}"
            if mine in WINGS and theirs in WINGS:
                assert mine == theirs, place
            if mine == "commands" and module not in CRAWLS:
                assert not is_in(other, ("capture.middlewares", "capture.handler", "pipelines")), (
                    place
                )
            if mine == "spiders":
                assert not is_in(other, ("papers.archive.paperwarc", "pipelines")), place


CRAWLS = ("lafka.commands.finders",)
"""Commands that change a crawl's settings."""


def test_every_room_of_the_table_is_there_or_to_come() -> None:
    there = {room(module_of(path)) for path in files()}
    to_come: set[str] = set()
    assert set(MAY) - there <= to_come
    assert there - set(MAY) <= ANYTHING | SHIMS


def test_the_house_shows_its_rooms() -> None:
    entries = {path.name for path in (ROOT / "lafka").iterdir() if path.name != "__pycache__"}
    shims = {f"{name}.py" for name in SHIMS}
    neighbours = {"jobs", "archec", "filesets", "index", "reports", "web"}
    assert len((entries | neighbours) - shims - {"__init__.py", "__main__.py", "py.typed"}) <= 25


def test_the_strict_reader_stands_alone() -> None:
    folder = ROOT / "lafka" / "papers" / "verify"
    for name in STRICT:
        for other, line in imports(folder / f"{name}.py"):
            if other.startswith("lafka."):
                own = other.removeprefix("lafka.papers.verify.")
                assert own in STRICT, f"{name}.py:{line} imports {other}"


def test_the_checker_of_archec_shares_no_code_with_the_writer() -> None:
    for path in (ROOT / "lafka" / "archec" / "checking").glob("*.py"):
        for other, line in imports(path):
            if other.startswith("lafka."):
                assert is_in(other, ("errors", "pids", "archec.checking")), f"{path}:{line}"


def test_the_checker_of_filesets_shares_no_code_with_the_writer() -> None:
    for path in (ROOT / "lafka" / "filesets" / "checking").glob("*.py"):
        for other, line in imports(path):
            if other.startswith("lafka."):
                assert is_in(other, ("errors", "pids", "filesets.checking")), f"{path}:{line}"


def test_there_are_no_circles() -> None:
    known = {module_of(path): path for path in files()}
    graph = {
        module: {other for other, _ in imports(path) if other in known} - {module, "lafka"}
        for module, path in known.items()
    }
    faces = {module for module in known if known[module].name == "__init__.py"}
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, " -> ".join((*way, module))
        if module in done:
            return
        for other in graph[module]:
            if not (module in faces and other.startswith(f"{module}.")):  # handed on, when asked
                visit(other, (*way, module))
        done.add(module)

    for module in graph:
        visit(module, ())


def test_strings_and_functions_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text(
        'X = "lafka.capture.handler.ExactDownloadHandler"\n'
        'def f():\n    from lafka.papers import walk\n    return "lafka.json"\n'
    )
    assert {name for name, _ in imports(path)} == {"lafka.capture.handler", "lafka.papers.walk"}
