"""The spider's arguments and the settings behind them, parsed once, at the door."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast
from urllib.parse import urlsplit

from lafka.capture.addresses import literal, networks
from lafka.errors import BadArchive, BadArgument
from lafka.papers.archive.archives import DEFAULT_COLLECTION, Archive
from lafka.papers.lists import listfiles
from lafka.papers.lists.faults import refuse_all_bad
from lafka.papers.lists.futlis import Line, Shard
from lafka.papers.lists.listfiles import Excludes
from lafka.papers.lists.shapes import ListOptions
from lafka.papers.walk import Links, Policy
from lafka.pids import SCHEMES, Scheme
from lafka.runs.sources import meant, refuse_unknown_arguments

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from scrapy.settings import BaseSettings

HELPS = {
    "input": "LIST, - for standard input, or kafka://HOST/FLEET",
    "collection": "RePEc|Socionet|any",
    "links": "ranked|first|all",
    "refresh": "all or an age such as 30d",
    "until": "done: a fleet's crawl ends where each line has its outcome",
    "shard": "k/n: the part k, from 0, of a list that n crawls share",
    "exclude": "FILE of pids that are not asked for",
    "legacy": "URL of a gateway that is asked in place of the web",
    "check": "1 looks at the list and asks nothing",
    "delimiter": "tab, comma, semicolon, bar, blank or a character, where it is not found",
    "encoding": "of the list, such as cp1251, where it is not found",
    "pid": "NAME or number of the list's column of pids",
    "url": "NAME or number of its column of links",
}
"""The spider's arguments, and what ``crawl -h`` says of each."""
ARGUMENTS = tuple(HELPS)
_AGE = re.compile(r"(\d{1,6})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FutliArguments:
    """The arguments of a crawl.

    ``since``: a fut that was had before it is asked for again; None asks for no fut again. Times
    are aware, UTC. ``legacy``: the gateway that is asked in place of the web. ``shard``: the
    part of the list that this crawl takes; None: the whole. ``until_done``: a fleet's crawl ends
    when each line of the fleet has its outcome.
    """

    input: str
    root: Path
    collection: str | None
    policy: Policy
    since: datetime | None = None
    excludes: Excludes | None = None
    legacy: str | None = None
    shard: Shard | None = None
    until_done: bool = False
    options: ListOptions = field(default_factory=ListOptions)

    @classmethod
    def parse(
        cls, settings: BaseSettings, given: Mapping[str, str], *, looked_at: bool = True
    ) -> FutliArguments:
        """``BadArgument``, ``BadList`` or ``BadArchive``, one sentence, for what cannot be.

        *looked_at*: a list whose first lines are all bad cannot be either.
        """
        refuse_unknown_arguments(given, ARGUMENTS)
        if given.get("check", "0") != "0":  # the commands take it away
            raise BadArgument("check=1 is for the commands crawl and check-list alone")
        if not given.get("input"):
            raise BadArgument("no list is given: say -a input=list.tsv")
        collection = given.get("collection") or settings.get("LAFKA_COLLECTION") or None
        if collection is not None:
            _known(collection)
        exclude = given.get("exclude") or settings.get("LAFKA_EXCLUDE")
        arguments = cls(
            input=given["input"],
            root=Path(settings["LAFKA_ARCHIVE"]),
            collection=collection,
            policy=Policy(
                links=_links(given.get("links") or settings["LAFKA_LINKS"]),
                links_max=settings.getint("LAFKA_LINKS_MAX"),
            ),
            since=_since(given["refresh"], datetime.now(UTC)) if given.get("refresh") else None,
            excludes=Excludes.load(exclude, scheme_of(settings, collection)) if exclude else None,
            shard=Shard.parse(given["shard"]) if "shard" in given else None,
            legacy=_gateway(given["legacy"], settings) if given.get("legacy") else None,
            until_done=_until(given),
            options=ListOptions.parse(given),
        )
        if arguments.is_fleet and arguments.shard:
            raise BadArgument("shard= is of a list: a fleet's partitions are its shards")
        if (
            arguments.input != "-" and not arguments.is_fleet
        ):  # standard input can be opened only once, when it is read
            arguments.look(scheme_of(settings, collection), at_lines=looked_at)
        return arguments

    @property
    def is_fleet(self) -> bool:
        """Return whether the lines come from Kafka."""
        return is_fleet(self.input)

    def look(self, scheme: Scheme, *, at_lines: bool) -> None:
        """``BadList`` where the list cannot be opened, or *at_lines*: its first are all bad."""
        lines = self.lines(scheme, is_quiet=True)  # a crawl that begins tells it
        try:
            if at_lines and Path(self.input).is_file():  # of a pipe nothing can be read twice
                refuse_all_bad(self.input, lines, scheme)
        finally:
            if close := getattr(lines, "close", None):
                close()

    def lines(
        self,
        scheme: Scheme,
        seen: Callable[[bytes], object] = len,
        passed: Callable[[bytes], object] = len,
        *,
        is_quiet: bool = False,
    ) -> Iterator[Line]:
        """The lines of the list; ``BadList`` at once where it cannot be opened.

        *seen* is called with the bytes of the file as they are read, *passed* with each comment and
        header. *is_quiet*: nothing is said of its shape. ``BadArgument`` for a fleet.
        """
        if self.is_fleet:
            raise BadArgument("a fleet is no list: name a file, or - for standard input")
        # Unbuffered: Python aborts where a thread holds the lock of sys.stdin at the end.
        stdin = cast("BinaryIO", FileIO(0, closefd=False)) if self.input == "-" else None
        return listfiles.read(
            self.input,
            scheme,
            stdin=stdin,
            seen=seen,
            passed=passed,
            options=self.options,
            is_quiet=is_quiet,
        )

    def archive(self) -> Archive:
        """The archive, made where there is none; ``BadArchive``."""
        return Archive.create(self.root, self.collection)


def is_fleet(text: str) -> bool:
    """Return whether the input *text* names a fleet."""
    return text.startswith("kafka://")


def _until(given: Mapping[str, str]) -> bool:
    until = given.get("until") or ""
    if until not in ("", "done"):
        raise BadArgument(f"until={until!r} is not done")
    if until and not is_fleet(given["input"]):
        raise BadArgument("until=done is of a fleet: a list ends by itself")
    return bool(until)


def add_help(parser: ArgumentParser) -> None:
    """Say in the help of ``-a`` what the spider's arguments are."""
    helps = ", ".join(f"{name}={text}" for name, text in HELPS.items())
    for action in parser._actions:
        if "-a" in action.option_strings:
            action.help = f"{action.help}. Those of futli are {helps}"


def scheme_of(settings: BaseSettings, name: str | None) -> Scheme:
    """The scheme called *name*, else that of the archive that is there, else the default."""
    if name:
        return _known(name)
    try:
        return Archive(settings["LAFKA_ARCHIVE"]).scheme
    except BadArchive:
        return SCHEMES[DEFAULT_COLLECTION]


def _known(name: str) -> Scheme:
    if name not in SCHEMES:
        known, guess = ", ".join(SCHEMES), meant(name, SCHEMES)
        raise BadArgument(f"unknown collection {name!r}{guess}; the collections are {known}")
    return SCHEMES[name]


def _links(text: str) -> Links:
    try:
        return Links(text)
    except ValueError:
        guess = meant(text, Links)
        raise BadArgument(f"links={text!r} is none of {', '.join(Links)}{guess}") from None


def _gateway(text: str, settings: BaseSettings) -> str:
    """The gateway at *text*, ``http://host:port``; ``BadArgument`` for what may not be asked."""
    try:
        url = urlsplit(text.removesuffix("/"))
        host, port = url.hostname or "", url.port
    except ValueError:
        host, port, url = "", None, urlsplit("")
    if url.scheme != "http" or not host or "@" in url.netloc or url.path or url.query:
        raise BadArgument(f"legacy={text!r} is not like http://127.0.0.1:8732")
    address = literal(host)
    allowed = networks(["127.0.0.0/8", "::1/128", *settings.getlist("LAFKA_ALLOWED_NETWORKS")])
    if address is None or not any(address in network for network in allowed):
        raise BadArgument(
            f"legacy={text!r} is not on loopback, nor in LAFKA_ALLOWED_NETWORKS:"
            " reach it through a tunnel, as ssh -L has it"
        )
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port or 80}"


def _since(text: str, now: datetime) -> datetime:
    if text == "all":
        return now + timedelta(days=36_500)  # later than any fut: all are asked for again
    found = _AGE.fullmatch(text)
    if not found:
        raise BadArgument(f"refresh={text!r} is neither all nor an age such as 30d, 12h or 4w")
    try:
        return now - timedelta(**{_UNITS[found[2]]: int(found[1])})
    except OverflowError:
        raise BadArgument(f"refresh={text!r} is older than any archive") from None
