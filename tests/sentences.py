"""The sentences of all errors that the code can raise or tell, read out of its syntax trees.

What stands between braces in an f-string is ``{}`` here: names of variables may change, what an
operator reads may not, without somebody noticing. ``python -m tests.sentences`` prints them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from lafka import errors

ROOT = Path(__file__).parents[1]
_TOLD = {"problem", "logger.error", "logger.warning", "logger.info", "logger.critical"}
_LAST = {name.rpartition(".")[2] for name in _TOLD}


def sentences(having: str = "") -> set[str]:
    """Each sentence once, of modules *having* some text; its error or call before it."""
    texts = (path.read_text("utf-8") for path in (ROOT / "lafka").rglob("*.py"))
    trees = (ast.parse(text) for text in texts if having in text)
    return {sentence for tree in trees for sentence in _sentences(tree)}


def _sentences(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield from _of(node.exc, ast.unparse(node.exc.func))
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.Call):
            if hasattr(errors, name := ast.unparse(node.value.func)):  # raised by who asked
                yield from _of(node.value, name)
        elif isinstance(node, ast.Call) and _last(node.func) in _LAST:
            if ast.unparse(node.func) not in _TOLD:
                continue
            yield from _of(node, ast.unparse(node.func))


def _last(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _of(call: ast.Call, name: str) -> Iterator[str]:
    for argument in call.args:
        text = template(argument)
        if " " in text.strip():
            yield f"{name.rpartition('.')[2]}: {text}"


def template(node: ast.expr) -> str:
    """The text of a string or f-string, ``{}`` for what is filled in; empty for anything else."""
    if isinstance(node, ast.Constant):
        return " ".join(node.value.split()) if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        parts = (v.value if isinstance(v, ast.Constant) else "{}" for v in node.values)
        return re.sub(r"\s+", " ", "".join(map(str, parts)))
    return ""


if __name__ == "__main__":
    print("\n".join(sorted(sentences())))
