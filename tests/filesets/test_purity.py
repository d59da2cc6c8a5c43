"""Helpers and strategies do no I/O: what could do it is named nowhere but in one module."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOM = Path(__file__).parents[2] / "lafka" / "filesets"
DOING = {"children.py", "results.py"}
"""Modules of the wing that may start a process and open a file."""
STORES = {"archive", "crawling", "checking", "targets"}
"""Rooms of the wing that do."""
FORBIDDEN = {
    "asyncio", "ftplib", "glob", "http", "multiprocessing", "os", "requests", "scrapy", "select",
    "shutil", "signal", "socket", "sqlite3", "ssl", "subprocess", "tempfile", "threading",
    "twisted", "urllib.request",
}  # fmt: skip
CALLS = {"open", "exec", "eval", "print", "input"}
CLOCKS = {"time", "random", "secrets", "uuid"}


@pytest.mark.parametrize(
    "path",
    sorted(
        path
        for path in ROOM.rglob("*.py")
        if path.name not in DOING and path.parent.name not in STORES
    ),
    ids=lambda path: path.relative_to(ROOM).as_posix(),
)
def test_a_pure_part_opens_nothing_and_asks_no_clock(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
            assert not ({"Path"} & {name.name for name in node.names}), f"{path}:{node.lineno}"
        for name in names:
            place = f"{path}:{node.lineno} imports {name}"
            assert name not in FORBIDDEN | CLOCKS, place
            assert name.partition(".")[0] not in FORBIDDEN, place
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in CALLS, f"{path}:{node.lineno}"
