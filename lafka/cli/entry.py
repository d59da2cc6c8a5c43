"""The command ``lafka``: Scrapy's command line with Lafka's settings, in any folder.

What needs no crawl is done without an import of Scrapy, which takes most of a second.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import lafka
from lafka.cli import plain
from lafka.cli.base import attempt
from lafka.cli.plain import LeftToScrapy, PlainCommand
from lafka.cli.verbs import VERBS, made
from lafka.cli.words import WordsCommand
from lafka.runs.sources import meant


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line *argv*, without the program's name, says; the exit code."""
    verb, *args = [*(sys.argv[1:] if argv is None else argv)] or ["--help"]
    if verb in ("--version", "-V"):
        return attempt(verb, lambda: print(versions()))
    if [verb, *args] == ["completion", "words", lafka.__version__]:
        return plain.run(WordsCommand(), [])
    if verb in VERBS and isinstance(one := made(verb), PlainCommand):
        try:
            return plain.run(one, args)
        except LeftToScrapy:
            pass
    from lafka.cli import running  # noqa: PLC0415  it imports Scrapy

    if verb in ("--help", "-h", "help"):
        return attempt(verb, lambda: print(overview(running.verbs())))
    if verb not in (known := running.verbs()):
        guess = meant(verb, known, most=3) or ";"
        print(f"lafka: no command is called {verb!r}{guess} lafka -h lists them", file=sys.stderr)
        return 2
    return running.run(verb, args)


def versions() -> str:
    """Lafka's and Scrapy's."""
    from importlib.metadata import version  # noqa: PLC0415  it costs what it imports

    return f"Lafka {lafka.__version__}, Scrapy {version('scrapy')}"


def overview(verbs: Mapping[str, str]) -> str:
    """Return what ``lafka`` says without a command: *verbs* by name, and what each is for."""
    told = {verb: f"  {verb:<13} {text}" for verb, text in verbs.items()}
    return "\n".join((
        versions(),
        "\nUsage:\n  lafka COMMAND [options] [args]\n  lafka COMMAND -h tells more",
        "\nCommands:",
        *(line for verb, line in told.items() if verb in VERBS),
        "\nScrapy's, with Lafka's settings:",
        *(line for verb, line in told.items() if verb not in VERBS),
    ))  # fmt: skip
