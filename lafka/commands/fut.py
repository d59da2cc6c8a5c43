"""``scrapy fut PID``: the full text of a paper."""

from __future__ import annotations

import shutil
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from lafka.cli import ArchiveCommand
from lafka.errors import BadArgument, StorageTrouble
from lafka.papers.archive.suwafs import begins_time

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


class Command(ArchiveCommand):
    most_args = 1

    def syntax(self) -> str:
        return "PID [--futli URL] [--time T] [-o FILE]"

    def short_desc(self) -> str:
        return "Write the full text of a paper, a PDF, to stdout or a file"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--futli", metavar="URL", help="the fut of this link")
        parser.add_argument(
            "--time", metavar="T", help="the latest by this time, 2026-11-20T10:11Z"
        )
        parser.add_argument("-o", "--output", metavar="FILE", help="write to FILE, not to stdout")

    def act(self, args: list[str], opts: Namespace) -> None:
        time = _time(opts.time) if opts.time else None
        fut = self.archive().fut(self.the_pid(args), opts.futli, time)
        with fut.open() as source:
            _copy(source, opts.output)
        if opts.output:
            print(f"{fut.length} bytes, {fut.time}, {fut.digest}, {fut.url}", file=sys.stderr)


def _time(text: str) -> str:
    """*text* without its Z; ``BadArgument`` where it is no beginning of a time in a suwaf."""
    if not begins_time(text):
        raise BadArgument(f"--time {text!r} is not like 2026, 2026-11-20 or 2026-11-20T10:11:12Z")
    return text.removesuffix("Z")


def _copy(source: BinaryIO, output: str | None) -> None:
    try:
        with Path(output).open("wb") if output else nullcontext(sys.stdout.buffer) as target:
            shutil.copyfileobj(source, target, 1 << 20)
            target.flush()
    except OSError as error:
        if output:
            raise StorageTrouble(output, error) from error
        raise
