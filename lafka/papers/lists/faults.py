"""The faults of a list, kind by kind, and their probable meaning.

A fault is a line that cannot be asked for (its verdict says why), or one that can and hardly
should: ``&amp;`` in its URL, two URLs in one column. A guess with a mended line is tried, and given
only where that line can be asked for. A crawl acts on none; ``check-list --fix`` writes those that
are beyond doubt.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from itertools import islice
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from lafka.errors import BadList, BadPid, HopelessList, printable
from lafka.papers.lists.futlis import Line
from lafka.papers.lists.rows import Jsonl, ListRow, bare, beginning, verdict
from lafka.pids import SCHEMES, Scheme

FIRST = 100
"""Lines that a list has to have a sound one among."""
SHOWN = 3
"""Lines of a kind of fault that are shown."""

_BAD = frozenset(("bad-pid", "bad-url"))
_URL = r"(?:https?://|ftp://|www\.)"
_IS_URL = re.compile(_URL, re.IGNORECASE)
_SPLIT = re.compile(rf"(?P<by>[;,|]|\\t)\s*[\"']?{_URL}", re.IGNORECASE)
_BLANKS = re.compile(rf"\S +[\"']?{_URL}|^{_URL}\S+ +\S", re.IGNORECASE)
_TAB = re.compile(rf"\t\s*[\"']?{_URL}", re.IGNORECASE)
_SCHEME = re.compile(r"(?P<word>[a-z]{3,6})\s?(?::|;|/)?[/\\]{1,3}[^/\\]", re.IGNORECASE)
_HOST = re.compile(r"(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?(?:[/?#]|\Z)", re.IGNORECASE)
_NOTHING = re.compile(r"(?:n/?a|null|none|nan|nil|-+|\?+|tbd)\Z", re.IGNORECASE)

_DOUBLE = re.compile(r"https?:/{1,2}(?=https?://)", re.IGNORECASE)
_SEARCH = re.compile(r"https?://(?:www\.)?google\.[a-z.]+/url\?", re.IGNORECASE)


def _changed(pattern: str, by: str = "") -> Callable[[str], str]:
    """Return what puts *by* in place of each *pattern* of a URL."""
    return partial(re.compile(pattern, re.IGNORECASE).sub, by)


def _target(url: str) -> str:
    """Return the URL that a search engine's link leads to."""
    query = parse_qs(urlsplit(url).query)
    return next((query[key][0] for key in ("q", "url") if key in query), "")


_Mend = Callable[[str], str] | None

# What a URL that is none looks like, what it means and what it should be; the first that fits.
_URLS: tuple[tuple[re.Pattern[str], str, _Mend], ...] = (
    (_NOTHING, "an empty value written out: leave such lines out", None),
    (
        re.compile(r"=[\w.]+\(\s*\"https?://", re.I),
        "a formula of a spreadsheet: the link in it meant?",
        _changed(r"^=[^\"]*\"([^\"]*)\".*$", r"\1"),
    ),
    (
        re.compile(r"[\"'<“‘]"),
        "quotes or brackets around the URL: take them away, or name it .csv",
        _changed(r"^[\"'<“‘]+|[\"'>”’]+$"),
    ),
    (
        re.compile(r"doi\W+10\.\d+/", re.I),
        "a DOI: doi:10.../... meant?",
        _changed(r"^doi\W+", "doi:"),
    ),
    (re.compile(r"(?:doi:\s*|doi\s+)?10\.\d+", re.I), "a DOI is like doi:10.1000/182", None),
    (re.compile(r"hdl:", re.I), "a handle is like hdl:PREFIX/NAME", None),
    (re.compile(r"arxiv:", re.I), "an arXiv id is like arXiv:2101.00001", None),
    (re.compile(r"ftp://", re.I), "ftp is not asked: has the server https:// too?", None),
    (
        re.compile(r"file:|/|[a-z]:\\|\.{1,2}/", re.I),
        "a file of one computer: its web address?",
        None,
    ),
    (re.compile(r"repec:", re.I), "a pid where the URL should be: columns shifted?", None),
)
# The same for URLs that can be asked for.
_DOUBTS: tuple[tuple[re.Pattern[str], str, _Mend], ...] = (
    (re.compile(r".*&amp;"), "&amp; in the URL: & meant?", _changed("&amp;", "&")),
    (_DOUBLE, "https:// twice in the URL: once meant?", partial(_DOUBLE.sub, "")),
    (_SEARCH, "a link of a search engine: what it leads to is meant?", _target),
    (re.compile(rf".*\s{_URL}", re.I), "two URLs in one column: a line each?", None),
    (
        re.compile(r".*[\"'>,;]\Z"),
        "the URL ends with a quote, bracket, comma or semicolon: meant?",
        None,
    ),
)


