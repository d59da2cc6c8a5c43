"""``lafka rebuild``, ``repair`` and ``recover``: summaries made again, what can be brought back,
what killed runs left.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from scrapy.settings import BaseSettings

from lafka.cli.base import ArchiveCommand, json_line
from lafka.cli.datasets import filesets_of
from lafka.errors import ArchiveBusy, BadArchive, BadPid, KeeperError, NotHeld
from lafka.filesets.archive.filesets import recover as recovered_filesets
from lafka.filesets.archive.repairs import FilesetRepair
from lafka.filesets.targets.folder import FolderTarget
from lafka.papers.archive.archives import Archive
from lafka.papers.archive.recovery import recover
from lafka.papers.archive.repairs import Repair
from lafka.pids import Pid
from lafka.runs.terminals import program
from lafka.storage.deeds import FileAction
from lafka.storage.outputs import counted


class RebuildCommand(ArchiveCommand):
    writes = True
    usage = "[PID...] [--adopt]"

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
                self._print_error(found, 1)
                continue
            try:
                archive.rebuild(found)
                done += 1
            except (KeeperError, NotHeld) as error:
                self._print_error(error, 1 if isinstance(error, KeeperError) else 2)
        print(f"{counted(done, 'suwaf')} made", file=sys.stderr)
        if not args:
            _rebuild_filesets(self.settings, self._print_error)

    def _print_error(self, error: Exception, code: int) -> None:
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


class RepairCommand(ArchiveCommand):
    writes = True
    usage = "[PID...] [--dry-run]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--dry-run", action="store_true", help="tell, and change nothing")

    def act(self, args: list[str], opts: Namespace) -> None:
        archive = self.archive()
        pids = [archive.pid(arg) for arg in args]
        keep = self.settings.getbool("LAFKA_KEEP_RAW")
        most = self.settings.getint("LAFKA_MAX_PAYLOAD")
        repair = Repair(archive, dry=opts.dry_run, keep=keep, max_entity=most)
        mended = left = 0
        papers = chain.from_iterable(map(repair.paper, pids)) if pids else repair.all()
        filesets = () if pids else _repair_filesets(self.settings, dry=opts.dry_run)
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

    def act(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        runs = kept = 0
        for run, done, problems in chain(self._papers(), self._filesets()):
            if run:
                runs, kept = runs + (not problems), kept + bool(problems)
                print(f"{run}: {done}")
            for problem in problems:
                print(f"{program()} recover: {problem}", file=sys.stderr)
                self.exitcode = 1
        rest = f", {kept} in part: what is left stays in raw/" if kept else ""
        print(f"{counted(runs, 'run')} recovered{rest}", file=sys.stderr)

    def _papers(self) -> Iterator[tuple[str, str, Sequence[object]]]:
        """Copy what killed runs left of papers; yield run, what was done, and problems."""
        keep = self.settings.getbool("LAFKA_KEEP_RAW")
        most = self.settings.getint("LAFKA_MAX_PAYLOAD")
        for one in recover(self.archive(), keep=keep, max_entity=most):
            done = f"{counted(one.trails, 'trail')} copied, {one.opened} to be asked again"
            yield one.run, done, one.problems

    def _filesets(self) -> Iterator[tuple[str, str, Sequence[object]]]:
        """Store what killed runs left of filesets; yield the same."""
        keep = self.settings.getbool("LAFKA_KEEP_RAW")
        for one in recovered_filesets(filesets_of(self.settings), keep=keep):
            yield one.run, f"{counted(one.captures, 'capture')} of filesets stored", one.problems


def _rebuild_filesets(settings: BaseSettings, failed: Callable[[Exception, int], object]) -> None:
    """Make the summaries of all filesets again, where there are any."""
    filesets = filesets_of(settings)
    done = 0
    for warc in filesets.warcs():
        try:
            filesets.rebuild(filesets.id_at(warc))
            done += 1
        except (KeeperError, BadPid, ArchiveBusy) as error:
            failed(error, 1)
    if done:
        print(f"{done} summaries made", file=sys.stderr)


def _repair_filesets(settings: BaseSettings, *, dry: bool) -> Iterator[FileAction]:
    """Bring back of filesets and items what can be, or tell it where *dry*."""
    filesets = filesets_of(settings)
    return FilesetRepair(
        filesets,
        None if isinstance(filesets.items, FolderTarget) else filesets.items,
        collection=settings["LAFKA_ITEM_COLLECTION"],
        dry=dry,
        keep=settings.getbool("LAFKA_KEEP_RAW"),
    ).all()
