"""Writes the API reference in the page of ``lafka-warc`` out of signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from lafka import warc
from tests.warc.wheel import PROJECT, ROOT

PAGE = ROOT / PROJECT / "README.md"
BEGINS = "## API\n"
_ROLE = re.compile(r":\w+:`([^`]+)`")
_FUNCTION = re.compile(r"<(?:function|bound method) ([\w.]+)(?: at| of)[^,)]*")


def written(page: str) -> str:
    """Return *page* with its last section, the API, as it is today."""
    head, begins, _ = page.partition(BEGINS)
    assert begins
    return head + BEGINS + "\n" + "\n".join(_lines()).rstrip() + "\n"


def _lines() -> Iterator[str]:
    names = [(name, getattr(warc, name)) for name in sorted(warc.__all__)]
    for name, value in names:
        yield f"### {name}\n"
        yield f"`{_signature(name, value)}`\n"
        yield _text(value) + "\n"
        if inspect.isclass(value) and not issubclass(value, Exception):
            yield from _members(value)
            yield ""


def _members(of: type) -> Iterator[str]:
    for name, raw in sorted(_own(of).items()):
        value = raw.__func__ if isinstance(raw, classmethod | staticmethod) else raw
        text = _text(value).partition("\n\n")[0].replace("\n", " ")
        if inspect.isfunction(value):
            yield f"- `{_signature(name, value)}`{text and ': ' + text}"
        elif isinstance(value, property) or hasattr(value, "func"):
            yield f"- `{name}`{text and ': ' + text}"


def _own(of: type) -> dict[str, object]:
    inside = [base for base in reversed(of.__mro__) if base.__module__.startswith(warc.__name__)]
    return {n: v for base in inside for n, v in vars(base).items() if not n.startswith("_")}


def _signature(name: str, value: object) -> str:
    if inspect.isclass(value) and issubclass(value, Exception):
        bases = ", ".join(base.__name__ for base in value.__bases__)
        return f"class {name}({bases})"
    assert callable(value)
    signature = inspect.signature(value)
    kept = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    bare = [p.replace(annotation=p.empty) for p in kept]
    shown = signature.replace(parameters=bare, return_annotation=signature.empty)
    return name + _FUNCTION.sub(r"\1", str(shown))


def _text(value: object) -> str:
    told = inspect.getdoc(value) or ""
    return _ROLE.sub(r"`\1`", told).replace("``", "`")


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
