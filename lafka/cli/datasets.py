"""``lafka fileset``, ``topics``, ``persist``: datasets ingested and read, and their results.

The filesets themselves are checked by ``lafka.cli.checking`` and mended by ``lafka.cli.mending``.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scrapy import signals
from scrapy.commands import ScrapyCommand
from scrapy.crawler import CrawlerProcessBase
from scrapy.settings import BaseSettings

from lafka.cli.base import ArchiveCommand, attempt, check_args, json_line, settle, tell_archive
from lafka.cli.verbs import DescribedCommand
from lafka.errors import BadArgument
from lafka.filesets.archive.filesets import Filesets, make_bag
from lafka.filesets.results import (
    Persister,
    dead_letters,
    persist,
    persist_topics,
    place_of,
    topics,
)
from lafka.filesets.targets import target_of
from lafka.items import ResultItem
from lafka.jobs.database import opened
from lafka.jobs.kafka.topics import Place, create, differences, is_kafka, properties
from lafka.runs.terminals import program
from lafka.spiders.fileset import FilesetSpider
from lafka.storage.outputs import STDOUT, counted, write_output

_GIVEN = {"type": "type", "strategy": "strategy"}
_FLAGS = {"latest": "latest", "force": "force", "dry_run": "dry"}


class FilesetCommand(DescribedCommand, ScrapyCommand):
    requires_project = True

    def syntax(self) -> str:
        return "URL [--dry-run] | --get ID PATH | --list [ID] | --bag ID DIR"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--type", help="ingest type, dataset if not given")
        parser.add_argument("--strategy", help="one of the six strategies")
        parser.add_argument("--version", help="of the fileset, for --get, --list and --bag")
        parser.add_argument("-o", "--output", help="write to this file")
        for option, told in (
            ("--latest", "the newest version"),
            ("--force", "fetch again what is held"),
            ("--dry-run", "tell manifest and strategy, fetch no file"),
            ("--get", "write a file to standard output"),
            ("--list", "JSON lines of what is held"),
            ("--bag", "make a BagIt bag"),
        ):
            parser.add_argument(option, action="store_true", help=told)

    def process_options(self, args: list[str], opts: Namespace) -> None:
        super().process_options(args, opts)
        assert self.settings is not None
        if opts.loglevel is None:  # the result is what matters here, not Scrapy's log
            self.settings.set("LOG_LEVEL", "WARNING", priority="cmdline")

    def run(self, args: list[str], opts: Namespace) -> None:
        self.exitcode = attempt("fileset", lambda: self._act(args, opts)) or self.exitcode

    def _act(self, args: list[str], opts: Namespace) -> None:
        check_args(args, 2)
        settle(self.settings, "fileset")
        held = filesets_of(self.settings)
        if opts.get:
            get(held, args, opts.version, opts.output)
        elif opts.list:
            tell(held, args, opts.version)
        elif opts.bag:
            bag(held, args, opts.version)
        else:
            self.exitcode = ingest(self.crawler_process, args, opts)


def filesets_of(settings: BaseSettings | None) -> Filesets:
    """The filesets of the archive that LAFKA_ARCHIVE names."""
    assert settings is not None
    return Filesets(settings["LAFKA_ARCHIVE"], target_of(settings))


def ingest(process: CrawlerProcessBase | None, args: list[str], opts: Namespace) -> int:
    """Archive the dataset of *args*, print its results; the exit code: 0 for a hit, else 1."""
    if len(args) != 1:
        raise BadArgument("say which dataset: its URL or DOI, one")
    assert process is not None
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
    told: list[dict[str, Any]] = []

    def scraped(item: Any) -> None:
        if isinstance(item, ResultItem):
            told.append(item)

    crawler = process.create_crawler("fileset")
    crawler.signals.connect(scraped, signals.item_scraped, weak=False)
    process.crawl(crawler, **given)
    process.start()
    return told or getattr(crawler.spider, "dry", [])


def get(filesets: Filesets, args: list[str], version: str | None, output: str | None) -> None:
    """Write a file that is held to *output*, else to standard output."""
    fileset_id, path = _two(args, "--get FILESET-ID PATH")
    stored = filesets.file(fileset_id, path, version)
    write_output(output or STDOUT, stored.pieces(), as_is=True)


def tell(filesets: Filesets, args: list[str], version: str | None) -> None:
    """Print what is held: versions of filesets, or the files of one."""
    for told in _files(filesets, args[0], version) if args else _versions(filesets):
        print(json_line(told))


def bag(filesets: Filesets, args: list[str], version: str | None) -> None:
    """Make a BagIt bag."""
    fileset_id, folder = _two(args, "--bag FILESET-ID DIR")
    count = make_bag(filesets, fileset_id, Path(folder), version)
    print(f"{folder}: {counted(count, 'file')}", file=sys.stderr)


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


class TopicsCommand(ArchiveCommand):
    most_args = 1
    usage = "kafka://HOST[,HOST] [--create|--check]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--create", action="store_true", help="make those that are missing")
        parser.add_argument("--check", action="store_true", help="tell what is not as it should be")
        copies = "of each partition, of topics that are made; what brokers do by themselves"
        parser.add_argument("--copies", type=int, default=-1, metavar="N", help=copies)

    def act(self, args: list[str], opts: Namespace) -> None:
        if not args or opts.create == opts.check:
            raise BadArgument("say where and what: kafka://HOST, and --create or --check")
        servers = Place.parse(args[0]).servers
        how = properties(self.settings["LAFKA_KAFKA"])
        wanted = topics(self.settings["LAFKA_KAFKA_PREFIX"], self.settings["LAFKA_KAFKA_ENV"])
        if opts.create:
            for topic in create(servers, wanted, how, replication=opts.copies):
                print(f"{topic.name}: made, {topic.partitions} partitions")
        found = differences(servers, wanted, how)
        for sentence in found:
            print(sentence)
        self.exitcode = 1 if found else 0
        print(f"{len(wanted)} topics, {len(found)} differences", file=sys.stderr)


class PersistCommand(ArchiveCommand):
    most_args = 1
    usage = "RESULTS.jsonl|-|kafka://HOST [--db URL] [--create]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        place = "a path, or postgresql://HOST/NAME, in place of LAFKA_DATABASE"
        parser.add_argument("--db", metavar="URL", help=place)
        made = "make the tables that are missing; without RESULTS that alone"
        parser.add_argument("--create", action="store_true", help=made)
        dead = "where results go that are refused, as lines of JSON"
        parser.add_argument("--dead", metavar="FILE", help=dead)

    def act(self, args: list[str], opts: Namespace) -> None:
        if not args and not opts.create:
            raise BadArgument("say what to persist: a file of results, or -")
        root = self.settings["LAFKA_ARCHIVE"]
        place = opts.db or place_of(root, self.settings["LAFKA_DATABASE"])
        with opened(place) as database, dead_letters(root, opts.dead) as dead:
            if opts.create:
                database.create()
            persister = Persister(database=database, dead=dead, wait=_wait)
            if args and is_kafka(args[0]):
                persist_topics(args[0], persister, self.settings)
            elif args:
                persist(args[0], persister)
        done = persister.account
        print(f"{done.written} results written, {done.refused} refused", file=sys.stderr)
        self.exitcode = 1 if done.refused else 0


def _wait(seconds: float, sentence: str) -> None:
    print(f"{program()} persist: {sentence}; again in {seconds:.0f} s", file=sys.stderr, flush=True)
    time.sleep(seconds)