class Fault(NamedTuple):
    """A fault of a line, what probably is meant ("" if nobody knows), and the line as it should be
    where that is beyond doubt.
    """

    reason: str
    guess: str = ""
    mended: tuple[str, str] | None = None


@dataclass(slots=True, kw_only=True)
class FaultKind:
    """One kind of fault: why, what probably is meant (or ""), its first lines, how many have it."""

    reason: str
    guess: str
    number: int
    first: list[tuple[int, str]] = field(default_factory=list)
    count: int = 0

    def add(self, number: int, text: str) -> None:
        self.count += 1
        if len(self.first) < SHOWN:
            self.first.append((number, text))


@dataclass(slots=True, kw_only=True)
class ListAccount:
    """The content of a list of pids of ``scheme``; it costs some 200 bytes a line."""

    scheme: Scheme
    lines: int = 0
    bad: int = 0
    restricted: int = 0
    duplicates: int = 0
    hosts: Counter[str] = field(default_factory=Counter)
    kinds: dict[tuple[str, str], FaultKind] = field(default_factory=dict)
    twice: dict[str, FaultKind] = field(default_factory=dict)
    _seen: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, lines: Iterable[Line], scheme: Scheme) -> ListAccount:
        account = cls(scheme=scheme)
        for line in lines:
            account.add(line)
        return account

    def add(self, line: Line) -> Fault | None:
        """Count *line*; return what is wrong with it."""
        self.lines += 1
        self.bad += line.outcome in _BAD
        self.restricted += line.outcome == "restricted"
        text = printable(beginning(f"{line.pid_text} {line.url_text}".strip()))
        if line.futli:
            self.hosts[line.futli.host] += 1
            self._add_twice(line.number, str(line.futli.pid), line.futli.url, text)
            before = bare(line.pid_text).partition(":")[0]
            after = str(line.futli.pid).partition(":")[0]
            if before != after and before.lower() == after.lower():
                self._note(
                    f"{before}: in other letters", line.number, f"{text}  as {line.futli.pid}"
                )
        if found := fault(line, self.scheme):
            key = found.reason, found.guess
            kind = FaultKind(reason=found.reason, guess=found.guess, number=line.number)
            self.kinds.setdefault(key, kind).add(line.number, text)
        return found

    def _add_twice(self, number: int, pid: str, url: str, text: str) -> None:
        by_url = self._seen.setdefault(hash(url), number)
        same = self._seen.setdefault(hash((pid, url)), number)
        if number in (by_url, same) and by_url == same:
            return
        self.duplicates += same != number
        why, at = ("said before", same) if same != number else ("the link of another pid", by_url)
        self._note(why, number, f"{text}  as line {at}")

    def _note(self, why: str, number: int, text: str) -> None:
        kind = FaultKind(reason=why, guess="", number=number)
        self.twice.setdefault(why, kind).add(number, text)

    @property
    def all_bad(self) -> bool:
        """True where no line can be asked for; so it is with a list without lines."""
        return self.bad == self.lines

    def sentences(self) -> list[str]:
        """A sentence for each kind of fault, the most frequent first."""
        return [sentence(kind) for kind in self.sorted_kinds()]

    def sorted_kinds(self) -> list[FaultKind]:
        """The kinds of faults, the most frequent first."""
        return sorted(self.kinds.values(), key=lambda kind: -kind.count)


def sentence(kind: FaultKind) -> str:
    """Return where *kind* begins, how often it is there, and why."""
    more = f" and {kind.count - 1} more" if kind.count > 1 else ""
    why = ": ".join(part for part in (kind.reason, kind.guess) if part)
    return f"line {kind.number}{more}: {why}"


def hopeful(name: str, lines: Iterable[Line], scheme: Scheme) -> Iterator[Line]:
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
        refuse_all_bad(name, first, scheme)
    yield from first
    if error is not None:
        raise error
    yield from coming


