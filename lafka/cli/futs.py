"""``lafka futs``: the futs of an archive as a table, one row each."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from lafka.cli._shared.base import ArchiveCommand
from lafka.cli._shared.choosing import named

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from lafka.papers.archive.archives import StoredFut

COLUMNS: dict[str, type] = {
    "pid": str, "futli": str, "time": str, "url": str, "digest": str, "label": str, "warc": str,
    "s": int, "l": int,
}  # fmt: skip


class Command(ArchiveCommand):
    def syntax(self) -> str:
        return "[PID...] [--since T] [--until T] [--host HOST] [--jsonl|--csv|--sqlite FILE...]"

    def short_desc(self) -> str:
        return "List the futs of the archive, or of papers: JSON lines, CSV, Parquet, SQLite"

    def add_options(self, parser: ArgumentParser) -> None:
        from lafka.cli._shared import sheets  # noqa: PLC0415

        super().add_options(parser)
        parser.add_argument("--list", metavar="FILE", help="pids, the first column of its lines")
        parser.add_argument("--since", metavar="T", help="had by this time or later, 2026-11-20")
        parser.add_argument("--until", metavar="T", help="had by this time or before, 2026-11")
        parser.add_argument("--host", metavar="HOST", help="of futlis at this host")
        parser.add_argument("--archive", metavar="CODE", help="of papers of this archive of RePEc")
        parser.add_argument("--series", metavar="CODE", help="of papers of series of this code")
        what = "supplement, other, or any; fut if not given"
        parser.add_argument("--label", default="fut", metavar="LABEL", help=what)
        parser.add_argument("--all-times", action="store_true", help="not the latest alone")
        sheets.add_options(parser)

    def act(self, args: list[str], opts: Namespace) -> None:
        from lafka.cli._shared import sheets  # noqa: PLC0415

        archive = self.archive()
        futs = archive.futs(
            named(args, opts.list), since=opts.since, until=opts.until, host=opts.host,
            archive=opts.archive, series=opts.series, label=opts.label,
            latest=not opts.all_times, problem=self.wrong,
        )  # fmt: skip
        sheets.write("futs", COLUMNS, map(_row, futs), opts)

    def wrong(self, error: Exception) -> None:
        """Tell of a paper that cannot be read; the others are given."""
        print(error, file=sys.stderr)
        self.exitcode = 1


def _row(fut: StoredFut) -> dict[str, Any]:
    return {
        "pid": str(fut.pid),
        "futli": fut.futli,
        "time": fut.time,
        "url": fut.url,
        "digest": fut.digest,
        "label": fut.label,
        "warc": str(fut.warc.absolute()),
        "s": fut.start,
        "l": fut.length,
    }
