"""The store without one of its syncs or locks: each has to be missed.

The list is made from the source: every call in ``lafka`` to ``os.fsync``, ``os.fdatasync`` and
``fcntl.flock``, every step that asks for one of these (``lafka.storage.steps``), and where a
function does nothing but sync, every call to that one instead. Where such a call stands in one of
the modules that keep syncs and locks for the others (``HOMES``), there is one of it for each call
of another module that leads to it. A sync that is added tomorrow is in it. A mutant is a process in
which that one call does nothing, or, where it is a step, is done too late.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from tests.crawls.running import ROOT
from tests.faults.storecalls import Call, Site

WORDS = r"storage|keeping|sync|lock\(|flock"
"""Who syncs or locks has one of these, or calls what has."""
STEPS = {"DataSync", "FileSync", "FolderSync", "FileLock"}
PRIMITIVES = {("os", "fsync"), ("os", "fdatasync"), ("fcntl", "flock"), ("", "lock"),
              *(("", step) for step in STEPS)}  # fmt: skip
LOCKS = {"flock", "lock", "FileLock", "tried"}
HOMES = {"drafts", "locks"}
"""Names of the modules by which the others write and lock."""
WINGS = {"archec", "filesets", "index", "jobs"}
"""Rooms with stores of their own; those of archec have scenarios of their own."""
SHARED = {"filesets": ("storage/keeping", "jobs")}
"""Wings that write by rooms of others, and those: a store of the main road's, dead letters."""
# A file that an operator names: the same command writes it again.
_ASKED = {"cli", "reports", "outputs.py"}
_HARMLESS = {("os", "open"), ("os", "close")}
_MOVES = {"rename", "replace"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def _name(call: ast.Call) -> tuple[str, str]:
    """``os.fsync`` as a pair; a bare name, or a method of anything, with an empty first half."""
    func = call.func
    if isinstance(func, ast.Attribute):
        owner = func.value.id if isinstance(func.value, ast.Name) else ""
        return owner, func.attr
    return "", func.id if isinstance(func, ast.Name) else ""


def _first_line(function: Function) -> int:
    return min(node.lineno for node in (function, *function.decorator_list))


@dataclass(slots=True)
class _Source:
    """A module of ours: its calls, each with the function that it stands in."""

    path: Path
    tree: ast.Module
    calls: list[tuple[ast.Call, Function | None]] = field(default_factory=list)
    named: dict[str, list[tuple[ast.Call, Function | None]]] = field(default_factory=dict)
    """The calls by the names that they are made by."""
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)
    functions: list[Function] = field(default_factory=list)
    """Its functions and methods, none inside another."""
    methods: set[str] = field(default_factory=set)
    """The names of methods among them."""

    @classmethod
    def read(cls, path: Path) -> _Source:
        source = cls(path, ast.parse(path.read_text("utf-8")))
        nodes = list(ast.walk(source.tree))
        bodies = [source.tree.body, *(n.body for n in nodes if isinstance(n, ast.ClassDef))]
        source.functions = [n for body in bodies for n in body if isinstance(n, Function)]
        source.methods = {f.name for f in source.functions if f not in source.tree.body}
        by_line = {
            line: function
            for function in source.functions
            for line in range(_first_line(function), (function.end_lineno or 0) + 1)
        }
        for node in nodes:
            if isinstance(node, ast.Call):
                function = by_line.get(node.lineno)
                source.calls.append((node, function))
                source.named.setdefault(_name(node)[1], []).append((node, function))
            elif isinstance(node, ast.ImportFrom) and node.module:
                module = node.module.rpartition(".")[2]
                for name in node.names:
                    source.imported[name.asname or name.name] = module, name.name
        return source

    def calls_of(self, home: str, name: str) -> Iterator[tuple[ast.Call, Function | None]]:
        """The calls that may be of the function *name* of the module *home*, by whatever name."""
        aliases = {alias for alias, what in self.imported.items() if what == (home, name)}
        for each in {name, *aliases}:
            yield from self.named.get(each, ())

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def is_library(self) -> bool:
        """The WARC library's writers of other files are not the store's."""
        return ROOT / "lafka" / "warc" in self.path.parents

    def site(self, call: ast.Call) -> Site:
        last = call.end_lineno or call.lineno
        return Site(file=str(self.path), first=call.lineno, last=last, call=_name(call)[1])


