"""``lafka plan``: how long a list takes, with one worker and with several; nobody is asked."""

from __future__ import annotations

import json
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import wrap
from typing import Any

from lafka.cli.base import ArchiveCommand
from lafka.errors import BadArgument, printable
from lafka.papers.crawling.arguments import FutliArguments, scheme_of
from lafka.papers.lists.forecasts import DAY, CrawlSpeed, HostCounts, crawl_plan
from lafka.storage.outputs import in_bytes

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": DAY}
_NUMBER = r"(\d{1,9}(?:\.\d{1,9})?)"
_BYTES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
SHOWN = 5
"""Hosts that are shown to people; ``--json`` has twenty."""
COLUMNS = 100
WORTH = 0.1
"""The share of the time that a second worker has to save before it is advised."""


class PlanCommand(ArchiveCommand):
    most_args = 1
    usage = "LIST [--rate 1/s] [--workers 1,4,16] [--json]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        for name, default, text in (
            ("rate", "1/s", "requests that a host is sent, as 1/s or 30/m"),
            ("requests", "2.1", "requests that a line takes"),
            ("per-worker", "40", "lines a second that one worker can store"),
            ("workers", "1,4,16", "numbers of workers to tell of"),
            ("mean-size", "1.3M", "bytes of a paper in the archive"),
            ("shards", "", "tell of the fullest of so many shards"),
            ("collection", "", "of RePEc if not set"),
        ):
            parser.add_argument(f"--{name}", metavar="X", default=default, help=text)
        parser.add_argument("--json", action="store_true", help="all numbers, as a JSON object")

    def act(self, args: list[str], opts: Namespace) -> None:
        if not args:
            raise BadArgument("say which list: its file is missing")
        if args[0] == "-" or Path(args[0]).is_fifo():
            raise BadArgument(
                "a plan reads its list twice: name a file, not a pipe or standard input"
            )
        speed = _speed(opts)
        workers = _parsed("workers", opts.workers, r"([1-9]\d{0,5})(,[1-9]\d{0,5})*", "1,4,16")[0]
        shards = opts.shards and _parsed("shards", opts.shards, r"(\d{1,6})", "4")[0]
        given = {"input": args[0], "collection": opts.collection}
        arguments = FutliArguments.parse(self.settings, given, looked_at=False)
        scheme = scheme_of(self.settings, arguments.collection)
        counts = HostCounts.count(arguments.lines(scheme), int(shards or 0))
        largest = counts.largest(arguments.lines(scheme, is_quiet=True))
        plan = crawl_plan(counts, largest, speed, [*map(int, workers.split(","))])
        print(json.dumps(plan) if opts.json else "\n".join(_shown(plan, args[0], speed)))


def _speed(opts: Namespace) -> CrawlSpeed:
    rate = _parsed("rate", opts.rate, rf"{_NUMBER}/([smhd])", "1/s, 30/m or 0.5/s")
    size = _parsed("mean-size", opts.mean_size, rf"{_NUMBER}([kMGT]?)", "1.3M or 250k")
    return CrawlSpeed(
        rate=float(rate[1]) / _SECONDS[rate[2]],
        requests=float(_parsed("requests", opts.requests, _NUMBER, "2.1")[1]),
        per_worker=float(_parsed("per-worker", opts.per_worker, _NUMBER, "40")[1]),
        mean_size=round(float(size[1]) * _BYTES[size[2]]),
    )


def _parsed(name: str, text: str, form: str, like: str) -> re.Match[str]:
    """Match *text* of the option *name* whole; its first group is a number above nothing."""
    found = re.fullmatch(form, text, re.ASCII)
    if not found or not float(found[1]):
        raise BadArgument(f"--{name} {text!r} is not like {like}, above nothing")
    return found


def _shown(plan: Mapping[str, Any], name: str, speed: CrawlSpeed) -> Iterator[str]:
    yield f"{plan['lines']:,} lines, {plan['asked']:,} to be asked for at {plan['hosts']:,} hosts"
    for title, hosts in (("largest", plan["largest"][:SHOWN]), ("resolvers", plan["resolvers"])):
        if hosts:
            named = (f"{printable(host['host'])} {host['lines']:,}" for host in hosts)
            yield f"{title}: {', '.join(named)}"
    yield f"on disk: {in_bytes(plan['bytes'])} in {plan['files']:,} files"
    if fullest := plan.get("fullest"):
        size = in_bytes(fullest["bytes"])
        yield f"fullest shard: {fullest['shard']}, {fullest['lines']:,} lines, {size}"
    if not plan["asked"]:
        yield "There is nothing to ask for in this list."
        return
    yield f"{'':12}{'50 %':>13}{'90 %':>13}{'99 %':>13}{'100 %':>13}"
    for row in plan["days"]:
        spans = "".join(f"{_span(row[name]):>13}" for name in ("50", "90", "99", "100"))
        workers = f"{row['workers']} worker{'s' if row['workers'] > 1 else ''}"
        yield f"{workers:12}{spans}"
    for sentence in _advice(plan, name, speed):
        yield from wrap(sentence, COLUMNS, break_long_words=False, break_on_hyphens=False)


def _advice(plan: Mapping[str, Any], name: str, speed: CrawlSpeed) -> Iterator[str]:
    """Yield the two sentences on what would save time and why, and what to do."""
    second, agreed = plan["saves"]["second_worker"], plan["saves"]["twelve_hosts_at_four"]
    whole, largest = plan["one_worker"], plan["largest"][0]
    alone = round(largest["lines"] / speed.lines_of_host / DAY, 6)
    yield (
        f"A second worker would save {_saved(second)} of {_span(whole)}: one stores"
        f" {speed.per_worker:g} lines a second, and {printable(largest['host'])} alone takes"
        f" {_span(alone)}, whoever asks."
    )
    if second >= WORTH * whole and second >= agreed:
        advice = f"share the list, -a input={name} -a shard=0/2 on one machine, 1/2 on the other."
    elif agreed >= WORTH * whole and whole > 1:
        advice = "stay with one machine, and write to the largest hosts."
    else:
        advice = f"stay with one machine, lafka crawl futli -a input={name}"
    allowed = "Four requests a second, if the twelve largest hosts allow them, would save"
    yield f"{allowed} {_saved(agreed)}: {advice}"


def _saved(days: float) -> str:
    return _span(days) if days * DAY >= 1 else "nothing"


def _span(days: float) -> str:
    seconds = days * DAY
    for size, unit in ((DAY, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} seconds"
