"""Many futs at once: what ``lafka fut PID...`` and ``lafka fut --all --into FOLDER`` do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lafka.cli._shared.choosing import named
from lafka.errors import BadArgument, KeeperError, NotHeld, StorageTrouble
from lafka.papers.archive.copy_out import put_into

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator

    from lafka.papers.archive.archives import Archive, StoredFut


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


def hand_out_all(archive: Archive, pids: Iterable[str] | None, folder: str, label: str) -> int:
    """Put the latest futs of *pids*, or of all papers, into *folder*; the exit code.

    A line a fut on stdout: file, pid, futli, parted by tabs. What cannot be had is told on stderr,
    and the next comes. ``BadArgument`` where *folder* is none, ``StorageTrouble``.
    """
    into = Path(folder)
    if into.exists() and not into.is_dir():
        raise BadArgument(f"--into {folder}: not a folder")
    try:
        into.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageTrouble(into, error) from error
    told = _Told()
    found = archive.futs(pids, label=label or "fut", problem=told)
    for fut in found:
        told.put(into, fut)
    print(f"{told.written} written, {told.there} there already, {told.failed} failed",
          file=sys.stderr)  # fmt: skip
    return 1 if told.failed else 0


class _Told:
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
