"""``lafka verify`` and ``lafka rebuild``: papers and summaries held to what their WARCs have."""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lafka.cli.base import ArchiveCommand, json_line
from lafka.cli.filesets import (
    check,
    rebuild,
)
from lafka.errors import BadArchive, BadPid, KeeperError, NotHeld
from lafka.papers.checking import Verifier
from lafka.runs.terminals import program

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lafka.papers.archive.archives import Archive
    from lafka.pids import Pid
    from lafka.witness.problems import FileProblem


class VerifyCommand(ArchiveCommand):
    def syntax(self) -> str:
        return "[PID...] [--quick]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--quick", action="store_true", help="sizes and tails only")

    def act(self, args: list[str], opts: Namespace) -> None:
        assert self.settings is not None
        root = Path(self.settings["LAFKA_ARCHIVE"])
        if not root.is_dir():
            raise BadArchive(f"{root}: no such archive")
        begun = time.monotonic()
        shown = _ReadSoFar() if sys.stderr.isatty() else None
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


class _ReadSoFar:
    def __init__(self) -> None:
        self._begun = self._last = time.monotonic()

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        if now - self._last >= 0.5:
            self._last, rate = now, done / 1e6 / (now - self._begun)
            print(f"{done / 1e6:.0f} MB, {rate:.0f} MB/s", end="\r", file=sys.stderr)


class RebuildCommand(ArchiveCommand):
    writes = True

    def syntax(self) -> str:
        return "[PID...] [--adopt]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--adopt", action="store_true", help="rename WARCs by their Paper-Id")

    def act(self, args: list[str], opts: Namespace) -> None:
        archive = self.archive()
        pids = [archive.pid(arg) for arg in args]
        archive.mark()
        done = 0
        for found in pids or _all(archive, adopt=opts.adopt):
            if isinstance(found, Exception):
                self._tell(found, 1)
                continue
            try:
                archive.rebuild(found)
                done += 1
            except (KeeperError, NotHeld) as error:
                self._tell(error, 1 if isinstance(error, KeeperError) else 2)
        print(f"{done} suwafs made", file=sys.stderr)
        if not args:
            rebuild(self.settings, self._tell)

    def _tell(self, error: Exception, code: int) -> None:
        print(f"{program()} rebuild: {error}", file=sys.stderr)
        self.exitcode = max(self.exitcode, code)


def _all(archive: Archive, *, adopt: bool) -> Iterator[Pid | Exception]:
    """The pid of each WARC, or why it has none."""
    lost: list[Path] = []
    warcs = archive.warcs(lost.append)
    for warc in list(warcs) if adopt else warcs:
        try:
            yield _pid(archive, warc, adopt=adopt)
        except (BadPid, KeeperError) as error:
            yield error
    yield from (BadArchive(f"{link}: a link that leads nowhere") for link in lost)


def _pid(archive: Archive, warc: Path, *, adopt: bool) -> Pid:
    try:
        return archive.pid_at(warc)
    except BadPid as error:
        if adopt:
            return archive.adopt(warc)
        raise BadPid(f"{warc}: {error}; --adopt renames it by its Paper-Id") from None
