"""``lafka fleet``: a list on Kafka that a fleet of crawls shares."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar

from lafka.cli.base import GroupCommand, GroupVerb, json_line
from lafka.errors import BadArgument, printable
from lafka.papers import Archive
from lafka.papers.crawling import fleets
from lafka.papers.crawling.arguments import FutliArguments, scheme_of
from lafka.papers.crawling.fleets import Fleet
from lafka.warc.format import dates


def _put(opts: Namespace) -> int:
    partitions = 1 if opts.partitions is None else opts.partitions
    if not (0 < partitions <= 100_000 and 0 < opts.copies < 100):
        raise BadArgument("--partitions and --copies are numbers above nothing")
    given = {"input": opts.list, "collection": opts.collection}
    arguments = FutliArguments.parse(opts.settings, given)
    scheme = scheme_of(opts.settings, arguments.collection)
    lines = arguments.lines(scheme)
    fleet = Fleet.create(opts.url, opts.settings, opts.partitions, opts.copies)
    since = dates.to_seconds(datetime.now(UTC)) if opts.refresh else ""
    count = fleets.put(fleet, lines, scheme, since)
    print(f"{count} lines put into {fleet.partitions} partitions", file=sys.stderr)
    return 0


def _status(opts: Namespace) -> int:
    fleet = Fleet.load(opts.url, opts.settings)
    told = fleets.status(fleet, scheme_of(opts.settings, opts.collection or None))
    print(json_line(told) if opts.json else "\n".join(_shown(told)))
    return 0


def _list(opts: Namespace) -> int:
    for _, _, outcome in fleets.outcomes(Fleet.load(opts.url, opts.settings)):
        print(json_line(outcome))
    return 0


def _again(opts: Namespace) -> int:
    fleet = Fleet.load(opts.url, opts.settings)
    kept = Archive(opts.held_in) if opts.held_in else None
    scheme = scheme_of(opts.settings, opts.collection or None)
    count = fleets.again(fleet, opts.worker, scheme, kept)
    print(f"{count} lines of {opts.worker} are asked again", file=sys.stderr)
    return 0


def _shown(told: Mapping[str, Any]) -> Iterator[str]:
    yield f"{told['done']:,} of {told['lines']:,} lines have their outcome"
    for name in ("groups", "outcomes"):
        if told[name]:
            yield f"{name}: " + ", ".join(f"{word} {n:,}" for word, n in told[name].items())
    free = sum(one["owner"] is None for one in told["partitions"])
    yield f"{len(told['partitions'])} partitions, {free} without a worker"
    for one in told["workers"]:
        yield f"  {one['worker']}: {one['partitions']} partitions, {one['outcomes']:,} outcomes"
    if told["hosts"]:
        hosts = ", ".join(f"{printable(h['host'])} {h['lines']:,}" for h in told["hosts"])
        yield f"most lines left: {hosts}"


def _add_put(parser: ArgumentParser) -> None:
    parser.add_argument("list", metavar="LIST", help="the list, or - for standard input")
    _add_url(parser)
    parser.add_argument("--partitions", type=int, metavar="N", help="of new topics, 64 if not set")
    parser.add_argument("--copies", type=int, default=3, metavar="N", help="of each partition")
    parser.add_argument("--refresh", action="store_true", help="ask again for what has ended")


def _add_again(parser: ArgumentParser) -> None:
    parser.add_argument("worker", metavar="WORKER", help="its name, as status has it")
    _add_url(parser)
    parser.add_argument("--held-in", metavar="ARCHIVE", help="but for futs that it holds")


def _add_status(parser: ArgumentParser) -> None:
    _add_url(parser)
    parser.add_argument("--json", action="store_true", help="all numbers, as a JSON object")


def _add_url(parser: ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="the fleet, kafka://HOST/crawl")
    parser.add_argument("--collection", metavar="NAME", default="", help="of RePEc if not set")


_FLEET = "kafka://localhost/crawl"


class FleetCommand(GroupCommand):
    verbs: ClassVar[Mapping[str, GroupVerb]] = {
        "put": GroupVerb(
            "put the lines of a list on Kafka; topics that are missing are made",
            (f"lafka fleet put list.tsv {_FLEET}", f"lafka fleet put list.tsv {_FLEET} --refresh"),
            _add_put,
            _put,
        ),
        "status": GroupVerb(
            "tell how many lines have their outcome, and who has which partition",
            (f"lafka fleet status {_FLEET}", f"lafka fleet status {_FLEET} --json"),
            _add_status,
            _status,
        ),
        "list": GroupVerb(
            "print the last outcome of each line, as JSON lines",
            (f"lafka fleet list {_FLEET}", f"lafka fleet list {_FLEET} > outcomes.jsonl"),
            _add_url,
            _list,
        ),
        "again": GroupVerb(
            "ask again for what a worker told of, whose disk is lost",
            (
                f"lafka fleet again WORKER {_FLEET}",
                f"lafka fleet again WORKER {_FLEET} --held-in merged",
            ),
            _add_again,
            _again,
        ),
    }

    def act(self, opts: Namespace) -> int:
        opts.settings = self.settings
        return super().act(opts)
