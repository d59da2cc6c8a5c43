"""The papers that a command means: pids, a list of them, an archive of RePEc, a time."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from lafka.cli.base import the_file
from lafka.errors import BadArgument
from lafka.papers.archive.suwafs import begins_time

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator

    from lafka.papers.archive.archives import Archive
    from lafka.pids import Pid


def chosen(archive: Archive, args: list[str], opts: Namespace) -> Iterable[Pid]:
    """The papers of pids *args* and the options ``list``, ``archive``, ``since``, each once.

    ``BadArgument`` where nothing is asked for, or there are none; ``BadPid``, ``BadSuwaf``.
    """
    if not (args or opts.list or opts.archive or opts.since):
        raise BadArgument("say which papers: pids, --list, --archive or --since")
    named = [*args, *(_listed(opts.list) if opts.list else ())]
    found = map(archive.pid, named) if named else map(archive.pid_at, archive.warcs())
    kept = (pid for pid in found if not opts.archive or _code(pid) == opts.archive)
    if opts.since:
        kept = (pid for pid in kept if _has_since(archive, pid, opts.since))
    pids = dict.fromkeys(kept)
    if not pids:
        raise BadArgument("there are no such papers")
    return pids


def named(args: list[str], path: str | None) -> Iterator[str] | None:
    """The pids *args* and of the list at *path*, as they come; None where neither is given."""
    if not args and path is None:
        return None
    return chain(args, _listed(path) if path is not None else ())


def _listed(path: str) -> Iterator[str]:
    with the_file(path).open(encoding="utf-8-sig", errors="surrogateescape") as lines:
        for line in lines:
            pid = line.partition("\t")[0].strip()
            if pid and not pid.startswith("#"):
                yield pid


def _code(pid: Pid) -> str:
    """The archive in a RePEc handle; empty for other pids."""
    parts = pid.text.split(":")
    return parts[1] if len(parts) > 3 else ""


def _has_since(archive: Archive, pid: Pid, since: str) -> bool:
    if not begins_time(since):
        raise BadArgument(f"--since {since!r} is not like 2026, 2026-11-20 or 2026-11-20T10:11:12Z")
    futlis = archive.suwaf(pid).futlis.values()
    return any(time >= since.removesuffix("Z") for times in futlis for time in times)
