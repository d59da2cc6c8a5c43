"""The command ``lafka``: Scrapy's command line with Lafka's settings, in any folder.

What Scrapy does at the start of any command (``scrapy.cmdline.execute``), without a project's
``scrapy.cfg`` and without an import of the commands that are not asked for.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

import lafka
from lafka import cli as ours
from lafka.cli._shared import plain
from lafka.cli._shared.base import attempt, settle
from lafka.cli._shared.plain import LeftToScrapy, PlainCommand
from lafka.runs.sources import meant

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from types import ModuleType

    from scrapy.commands import ScrapyCommand
    from scrapy.crawler import CrawlerProcessBase
    from scrapy.settings import Settings

SETTINGS = "lafka.settings"
LEFT_OUT = frozenset(("edit", "genspider", "startproject"))
"""Commands of Scrapy that write code: into the installed package, where Lafka is the project."""
_ASYNCIO = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line *argv*, without the program's name, says; the exit code."""
    verb, *args = [*(sys.argv[1:] if argv is None else argv)] or ["--help"]
    if verb in ("--version", "-V"):
        return attempt(verb, lambda: print(versions()))
    if verb in ("--help", "-h", "help"):
        return attempt(verb, lambda: print(overview()))
    own = _names(ours)
    if verb not in own and verb not in verbs():
        guess = meant(verb, {*own, *verbs()}, most=3) or ";"
        print(f"lafka: no command is called {verb!r}{guess} lafka -h lists them", file=sys.stderr)
        return 2
    if verb in own and (made := _made(own[verb])) and isinstance(made, PlainCommand):
        try:
            return plain.run(made, args)
        except LeftToScrapy:
            pass
    return run(verb, args)


def versions() -> str:
    """Lafka's and Scrapy's."""
    from importlib.metadata import version  # noqa: PLC0415  it costs what it imports

    return f"Lafka {lafka.__version__}, Scrapy {version('scrapy')}"


def verbs() -> dict[str, str]:
    """The commands, Lafka's own first: name to module."""
    from scrapy import commands as scrapys  # noqa: PLC0415  it costs what it imports

    of_scrapy = {name: path for name, path in _names(scrapys).items() if name not in LEFT_OUT}
    return _names(ours) | {n: path for n, path in of_scrapy.items() if n not in _names(ours)}


def _names(package: ModuleType) -> dict[str, str]:
    names = sorted(found.name for found in iter_modules(package.__path__))
    return {name: f"{package.__name__}.{name}" for name in names if not name.startswith("_")}


def command(verb: str) -> ScrapyCommand:
    """The command called *verb*, with Lafka's settings."""
    from scrapy.settings import Settings  # noqa: PLC0415  it costs what it imports

    made = _made(verbs()[verb])
    settings = Settings()
    settings.setmodule(SETTINGS, priority="project")
    if editor := os.environ.get("EDITOR"):
        settings["EDITOR"] = editor
    settings.setdict(made.default_settings, priority="command")
    made.settings = settings
    return made


def _made(name: str) -> ScrapyCommand:
    """A command of the module *name*, as Scrapy finds it: its one class with a ``short_desc``."""
    module = import_module(name)
    found: type[ScrapyCommand] = next(
        cls
        for cls in vars(module).values()
        if isinstance(cls, type) and hasattr(cls, "short_desc") and cls.__module__ == name
    )
    return found()


def overview() -> str:
    """Return what ``lafka`` says without a command."""
    own = _names(ours)
    told = {verb: f"  {verb:<13} {command(verb).short_desc()}" for verb in verbs()}
    return "\n".join((
        versions(),
        "\nUsage:\n  lafka COMMAND [options] [args]\n  lafka COMMAND -h tells more",
        "\nCommands:",
        *(line for verb, line in told.items() if verb in own),
        "\nScrapy's, with Lafka's settings:",
        *(line for verb, line in told.items() if verb not in own),
    ))  # fmt: skip


def run(verb: str, args: list[str]) -> int:
    """Run the command *verb*; its exit code."""
    from scrapy.cmdline import ScrapyArgumentParser  # noqa: PLC0415  it costs what it imports
    from scrapy.commands import ScrapyHelpFormatter  # noqa: PLC0415
    from scrapy.exceptions import UsageError  # noqa: PLC0415

    made = command(verb)
    if type(made).__module__.startswith("scrapy."):  # ours do so themselves, whoever runs them
        settings = made.settings
        if code := attempt(verb, lambda: settle(settings, verb)):
            return code
    parser = ScrapyArgumentParser(
        formatter_class=ScrapyHelpFormatter,
        usage=f"lafka {verb} {made.syntax()}",
        conflict_handler="resolve",
        description=made.long_desc(),
    )
    made.add_options(parser)
    opts, rest = parser.parse_known_args(args)
    try:
        _act(made, rest, opts)
    except UsageError as error:
        if str(error):
            parser.error(str(error))
        if error.print_help:
            parser.print_help()
        return 2
    return made.exitcode


def _act(made: ScrapyCommand, args: list[str], opts: Namespace) -> None:
    made.process_options(args, opts)
    if made.requires_crawler_process:
        assert made.settings is not None
        made.crawler_process = _process(made.settings)
    if not opts.profile:
        made.run(args, opts)
        return
    from cProfile import Profile  # noqa: PLC0415

    profile = Profile()
    try:
        profile.runcall(made.run, args, opts)
    finally:
        profile.dump_stats(opts.profile)


def _process(settings: Settings) -> CrawlerProcessBase:
    """Return what runs crawls, as Scrapy chooses it."""
    from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess  # noqa: PLC0415

    asyncio = settings["TWISTED_REACTOR"] == _ASYNCIO
    if (asyncio and not settings.getbool("FORCE_CRAWLER_PROCESS")) or not settings.getbool(
        "TWISTED_REACTOR_ENABLED"
    ):
        return AsyncCrawlerProcess(settings)
    return CrawlerProcess(settings)
