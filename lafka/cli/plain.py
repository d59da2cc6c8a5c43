"""Commands that Scrapy runs as its own, and that ``lafka`` runs without importing Scrapy.

Scrapy and Twisted take most of a second to import; who reads a fut needs neither. A
:class:`PlainCommand` has the shape of a ``ScrapyCommand``. What is rare is left to Scrapy: all its
global options but ``-s``, the help, and what argparse has to refuse.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from argparse import ArgumentParser
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, cast

from lafka import settings as defaults
from lafka.cli.verbs import DescribedCommand
from lafka.runs.sources import PRIORITIES

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping

    from scrapy.commands import ScrapyCommand as _Shape
    from scrapy.settings import Settings
else:
    _Shape = ABC


class PlainSettings:
    """Lafka's settings as ``scrapy.settings.Settings`` gives them; Scrapy's own are not there."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        module = {name: getattr(defaults, name) for name in dir(defaults) if name.isupper()}
        self._values = {name: (PRIORITIES["project"], value) for name, value in module.items()}
        self.setdict(values, priority="command")

    def __getitem__(self, name: str) -> Any:
        return self.get(name)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def get(self, name: str, default: Any = None) -> Any:
        value = self._values.get(name, (0, None))[1]
        return default if value is None else value

    def getbool(self, name: str, default: bool = False) -> bool:
        value = self.get(name, default)
        return value in ("True", "true") or (value not in ("False", "false") and bool(int(value)))

    def getint(self, name: str, default: int = 0) -> int:
        return int(self.get(name, default))

    def getfloat(self, name: str, default: float = 0.0) -> float:
        return float(self.get(name, default))

    def getlist(self, name: str, default: list[Any] | None = None) -> list[Any]:
        value = self.get(name, default or [])
        return value.split(",") if value and isinstance(value, str) else list(value)

    def getpriority(self, name: str) -> int | None:
        return self._values[name][0] if name in self._values else None

    def set(self, name: str, value: Any, priority: str = "project") -> None:
        """Nothing changes where a stronger priority has spoken."""
        if PRIORITIES[priority] >= self._values.get(name, (0, None))[0]:
            self._values[name] = (PRIORITIES[priority], value)

    def setdict(self, values: Mapping[str, Any], priority: str = "project") -> None:
        for name, value in values.items():
            self.set(name, value, priority)


class PlainCommand(DescribedCommand, _Shape):
    """A command without a crawl, in the shape of ``scrapy.commands.ScrapyCommand``."""

    requires_project = True
    requires_crawler_process = False
    crawler_process = None
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}
    exitcode = 0
    parser: ArgumentParser | None = None
    settings: Settings
    usage: ClassVar[str] = ""
    """The arguments, behind the name of the command."""

    def __init__(self) -> None:
        self.settings = None  # type: ignore[assignment]  # set by whoever runs it

    def syntax(self) -> str:
        return self.usage

    def long_desc(self) -> str:
        return self.short_desc()

    def add_options(self, parser: ArgumentParser) -> None:
        self.parser = parser
        if isinstance(self.settings, PlainSettings):
            parser.add_argument("-s", "--set", action="append", default=[])
        else:
            self._scrapys.add_options(self, parser)

    def process_options(self, args: list[str], opts: Namespace) -> None:
        if isinstance(self.settings, PlainSettings):
            said = dict(_split(text) for text in opts.set)
            self.settings.setdict(said, priority="cmdline")
        else:
            self._scrapys.process_options(self, args, opts)

    @property
    def _scrapys(self) -> type[_Shape]:
        from scrapy.commands import ScrapyCommand  # noqa: PLC0415

        return ScrapyCommand

    @abstractmethod
    def run(self, args: list[str], opts: Namespace) -> None:
        """Do it, and set ``exitcode``."""


class LeftToScrapy(Exception):
    """A command line that says more than is understood here."""


def run(made: PlainCommand, args: list[str]) -> int:
    """Run *made* without Scrapy; its exit code. ``LeftToScrapy``, and nothing is done."""
    if {"-h", "--help"} & {*args}:
        raise LeftToScrapy
    made.settings = cast("Settings", PlainSettings(made.default_settings))
    parser = _Parser(conflict_handler="resolve", add_help=False)
    made.add_options(parser)
    opts, rest = parser.parse_known_args(args)
    if any(arg.startswith("-") and arg != "-" for arg in rest):
        raise LeftToScrapy
    made.process_options(rest, opts)
    made.run(rest, opts)
    return made.exitcode


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise LeftToScrapy(message)


def _split(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise LeftToScrapy(text)
    return name, value
