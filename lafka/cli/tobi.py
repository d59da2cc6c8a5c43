"""``lafka tobi``: what is new, changed or gone in RePEc data goes into the obi store."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lafka.cli.archec._shared import to_be_filled
from lafka.cli.base import ArchiveCommand
from lafka.errors import BadArgument
from lafka.runs.stores import said, store_line

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


class TobiCommand(ArchiveCommand):
    most_args = 1

    def syntax(self) -> str:
        return "[ReDIF_directory] [-f TARBALL] [--at TIME] [--partial] [--dry-run]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("-f", "--tarball", metavar="TARBALL", help="read this, not ReDIF_directory")
        add("--at", metavar="TIME", help="gather as of a tist, a date, or name: that of TARBALL")
        add("--partial", action="store_true", help="archives that are not there are not lost")
        add("--accept-losses", metavar="CODE", nargs="+", default=[], help="believe these losses")
        add("--dry-run", action="store_true", help="say what would come of it, write nothing")

    def act(self, args: list[str], opts: Namespace) -> None:
        from lafka.archec.gather.runs import gather_tobis  # noqa: PLC0415
        from lafka.archec.gather.sources import open_source  # noqa: PLC0415
        from lafka.cli.archec._asked import account, plan  # noqa: PLC0415

        assert self.settings is not None
        asked = plan(self.settings, opts)
        place = self._place(args, opts)
        print(store_line(self.settings), file=sys.stderr, flush=True)
        opened = to_be_filled("tobi", self.settings, dry=opts.dry_run)
        with opened as (store, records), open_source(place) as source:
            report = gather_tobis(store, records, source, asked)
        account(report, dry=opts.dry_run)
        self.exitcode = 3 if report.withheld else 0

    def _place(self, args: list[str], opts: Namespace) -> Path:
        """The folder or tarball to read."""
        assert self.settings is not None
        directory = Path(args[0] if args else said(self.settings, "LAFKA_REDIF_DIRECTORY"))
        if not opts.tarball:
            return directory
        tarball = Path(opts.tarball)
        if not tarball.exists() and tarball.name == opts.tarball:
            tarball = directory.parent / "tarballs" / tarball.name
        if not tarball.is_file():
            raise BadArgument(f"{opts.tarball}: no such tarball")
        if not opts.at:
            self._warn(tarball)
        return tarball

    def _warn(self, tarball: Path) -> None:
        from lafka.archec.store.tists import in_name  # noqa: PLC0415

        if in_name(tarball.name):
            taken = f"scrapy tobi: {tarball.name} has a date, --at name would take it; gathered"
            print(f"{taken} as of now", file=sys.stderr)
