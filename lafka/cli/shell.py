"""``lafka shell``, with what is set outside the code and Lafka's user agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import shell

from lafka.cli._shared.scrapys import ready

if TYPE_CHECKING:
    from argparse import Namespace


class Command(shell.Command):
    def process_options(self, args: list[str], opts: Namespace) -> None:
        super().process_options(args, opts)
        ready(self.settings, "shell")
