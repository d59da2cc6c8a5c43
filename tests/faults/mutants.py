"""The store without one of its syncs or locks: each has to be missed.

The list is made from the source: every call in ``lafka`` to ``os.fsync``, ``os.fdatasync`` and
``fcntl.flock``, and where a function does nothing but sync, every call to that one instead. A sync
that is added tomorrow is in it. A mutant is a process in which that one call does nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tests.crawls.running import ROOT
from tests.faults.storecalls import Call, Site

PRIMITIVES = {("os", "fsync"), ("os", "fdatasync"), ("fcntl", "flock")}
_HARMLESS = {("os", "open"), ("os", "close")}


def _name(call: ast.Call) -> tuple[str, str]:
    """``os.fsync`` as a pair; a bare name, or a method of anything, with an empty first half."""
    func = call.func
    if isinstance(func, ast.Attribute):
        owner = func.value.id if isinstance(func.value, ast.Name) else ""
        return owner, func.attr
    return "", func.id if isinstance(func, ast.Name) else ""


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    return (child for child in ast.walk(node) if isinstance(child, ast.Call))


def _only_syncs(function: ast.AST) -> bool:
    names = [_name(call) for call in _calls(function)]
    return any(name in PRIMITIVES for name in names) and all(
        name in PRIMITIVES | _HARMLESS for name in names
    )


def sites() -> list[Site]:
    """Every sync and lock of the product, but for the WARC library's writers of other files."""
    paths = sorted((ROOT / "lafka").rglob("*.py"))
    trees = {path: ast.parse(path.read_text("utf-8")) for path in paths}
    functions = [
        node
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and _only_syncs(node)
    ]
    wrappers = {node.name for node in functions}
    within = {id(call) for function in functions for call in _calls(function)}
    found = []
    for path, tree in trees.items():
        for call in _calls(tree):
            owner, name = _name(call)
            syncs = (owner, name) in PRIMITIVES or (name in wrappers and owner != "os")
            if syncs and id(call) not in within and ROOT / "lafka" / "warc" not in path.parents:
                last = call.end_lineno or call.lineno
                found.append(Site(file=str(path), first=call.lineno, last=last, call=name))
    return found


def reached(calls: Sequence[Call], among: Sequence[Site]) -> set[Site]:
    """The sites that *calls* came from."""
    lines = {frame for call in calls for frame in call.stack}
    return {
        site
        for site in among
        if any(file == site.file and site.first <= line <= site.last for file, line in lines)
    }
