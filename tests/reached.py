"""Which statements of ``lafka`` the tests reach, told by the statements themselves.

``pytest --floors`` has each module compiled with a mark before each statement: one byte of a file
that all processes of the run share. So a process that is killed has told what it did, none has
anything to write at its end, and the interpreter runs as ever; a tracer takes twice the time.
What is neither a fork of the tests nor of the warm process is not seen.
"""

from __future__ import annotations

import ast
import builtins
import mmap
import os
import sys
import tempfile
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[1] / "lafka"
FILE = "TESTS_REACHED"
"""The variable of the environment that names the file of marks."""
_MARKS = "__reached__"
_ARMS = ("body", "orelse", "finalbody", "handlers", "cases")

Lines = dict[Path, tuple[list[int], list[int]]]
"""A module -> the lines where its statements begin: those that were reached, and the others."""


def begin() -> None:
    """Have what is imported from now on tell its statements, if that is asked for."""
    if FILE not in os.environ:
        if "--floors" not in sys.argv:
            return
        assert PACKAGE.name not in sys.modules
        with tempfile.NamedTemporaryFile(delete=False) as file:
            file.truncate(sum(_lengths(PACKAGE).values()))
        os.environ[FILE] = file.name
    setattr(builtins, _MARKS, _marks(Path(os.environ[FILE])))
    sys.meta_path.insert(0, _Finder(_places(PACKAGE)))


def end() -> Lines:
    """Take the file away, and tell what was reached."""
    file = Path(os.environ.pop(FILE))
    found = lines(PACKAGE, file.read_bytes())
    file.unlink()
    return found


def lines(package: Path, marks: bytes) -> Lines:
    """What *marks* tell of the modules below *package*."""
    found: Lines = {}
    for path, place in _places(package).items():
        yes, no = found[path] = [], []
        for arm in _arms(ast.parse(path.read_bytes())):
            for statement in arm:
                if _tells(statement):
                    (yes if marks[place + statement.lineno] else no).append(statement.lineno)
        yes.sort()
        no.sort()
    return found


def marked(source: bytes, path: str, place: int) -> Any:
    """The code of *source* with a mark before each statement, from the byte *place* on."""
    module = ast.parse(source, path)
    for arm in list(_arms(module)):
        arm[:] = [one for statement in arm for one in (*_mark(statement, place), statement)]
    return compile(module, path, "exec", dont_inherit=True)


def _mark(statement: ast.stmt, place: int) -> list[ast.stmt]:
    if not _tells(statement):
        return []
    (mark,) = ast.parse(f"{_MARKS}[{place + statement.lineno}] = 1").body
    for node in ast.walk(mark):
        ast.copy_location(node, statement)
        node.end_lineno, node.end_col_offset = statement.lineno, statement.col_offset
    return [mark]


def _tells(statement: ast.stmt) -> bool:
    """Not a docstring, nor what has to stand before any other."""
    text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return not text and getattr(statement, "module", "") != "__future__"


def _arms(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements in *node*, less those for a checker of types alone."""
    for name, value in ast.iter_fields(node):
        if name == "body" and getattr(getattr(node, "test", None), "id", "") == "TYPE_CHECKING":
            continue
        if name not in _ARMS or not isinstance(value, list):
            continue
        for one in value:
            yield from _arms(one)
        if value and isinstance(value[0], ast.stmt):
            yield value


def _lengths(package: Path) -> dict[Path, int]:
    paths = sorted(package.rglob("*.py"))
    return {path: path.read_bytes().count(b"\n") + 2 for path in paths}


def _places(package: Path) -> dict[Path, int]:
    """A module -> the byte of its line 0."""
    places, place = {}, 0
    for path, length in _lengths(package).items():
        places[path] = place
        place += length
    return places


def _marks(path: Path) -> mmap.mmap:
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), 0)


class _Finder(MetaPathFinder):
    def __init__(self, places: dict[Path, int]) -> None:
        self.places = places

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] != PACKAGE.name:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec and spec.origin and Path(spec.origin) in self.places:
            spec.loader = _Loader(name, spec.origin, self.places[Path(spec.origin)])
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, place: int) -> None:
        super().__init__(name, path)
        self.place = place

    def get_code(self, fullname: str) -> Any:
        path = self.get_filename(fullname)
        return marked(self.get_data(path), path, self.place)
