"""The spider's arguments and the settings behind them, parsed once, at the door."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from lafka.errors import BadArgument, BadList
from lafka.filesets.crawling.lines import RequestLine, request_lines
from lafka.filesets.crawling.tokens import PlatformBases
from lafka.filesets.model.manifests import Limits
from lafka.filesets.model.messages import BadRequest, IngestRequest
from lafka.filesets.model.types import IngestStrategy
from lafka.filesets.platforms import helpers, registered
from lafka.filesets.platforms.platform import Thresholds
from lafka.filesets.targets import load_tokens, target_of
from lafka.filesets.targets.item import Target
from lafka.filesets.walk import Rules
from lafka.jobs.kafka import library
from lafka.jobs.kafka.topics import Place, is_kafka, properties
from lafka.runs.sources import meant, refuse_unknown_arguments
from lafka.warc.format import dates

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Settings in bytes."""

    max_total: int
    max_file: int
    keep_free: int
    web_max_file: int
    web_max_total: int
    landing_max: int


ARGUMENTS = ("input", "url", "output", "type", "strategy", "refresh", "platforms", "latest",
             "force", "dry")  # fmt: skip
_AGE = re.compile(r"(\d{1,6})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The arguments of a crawl of filesets.

    ``topic`` is where requests are read from, None for another input; ``servers`` the brokers to
    which results are published, empty for none.
    """

    root: Path
    items: Target
    rules: Rules
    bases: PlatformBases
    input: str = ""
    request: IngestRequest | None = None
    to_stdout: bool = False
    dry: bool = False
    topic: Place | None = None
    servers: str = ""

    @classmethod
    def parse(
        cls, settings: BaseSettings, given: Mapping[str, str], sizes: Sizes, now: datetime
    ) -> Arguments:
        """``BadArgument`` or ``BadList``, one sentence, for what cannot be."""
        refuse_unknown_arguments(given, ARGUMENTS)
        if bool(given.get("input")) == bool(given.get("url")):
            raise BadArgument("say -a input=requests.jsonl, or -a url=, one of the two")
        topic, servers = _brokers(settings, given)
        root = Path(settings["LAFKA_ARCHIVE"])
        arguments = cls(
            root=root,
            items=target_of(settings),
            rules=_rules(settings, given, sizes, now),
            bases=PlatformBases(settings.getdict("LAFKA_PLATFORM_BASES")),
            input=given.get("input", ""),
            request=_request(given) if given.get("url") else None,
            to_stdout=given.get("output") == "-",
            dry=given.get("dry", "0") == "1",
            topic=topic,
            servers=servers,
        )
        is_file = topic is None and arguments.input not in ("", "-")
        if is_file and not Path(arguments.input).exists():
            raise BadList(f"{arguments.input}: no such file")
        return arguments

    @property
    def listed(self) -> str:
        """The file whose lines can be counted before they are read; empty where there is none."""
        is_there = self.topic is None and self.input not in ("", "-")
        return self.input if is_there and Path(self.input).is_file() else ""  # no pipe

    def lines(self) -> Iterator[RequestLine]:
        """Return what is to be done; ``BadList`` where the input cannot be read on."""
        if self.request is not None:
            return iter((RequestLine(number=1, request=self.request),))
        return request_lines(self.input)


def _brokers(settings: BaseSettings, given: Mapping[str, str]) -> tuple[Place | None, str]:
    """The topic of requests, and the brokers for results: those of the topic, if no others."""
    asked, output = given.get("input") or "", given.get("output") or ""
    if output not in ("", "-") and not is_kafka(output):
        raise BadArgument(f"output={output!r} is neither - nor kafka://HOST")
    place = Place.parse(asked) if is_kafka(asked) else None
    told = Place.parse(output) if is_kafka(output) else None
    if place is None and told is None:
        return None, ""
    if place is not None and not place.topic:
        raise BadArgument(f"input={asked} names no topic: kafka://HOST/TOPIC")
    if told is not None and told.topic:
        raise BadArgument(f"output={output} names a topic: say kafka://HOST, the topics are fixed")
    if given.get("dry", "0") == "1":
        raise BadArgument("dry=1 goes with a list or a URL, not with kafka://")
    library()
    properties(settings["LAFKA_KAFKA"])
    return place, (told or place or Place(servers="")).servers


def _request(given: Mapping[str, str]) -> IngestRequest:
    values: dict[str, object] = {
        "ingest_type": given.get("type") or "dataset",
        "base_url": given["url"],
    }
    for name, key in (("latest", "latest"), ("force", "force_recrawl")):
        if given.get(name) == "1":
            values[key] = True
    try:
        return IngestRequest.of_json(values)
    except BadRequest as error:
        raise BadArgument(f"url={given['url'][:200]!r}: {error}") from None


def _rules(settings: BaseSettings, given: Mapping[str, str], sizes: Sizes, now: datetime) -> Rules:
    refresh = given.get("refresh") or ""
    tokens = load_tokens(settings.get("LAFKA_TOKENS"))
    thresholds = Thresholds(
        web_max_file=sizes.web_max_file,
        web_max_total=sizes.web_max_total,
        web_max_files=settings.getint("LAFKA_WEB_MAX_FILES"),
        bundle=settings["LAFKA_FILESET_BUNDLE"],
    )
    names = _platforms(given.get("platforms") or "")
    if not settings.getbool("LAFKA_FILESET_WEB"):
        names = tuple(name for name in names or _known() if name != "web")
    hosts = frozenset(settings.getlist("LAFKA_INVENIO_HOSTS"))
    return Rules(
        helpers=helpers(thresholds, names=names, hosts={"zenodo": hosts}),
        limits=Limits(
            max_total=sizes.max_total,
            max_files=settings.getint("LAFKA_FILESET_MAX_FILES"),
            max_file=sizes.max_file,
        ),
        types=frozenset(settings.getlist("LAFKA_FILESET_TYPES")),
        blocked=_patterns(settings.get("LAFKA_FILESET_BLOCKLIST")),
        latest=settings.getbool("LAFKA_FILESET_LATEST"),
        partial=settings.getbool("LAFKA_FILESET_PARTIAL"),
        token_hosts=frozenset(tokens)
        if settings.getbool("LAFKA_FILESET_RESTRICTED")
        else frozenset(),
        strategy=_strategy(given.get("strategy") or ""),
        refresh=refresh == "all",
        refresh_before="" if refresh in ("", "all") else _before(refresh, now),
    )


def _known() -> tuple[str, ...]:
    return tuple(made.platform_name for made in registered())


def _platforms(text: str) -> tuple[str, ...]:
    names = tuple(filter(None, (name.strip() for name in text.split(","))))
    for name in names:
        if name not in _known():
            known, guess = ", ".join(_known()), meant(name, _known())
            raise BadArgument(f"platforms={name!r} is none{guess}; the platforms are {known}")
    return names


def _strategy(text: str) -> IngestStrategy | None:
    if not text:
        return None
    try:
        return IngestStrategy(text)
    except ValueError:
        known = ", ".join(IngestStrategy)
        raise BadArgument(f"strategy={text!r} is none; the strategies are {known}") from None


def _before(text: str, now: datetime) -> str:
    """The time before which what is held is fetched again."""
    found = _AGE.fullmatch(text)
    if not found:
        raise BadArgument(f"refresh={text!r} is neither all nor an age such as 30d, 12h or 4w")
    try:
        return dates.to_seconds(now - timedelta(**{_UNITS[found[2]]: int(found[1])}))
    except OverflowError:
        raise BadArgument(f"refresh={text!r} is older than any archive") from None


def _patterns(path: str | None) -> tuple[re.Pattern[str], ...]:
    """The expressions of a block list, a line each; ``BadArgument``."""
    if not path:
        return ()
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadArgument(f"LAFKA_FILESET_BLOCKLIST: {path}: {error}") from None
    found = []
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith("#"):
            try:
                found.append(re.compile(line.strip()))
            except re.error as error:
                message = f"LAFKA_FILESET_BLOCKLIST: {path}, line {number}: {error}"
                raise BadArgument(message) from None
    return tuple(found)
