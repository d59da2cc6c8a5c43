"""Mutants of the modules that matter most, and the share that the tests of their rooms notice.

``python -m tests.faults.mutations --count 100 --seed 1`` draws so many of 300 mutants at most, each
one place of one module changed, has the tests of its room run over a copy of the project until one
fails, and prints the share that was noticed and what was not. Hangs count as noticed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.starts import ROOT

MOST = 300
"""Mutants of a whole run."""
LIMIT = 900.0
"""Seconds after which the tests of a mutant hang."""
_ARCHIVE = tuple(
    f"tests/papers/archive/test_{name}.py"
    for name in ("contents", "suwafs", "recovery", "paperwarc", "repairs", "trails_at_once")
)
_CRAWLS = ("tests/faults/test_kills.py", "tests/faults/test_batches.py")
STORE = (*_ARCHIVE, *_CRAWLS)
WIRE = ("tests/capture", "tests/crawls/test_road.py", "tests/crawls/test_ends.py")
QUEUE = ("tests/politeness/test_places.py", "tests/papers/lists/test_feeder.py",
         "tests/papers/lists/test_fleets.py", "tests/crawls/test_hosts.py",
         "tests/crawls/test_input.py")  # fmt: skip
MODULES = {
    "storage/keeper.py": ("tests/storage/test_keeper.py", "tests/storage/keeping", *STORE),
    "storage/steps.py": ("tests/storage/test_keeper.py", "tests/storage/keeping", *STORE),
    "papers/archive/paperwarc.py": STORE,
    "papers/archive/contents.py": STORE,
    "papers/archive/recovery.py": STORE,
    "capture/rawlog.py": (*WIRE, "tests/papers/archive/test_recovery.py", *_CRAWLS),
    "capture/recording.py": WIRE,
    "capture/client/answers.py": WIRE,
    "politeness/feeder.py": QUEUE,
    "politeness/places.py": QUEUE,
    "runs/feed.py": ("tests/runs", "tests/crawls/test_reports.py", *_CRAWLS),
    "witness/reader.py": (
        "tests/papers/verify/test_reader.py",
        "tests/papers/verify/test_archive.py",
    ),
}
"""The modules below ``lafka``, each with its tests, the quickest first."""
OPPOSITES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE,
    ast.GtE: ast.Gt, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.And: ast.Or, ast.Or: ast.And,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.FloorDiv: ast.Mult,
    ast.Break: ast.Continue, ast.Continue: ast.Break,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A module with one place changed: its path below ``lafka``, the line, what it is now."""

    module: str
    line: int
    change: str
    source: str

    def __str__(self) -> str:
        return f"lafka/{self.module}:{self.line}: {self.change}"


def mutants(module: str) -> Iterator[Mutant]:
    """Each mutant of *module*, in the order of its places."""
    tree = ast.parse((ROOT / "lafka" / module).read_text("utf-8"))
    for place, node in enumerate(ast.walk(tree)):
        for changed in _changes(node):
            other = copy.deepcopy(tree)
            target = next(n for at, n in enumerate(ast.walk(other)) if at == place)
            before = ast.unparse(target)
            _become(other, target, changed)
            yield Mutant(
                module=module, line=getattr(node, "lineno", 0), source=ast.unparse(other),
                change=f"{before[:60]!r} is {ast.unparse(changed)[:60]!r}",
            )  # fmt: skip


def _become(tree: ast.AST, target: ast.AST, changed: ast.AST) -> None:
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is target:
                setattr(parent, name, changed)
            elif isinstance(value, list) and any(each is target for each in value):
                setattr(parent, name, [changed if each is target else each for each in value])
    ast.fix_missing_locations(tree)


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    """Return what may stand in place of *node*: of logic, numbers, calls; not of words."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in OPPOSITES:
            yield ast.Compare(node.left, [OPPOSITES[type(op)]()], node.comparators)
        case ast.BoolOp():
            yield ast.BoolOp(OPPOSITES[type(node.op)](), node.values)
        case ast.BinOp() if type(node.op) in OPPOSITES and not _is_type(node):
            yield ast.BinOp(node.left, OPPOSITES[type(node.op)](), node.right)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.If() | ast.While():
            yield type(node)(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Expr(value=ast.Call() | ast.YieldFrom() | ast.Await()) | ast.AugAssign():
            yield ast.Pass()
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.Break() | ast.Continue():
            yield OPPOSITES[type(node)]()


def _is_type(node: ast.BinOp) -> bool:
    """Whether it is a union of types, which no test can notice."""
    parts = (node.left, node.right)
    return isinstance(node.op, ast.BitOr) and any(
        (isinstance(part, ast.Constant) and part.value is None)
        or (isinstance(part, ast.Name) and part.id[:1].isupper() and not part.id.isupper())
        or (isinstance(part, ast.Name) and part.id in {"int", "str", "bytes", "float"})
        for part in parts
    )


def drawn(count: int, seed: int) -> list[Mutant]:
    """*count* of all mutants, as many of each module as there are modules for, by *seed*."""
    chance = random.Random(seed)
    share, more = divmod(min(count, MOST), len(MODULES))
    chosen: list[Mutant] = []
    for number, module in enumerate(MODULES):
        every = list(mutants(module))
        chosen += chance.sample(every, min(len(every), share + (number < more)))
    chance.shuffle(chosen)
    return chosen


class Copy:
    """A copy of the project, in which one module after the other is changed."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        left_out = shutil.ignore_patterns(
            ".venv", "__pycache__", ".git", "*.egg-info", ".*_cache", ".hypothesis"
        )
        shutil.copytree(ROOT, self.root, ignore=left_out, symlinks=True)

    def is_noticed(self, mutant: Mutant, tests: Sequence[str]) -> bool:
        """Whether one of *tests* fails over *mutant*, or they hang."""
        path = self.root / "lafka" / mutant.module
        before = path.read_bytes()
        path.write_text(mutant.source, "utf-8")
        try:
            return any(self.fails(each) for each in tests)
        finally:
            path.write_bytes(before)

    def fails(self, tests: str) -> bool:
        """Whether *tests*, a file or folder, fail."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--timeout", "120", tests]
        env = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(self.root)}
        process = subprocess.Popen(
            command, cwd=self.root, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            return process.wait(LIMIT) != 0
        except subprocess.TimeoutExpired:
            return True
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def run(count: int, seed: int) -> int:
    """Try *count* mutants; print what was noticed of each module, and what was not."""
    had, noticed = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="lafka-mutants-") as folder:
        place = Copy(Path(folder))
        if broken := [each for each in sorted({*sum(MODULES.values(), ())}) if place.fails(each)]:
            print(f"these fail without any mutant: {broken}")
            return 1
        for mutant in drawn(count, seed):
            had[mutant.module] += 1
            if place.is_noticed(mutant, MODULES[mutant.module]):
                noticed[mutant.module] += 1
            else:
                print(f"not noticed: {mutant}", flush=True)
            print(f"{noticed.total()} of {had.total()}", file=sys.stderr, flush=True)
    for module in MODULES:
        print(f"| `lafka/{module}` | {had[module]} | {noticed[module]} |")
    print(f"| together | {had.total()} | {noticed.total()} |")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=MOST)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    sys.exit(run(given.count, given.seed))
