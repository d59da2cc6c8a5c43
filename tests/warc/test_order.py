"""The library has floors: nothing imports what stands above it, nor in a circle.

Read from the syntax trees: imports inside functions and names of modules in strings count.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lafka import warc

ROOT = Path(warc.__file__).parent
NAME = "lafka.warc"

# From the ground up; those of one line do not know each other.
FLOORS = (
    ("errors",),
    ("problems",),
    ("format",),
    ("reading",),
    ("writing", "foreign"),
    ("indexes",),
    ("converting",),
)
FLOOR_OF = {home: number for number, homes in enumerate(FLOORS) for home in homes}
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")
_MODULE = re.compile(rf"{re.escape(NAME)}(?:\.\w+)+")


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join((NAME, *(parts[:-1] if parts[-1] == "__init__" else parts)))


MODULES = {module_of(path): path for path in FILES}


def home(module: str) -> str:
    return module.removeprefix(f"{NAME}.").partition(".")[0]


def resolved(path: Path, node: ast.ImportFrom) -> str:
    """The full name of the module that an import is from."""
    if not node.level:
        return node.module or ""
    package = (NAME, *path.relative_to(ROOT).parent.parts)
    above = package[: len(package) - node.level + 1]
    return ".".join(filter(None, (*above, node.module)))


def named(path: Path) -> Iterator[str]:
    """The modules of the library that a file names; the library's own name for its face."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = resolved(path, node)
            inside = [f"{module}.{name.name}" for name in node.names]
            names = [name if name in MODULES else module for name in inside]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # A docstring may speak of what stands above; a string that is a module's name acts.
            text = node.value.partition(":")[0]
            known = {text, text.rpartition(".")[0]} & MODULES.keys()
            names = [text] if known and _MODULE.fullmatch(text) else []
        else:
            continue
        yield from (name for name in names if f"{name}.".startswith(f"{NAME}."))


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_each_module_has_a_floor(path: Path) -> None:
    assert home(module_of(path)) in FLOOR_OF


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_nothing_names_what_stands_above_it_or_beside_it(path: Path) -> None:
    mine = home(module_of(path))
    for module in named(path):
        other = home(module)
        below = FLOOR_OF[other] < FLOOR_OF[mine] if other in FLOOR_OF else False
        assert other == mine or below, f"{path.name} names {module}"


def test_there_is_no_circle() -> None:
    graph = {module: set(named(path)) & set(MODULES) for module, path in MODULES.items()}
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, " -> ".join((*way, module))
        if module not in done:
            for other in graph[module] - {module}:
                visit(other, (*way, module))
        done.add(module)

    for module in graph:
        visit(module, ())


def test_a_name_in_a_string_and_an_import_in_a_function_count(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text(
        f'X = "{NAME}.writing.builders:Builder"\n\ndef f():\n'
        f"    from {NAME}.reading import checking\n    from {NAME} import Volume\n"
    )
    assert sorted(named(path)) == [NAME, f"{NAME}.reading.checking", f"{NAME}.writing.builders"]
