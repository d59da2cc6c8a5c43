"""``lafka verify [PID...]``: what is not as it was left, one JSON line a problem."""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lafka.cli._shared.base import ArchiveCommand, json_line
from lafka.errors import BadArchive

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lafka.witness.problems import FileProblem


class Command(ArchiveCommand):
    def syntax(self) -> str:
        return "[PID...] [--quick]"

    def short_desc(self) -> str:
        return "Check papers and filesets: one JSON line a problem, exit 1 if any is an error"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--quick", action="store_true", help="sizes and tails only")

    def act(self, args: list[str], opts: Namespace) -> None:
        from lafka.cli._shared.filesets import check  # noqa: PLC0415
        from lafka.papers.checking import Verifier  # noqa: PLC0415

        assert self.settings is not None
        root = Path(self.settings["LAFKA_ARCHIVE"])
        if not root.is_dir():
            raise BadArchive(f"{root}: no such archive")
        begun = time.monotonic()
        shown = _Shown() if sys.stderr.isatty() else None
        verifier = Verifier(root, workers=os.cpu_count() or 1, progress=shown)
        checks: list[Iterable[FileProblem | FileProblem]]
        checks = [verifier.verify_paper(pid, quick=opts.quick) for pid in args]
        count = 0
        if not args:
            quick = opts.quick
            checks = [verifier.verify_all(quick=quick), check(self.settings, quick=quick)]
        for problems in checks:
            for problem in problems:
                self._tell(problem)
                count += 1
        megabytes, seconds = verifier.bytes_read / 1e6, max(time.monotonic() - begun, 1e-6)
        rate = f"{megabytes:.1f} MB, {megabytes / seconds:.0f} MB/s"
        print(f"{verifier.papers_read} papers, {rate}, {count} problems", file=sys.stderr)

    def _tell(self, problem: FileProblem | FileProblem) -> None:
        print(json_line(problem.as_json()))
        if problem.severity == "error":
            self.exitcode = 1


class _Shown:
    def __init__(self) -> None:
        self._begun = self._last = time.monotonic()

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        if now - self._last >= 0.5:
            self._last, rate = now, done / 1e6 / (now - self._begun)
            print(f"{done / 1e6:.0f} MB, {rate:.0f} MB/s", end="\r", file=sys.stderr)
