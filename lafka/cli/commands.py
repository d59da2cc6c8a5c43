"""Lafka's commands as Scrapy looks for them: ``COMMANDS_MODULE``.

Scrapy takes each module below this one for a command and imports them all at the start of any. The
commands are in ``lafka.cli`` and are imported when they are asked for; this shows Scrapy a module
for each line of ``lafka.cli.verbs``, by a hook of the import system like that for zip files, and in
it a class whose instance becomes the command when it is used.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from scrapy.commands import ScrapyCommand

from lafka.cli.verbs import VERBS, made

__path__ = ["<lafka.cli.verbs>"]  # no other hook takes it: it is in no folder and in no egg


class LateCommand:
    """The command *name*, made when anything but its description is asked of it."""

    def __init__(self, name: str) -> None:
        vars(self)["name"] = name

    def short_desc(self) -> str:
        return VERBS[self.name].short_desc

    def __getattr__(self, attribute: str) -> Any:
        if attribute == "command":
            vars(self)["command"] = made(self.name)
            return self.command
        return getattr(self.command, attribute)

    def __setattr__(self, attribute: str, value: Any) -> None:
        setattr(self.command, attribute, value)


class VerbFinder(Loader):
    """Lists the modules of the table for ``pkgutil``, and makes them (PEP 302, PEP 451)."""

    def __init__(self, entry: str) -> None:
        if entry not in __path__:
            raise ImportError(entry)

    def iter_modules(self, prefix: str = "") -> Iterator[tuple[str, bool]]:
        for name in VERBS:
            yield prefix + name, False

    def find_spec(self, fullname: str, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        return ModuleSpec(fullname, self) if fullname.rpartition(".")[2] in VERBS else None

    def exec_module(self, module: ModuleType) -> None:
        class Command(ScrapyCommand):
            requires_project = True

            def __new__(cls) -> LateCommand:  # type: ignore[misc]
                return LateCommand(module.__name__.rpartition(".")[2])

        Command.__module__ = module.__name__
        module.Command = Command  # type: ignore[attr-defined]


sys.path_hooks.append(VerbFinder)
