"""``lafka verify``: papers and filesets held to what their WARCs have."""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lafka.cli.base import ArchiveCommand, json_line
from lafka.errors import BadArchive
from lafka.filesets.checking.filesets import check_filesets
from lafka.filesets.targets import target_of
from lafka.filesets.targets.folder import FolderTarget
from lafka.papers.checking import Verifier
from lafka.storage.outputs import counted
from lafka.witness.problems import FileProblem

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


class VerifyCommand(ArchiveCommand):
    usage = "[PID...] [--quick]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--quick", action="store_true", help="sizes and tails only")

    def act(self, args: list[str], opts: Namespace) -> None:
        root = Path(self.settings["LAFKA_ARCHIVE"])
        if not root.is_dir():
            raise BadArchive(f"{root}: no such archive")
        begun = time.monotonic()
        shown = _ReadSoFar() if sys.stderr.isatty() else None
        verifier = Verifier(root, workers=os.cpu_count() or 1, progress=shown)
        checks: list[Iterable[FileProblem]]
        checks = [verifier.verify_paper(pid, quick=opts.quick) for pid in args]
        count = 0
        if not args:
            quick = opts.quick
            checks = [verifier.verify_all(quick=quick), _check_filesets(self.settings, quick=quick)]
        for problems in checks:
            for problem in problems:
                self._print(problem)
                count += 1
        megabytes, seconds = verifier.bytes_read / 1e6, max(time.monotonic() - begun, 1e-6)
        rate = f"{megabytes:.1f} MB, {megabytes / seconds:.0f} MB/s"
        told = counted(verifier.papers_read, "paper"), rate, counted(count, "problem")
        print(", ".join(told), file=sys.stderr)

    def _print(self, problem: FileProblem) -> None:
        print(json_line(problem.as_json()))
        if problem.severity == "error":
            self.exitcode = 1


class _ReadSoFar:
    def __init__(self) -> None:
        self._begun = self._last = time.monotonic()

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        if now - self._last >= 0.5:
            self._last, rate = now, done / 1e6 / (now - self._begun)
            print(f"{done / 1e6:.0f} MB, {rate:.0f} MB/s", end="\r", file=sys.stderr)


def _check_filesets(settings: BaseSettings, *, quick: bool) -> Iterator[FileProblem]:
    """Return what is wrong with the filesets and items of the archive."""
    target = target_of(settings)
    bucket = None if isinstance(target, FolderTarget) else target
    return check_filesets(Path(settings["LAFKA_ARCHIVE"]), target.work, bucket, quick=quick)
