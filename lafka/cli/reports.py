"""``lafka report`` and ``lafka runs``: what the archive holds, what was lost, how runs ended."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from contextlib import closing
from typing import Any

from lafka.cli.base import ArchiveCommand
from lafka.errors import ArchiveBusy, BadReport, printable
from lafka.index.build import refresh
from lafka.index.tables import IndexFiles, open_to_read, reraising
from lafka.reports.report import ReportOptions, answer
from lafka.runs.reports import reports
from lafka.runs.terminals import program
from lafka.storage.outputs import counted, write_output


class ReportCommand(ArchiveCommand):
    most_args = 0
    usage = "[-o FILE.html|.csv|.json] [--by KEY] [--archive CODE] [--since T] [--until T]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("-o", "--output", metavar="FILE", default="", help=".html, .csv or .json; of an archive"
            " a letter, .txt, or a feed, .atom, too; - for stdout")  # fmt: skip
        add("--since", metavar="T", help="30d, or a beginning of 2026-11-20T10:11:12Z")
        add("--until", metavar="T", help="as --since")
        add("--by", metavar="KEY", default="", help="one table: archive, series, host, outcome,"
            " year, found_by or run")  # fmt: skip
        add("--archive", metavar="CODE", default="", help="what its maintainer can mend")
        add("--top", metavar="N", type=int, default=50, help="rows a table in HTML (50)")
        add("--recheck", metavar="AGE", help="a list, for a crawl, of links not asked for so long")
        add("--before", metavar="FILE", default="", help="an earlier report in JSON: what is not as"
            " in that")  # fmt: skip
        add("--no-index", action="store_true", help="tell from the index as it is")

    def act(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        asked = ReportOptions.of(opts)  # what is wrong is told before anything is read
        archive = self.archive()
        place = IndexFiles.of(archive.root, self.settings["LAFKA_INDEX"])
        if not opts.no_index:
            self._refresh(place)
        with closing(open_to_read(place.database)) as db, reraising(place.database):
            data = answer(db, asked)
        write_output(asked.output, [data])

    def _refresh(self, place: IndexFiles) -> None:
        try:
            for sentence in refresh(self.archive(), place).sentences:
                print(f"{program()} report: {sentence}", file=sys.stderr)
        except ArchiveBusy as error:
            if not place.database.exists():
                raise
            print(f"{program()} report: {error}; told as it is", file=sys.stderr)


class RunsCommand(ArchiveCommand):
    most_args = 0
    usage = "[--json]"

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
                print(printable(f"{report.run}  {report.state}  {_counts_text(report.values)}"))


def _counts_text(values: dict[str, Any]) -> str:
    """Lines and futs, as far as the report has them."""
    of = values.get("list", {}).get("lines")
    done = values.get("lines")
    told = [f"{'?' if done is None else done} of {'?' if of is None else of} lines"]
    if futs := values.get("futs"):
        told.append(counted(futs["new"], "new fut"))
    return ", ".join([*told, str(values.get("list", {}).get("path", ""))])
