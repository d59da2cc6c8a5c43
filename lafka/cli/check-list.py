"""``lafka check-list FILE``: what a list holds, each kind of fault, and what is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lafka.cli._shared.base import ArchiveCommand
from lafka.errors import BadArgument

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


class Command(ArchiveCommand):
    most_args = 1

    def syntax(self) -> str:
        return "FILE [--collection NAME]"

    def short_desc(self) -> str:
        return "Say what is wrong with a list and what probably is meant; nothing is asked"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--collection", metavar="NAME", default="", help="of RePEc if not set")

    def act(self, args: list[str], opts: Namespace) -> None:
        from lafka.cli._shared.lists import check_list  # noqa: PLC0415

        if not args:
            raise BadArgument("say which list: its file is missing, - is standard input")
        assert self.settings is not None
        given = {"input": args[0], "collection": opts.collection}
        self.exitcode = check_list(self.settings, given)