def read(words: str = WORDS) -> list[_Source]:
    """The modules that have one of *words*, a pattern; to read all takes seconds."""
    paths = sorted((ROOT / "lafka").rglob("*.py"))
    return [_Source.read(path) for path in paths if re.search(words, path.read_text("utf-8"))]


def _only_syncs(names: Sequence[tuple[str, str]], wrappers: set[str]) -> bool:
    """Whether calls of these *names* do nothing but sync or lock, and rename what was synced."""
    syncs = {name for name in names if name in PRIMITIVES or name[1] in wrappers}
    moves = {name for name in names if name[1] in _MOVES}
    return bool(syncs) and set(names) <= syncs | moves | _HARMLESS


def _wrappers(sources: Sequence[_Source]) -> list[Function]:
    left: dict[Function, list[tuple[str, str]]] = {}
    for source in sources:
        left |= {function: [] for function in source.functions}
        for call, function in source.calls:
            if function is not None:
                left[function].append(_name(call))
    found: list[Function] = []
    while True:
        names = {function.name for function in found}
        more = [function for function, calls in left.items() if _only_syncs(calls, names)]
        if not more:
            return found
        found += more
        for function in more:
            del left[function]


def _leads_to(source: _Source, call: ast.Call, home: _Source, function: Function) -> bool:
    """Whether *call*, in *source*, calls *function* of *home*."""
    owner, name = _name(call)
    if name == function.name and name in home.methods:
        return isinstance(call.func, ast.Attribute)
    if isinstance(call.func, ast.Attribute):
        return name == function.name and source.imported.get(owner, ("", ""))[1] == home.name
    if source is home:
        return name == function.name
    return source.imported.get(name) == (home.name, function.name)


def _from_outside(
    sources: Sequence[_Source], home: _Source, function: Function | None, seen: set[str]
) -> Iterator[Site]:
    """The calls of modules that are no homes by which *function* of *home* comes to be called.

    A step that locks is a site where it is made, not where it is done.
    """
    if function is None or (key := f"{home.name}.{function.name}") in seen:
        return
    seen.add(key)
    for source in sources:
        for call, caller in source.calls_of(home.name, function.name):
            if _leads_to(source, call, home, function) and source.name != "steps":
                if source.name in HOMES:
                    yield from _from_outside(sources, source, caller, seen)
                else:
                    yield source.site(call)


def _wing(site: Site) -> str:
    """The wing whose code makes the call; empty for the main road's."""
    inside = _room(site)
    return inside if inside in WINGS | _ASKED else ""


def _room(site: Site) -> str:
    place = Path((site.by or site).file).relative_to(ROOT / "lafka")
    if any(place.parent.as_posix() in rooms for rooms in SHARED.values()):
        return place.parent.as_posix()
    return place.name if place.name in _ASKED else place.parts[0]


def sites(wing: str = "") -> list[Site]:
    """Every sync and lock of the main road, or of a *wing* that has scenarios of its own.

    What its store shares with the main road's is in both. The WARC library's writers of other files
    have none.
    """
    shared = SHARED.get(wing, ())
    return [site for site in _sites() if _wing(site) == wing or _room(site) in shared]


@cache
def _sites() -> tuple[Site, ...]:
    sources = read()
    functions = _wrappers(sources)
    wrappers = {function.name for function in functions}
    found: list[Site] = []
    for source in sources:
        for call, function in source.calls:
            owner, name = _name(call)
            syncs = (owner, name) in PRIMITIVES or (name in wrappers and owner != "os")
            if not syncs or function in functions or source.is_library:
                continue
            site = source.site(call)
            if source.name in HOMES or (function and function.name == "lock"):
                # One that nobody is seen to call stays in the list: no scenario reaches it.
                outside = list(_from_outside(sources, source, function, set())) or [None]
                found += (replace(site, by=by) for by in outside)
            else:
                found.append(site)
    return tuple(found)


def reached(calls: Sequence[Call], among: Sequence[Site]) -> set[Site]:
    """The sites that *calls* came from."""
    stacks = {call.stack for call in calls}
    return {site for site in among if any(site.is_in(stack) for stack in stacks)}
