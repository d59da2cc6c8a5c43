"""The faults of a list, kind by kind, and their probable meaning.

A fault is a line that cannot be asked for (its verdict says why), or one that can and hardly
should: ``&amp;`` in its URL, two URLs in one column. Guesses are shown, never acted upon.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING

from lafka.errors import BadList, BadPid, HopelessList, printable
from lafka.papers.lists.rows import beginning
from lafka.pids import SCHEMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lafka.papers.lists.futlis import Line

FIRST = 100
"""Lines that a list has to have a sound one among."""

_BAD = frozenset(("bad-pid", "bad-url"))
_URL = r"(?:https?://|ftp://|www\.)"
_IS_URL = re.compile(_URL, re.IGNORECASE)
_SPLIT = re.compile(rf"(?P<by>[;,|]|\\t)\s*[\"']?{_URL}", re.IGNORECASE)
_BLANKS = re.compile(rf"\S +[\"']?{_URL}|^{_URL}\S+ +\S", re.IGNORECASE)
_TAB = re.compile(rf"\t\s*[\"']?{_URL}", re.IGNORECASE)
_SCHEME = re.compile(r"(?P<word>[a-z]{3,6})\s?(?::|;|/)?[/\\]{1,3}[^/\\]", re.IGNORECASE)
_HOST = re.compile(r"(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?(?:[/?#]|\Z)", re.IGNORECASE)
_NOTHING = re.compile(r"(?:n/?a|null|none|nan|nil|-+|\?+|tbd)\Z", re.IGNORECASE)

# What a URL that is none looks like, and what it means; the first that fits.
_URLS: tuple[tuple[re.Pattern[str], str], ...] = (
    (_NOTHING, "an empty value written out: leave such lines out"),
    (re.compile(r"[\"'<“‘]"), "quotes or brackets around the URL: take them away, or name it .csv"),
    (re.compile(r"(?:doi:\s*|doi\s+)?10\.\d+", re.I), "a DOI: doi:10.../... meant?"),
    (re.compile(r"hdl:", re.I), "a handle: hdl:PREFIX/NAME meant?"),
    (re.compile(r"arxiv:", re.I), "an arXiv id: arXiv:2101.00001 meant?"),
    (re.compile(r"ftp://", re.I), "ftp is not asked: has the server https:// too?"),
    (re.compile(r"file:|/|[a-z]:\\|\.{1,2}/", re.I), "a file of one computer: its web address?"),
    (re.compile(r"repec:", re.I), "a pid where the URL should be: columns shifted?"),
)
# The same for URLs that can be asked for.
_DOUBTS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r".*&amp;"), "&amp; in the URL: & meant?"),
    (re.compile(rf".*\s{_URL}", re.I), "two URLs in one column: a line each?"),
    (re.compile(r".*[\"'>,;]\Z"), "the URL ends with a quote, bracket, comma or semicolon: meant?"),
)


@dataclass(slots=True, kw_only=True)
class FaultKind:
    """One kind of fault: why, what probably is meant (or ""), its first line, how many have it."""

    reason: str
    guess: str
    number: int
    text: str
    count: int = 0


@dataclass(slots=True, kw_only=True)
class ListAccount:
    """The content of a list; it costs some 70 bytes a line, for the duplicates."""

    lines: int = 0
    bad: int = 0
    restricted: int = 0
    duplicates: int = 0
    hosts: Counter[str] = field(default_factory=Counter)
    kinds: dict[tuple[str, str], FaultKind] = field(default_factory=dict)
    _seen: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, lines: Iterable[Line]) -> ListAccount:
        account = cls()
        for line in lines:
            account.add(line)
        return account

    def add(self, line: Line) -> None:
        self.lines += 1
        self.bad += line.outcome in _BAD
        self.restricted += line.outcome == "restricted"
        if line.futli:
            self.hosts[line.futli.host] += 1
            same = hash((str(line.futli.pid), line.futli.url))
            self.duplicates += same in self._seen
            self._seen.add(same)
        if found := fault(line):
            text = printable(beginning(f"{line.pid_text} {line.url_text}".strip()))
            reason, guess = found
            made = FaultKind(reason=reason, guess=guess, number=line.number, text=text)
            self.kinds.setdefault(found, made).count += 1

    @property
    def all_bad(self) -> bool:
        """True where no line can be asked for; so it is with a list without lines."""
        return self.bad == self.lines

    def sentences(self) -> list[str]:
        """A sentence for each kind of fault, the most frequent first."""
        kinds = sorted(self.kinds.values(), key=lambda kind: -kind.count)
        return [_sentence(kind) for kind in kinds]


def _sentence(kind: FaultKind) -> str:
    more = f" and {kind.count - 1} more" if kind.count > 1 else ""
    why = ": ".join(part for part in (kind.reason, kind.guess) if part)
    return f"line {kind.number}{more}: {why}"


def hopeful(name: str, lines: Iterable[Line]) -> Iterator[Line]:
    """*lines* of the list *name*, which may come only once; ``HopelessList`` as below.

    The first are kept until there is a sound one among them.
    """
    coming = iter(lines)
    first: list[Line] = []
    error: BadList | None = None
    try:
        for line in islice(coming, FIRST):
            first.append(line)
            if line.outcome not in _BAD:
                break
    except BadList as cut:
        error = cut
    if error is None:
        refuse_all_bad(name, first)
    yield from first
    if error is not None:
        raise error
    yield from coming


def refuse_all_bad(name: str, lines: Iterable[Line]) -> None:
    """``HopelessList`` where none of the first 100 *lines* of the list *name* can be asked for.

    No more of them are read than are needed to tell.
    """
    account = ListAccount()
    try:
        for line in islice(lines, FIRST):
            account.add(line)
            if line.outcome not in _BAD:
                return
    except BadList:
        return  # cut short: what it holds is crawled, and the crawl tells
    if not account.lines:
        raise HopelessList(f"{name}: an empty list, no line of it is a pid and a URL")
    those = "its first 100" if account.lines == FIRST else f"its {account.lines}"
    faults = "; ".join(account.sentences())
    raise HopelessList(f"{name}: none of {those} lines can be asked for: {faults}")


def fault(line: Line) -> tuple[str, str] | None:
    """Return what is wrong with *line* and what probably is meant ("" if nobody knows); None if
    sound.
    """
    if line.outcome not in _BAD:
        doubt = next((meaning for sign, meaning in _DOUBTS if sign.match(line.url_text)), None)
        return (doubt, "") if doubt else None
    # A reason begins with the pid that it is about; kinds are to be counted.
    reason = (line.problem or "").rpartition(": ")[2]
    pid, url = line.pid_text.strip(), line.url_text
    of_pid = _pid_guess(pid) if line.outcome == "bad-pid" else ""
    return reason, _column_guess(line.number, pid, url) or of_pid or _url_guess(line, url)


def _column_guess(number: int, pid: str, url: str) -> str:
    """A guess for a line whose columns are not a pid and a URL, "" where they may be."""
    if pid.startswith(("{", "[")):
        return "JSON: such a list is called .jsonl, one object a line"
    if found := _SPLIT.search(pid):
        by = "a backslash and a t" if found["by"] == "\\t" else f"{found['by']!r}"
        return f"separated by {by}: a tab belongs there"
    if _TAB.search(pid):
        return "separated by tabs: such a list is called .tsv"
    if _BLANKS.search(pid):
        return "blanks where a tab should be"
    if _IS_URL.match(pid):
        return (
            "column 1 looks like URLs and column 2 like pids: swapped?"
            if url and not _IS_URL.match(url)
            else "a URL where the pid should be: the pid's column is missing?"
        )
    if number == 1 and url.isalpha() and pid.isalpha():
        return "a header? those that are known name their columns pid and url"
    return ""


_ANOTHER = "a pid of another collection: -a collection=any takes it"


def _pid_guess(pid: str) -> str:
    if not pid:
        return "column 1, the pid, is empty"
    if "\\x" in pid:
        return "saved in another encoding: save it as UTF-8"
    if any(map(str.isspace, pid.strip())):
        return "a blank in the pid: _ or nothing meant?"
    try:
        SCHEMES["any"].pid(pid)
    except BadPid:
        return ""
    # Under another collection a misspelt RePEc handle would be archived for ever as it is.
    return "" if pid.lower().startswith("repec:") else _ANOTHER


def _url_guess(line: Line, url: str) -> str:
    if line.outcome != "bad-url":
        return ""
    if not url:
        return "column 2, the URL, is empty or missing"
    if guess := next((meaning for sign, meaning in _URLS if sign.match(url)), ""):
        return guess
    scheme = _SCHEME.match(url)
    if scheme and get_close_matches(scheme["word"].lower(), ("http", "https"), cutoff=0.7):
        return "a misspelt https://?"
    return "https:// meant?" if _HOST.match(url) else ""
