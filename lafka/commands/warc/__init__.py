"""``scrapy warc VERB``: each verb is a module here with a ``run`` that gives the exit code."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, NoReturn

from scrapy.commands import ScrapyCommand

from lafka.cli import attempt, check_args, program
from lafka.errors import BadArgument

VERBS = (
    "ls", "cdx", "cdxj", "get", "search", "check", "repair", "recompress", "arc2warc", "warc2arc",
)  # fmt: skip


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
        return "List, read, search, check, mend and convert WARC, ARC and like files"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.error = partial(_refuse, f"{program()} warc")  # type: ignore[method-assign]
        verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=_Parser)
        for name in VERBS:
            verb = import_module(f"{__name__}.{name}")
            one = verbs.add_parser(
                name,
                prog=f"{program()} warc {name}",
                help=verb.HELP,
                description=verb.HELP[0].upper() + verb.HELP[1:] + ".",
                epilog=f"example:\n  {verb.EXAMPLE}",
                formatter_class=RawDescriptionHelpFormatter,
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
            code = opts.act(opts)

        name = f"warc {opts.verb}" if opts.verb else "warc"
        self.exitcode = attempt(name, act) or code
