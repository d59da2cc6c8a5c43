"""``lafka fut PID``: the full text of a paper."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lafka.cli._shared.base import ArchiveCommand
from lafka.errors import BadArgument
from lafka.papers.archive.copy_out import hand_out
from lafka.papers.archive.suwafs import begins_time
from lafka.storage.outputs import STDOUT

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


class Command(ArchiveCommand):
    def syntax(self) -> str:
        return "PID [--futli URL] [--time T] [--label LABEL] [-o FILE] | PID... --into FOLDER"

    def short_desc(self) -> str:
        return "Write the full text of a paper to stdout or a file; of many into a folder"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--futli", metavar="URL", help="the fut of this link")
        parser.add_argument(
            "--time", metavar="T", help="the latest by this time, 2026-11-20T10:11Z"
        )
        parser.add_argument(
            "--label",
            default="",
            metavar="LABEL",
            help="a PDF that is labelled so: supplement, other; any for any",
        )
        parser.add_argument("-o", "--output", metavar="FILE", help="write to FILE, not to stdout")
        parser.add_argument("--into", metavar="FOLDER", help="a file a fut, named by its pid")
        parser.add_argument("--all", action="store_true", help="with --into: of all papers")
        listed = "with --into: pids, the first column of its lines"
        parser.add_argument("--list", metavar="FILE", help=listed)

    def act(self, args: list[str], opts: Namespace) -> None:
        if opts.into or opts.all or opts.list or len(args) > 1:
            self.exitcode = self._into(args, opts)
        else:
            self._one(args, opts)

    def _into(self, args: list[str], opts: Namespace) -> int:
        from lafka.cli._shared.handouts import check, hand_out_all  # noqa: PLC0415

        pids = check(args, opts)
        return hand_out_all(self.archive(), pids, opts.into, opts.label)

    def _one(self, args: list[str], opts: Namespace) -> None:
        time = _time(opts.time) if opts.time else None
        label = None if opts.label == "any" else opts.label
        fut = self.archive().fut(self.the_pid(args), opts.futli, time, label=label)
        hand_out(fut, opts.output or STDOUT)
        if not opts.output or opts.output == STDOUT:
            return
        told = filter(None, (fut.time, fut.digest, fut.url, fut.label))
        print(f"{fut.length} bytes, {', '.join(told)}", file=sys.stderr)


def _time(text: str) -> str:
    """*text* without its Z; ``BadArgument`` where it is no beginning of a time in a suwaf."""
    if not begins_time(text):
        raise BadArgument(f"--time {text!r} is not like 2026, 2026-11-20 or 2026-11-20T10:11:12Z")
    return text.removesuffix("Z")
