"""``lafka fut`` and ``lafka suwaf``: the full text of a paper, of many, and what is known of it."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from lafka.cli.base import ArchiveCommand, the_file
from lafka.errors import BadArgument, KeeperError, NotHeld, StorageTrouble
from lafka.papers.archive.archives import Archive, StoredFut
from lafka.papers.archive.copy_out import hand_out, put_into
from lafka.papers.archive.suwafs import begins_time
from lafka.storage.outputs import STDOUT


class FutCommand(ArchiveCommand):
    usage = "PID [--futli URL] [--time T] [--label LABEL] [-o FILE] | PID... --into FOLDER"

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
        pids = check(args, opts)
        return hand_out_all(self.archive(), pids, opts.into, opts.label)

    def _one(self, args: list[str], opts: Namespace) -> None:
        time = _time_prefix(opts.time) if opts.time else None
        label = None if opts.label == "any" else opts.label
        fut = self.archive().fut(self.the_pid(args), opts.futli, time, label=label)
        hand_out(fut, opts.output or STDOUT)
        if not opts.output or opts.output == STDOUT:
            return
        told = filter(None, (fut.time, fut.digest, fut.url, fut.label))
        print(f"{fut.length} bytes, {', '.join(told)}", file=sys.stderr)


def _time_prefix(text: str) -> str:
    """*text* without its Z; ``BadArgument`` where it is no beginning of a time in a suwaf."""
    if not begins_time(text):
        raise BadArgument(f"--time {text!r} is not like 2026, 2026-11-20 or 2026-11-20T10:11:12Z")
    return text.removesuffix("Z")


class SuwafCommand(ArchiveCommand):
    most_args = 1
    usage = "PID"

    def act(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        archive = self.archive()
        pid = archive.pid(self.the_pid(args))
        archive.suwaf(pid)
        print(archive.warc_path(pid), file=sys.stderr)
        sys.stdout.write(archive.suwaf_path(pid).read_text("utf-8"))


def check(args: list[str], opts: Namespace) -> Iterator[str] | None:
    """The pids that *args* and *opts* of ``fut`` mean, None for all; ``BadArgument``."""
    pids = named(args, opts.list)
    if not opts.into:
        raise BadArgument("say where to: --into FOLDER is missing")
    if opts.futli or opts.time or opts.output:
        raise BadArgument("--futli, --time and -o are for one paper, without --into")
    if opts.all == (pids is not None):
        raise BadArgument("say which papers: pids, --list, or --all alone")
    return pids


def named(args: list[str], path: str | None) -> Iterator[str] | None:
    """The pids *args* and of the list at *path*, as they come; None where neither is given."""
    if not args and path is None:
        return None
    return chain(args, listed(path) if path is not None else ())


def listed(path: str) -> Iterator[str]:
    """Yield the pids in the first column of the list at *path*; ``BadArgument``."""
    with the_file(path).open(encoding="utf-8-sig", errors="surrogateescape") as lines:
        for line in lines:
            pid = line.partition("\t")[0].strip()
            if pid and not pid.startswith("#"):
                yield pid


def hand_out_all(archive: Archive, pids: Iterable[str] | None, folder: str, label: str) -> int:
    """Put the latest futs of *pids*, or of all papers, into *folder*; the exit code.

    A line a fut on stdout: file, pid, futli, parted by tabs. What cannot be had is told on stderr,
    and the next comes. ``BadArgument`` where *folder* is none, ``StorageTrouble``.
    """
    into = folder_at(folder)
    told = _CopyTally()
    found = archive.futs(pids, label=label or "fut", problem=told)
    for fut in found:
        told.put(into, fut)
    print(f"{told.written} written, {told.there} there already, {told.failed} failed",
          file=sys.stderr)  # fmt: skip
    return 1 if told.failed else 0


def folder_at(name: str) -> Path:
    """Return the folder *name*, made where it is missing; ``BadArgument``, ``StorageTrouble``."""
    into = Path(name)
    if into.exists() and not into.is_dir():
        raise BadArgument(f"--into {name}: not a folder")
    with StorageTrouble.at(into):
        into.mkdir(parents=True, exist_ok=True)
    return into


class _CopyTally:
    def __init__(self) -> None:
        self.written = self.there = self.failed = 0

    def __call__(self, error: Exception) -> None:
        self.failed += 1
        print(error, file=sys.stderr)

    def put(self, folder: Path, fut: StoredFut) -> None:
        try:
            path, written = put_into(folder, fut)
        except (KeeperError, NotHeld) as error:
            self(error)
            return
        self.written += written
        self.there += not written
        print(path, fut.pid, fut.futli, sep="\t")
