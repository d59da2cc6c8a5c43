"""Pages read for the walk: which candidates, what kind of page, and no more work than it takes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from lafka.errors import printable
from lafka.papers.candidates import Candidate
from lafka.papers.finders import Page, sure
from lafka.papers.walk.outcomes import Outcome
from lafka.papers.walk.trails import TAIL

KEPT_MAX = 256 * 1024
"""Bytes of a page that wait for a second look beside each trail; longer ones get it at once."""

_VERDICTS = {"bot-challenge": Outcome.BOT_CHALLENGE, "login": Outcome.LOGIN}

_WITHOUT_TAIL = frozenset({"list", "issue", "search", "submission", "not there"})
"""Kinds of pages whose other links are other papers', or none's."""

UNREADABLE = "the page could not be read"
"""With it begins the reason of a page that finders stumbled over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReading:
    """The content of a page; ``partly`` where only its surest candidate was looked for.

    ``kind`` is what the page is about, as ``finders.kinds`` names it; empty where nobody looked.
    """

    candidates: tuple[Candidate, ...] = ()
    verdict: Outcome = Outcome.SPLAP_ONLY
    reason: str = ""
    partly: bool = False
    kind: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "candidates": [candidate.as_json() for candidate in self.candidates],
            "verdict": str(self.verdict),
            "reason": self.reason,
            "partly": self.partly,
            "kind": self.kind,
        }

    @classmethod
    def of_json(cls, values: dict[str, Any]) -> PageReading:
        """``LookupError``, ``TypeError`` or ``ValueError`` where *values* are no such thing."""
        return cls(
            candidates=tuple(map(Candidate.of_json, values["candidates"])),
            verdict=Outcome(values["verdict"]),
            reason=str(values["reason"]),
            partly=bool(values["partly"]),
            kind=str(values["kind"]),
        )


def tail_of(kind: str) -> int:
    """How many links that do not promise the fut are worth a request on a page of *kind*."""
    return 0 if kind in _WITHOUT_TAIL else TAIL


def read_first(page: Page) -> PageReading | None:
    """Only what ``citation_pdf_url`` names, None where it names nothing or the page is long."""
    if len(page.body) > KEPT_MAX:
        return None
    with suppress(Exception):  # a whole look will meet it again, and tell
        candidates = sure(page)
        return PageReading(candidates=candidates, partly=True) if candidates else None
    return None


def read(page: Page) -> PageReading:
    """All candidates of *page* and what it is; a page that finders stumble over has none."""
    from lafka.papers.finders import describe, find, kind_of  # noqa: PLC0415  in a child, if at all

    try:
        told = describe(page)
        verdict = _VERDICTS.get(told.kind, Outcome.SPLAP_ONLY)
        if verdict is Outcome.BOT_CHALLENGE:
            return PageReading(verdict=verdict, reason=told.reason)
        reason = "a viewer without a PDF" if told.kind == "viewer" else told.reason
        candidates = find(page)
        kind = kind_of(page, candidates, told)
        return PageReading(candidates=candidates, verdict=verdict, reason=reason, kind=kind)
    except Exception as error:
        return PageReading(reason=f"{UNREADABLE}: {printable(repr(error))}")
