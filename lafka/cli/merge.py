"""``lafka merge``: archives of several machines made one, paper by paper.

``lafka wacz PID... -o FILE`` packs papers as one WACZ, which any replay program opens.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path

from lafka.cli.base import ArchiveCommand
from lafka.cli.fut import listed
from lafka.errors import BadArchive, BadArgument
from lafka.papers.archive.archives import Archive
from lafka.papers.archive.merging import (
    LEFT,
    MORE,
    NEW,
    SAME,
    MergedPaper,
    forecast_papers,
    merge_papers,
)
from lafka.papers.archive.suwafs import begins_time
from lafka.papers.archive.wacz import package, pieces
from lafka.pids import Pid
from lafka.runs.reports import merge_runs
from lafka.runs.terminals import program
from lafka.storage.outputs import counted, file_at, opened_stream
from lafka.warc.converting.packing import pack, stream
from lafka.witness.processes import WorkerProcesses

AT_ONCE = 64
"""Papers that a process is given at a time."""


class MergeCommand(ArchiveCommand):
    writes = True
    usage = "SOURCE... [--dry-run] [--jobs N]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--dry-run", action="store_true", help="tell, and change nothing")
        parser.add_argument("--jobs", metavar="N", default="", help="processes")

    def act(self, args: list[str], opts: Namespace) -> None:
        jobs = _jobs(opts.jobs)
        root = Path(self.settings["LAFKA_ARCHIVE"])
        sources = _sources(args, root, self.settings["LAFKA_COLLECTION"] or None)
        target = _target(root, sources[0].scheme.name, dry=opts.dry_run)
        for source in sources:
            counts: Counter[str] = Counter()
            for paper in _merged(source, target, jobs, dry=opts.dry_run):
                counts[paper.result] += 1
                if paper.problem:
                    self._warn(f"{paper.pid}: {paper.problem}")
            for problem in merge_runs(source.root, root, dry=opts.dry_run):
                self._warn(problem)
            verb = "would be" if opts.dry_run else "are"
            print(
                f"{source.root}: {counts[NEW]:,} papers {verb} new, {counts[MORE]:,} have more"
                f" captures, {counts[SAME]:,} bring nothing, {counts[LEFT]:,} are left",
                flush=True,
            )

    def _warn(self, sentence: str) -> None:
        print(f"{program()} merge: {sentence}", file=sys.stderr)
        self.exitcode = 1


def _jobs(text: str) -> int:
    if text and (not text.isascii() or not text.isdigit() or not 0 < int(text) < 1000):
        raise BadArgument(f"--jobs {text!r} is no number of processes")
    return int(text) if text else os.cpu_count() or 1


def _sources(args: list[str], target: Path, collection: str | None) -> list[Archive]:
    """The archives to merge; ``BadArgument``, ``BadArchive`` where one of them cannot be."""
    if not args:
        raise BadArgument("say which archives to merge: their folders are missing")
    there = Archive(target, collection) if (target / "lafka.json").exists() else None
    sources = [Archive(arg, collection or (there.scheme.name if there else None)) for arg in args]
    for source in sources:
        one, other = source.root.resolve(), target.resolve()
        if one == other:
            raise BadArgument(f"{source.root} is the archive that is merged into")
        if one in other.parents or other in one.parents:
            raise BadArgument(f"{source.root} and {target} lie one in the other")
        if source.scheme is not sources[0].scheme:
            raise BadArchive(
                f"{source.root} is of {source.scheme.name}, {sources[0].root} of"
                f" {sources[0].scheme.name}: archives of two collections are not merged"
            )
    return sources


def _target(root: Path, collection: str, *, dry: bool) -> Archive | None:
    """The archive at *root*, made where there is none; None where it stays unmade."""
    if dry and not (root / "warc").is_dir():
        return None
    return Archive(root, collection) if dry else Archive.create(root, collection)


def _merged(
    source: Archive, target: Archive | None, jobs: int, *, dry: bool
) -> Iterator[MergedPaper]:
    lost: list[Path] = []
    coming = source.warcs(lost.append)
    some = iter(lambda: [*islice(coming, AT_ONCE)], [])
    work = partial(_merge_some, source, target, dry)
    if jobs == 1:
        yield from chain.from_iterable(map(work, some))
    else:
        with WorkerProcesses(jobs) as pool:
            coming_back = deque(pool.submit(work, part) for part in islice(some, 2 * jobs))
            while coming_back:
                yield from coming_back.popleft().result()
                coming_back.extend(pool.submit(work, part) for part in islice(some, 1))
    for link in lost:
        yield MergedPaper(pid=str(link), result=LEFT, problem="a link that leads nowhere")


def _merge_some(
    source: Archive, target: Archive | None, dry: bool, warcs: list[Path]
) -> list[MergedPaper]:
    if dry or target is None:
        return [*forecast_papers(source, target, warcs)]
    return [*merge_papers(source, target, warcs)]


class WaczCommand(ArchiveCommand):
    usage = "[PID...] [--list FILE] [--archive CODE] [--since T] -o FILE.wacz"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("-o", "--output", metavar="FILE", help="a new file; - for stdout")
        parser.add_argument("--list", metavar="FILE", help="pids, the first column of its lines")
        parser.add_argument("--archive", metavar="CODE", help="papers of this RePEc archive")
        since = "papers with a fut of this time or later, 2026-11-20"
        parser.add_argument("--since", metavar="T", help=since)
        parser.add_argument("--title", default="", metavar="TEXT", help="what the whole is called")

    def act(self, args: list[str], opts: Namespace) -> None:
        if not opts.output:
            raise BadArgument("say where to: -o FILE.wacz is missing")
        archive = self.archive()
        found = pieces(archive, _chosen(archive, args, opts))
        about = package(opts.title or "Papers of Lafka")
        if path := file_at(opts.output, never_gzipped="a WACZ"):
            packed = pack(found, path, about)
        else:
            with opened_stream(opts.output) as out:
                packed = stream(found, out, about)
        told = ("paper", packed.warcs), ("capture", packed.entries), ("page", packed.pages)
        print(", ".join(counted(number, what) for what, number in told), file=sys.stderr)


def _chosen(archive: Archive, args: list[str], opts: Namespace) -> Iterable[Pid]:
    """The papers of pids *args* and the options ``list``, ``archive``, ``since``, each once.

    ``BadArgument`` where nothing is asked for, or there are none; ``BadPid``, ``BadSuwaf``.
    """
    if not (args or opts.list or opts.archive or opts.since):
        raise BadArgument("say which papers: pids, --list, --archive or --since")
    named = [*args, *(listed(opts.list) if opts.list else ())]
    found = map(archive.pid, named) if named else map(archive.pid_at, archive.warcs())
    kept = (pid for pid in found if not opts.archive or _code(pid) == opts.archive)
    if opts.since:
        kept = (pid for pid in kept if _has_since(archive, pid, opts.since))
    pids = dict.fromkeys(kept)
    if not pids:
        raise BadArgument("there are no such papers")
    return pids


def _code(pid: Pid) -> str:
    """The archive in a RePEc handle; empty for other pids."""
    parts = pid.text.split(":")
    return parts[1] if len(parts) > 3 else ""


def _has_since(archive: Archive, pid: Pid, since: str) -> bool:
    if not begins_time(since):
        raise BadArgument(f"--since {since!r} is not like 2026, 2026-11-20 or 2026-11-20T10:11:12Z")
    futlis = archive.suwaf(pid).futlis.values()
    return any(time >= since.removesuffix("Z") for times in futlis for time in times)
