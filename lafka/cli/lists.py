"""``lafka check-list``: a list looked at without asking anybody, as a crawl does at its start."""

from __future__ import annotations

import sys
from itertools import chain
from typing import TYPE_CHECKING

from scrapy.spiderloader import get_spider_loader

from lafka.cli.base import ArchiveCommand, settle, tell_archive
from lafka.errors import BadArgument
from lafka.papers.crawling.arguments import FutliArguments, scheme_of
from lafka.papers.lists.faults import ListAccount

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Mapping

    from scrapy.settings import BaseSettings


class CheckListCommand(ArchiveCommand):
    most_args = 1

    def syntax(self) -> str:
        return "FILE [--collection NAME]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--collection", metavar="NAME", default="", help="of RePEc if not set")

    def act(self, args: list[str], opts: Namespace) -> None:
        if not args:
            raise BadArgument("say which list: its file is missing, - is standard input")
        assert self.settings is not None
        given = {"input": args[0], "collection": opts.collection}
        self.exitcode = check_list(self.settings, given)


MOST_HOSTS = 5


def check_crawl(settings: BaseSettings | None, args: list[str], given: dict[str, str]) -> None:
    """A LafkaError where a crawl cannot begin; with ``check=1`` ``SystemExit`` with its code."""
    settle(settings, "crawl")
    if not args or settings is None:
        return  # Scrapy shows its usage
    loader = get_spider_loader(settings)
    try:
        spider = loader.load(args[0])
    except KeyError:
        there = f"there is {', '.join(loader.list())}"
        raise BadArgument(f"no spider is called {args[0]!r}; {there}") from None
    if _asked(given.pop("check", "0")):
        if not hasattr(spider, "check_lines"):
            raise SystemExit(check_list(settings, given))
        print(*spider.check_lines(settings, given), sep="\n", flush=True)
        raise SystemExit(0)
    if hasattr(spider, "check"):
        spider.check(settings, given)
        tell_archive(settings, getattr(spider, "store_setting", "LAFKA_ARCHIVE"))


def _asked(text: str) -> bool:
    known = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    if text.lower() not in known:
        raise BadArgument(f"check={text!r} is neither 1 nor 0")
    return known[text.lower()]


def check_list(settings: BaseSettings, given: Mapping[str, str]) -> int:
    """Print what the list of the spider's arguments *given* holds; 0 sound, 1 it has faults.

    ``BadArgument``, ``BadList`` where it cannot be read at all.
    """
    arguments = FutliArguments.parse(settings, given, looked_at=False)
    account = ListAccount.of(arguments.lines(scheme_of(settings, arguments.collection)))
    for line in _told(account):
        print(line)
    sys.stdout.flush()
    return 1 if account.kinds or account.all_bad else 0


def _told(account: ListAccount) -> Iterator[str]:
    sound = account.lines - account.bad
    yield f"{account.lines} lines, {sound} can be asked for, {account.bad} cannot"
    yield f"{account.restricted} restricted, {account.duplicates} said before"
    most = ", ".join(f"{host} {count}" for host, count in account.hosts.most_common(MOST_HOSTS))
    hosts = "1 host" if len(account.hosts) == 1 else f"{len(account.hosts)} hosts"
    yield f"{hosts}{f': {most}' if most else ''}"
    kinds = sorted(account.kinds.values(), key=lambda kind: -kind.count)
    yield from chain.from_iterable(
        (told, f"    {kind.text}") for told, kind in zip(account.sentences(), kinds, strict=True)
    )
