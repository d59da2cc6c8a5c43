"""Acts of commands on filesets: one ingest, reading what is held, checking and mending it."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lafka.cli.base import json_line, tell_archive
from lafka.errors import ArchiveBusy, BadArgument, BadPid, KeeperError
from lafka.runs.terminals import program
from lafka.storage.outputs import STDOUT, write_output

if TYPE_CHECKING:
    from argparse import Namespace

    from scrapy.crawler import CrawlerProcessBase
    from scrapy.settings import BaseSettings

    from lafka.filesets.archive.filesets import Filesets
    from lafka.storage.deeds import Deed
    from lafka.witness.problems import FileProblem

_GIVEN = {"type": "type", "strategy": "strategy"}
_FLAGS = {"latest": "latest", "force": "force", "dry_run": "dry"}


def filesets_of(settings: BaseSettings | None) -> Filesets:
    """The filesets of the archive that LAFKA_ARCHIVE names."""
    from lafka.filesets.archive.filesets import Filesets  # noqa: PLC0415
    from lafka.filesets.targets import target_of  # noqa: PLC0415

    assert settings is not None
    return Filesets(settings["LAFKA_ARCHIVE"], target_of(settings))


# ---- One ingest


def ingest(process: CrawlerProcessBase | None, args: list[str], opts: Namespace) -> int:
    """Archive the dataset of *args*, print its results; the exit code: 0 for a hit, else 1."""
    if len(args) != 1:
        raise BadArgument("say which dataset: its URL or DOI, one")
    assert process is not None
    from lafka.spiders.fileset import FilesetSpider  # noqa: PLC0415

    given = {"url": args[0]}
    given |= {name: getattr(opts, key) for key, name in _GIVEN.items() if getattr(opts, key)}
    given |= {name: "1" for key, name in _FLAGS.items() if getattr(opts, key)}
    FilesetSpider.check(process.settings, given)
    tell_archive(process.settings)
    found = _ingested(process, given)
    for result in found:
        print(json_line(result))
    return 0 if found and found[0].get("hit", opts.dry_run) else 1


def _ingested(process: CrawlerProcessBase, given: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return what a crawl with these arguments yields: results, or what a dry run found."""
    from scrapy import signals  # noqa: PLC0415

    from lafka.items import ResultItem  # noqa: PLC0415

    told: list[dict[str, Any]] = []

    def scraped(item: Any) -> None:
        if isinstance(item, ResultItem):
            told.append(item)

    crawler = process.create_crawler("fileset")
    crawler.signals.connect(scraped, signals.item_scraped, weak=False)
    process.crawl(crawler, **given)
    process.start()
    return told or getattr(crawler.spider, "dry", [])


# ---- Reading


def get(filesets: Filesets, args: list[str], version: str | None, output: str | None) -> None:
    """Write a file that is held to *output*, else to standard output."""
    fileset_id, path = _two(args, "--get FILESET-ID PATH")
    stored = filesets.file(fileset_id, path, version)
    write_output(output or STDOUT, stored.pieces())


def tell(filesets: Filesets, args: list[str], version: str | None) -> None:
    """Print what is held: versions of filesets, or the files of one."""
    for told in _files(filesets, args[0], version) if args else _versions(filesets):
        print(json_line(told))


def bag(filesets: Filesets, args: list[str], version: str | None) -> None:
    """Make a BagIt bag."""
    from lafka.filesets.archive.filesets import make_bag  # noqa: PLC0415

    fileset_id, folder = _two(args, "--bag FILESET-ID DIR")
    count = make_bag(filesets, fileset_id, Path(folder), version)
    print(f"{folder}: {count} files", file=sys.stderr)


def _two(args: list[str], what: str) -> tuple[str, str]:
    if len(args) != 2:
        raise BadArgument(f"say {what}")
    return args[0], args[1]


