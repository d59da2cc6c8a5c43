"""What a row of the tables in ``weights`` is: a list of words, a pattern of addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Words or phrases in lower case; the weight counts once however many of them occur."""

    name: str
    weight: float
    why: str
    words: tuple[str, ...]
    label: str = "fut"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A regular expression over a path and query in lower case, with escapes read.

    ``stems`` are a cheap look before it: an address without any of them fits not.
    """

    name: str
    weight: float
    why: str
    stems: tuple[str, ...]
    pattern: re.Pattern[str] = field(repr=False)
    label: str = "fut"

    def fits(self, text: str) -> bool:
        seen = any(map(text.__contains__, self.stems))
        return seen and self.pattern.search(text) is not None
