"""``lafka archec VERB``: each verb is a module here with a ``run`` that gives the exit code."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from scrapy.utils.conf import arglist_to_dict

from lafka.cli.archec import (
    adopt,
    check,
    pull,
    rebuild,
    recover,
    report,
    serve,
    withdraw,
)
from lafka.cli.archec import list as _list
from lafka.cli.base import GroupCommand, GroupVerb
from lafka.runs.stores import store_line

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

WRITING = ("pull", "recover", "rebuild", "adopt", "withdraw")
_MODULES = (_list, report, serve, pull, check, recover, rebuild, adopt, withdraw)
VERBS = {
    one.__name__.rpartition(".")[2]: GroupVerb(one.HELP, one.EXAMPLE, one.add_arguments, one.run)
    for one in _MODULES
}


class ArchecCommand(GroupCommand):
    verbs = VERBS

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
