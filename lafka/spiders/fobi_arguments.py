"""The arguments of ``lafka crawl fobi``, parsed once, at the door; how fobis are judged."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lafka.archec.files.fobi_store import FobiRules
from lafka.archec.files.fobis import Choice, DueFobis, ids_in
from lafka.archec.gather.tobis import Clocks
from lafka.archec.records.folding import DAY, RefreshRule
from lafka.errors import BadArgument, BadList, BadPid
from lafka.papers.finders import Page, describe
from lafka.papers.lists.listfiles import Excludes
from lafka.pids import SCHEMES
from lafka.runs.sources import refuse_unknown_arguments

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

ARGUMENTS = ("due", "archive", "series", "ids", "orphans", "exclude", "limit", "check")
_AGE = re.compile(r"(\d{1,6})([smhdw])")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_YES = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


def choice_of(settings: BaseSettings, given: Mapping[str, str]) -> Choice:
    """Return which fobis are wanted; ``BadArgument`` or ``BadList``, one sentence."""
    refuse_unknown_arguments(given, ARGUMENTS)
    if given.get("check", "0") != "0":  # the command crawl takes it away
        raise BadArgument("check=1 is for the command crawl alone")
    exclude = given.get("exclude") or settings.get("LAFKA_EXCLUDE")
    return Choice(
        age=_age(given.get("due") or "due"),
        ids=_ids(given["ids"]) if given.get("ids") else None,
        archive=_code(given, "archive"),
        series=_code(given, "series"),
        orphans=_truth(given, "orphans"),
        excluded=_excluded(exclude) if exclude else lambda _: False,
        limit=_limit(given.get("limit", "0")),
    )


def _age(text: str) -> int | None:
    if text in ("due", "all"):
        return 0 if text == "all" else None
    found = _AGE.fullmatch(text)
    if not found:
        raise BadArgument(f"due={text!r} is neither due, all nor an age such as 30d, 12h or 4w")
    return int(found[1]) * _UNITS[found[2]]


def _code(given: Mapping[str, str], name: str) -> str | None:
    text = given.get(name)
    if text and (":" in text or not text.isascii()):
        raise BadArgument(f"{name}={text!r} is no code, such as nbr or nberwo")
    return text.lower() if text else None


def _truth(given: Mapping[str, str], name: str) -> bool:
    text = given.get(name, "0")
    if text.lower() not in _YES:
        raise BadArgument(f"{name}={text!r} is neither 1 nor 0")
    return _YES[text.lower()]


def _limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise BadArgument(f"limit={text!r} is no whole number from 0")
    return int(text)


def _ids(path: str) -> tuple[str, ...]:
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise BadList(f"{path}: {reason}") from None
    found = []
    for number, uri, reason in ids_in(text):
        if reason:
            raise BadList(f"{path}, line {number}: {reason}")
        found.append(uri)
    if not found:
        raise BadList(f"{path}: no URL is in it")
    return tuple(found)


def _excluded(path: str) -> Callable[[str], bool]:
    """Return what tells handles among the pids and patterns of the file *path*."""
    scheme = SCHEMES["RePEc"]
    excludes = Excludes.load(path, scheme)

    def excluded(handle: str) -> bool:
        try:
            return excludes.match(scheme.pid(handle)) is not None
        except BadPid:
            return False

    return excluded


def due_lines(due: DueFobis) -> Iterator[str]:
    """Lines that say how many are to be asked for, and what is left out."""
    yield f"{sum(1 for _ in due)} fobis to be asked for"
    for reason, count in sorted(due.counts.items()):
        yield f"{count} left out: {reason}"


def fobi_rules(settings: BaseSettings) -> FobiRules:
    """Return how fobis are judged, and when they are asked for again; ``BadArgument``."""
    least, most = settings.getfloat("LAFKA_REFRESH_MIN"), settings.getfloat("LAFKA_REFRESH_MAX")
    if least > most:
        raise BadArgument(f"LAFKA_REFRESH_MIN={least} is more than LAFKA_REFRESH_MAX={most}")
    return FobiRules(
        rule=RefreshRule(least=int(least * DAY), most=int(most * DAY)),
        clocks=Clocks(now=lambda: int(time.time()), monotonic=time.monotonic),
        judge_page=_guard_of,
        max_entity=settings.getint("LAFKA_MAX_PAYLOAD"),
    )


def _guard_of(url: str, body: bytes, content_type: str) -> tuple[str, str]:
    """Outcome and reason of a page that a guard or a login put in place of what was asked for."""
    page = Page(url=url, body=body, content_type=content_type)
    try:
        verdict = describe(page)
    except Exception:  # a page that cannot be read is no guard's: it is kept as it is
        return "", ""
    if verdict.kind not in ("bot-challenge", "login"):
        return "", ""
    return verdict.kind, verdict.reason
