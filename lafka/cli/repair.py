"""``lafka repair [PID...]``: brings back what can be, one JSON line a deed."""

from __future__ import annotations

import sys
from itertools import chain
from typing import TYPE_CHECKING

from lafka.cli._shared.base import ArchiveCommand, json_line

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


class Command(ArchiveCommand):
    writes = True

    def syntax(self) -> str:
        return "[PID...] [--dry-run]"

    def short_desc(self) -> str:
        return "Bring back what can be: one JSON line a deed, exit 1 if something is left"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--dry-run", action="store_true", help="tell, and change nothing")

    def act(self, args: list[str], opts: Namespace) -> None:
        # Here, for Scrapy imports every command at the start of any.
        from lafka.cli._shared.filesets import repair as repair_filesets  # noqa: PLC0415
        from lafka.papers.archive.repairs import Repair  # noqa: PLC0415

        assert self.settings is not None
        archive = self.archive()
        pids = [archive.pid(arg) for arg in args]
        keep = self.settings.getbool("LAFKA_KEEP_RAW")
        most = self.settings.getint("LAFKA_MAX_PAYLOAD")
        repair = Repair(archive, dry=opts.dry_run, keep=keep, max_entity=most)
        mended = left = 0
        papers = chain.from_iterable(map(repair.paper, pids)) if pids else repair.all()
        filesets = () if pids else repair_filesets(self.settings, dry=opts.dry_run)
        for deed in chain(papers, filesets):
            print(json_line(deed.as_json()), flush=True)
            left += deed.deed == "left"
            mended += deed.deed != "left"
        self.exitcode = 1 if left else 0
        what = "to mend" if opts.dry_run else "mended"
        print(f"{mended} {what}, {left} left as they are", file=sys.stderr)
