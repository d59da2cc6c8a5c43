"""``lafka repair`` and ``lafka recover``: what can be brought back, and what killed runs left."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from itertools import chain
from typing import TYPE_CHECKING

from lafka.cli.base import ArchiveCommand, json_line
from lafka.cli.filesets import (
    recover as recover_filesets,
)
from lafka.cli.filesets import (
    repair as repair_filesets,
)
from lafka.papers.archive.recovery import recover
from lafka.papers.archive.repairs import Repair
from lafka.runs.terminals import program

if TYPE_CHECKING:
    pass


class RepairCommand(ArchiveCommand):
    writes = True

    def syntax(self) -> str:
        return "[PID...] [--dry-run]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--dry-run", action="store_true", help="tell, and change nothing")

    def act(self, args: list[str], opts: Namespace) -> None:
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


class RecoverCommand(ArchiveCommand):
    writes = True
    most_args = 0

    def syntax(self) -> str:
        return ""

    def act(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        assert self.settings is not None
        runs = kept = 0
        keep = self.settings.getbool("LAFKA_KEEP_RAW")
        most = self.settings.getint("LAFKA_MAX_PAYLOAD")
        for found in recover(self.archive(), keep=keep, max_entity=most):
            if found.run:
                runs, kept = runs + (not found.problems), kept + bool(found.problems)
                said = f"{found.trails} trails copied, {found.opened} to be asked again"
                print(f"{found.run}: {said}")
            for problem in found.problems:
                print(f"{program()} recover: {problem}", file=sys.stderr)
                self.exitcode = 1
        filesets = recover_filesets(self.settings, keep=keep)
        self.exitcode = 1 if filesets.problems else self.exitcode
        kept += filesets.kept
        rest = f", {kept} in part: what is left stays in raw/" if kept else ""
        print(f"{runs + filesets.runs} runs recovered{rest}", file=sys.stderr)
