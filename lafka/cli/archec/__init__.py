"""``lafka archec VERB``: each verb is a module here with a ``run`` that gives the exit code."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from scrapy.utils.conf import arglist_to_dict

from lafka.cli._shared.base import GroupCommand
from lafka.runs.stores import store_line

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

WRITING = ("pull", "recover", "rebuild", "adopt", "withdraw")
VERBS = (
    "list", "report", "serve", "pull", "check", "recover", "rebuild", "adopt", "withdraw",
)  # fmt: skip


class Command(GroupCommand):
    verbs = VERBS

    def short_desc(self) -> str:
        return "Look at, check, mend and take over an obi store"

    def add_to(self, verb: ArgumentParser) -> None:
        verb.add_argument("-s", dest="also", action="append", default=[], metavar="NAME=VALUE")

    def act(self, opts: Namespace) -> int:
        assert self.settings is not None
        self.settings.setdict(arglist_to_dict(opts.also), priority="cmdline")
        if opts.verb in WRITING:
            line = store_line(self.settings, getattr(opts, "folder", None))
            print(line, file=sys.stderr, flush=True)
        code: int = opts.act(opts, self.settings)
        return code