def _versions(filesets: Filesets) -> Iterator[dict[str, Any]]:
    for fileset_id in filesets.ids():
        for name, version in filesets.summary(fileset_id).versions.items():
            yield {
                "fileset": fileset_id,
                "version": name,
                "complete": version.complete,
                "time": version.time,
                "strategy": str(version.strategy),
                "files": len(version.files),
                "bytes": sum(entry.l for entry in version.files.values()),
            }


def _files(filesets: Filesets, fileset_id: str, name: str | None) -> Iterator[dict[str, Any]]:
    _, version = filesets.version(fileset_id, name)
    for path, entry in version.files.items():
        place = filesets.stored(fileset_id, path, entry).place
        yield {"path": path, "in": str(place), **entry.as_json()}


# ---- Checking and mending


def check(settings: BaseSettings | None, *, quick: bool) -> Iterator[FileProblem]:
    """Return what is wrong with the filesets and items of the archive."""
    from lafka.filesets.checking.filesets import check_filesets  # noqa: PLC0415
    from lafka.filesets.targets import target_of  # noqa: PLC0415
    from lafka.filesets.targets.folder import FolderTarget  # noqa: PLC0415

    assert settings is not None
    target = target_of(settings)
    bucket = None if isinstance(target, FolderTarget) else target
    return check_filesets(Path(settings["LAFKA_ARCHIVE"]), target.work, bucket, quick=quick)


def repair(settings: BaseSettings | None, *, dry: bool) -> Iterator[Deed]:
    """Bring back of filesets and items what can be, or tell it where *dry*."""
    from lafka.filesets.archive.repairs import FilesetRepair  # noqa: PLC0415
    from lafka.filesets.targets.folder import FolderTarget  # noqa: PLC0415

    filesets = filesets_of(settings)
    assert settings is not None
    return FilesetRepair(
        filesets,
        None if isinstance(filesets.items, FolderTarget) else filesets.items,
        collection=settings["LAFKA_ITEM_COLLECTION"],
        dry=dry,
        keep=settings.getbool("LAFKA_KEEP_RAW"),
    ).all()


def rebuild(settings: BaseSettings | None, failed: Callable[[Exception, int], object]) -> None:
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


class RecoveredRuns(NamedTuple):
    """The numbers of runs that were recovered whole, of those that were not, of problems."""

    runs: int
    kept: int
    problems: int


def recover(settings: BaseSettings | None, *, keep: bool) -> RecoveredRuns:
    """Store what killed runs of filesets left, and tell it."""
    from lafka.filesets.archive.filesets import recover as recovered  # noqa: PLC0415

    runs = kept = problems = 0
    for found in recovered(filesets_of(settings), keep=keep):
        if found.run:
            runs, kept = runs + (not found.problems), kept + bool(found.problems)
            print(f"{found.run}: {found.captures} captures of filesets stored")
        for problem in found.problems:
            print(f"{program()} recover: {problem}", file=sys.stderr)
            problems += 1
    return RecoveredRuns(runs, kept, problems)


# ---- The example


def demo(process: CrawlerProcessBase | None, given: Mapping[str, Any]) -> None:
    """Archive datasets of each platform from loopback, and show what came of it."""
    from lafka.demo.account import account_of_filesets  # noqa: PLC0415
    from lafka.demo.platforms import serving_platforms  # noqa: PLC0415
    from lafka.filesets.archive.filesets import Filesets  # noqa: PLC0415

    assert process is not None
    folder = Path(tempfile.mkdtemp(prefix="lafka-demo-"))
    listed, root = folder / "requests.jsonl", folder / "archive"
    with serving_platforms() as (urls, bases):
        listed.write_text("".join(f"{url}\n" for url in urls), "utf-8")
        more = {"LAFKA_ARCHIVE": str(root), "LAFKA_PLATFORM_BASES": bases}
        process.settings.setdict({**given, **more}, priority="cmdline")
        process.crawl("fileset", input=str(listed))
        process.start()
    for line in account_of_filesets(Filesets(root), listed):
        print(line)
