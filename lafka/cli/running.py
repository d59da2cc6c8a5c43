"""A command run as ``scrapy.cmdline.execute`` runs it, with Lafka's settings.

No project's ``scrapy.cfg`` is needed, and Scrapy's own commands are there too, but for those that
write code.
"""

from __future__ import annotations

import os
from argparse import Namespace
from cProfile import Profile
from importlib import import_module
from pkgutil import iter_modules

from scrapy import commands
from scrapy.cmdline import ScrapyArgumentParser
from scrapy.commands import ScrapyCommand, ScrapyHelpFormatter
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess, CrawlerProcessBase
from scrapy.exceptions import UsageError
from scrapy.settings import Settings

from lafka.cli.base import attempt, settle
from lafka.cli.verbs import EXAMPLES, VERBS, made, told

SETTINGS = "lafka.settings"
LEFT_OUT = frozenset(("edit", "genspider", "startproject"))
"""Commands of Scrapy that write code: into the installed package, where Lafka is the project."""
_ASYNCIO = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"


def verbs() -> dict[str, str]:
    """The commands and what each is for, Lafka's own first."""
    ours = {name: verb.short_desc for name, verb in VERBS.items()}
    return ours | {name: _scrapys(name).short_desc() for name in names_of_scrapy()}


def names_of_scrapy() -> list[str]:
    """The commands of Scrapy's own that are not replaced."""
    found = sorted(found.name for found in iter_modules(commands.__path__))
    return [name for name in found if name not in LEFT_OUT and name not in VERBS]


def _scrapys(name: str) -> ScrapyCommand:
    found: ScrapyCommand = import_module(f"scrapy.commands.{name}").Command()
    return found


def command(verb: str) -> ScrapyCommand:
    """The command called *verb*, with Lafka's settings."""
    command = made(verb) if verb in VERBS else _scrapys(verb)
    settings = Settings()
    settings.setmodule(SETTINGS, priority="project")
    if editor := os.environ.get("EDITOR"):
        settings["EDITOR"] = editor
    settings.setdict(command.default_settings, priority="command")
    command.settings = settings
    return command


class _HelpFormatter(ScrapyHelpFormatter):
    """Scrapy's, but examples stay on their lines."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if not text.startswith(EXAMPLES):
            return super()._fill_text(text, width, indent)
        return text.replace(EXAMPLES, f"Examples\n{'=' * 8}", 1)


def run(verb: str, args: list[str]) -> int:
    """Run the command *verb*; its exit code."""
    one = command(verb)
    if type(one).__module__.startswith("scrapy."):  # ours do so themselves, whoever runs them
        settings = one.settings
        if code := attempt(verb, lambda: settle(settings, verb)):
            return code
    parser = ScrapyArgumentParser(
        formatter_class=_HelpFormatter,
        usage=f"lafka {verb} {one.syntax()}",
        conflict_handler="resolve",
        description=one.long_desc(),
        epilog=told(VERBS[verb].examples) if verb in VERBS else None,
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
    profile = Profile()
    try:
        profile.runcall(one.run, args, opts)
    finally:
        profile.dump_stats(opts.profile)


def _process(settings: Settings) -> CrawlerProcessBase:
    """Return what runs crawls, as Scrapy chooses it."""
    asyncio = settings["TWISTED_REACTOR"] == _ASYNCIO
    if (asyncio and not settings.getbool("FORCE_CRAWLER_PROCESS")) or not settings.getbool(
        "TWISTED_REACTOR_ENABLED"
    ):
        return AsyncCrawlerProcess(settings)
    return CrawlerProcess(settings)
