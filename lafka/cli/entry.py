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
from lafka.cli import plain
from lafka.cli.base import attempt, settle
from lafka.cli.plain import LeftToScrapy, PlainCommand
from lafka.cli.verbs import VERBS, made
from lafka.runs.sources import meant

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

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
    if verb not in VERBS and verb not in (known := [*VERBS, *_names_of_scrapy()]):
        guess = meant(verb, known, most=3) or ";"
        print(f"lafka: no command is called {verb!r}{guess} lafka -h lists them", file=sys.stderr)
        return 2
    if verb in VERBS and isinstance(one := made(verb), PlainCommand):
        try:
            return plain.run(one, args)
        except LeftToScrapy:
            pass
    return run(verb, args)


def versions() -> str:
    """Lafka's and Scrapy's."""
    from importlib.metadata import version  # noqa: PLC0415  it costs what it imports

    return f"Lafka {lafka.__version__}, Scrapy {version('scrapy')}"


def verbs() -> dict[str, str]:
    """The commands and what each is for, Lafka's own first."""
    ours = {name: verb.short_desc for name, verb in VERBS.items()}
    return ours | {name: _scrapys(name).short_desc() for name in _names_of_scrapy()}


def _names_of_scrapy() -> list[str]:
    """The commands of Scrapy's own that are not replaced."""
    from scrapy import commands  # noqa: PLC0415  it costs what it imports

    found = sorted(found.name for found in iter_modules(commands.__path__))
    return [name for name in found if name not in LEFT_OUT and name not in VERBS]


def _scrapys(name: str) -> ScrapyCommand:
    found: ScrapyCommand = import_module(f"scrapy.commands.{name}").Command()
    return found


def command(verb: str) -> ScrapyCommand:
    """The command called *verb*, with Lafka's settings."""
    from scrapy.settings import Settings  # noqa: PLC0415  it costs what it imports

    command = made(verb) if verb in VERBS else _scrapys(verb)
    settings = Settings()
    settings.setmodule(SETTINGS, priority="project")
    if editor := os.environ.get("EDITOR"):
        settings["EDITOR"] = editor
    settings.setdict(command.default_settings, priority="command")
    command.settings = settings
    return command


def overview() -> str:
    """Return what ``lafka`` says without a command."""
    told = {verb: f"  {verb:<13} {text}" for verb, text in verbs().items()}
    return "\n".join((
        versions(),
        "\nUsage:\n  lafka COMMAND [options] [args]\n  lafka COMMAND -h tells more",
        "\nCommands:",
        *(line for verb, line in told.items() if verb in VERBS),
        "\nScrapy's, with Lafka's settings:",
        *(line for verb, line in told.items() if verb not in VERBS),
    ))  # fmt: skip


def run(verb: str, args: list[str]) -> int:
    """Run the command *verb*; its exit code."""
    from scrapy.cmdline import ScrapyArgumentParser  # noqa: PLC0415  it costs what it imports
    from scrapy.commands import ScrapyHelpFormatter  # noqa: PLC0415
    from scrapy.exceptions import UsageError  # noqa: PLC0415

    one = command(verb)
    if type(one).__module__.startswith("scrapy."):  # ours do so themselves, whoever runs them
        settings = one.settings
        if code := attempt(verb, lambda: settle(settings, verb)):
            return code
    parser = ScrapyArgumentParser(
        formatter_class=ScrapyHelpFormatter,
        usage=f"lafka {verb} {one.syntax()}",
        conflict_handler="resolve",
        description=one.long_desc(),
    )
    one.add_options(parser)
    opts, rest = parser.parse_known_args(args)
    try:
        _act(one, rest, opts)
    except UsageError as error:
        if str(error):
            parser.error(str(error))
        if error.print_help:
            parser.print_help()
        return 2
    return one.exitcode


def _act(one: ScrapyCommand, args: list[str], opts: Namespace) -> None:
    one.process_options(args, opts)
    if one.requires_crawler_process:
        assert one.settings is not None
        one.crawler_process = _process(one.settings)
    if not opts.profile:
        one.run(args, opts)
        return
    from cProfile import Profile  # noqa: PLC0415

    profile = Profile()
    try:
        profile.runcall(one.run, args, opts)
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
