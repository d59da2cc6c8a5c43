"""``lafka rebuild [PID...]``: suwafs made again from their WARCs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lafka.cli._shared.base import ArchiveCommand
from lafka.cli._shared.filesets import rebuild
from lafka.errors import BadArchive, BadPid, KeeperError, NotHeld
from lafka.runs.terminals import program

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from pathlib import Path

    from lafka.papers.archive.archives import Archive
    from lafka.pids import Pid


class Command(ArchiveCommand):
    writes = True

    def syntax(self) -> str:
        return "[PID...] [--adopt]"

    def short_desc(self) -> str:
        return "Make suwafs again from their WARCs, all or those of some papers"

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
