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

GROUND = ("errors", "pids", "urls", "payloads")
SHARED = (*GROUND, "storage", "warc", "politeness", "capture", "runs", "jobs")
WINGS = ("papers", "archec", "filesets")
FACES_ONLY = {"index", "web"}
"""Rooms that see of a wing what its face hands on."""
RIM = {
    "",
    "spiders",
    "pipelines",
    "items",
    "cli",
    "__main__",
}
"""Rooms without a row: they may import whatever is behind a face or of its own wing."""
PROOF_OF = ("papers.archive.repairs", "filesets.archive.repairs")
"""Of writers only these may ask the proof, which shares no code with them."""


def may_import() -> dict[str, tuple[str, ...]]:
    """The table of docs/architecture.md: a room, or a part of one, to what it may import."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    table = text.partition("| room | may import |")[2].partition("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    return {room: _allowed(cell) for rooms, cell in rows for room in _NAMED.findall(rooms)}


_NAMED = re.compile(r"`([\w.]+)`")


def _allowed(cell: str) -> tuple[str, ...]:
    phrases = {"the ground": GROUND, "shared": SHARED, "nothing of ours": ()}
    words = [part.strip() for part in cell.split(",")]
    return tuple(name for word in words for name in phrases.get(word, tuple(_NAMED.findall(word))))


MAY = may_import()
# Other people's packages that only some rooms may know; a module where it is one of a room.
SCRAPY = {"scrapy", "twisted", "itemadapter"}
SCRAPY_IN = (
    *RIM, "politeness", "capture", "runs", "storage.threads", "storage.stopping",
    "papers.crawling", "filesets.crawling",
)  # fmt: skip
NO_SCRAPY = (
    "capture.exchanges", "capture.rawlog", "capture.rawfiles", "capture.leftovers",
    "capture.logged", "capture.pulled", "capture.verdicts", "capture.addresses",
    "capture.certificates", "capture.client.answers", "capture.client.beginnings", "runs.reports",
)  # fmt: skip
ONLY_IN = {
    "warcio": ("warc",),
    "scrapy_warcio": ("capture.rawfiles",),
    "yaml": ("capture.rawfiles",),
    "hanzo": ("capture.rawfiles",),
    "pymongo": ("archec.records.mongo",),
    "confluent_kafka": ("jobs.kafka",),
    "starlette": ("web",),
    "uvicorn": ("web",),
    "httptools": ("web.connections",),
    "boto3": ("filesets.targets.s3",),
    "botocore": ("filesets.targets.s3",),
    "pypdfium2": ("papers.archive.texts", "papers.crawling.pdf_fronts", "index.titles"),
    "psycopg": ("jobs.database.postgresql",),
    "jinja2": ("web",),
    "markupsafe": ("web",),
    "nh3": ("web.neutral",),
    "altair": ("reports.plots",),
    "vl_convert": ("reports.plots",),
}
PURE = (
    "index.rows",
    "urls", "web.ranges",
    "capture.verdicts",
    "papers.walk", "papers.finders", "papers.candidates", "papers.origins", "papers.outcomes",
    "archec.redif", "archec.store.tists", "archec.store.texts", "archec.store.pages",
    "archec.records.folding", "archec.gather.loss_rules",
    *(f"filesets.{part}" for part in (
        "model", "bundles.unpacking", "platforms", "strategies", "walk", "targets.item",
    )),
)  # fmt: skip
"""No file, no socket, no clock: what these import of the standard library that could, is told."""
IO = {"socket", "subprocess", "tempfile", "shutil", "threading", "asyncio", "sqlite3", "os"}


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
    """The room of a module: the longest row of the table that it lies in, or the first part."""
    inside = module.removeprefix("lafka").lstrip(".")
    rows = [row for row in MAY if inside == row or inside.startswith(f"{row}.")]
    return max(rows, key=len, default=inside.partition(".")[0])


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
    if mine in RIM:
        return
    for other, line in imports(path):
        if not other.startswith("lafka.") or room(other) == mine:
            continue
        assert is_in(other, MAY[mine]), f"{path}:{line} imports {other}"
        if mine in FACES_ONLY and other.split(".")[1] in WINGS:
            assert other.count(".") == 1, f"{path}:{line} imports {other}, past its face"
        if room(other).endswith(".checking") and room(other) not in (mine, f"{mine}.checking"):
            assert is_in(module, PROOF_OF), f"{path}:{line} imports {other}"


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
            if mine == "cli" and module not in CRAWLS:
                assert not is_in(other, ("capture.middlewares", "capture.handler", "pipelines")), (
                    place
                )
            if mine == "spiders":
                assert not is_in(other, ("papers.archive.paperwarc", "pipelines")), place


CRAWLS = ("lafka.cli.scrapys",)
"""Commands that change a crawl's settings."""


def test_every_room_is_in_the_table_or_at_the_rim() -> None:
    there = {room(module_of(path)) for path in files()}
    assert set(MAY) <= there
    assert there - set(MAY) <= RIM


def test_no_room_imports_a_room_that_imports_it() -> None:
    arrows = {
        (room(module_of(path)), room(other))
        for path in files()
        for other, _ in imports(path)
        if other.startswith("lafka.")
    }
    both = {(a, b) for a, b in arrows if (b, a) in arrows and a < b and a not in (*WINGS, "")}
    assert both == set()


def test_the_house_shows_its_rooms() -> None:
    paths = [path for path in (ROOT / "lafka").iterdir() if path.name != "__pycache__"]
    # A folder that has moved keeps what was compiled in it.
    entries = [path for path in paths if path.is_file() or any(path.rglob("*.py"))]
    assert len(entries) <= 25


def test_the_strict_reader_stands_alone() -> None:
    for path in (ROOT / "lafka" / "witness").glob("*.py"):
        for other, line in imports(path):
            if other.startswith("lafka."):
                assert is_in(other, ("witness",)), f"{path}:{line} imports {other}"


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
