"""A futli, and a line of a list with its verdict: what the list's room gives to all others.

``lafka.papers.lists.listfiles`` reads them, ``lafka.papers.lists.rows`` knows the formats,
``lafka.papers.lists.verdicts`` judges.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from lafka.pids import Pid

# What the urlsplit of the standard library says too, in a tenth of its time.
_PLAIN_HOST = re.compile(r"https?://([a-z0-9._-]+)(?::[0-9]+)?(?:[/?#]|\Z)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Futli:
    """A link that came with a pid, char by char as it came; ``title`` is the paper's, if given."""

    pid: Pid
    url: str
    title: str = field(default="", compare=False)

    @property
    def host(self) -> str:
        """Host name in lower case, without port: the slot in which Scrapy asks for the URL."""
        return host_of(self.url)


def host_of(url: str) -> str:
    """The host name of *url* in lower case, without port; empty where it has none."""
    if plain := _PLAIN_HOST.match(url):
        return plain[1]
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a list and its verdict.

    ``number`` counts every line of the file from 1. ``outcome`` is None where ``futli`` can be
    asked for, else ``bad-pid``, ``bad-url`` or ``restricted`` with the reason in ``problem``;
    a bad line has no futli, a restricted one has. What is not UTF-8 stands as escapes in the
    texts. Of a line that has no columns the texts show the beginning.
    """

    number: int
    pid_text: str
    url_text: str
    futli: Futli | None = None
    outcome: str | None = None
    problem: str | None = None

    @property
    def host(self) -> str:
        """Whom to ask for it; empty where it needs no request."""
        return self.futli.host if self.futli and self.outcome is None else ""
