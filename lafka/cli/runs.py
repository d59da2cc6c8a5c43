"""``lafka runs``: the runs of an archive, and which of them are done."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from lafka.cli.base import ArchiveCommand
from lafka.errors import BadReport, printable
from lafka.runs.reports import reports
from lafka.runs.terminals import program

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


class RunsCommand(ArchiveCommand):
    most_args = 0

    def syntax(self) -> str:
        return "[--json]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="whole reports, one JSON line each")

    def act(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        for report in reports(self.archive().root):
            if isinstance(report, BadReport):
                print(f"{program()} runs: {report}", file=sys.stderr)
                self.exitcode = 1
            elif opts.json:
                print(json.dumps({"state": report.state, **report.values}))
            else:
                print(printable(f"{report.run}  {report.state}  {_told(report.values)}"))


def _told(values: dict[str, Any]) -> str:
    """Lines and futs, as far as the report has them."""
    of = values.get("list", {}).get("lines")
    done = values.get("lines")
    told = [f"{'?' if done is None else done} of {'?' if of is None else of} lines"]
    if futs := values.get("futs"):
        told.append(f"{futs['new']} new futs")
    return ", ".join([*told, str(values.get("list", {}).get("path", ""))])
