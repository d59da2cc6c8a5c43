"""``lafka gateway LIST --root FOLDER``: legacy papers, a list with files, by Memento."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lafka.cli import _gateways
from lafka.cli.base import ArchiveCommand
from lafka.errors import BadArgument, BadList
from lafka.runs.terminals import program

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from lafka.web.listed import ListHoldings

TOLD_MAX = 1000


class GatewayCommand(ArchiveCommand):
    most_args = 1

    def syntax(self) -> str:
        return "LIST --root FOLDER [--port N]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--root", metavar="FOLDER", help="the folder below which the list's files lie")
        add("--port", default=_gateways.PORT, metavar="N", help="8732; 0 for a free one")
        add("--bind", default="127.0.0.1", metavar="ADDRESS", help="loopback, unless this says so")
        add("--name", action="append", default=[], metavar="HOST", help="a Host it is asked by")

    def act(self, args: list[str], opts: Namespace) -> None:
        from lafka.web.listed import ListHoldings  # noqa: PLC0415

        if not args:
            raise BadArgument("say which list: pid, URL, time and path a line, tabs between")
        if not opts.root:
            raise BadArgument("say below which folder the files lie: --root FOLDER")
        holdings = ListHoldings(Path(args[0]), Path(opts.root))
        _tell(holdings)
        if not holdings.health()["urls"]:
            raise BadList(f"{args[0]}: no line of it can be served")
        _gateways.serve("gateway", opts, lambda: holdings)


def _tell(holdings: ListHoldings) -> None:
    for sentence in holdings.refused[:TOLD_MAX]:
        print(f"{program()} gateway: {sentence}", file=sys.stderr)
    if (more := len(holdings.refused) - TOLD_MAX) > 0:
        print(f"{program()} gateway: {more} lines more cannot be served", file=sys.stderr)
