"""``lafka recover``: what killed runs captured and did not copy."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lafka.cli._shared.base import ArchiveCommand
from lafka.runs.terminals import program

if TYPE_CHECKING:
    from argparse import Namespace


class Command(ArchiveCommand):
    writes = True
    most_args = 0

    def syntax(self) -> str:
        return ""

    def short_desc(self) -> str:
        return "Copy into paper WARCs what killed runs left in raw/"

    def act(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        from lafka.cli._shared.filesets import recover as recover_filesets  # noqa: PLC0415
        from lafka.papers.archive.recovery import recover  # noqa: PLC0415

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
