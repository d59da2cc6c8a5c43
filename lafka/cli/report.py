"""``lafka report``: what the archive holds, what was lost and whose links rot."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING

from lafka.cli.base import ArchiveCommand
from lafka.errors import ArchiveBusy
from lafka.runs.terminals import program
from lafka.storage.outputs import write_output

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from lafka.index.tables import IndexFiles


class ReportCommand(ArchiveCommand):
    most_args = 0

    def syntax(self) -> str:
        return "[-o FILE.html|.csv|.json] [--by KEY] [--archive CODE] [--since T] [--until T]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("-o", "--output", metavar="FILE", default="", help=".html, .csv or .json")
        add("--since", metavar="T", help="30d, or a beginning of 2026-11-20T10:11:12Z")
        add("--until", metavar="T", help="as --since")
        add("--by", metavar="KEY", default="", help="one table: archive, series, host, outcome,"
            " year, found_by or run")  # fmt: skip
        add("--archive", metavar="CODE", default="", help="what its maintainer can mend")
        add("--top", metavar="N", type=int, default=50, help="rows a table in HTML (50)")
        add("--recheck", metavar="AGE", help="a list, for a crawl, of links not asked for so long")
        add("--no-index", action="store_true", help="tell from the index as it is")

    def act(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        from lafka.index.tables import (  # noqa: PLC0415
            IndexFiles,
            open_to_read,
            reraising,
        )
        from lafka.reports.report import ReportOptions, answer  # noqa: PLC0415

        assert self.settings is not None
        asked = ReportOptions.of(opts)  # what is wrong is told before anything is read
        archive = self.archive()
        place = IndexFiles.of(archive.root, self.settings["LAFKA_INDEX"])
        if not opts.no_index:
            self._refresh(place)
        with closing(open_to_read(place.database)) as db, reraising(place.database):
            data = answer(db, asked)
        write_output(asked.output, [data])

    def _refresh(self, place: IndexFiles) -> None:
        from lafka.index.build import refresh  # noqa: PLC0415

        try:
            for sentence in refresh(self.archive(), place).sentences:
                print(f"{program()} report: {sentence}", file=sys.stderr)
        except ArchiveBusy as error:
            if not place.database.exists():
                raise
            print(f"{program()} report: {error}; told as it is", file=sys.stderr)