def refuse_all_bad(name: str, lines: Iterable[Line], scheme: Scheme) -> None:
    """``HopelessList`` where none of the first 100 *lines* of the list *name* can be asked for.

    No more of them are read than are needed to tell.
    """
    account = ListAccount(scheme=scheme)
    try:
        for line in islice(lines, FIRST):
            account.add(line)
            if line.outcome not in _BAD:
                return
    except HopelessList:
        raise
    except BadList:
        return  # cut short: what it holds is crawled, and the crawl tells
    if not account.lines:
        raise HopelessList(f"{name}: an empty list, no line of it is a pid and a URL")
    those = "its first 100" if account.lines == FIRST else f"its {account.lines}"
    faults = "; ".join(account.sentences())
    raise HopelessList(f"{name}: none of {those} lines can be asked for: {faults}")


def fault(line: Line, scheme: Scheme) -> Fault | None:
    """Return what is wrong with *line*, whose pid is of *scheme*; None if it is sound."""
    pid, url = bare(line.pid_text), bare(line.url_text)
    if line.outcome not in _BAD:
        found = next(((what, mend) for sign, what, mend in _DOUBTS if sign.match(url)), None)
        if found is None:
            return None
        mended = (pid, found[1](url)) if found[1] else None
        return Fault(found[0], "", mended if mended and _is_sound(*mended, scheme) else None)
    # A reason begins with the pid that it is about; kinds are to be counted.
    reason = (line.problem or "").rpartition(": ")[2]
    is_pid = line.outcome == "bad-pid" and not reason.startswith("the line is no")
    of_pid = _pid_guess(pid) if is_pid else ""
    guess, mended = _column_guess(pid, url) or (of_pid, None)
    if not guess and line.outcome == "bad-url":
        guess, mended = _url_guess(pid, url)
    if mended and not _is_sound(*mended, scheme):
        return Fault(reason)
    return Fault(reason, guess, mended)


def _is_sound(pid: str, url: str, scheme: Scheme) -> bool:
    return verdict(1, ListRow(pid, url), scheme).outcome is None


_Guess = tuple[str, tuple[str, str] | None]


def _column_guess(pid: str, url: str) -> _Guess | None:
    """A guess for a line whose columns are not a pid and a URL, None where they may be."""
    if pid.startswith(("{", "[")):
        row = Jsonl().row(pid)
        return "JSON: such a list is called .jsonl, one object a line", (row.pid, row.url)
    if found := _SPLIT.search(pid):
        by = "a backslash and a t" if found["by"] == "\\t" else f"{found['by']!r}"
        parts = pid[: found.start()], pid[found.end("by") :]
        return f"separated by {by}: a tab belongs there", _bare(parts)
    if found := _TAB.search(pid):
        parts = pid[: found.start()], pid[found.start() + 1 :]
        return "separated by tabs: such a list is called .tsv", _bare(parts)
    if _BLANKS.search(pid):
        words = pid.split()
        parts = (words[0], words[-1]) if _IS_URL.match(words[-1]) else (words[-1], words[0])
        return "blanks where a tab should be", _bare(parts) if len(words) == 2 else None
    if _IS_URL.match(pid):
        if url and not _IS_URL.match(url):
            return "column 1 looks like URLs and column 2 like pids: swapped?", (url, pid)
        return "a URL where the pid should be: the pid's column is missing?", None
    return None


def _bare(parts: tuple[str, str]) -> tuple[str, str]:
    pid, url = (part.strip(" \"'") for part in parts)
    return pid, url


_ANOTHER = "a pid of another collection: -a collection=any takes it"


def _pid_guess(pid: str) -> str:
    if not pid:
        return "column 1, the pid, is empty"
    if "\\x" in pid:
        return "saved in another encoding: save it as UTF-8"
    if any(map(str.isspace, pid.strip())):
        return "a blank in the pid"
    try:
        SCHEMES["any"].pid(pid)
    except BadPid:
        return ""
    # Under another collection a misspelt RePEc handle would be archived for ever as it is.
    return "" if pid.lower().startswith("repec:") else _ANOTHER


def _url_guess(pid: str, url: str) -> _Guess:
    if not url:
        return "column 2, the URL, is empty or missing", None
    if found := next(((what, mend) for sign, what, mend in _URLS if sign.match(url)), None):
        return found[0], (pid, found[1](url)) if found[1] else None
    scheme = _SCHEME.match(url)
    words = get_close_matches(scheme["word"].lower(), ("https", "http"), 1, 0.7) if scheme else []
    if scheme and words:
        rest = url[scheme.end() - 1 :].replace("\\", "/")
        return f"a misspelt {words[0]}://?", (pid, f"{words[0]}://{rest}")
    return ("https:// meant?", (pid, f"https://{url}")) if _HOST.match(url) else ("", None)
