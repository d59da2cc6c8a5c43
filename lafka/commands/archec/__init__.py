"""``scrapy archec VERB``: each verb is a module here with a ``run`` that gives the exit code."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, NoReturn

from scrapy.commands import ScrapyCommand
from scrapy.utils.conf import arglist_to_dict

from lafka.cli import attempt, check_args
from lafka.errors import BadArgument

VERBS = ("list", "check", "recover", "rebuild", "adopt")


class _Parser(ArgumentParser):
    """Refuses in one sentence."""

    def error(self, message: str) -> NoReturn:
        _refuse(self.prog, message)


def _refuse(prog: str, message: str) -> NoReturn:
    print(f"{prog}: {message}", file=sys.stderr)
    raise SystemExit(2)


class Command(ScrapyCommand):
    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "VERB ..."

    def short_desc(self) -> str:
        return "Look at, check, mend and take over an obi store"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.error = partial(_refuse, "scrapy archec")  # type: ignore[method-assign]
        verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=_Parser)
        for name in VERBS:
            verb = import_module(f"{__name__}.{name}")
            one = verbs.add_parser(
                name,
                prog=f"scrapy archec {name}",
                help=verb.HELP,
                description=verb.HELP[0].upper() + verb.HELP[1:] + ".",
                epilog=f"example:\n  {verb.EXAMPLE}",
                formatter_class=RawDescriptionHelpFormatter,
            )
            one.add_argument(
                "-s", dest="set_too", action="append", default=[], metavar="NAME=VALUE"
            )
            verb.add_arguments(one)
            one.set_defaults(act=verb.run)

    def run(self, args: list[str], opts: Namespace) -> None:
        code = 0

        def act() -> None:
            nonlocal code
            check_args(args, 0)
            if not opts.verb:
                raise BadArgument(f"say a verb: {', '.join(VERBS)}")
            assert self.settings is not None
            self.settings.setdict(arglist_to_dict(opts.set_too), priority="cmdline")
            code = opts.act(opts, self.settings)

        name = f"archec {opts.verb}" if opts.verb else "archec"
        self.exitcode = attempt(name, act) or code
