"""``lafka suwaf PID``: the summary of a paper, as it stands in the archive."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lafka.cli._shared.base import ArchiveCommand

if TYPE_CHECKING:
    from argparse import Namespace


class Command(ArchiveCommand):
    most_args = 1

    def syntax(self) -> str:
        return "PID"

    def short_desc(self) -> str:
        return "Print the suwaf of a paper, and on stderr the WARC that it tells of"

    def act(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        archive = self.archive()
        pid = archive.pid(self.the_pid(args))
        archive.suwaf(pid)
        print(archive.warc_path(pid), file=sys.stderr)
        sys.stdout.write(archive.suwaf_path(pid).read_text("utf-8"))
