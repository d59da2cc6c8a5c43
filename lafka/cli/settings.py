"""``lafka settings``: each of Lafka's settings and where it came from; else Scrapy's command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import settings as scrapys

from lafka.cli._shared.base import attempt, check_args, settle
from lafka.cli._shared.scrapys import call_ourselves
from lafka.errors import BadArgument
from lafka.runs.sources import meant
from lafka.runs.terminals import program

if TYPE_CHECKING:
    from argparse import Namespace

GETTERS = ("get", "getbool", "getint", "getfloat", "getlist")


class Command(scrapys.Command):
    def short_desc(self) -> str:
        return "Show each setting of Lafka and where it came from; --get NAME: Scrapy's too"

    def run(self, args: list[str], opts: Namespace) -> None:
        def act() -> None:
            assert self.settings is not None
            settle(self.settings, "settings")
            call_ourselves(self.settings)
            for name in filter(None, (getattr(opts, name) for name in GETTERS)):
                if name not in self.settings:
                    guess = meant(name, map(str, self.settings))
                    raise BadArgument(f"{name} is no setting{guess}")
            if program() == "scrapy" or any(getattr(opts, name) for name in GETTERS):
                scrapys.Command.run(self, args, opts)
            else:
                check_args(args, 0)
                self._show()

        self.exitcode = attempt("settings", act)

    def _show(self) -> None:
        from lafka.runs import sources  # noqa: PLC0415

        assert self.settings is not None
        said = sources.here()
        for name in sources.KNOWN:
            value = self.settings.get(name)
            shown = ",".join(value) if isinstance(value, list) else "" if value is None else value
            print(f"{name} = {shown}  # {sources.source_of(self.settings, name, said)}")
