"""Pages read for the walk: which candidates, what kind of page, and no more work than it takes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lafka.errors import printable
from lafka.papers.finders import Page, describe, find, sure
from lafka.papers.walk.trails import Outcome

if TYPE_CHECKING:
    from lafka.papers.candidates import Candidate

KEPT_MAX = 256 * 1024
"""Bytes of a page that wait for a second look beside each trail; longer ones get it at once."""

_VERDICTS = {"bot-challenge": Outcome.BOT_CHALLENGE, "login": Outcome.LOGIN}

UNREADABLE = "the page could not be read"
"""With it begins the reason of a page that finders stumbled over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a page holds; ``partly`` where only its surest candidate was looked for."""

    candidates: tuple[Candidate, ...] = ()
    verdict: Outcome = Outcome.SPLAP_ONLY
    reason: str = ""
    partly: bool = False


def read_first(page: Page) -> Found | None:
    """Only what ``citation_pdf_url`` names, None where it names nothing or the page is long."""
    if len(page.body) > KEPT_MAX:
        return None
    with suppress(Exception):  # a whole look will meet it again, and tell
        candidates = sure(page)
        return Found(candidates=candidates, partly=True) if candidates else None
    return None


def read(page: Page) -> Found:
    """All candidates of *page* and what it is; a page that finders stumble over has none."""
    try:
        told = describe(page)
        verdict = _VERDICTS.get(told.kind, Outcome.SPLAP_ONLY)
        if verdict is Outcome.BOT_CHALLENGE:
            return Found(verdict=verdict, reason=told.reason)
        reason = "a viewer without a PDF" if told.kind == "viewer" else told.reason
        return Found(candidates=find(page), verdict=verdict, reason=reason)
    except Exception as error:
        return Found(reason=f"{UNREADABLE}: {printable(repr(error))}")
