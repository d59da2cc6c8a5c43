"""Letters to the maintainers of RePEc archives: what is odd in their data, and which links fail.

Findings are grouped by cause, each with a count, one example, and how many are new since the last
letter. A folder of letters has three files an archive: ``abc.txt``, the letter; ``abc.html``, the
page with every place; ``abc.json``, the findings, by which the next letter knows what is new.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from lafka.archec.records import Kind, Obi, Records, State, in_batches
from lafka.archec.redif.vocabulary import CODES
from lafka.archec.statistics import as_of
from lafka.archec.store.tists import to_time
from lafka.errors import BadArgument, printable
from lafka.papers.outcomes import Outcome
from lafka.reports.rendering import as_html
from lafka.reports.tables import ReportSpan, Table, TableReport
from lafka.storage.drafts import replace
from lafka.storage.folders import make_folders

FORMAT = 1
_BATCH = 500
_NOT_THEIRS = frozenset({"passed-over", "truncated", "unreadable"})
"""Codes of what went wrong on our side, or on the way to it."""
_SOFT = "a page stands where the file was"
_REMEDIES = {
    "no-template": "Let the file begin with Template-Type.",
    "not-told": "Mend those that are listed; the others are listed then.",
    "control-character": "Take the character out.",
    "replacement-character": "Write the letter that was there.",
    "conflict-marker": "Take the line out, and of the two texts beside it the one that is wrong.",
    "unknown-type": "Write one of ReDIF's types, such as ReDIF-Paper.",
    "too-long": "Look in it for a Template-Type that is missing.",
    "no-handle": "Give it a Handle.",
    "bad-handle": "Write it like RePEc:aaa:ssssss:number.",
    "repeated-handle": "Leave one; where two papers are meant, begin a template for the second.",
    "duplicate-handle": "Take one of the two out, or give it a handle of its own.",
    "glued-field": "Begin a new line before Template-Type.",
    "spaced-field": "Take the blanks out.",
    "misspelt-field": "Write the name behind *for*.",
    "unknown-field": "Write a field of ReDIF, or put X- before the name.",
    "unindented-line": "Begin the line with a blank.",
    "stray-cluster-field": "Put it behind the field that it says more of.",
    "repeated-field": "Leave one of them.",
    "bad-uri": "Write the whole URL, from http:// or https:// on.",
}
"""Code -> what its maintainer does about it; of each code that is theirs."""


class Finding(NamedTuple):
    """One place that a maintainer can mend: its cause, where it is, what is there, since when.

    ``since`` is a date of a link that fails, else empty; ``is_link`` tells the two apart.
    """

    is_link: bool
    cause: str
    where: str
    what: str
    since: str = ""
    line: int = 0

    @property
    def key(self) -> str:
        """The same as long as it is the same finding, wherever its line has moved."""
        text = "\0".join((self.cause, self.where, self.what))
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]

    @property
    def place(self) -> str:
        return printable(f"{self.where}, line {self.line}" if self.line else self.where)


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """The findings of an *archive* at the tist ``as_of``, sorted.

    ``before`` are those of the last letter, ``last`` its date, empty where this is the first.
    ``links`` are how many links were asked for, and how many were not yet.
    """

    archive: str
    as_of: int
    findings: Sequence[Finding]
    links: tuple[int, int]
    before: frozenset[str] = frozenset()
    last: str = ""

    def is_new(self, finding: Finding) -> bool:
        return bool(self.last) and finding.key not in self.before

    @property
    def mended(self) -> int:
        return len(self.before - {one.key for one in self.findings})

    def causes(self, *, links: bool) -> Iterator[tuple[str, list[Finding]]]:
        """Causes with their findings, those that are new first."""
        some = [one for one in self.findings if one.is_link is links]
        for cause, found in groupby(some, key=lambda one: one.cause):
            yield cause, sorted(found, key=lambda one: not self.is_new(one))

    def text(self, page: str = "") -> str:
        """The letter: with one example a cause where a *page* has the others, else all places."""
        lines = [f"About the RePEc archive {printable(self.archive)}, as of {_date(self.as_of)}"]
        if self.last:
            new = sum(map(self.is_new, self.findings))
            lines.append(f"Since the letter of {self.last}: {new} new, {self.mended} mended.")
        lines += self._part("Odd in its templates", "Nothing is odd in its templates.", page)
        lines += self._part("Links that lead to no file", self._sound_links(), page, links=True)
        lines += [f"\nEach place, with its line and URL: {page}"] if page and self.findings else []
        return "\n".join(lines) + "\n"

    def _part(self, title: str, nothing: str, page: str, *, links: bool = False) -> Iterator[str]:
        causes = list(self.causes(links=links))
        yield f"\n{title}:" if causes else f"\n{nothing}"
        for cause, found in causes:
            yield f"\n{cause} ({self._counted(found)}): {_meaning(cause, links=links)}"
            shown = found[:1] if page else found
            begin = "for example " if page and len(found) > 1 else ""
            yield from (f"  {begin}{one.place}: {printable(one.what)}" for one in shown)

    def _sound_links(self) -> str:
        """Say what is known of links none of which fails."""
        asked, waiting = self.links
        if not asked:
            return "No link was asked for yet." if waiting else "It names no file to be asked for."
        left = f"; {waiting:,} {'was' if waiting == 1 else 'were'} not asked for yet"
        return f"Every link that was asked for leads to its file{left if waiting else ''}."

    def _counted(self, found: Sequence[Finding]) -> str:
        new = sum(map(self.is_new, found))
        since = min(one.since for one in found)
        more = [f"{new} new"] if new else []
        return ", ".join([str(len(found)), *more, *([f"since {since}"] if since else [])])

    def page(self) -> bytes:
        """The page, HTML: a table of causes, and one of every place."""
        causes, places = [], []
        for links in (False, True):
            for cause, found in self.causes(links=links):
                new = sum(map(self.is_new, found))
                causes.append((cause, len(found), new, min(one.since for one in found),
                               _meaning(cause, links=links)))  # fmt: skip
                places += [(cause, one.where, one.line or None, one.what, one.since,
                            "new" if self.is_new(one) else "") for one in found]  # fmt: skip
        tables = (
            Table(key="causes", title="By cause", rows=tuple(causes),
                  columns=("cause", "places", "new", "since", "meaning")),
            Table(key="places", title="Every place", rows=tuple(places),
                  columns=("cause", "where", "line", "what", "since", "state")),
        )  # fmt: skip
        title = f"The RePEc archive {self.archive}"
        report = TableReport(
            span=ReportSpan(as_of=_date(self.as_of), since=self.last), title=title,
            source="the obi store", archive=self.archive, tables=tables,
        )  # fmt: skip
        return as_html(report, top=max(1, len(self.findings)), plot=lambda _: "")


def letter_of(records: Records, archive: str, *, state: Path | None = None) -> Letter:
    """Return the letter about *archive*, held to the one whose findings *state* has.

    ``BadArgument`` where *state* is a file of something else; ``RecordsAway``.
    """
    now = as_of(records)
    links = Counter[bool]()
    failing = _links(records, archive, links)
    findings = sorted([*_problems(records, archive), *failing], key=_order)
    last = _before(state, now) if state else None
    before = frozenset(last["keys"]) if last else frozenset[str]()
    return Letter(
        archive=archive, as_of=now, findings=findings, before=before,
        last=_date(last["as_of"]) if last else "", links=(links[True], links[False]),
    )  # fmt: skip


def write_letters(records: Records, folder: Path, archives: Sequence[str]) -> Iterator[Letter]:
    """Write letter, page and findings of each of *archives* into *folder*; give those written.

    An archive of which there is nothing to say, and was not at the last letter, has none.
    ``BadArgument`` where *folder* has files of something else; ``StorageTrouble``, ``RecordsAway``.
    """
    make_folders(folder)
    for archive in archives:
        base = folder / quote(archive, safe="")
        paths = [base.with_name(f"{base.name}.{end}") for end in ("txt", "html", "json")]
        text, page, state = paths
        if not state.exists() and any(path.exists() for path in (text, page)):
            raise BadArgument(f"{folder}: {base.name} has files there that are no letter of ours")
        letter = letter_of(records, archive, state=state)
        if letter.findings or letter.before:
            replace(page, [letter.page()])
            replace(text, [letter.text(page.name).encode()])
            replace(state, [_state(letter, state)])
            yield letter


def archives_of(records: Records) -> list[str]:
    """The archives that the records know templates or problems of."""
    codes = {code for code, _, _ in records.problem_counts()}
    codes.update(code for _, _, code in records.present(Kind.TOBI))
    return sorted(codes - {""})


def _state(letter: Letter, path: Path) -> bytes:
    """The findings as the next letter reads them, with those of the letter before."""
    values: dict[str, Any] = {
        "format": FORMAT, "archive": letter.archive, "as_of": letter.as_of,
        "keys": sorted({one.key for one in letter.findings}), "before": _before(path, letter.as_of),
    }  # fmt: skip
    return json.dumps(values).encode() + b"\n"


def _before(path: Path, now: int) -> dict[str, Any] | None:
    """The findings of the last letter before the store was as it is *now*; None for the first."""
    if not path.exists():
        return None
    with suppress(OSError, ValueError, LookupError, TypeError):
        found: dict[str, Any] = json.loads(path.read_bytes())
        if found["format"] == FORMAT and isinstance(found["keys"], list):
            found = found if found["as_of"] != now else found["before"]
            return found and {"as_of": found["as_of"], "keys": found["keys"]}
    raise BadArgument(f"{path}: no findings of a letter of ours")


def _problems(records: Records, archive: str) -> Iterator[Finding]:
    for one in records.problems(archive):
        if one.code not in _NOT_THEIRS:
            yield Finding(False, one.code, one.file, one.sentence, line=one.line)


def _links(records: Records, archive: str, links: Counter[bool]) -> Iterator[Finding]:
    """The links that its templates have now and that fail; *links* counts all that may be asked
    for, by whether they were.
    """
    for obis in in_batches(records.walk(Kind.TOBI, f"RePEc:{archive}:"), _BATCH):
        for obi in obis:
            for refipo in records.refipos(obi.id):
                fobi = records.history(refipo.fobi)
                if fobi is None:
                    continue
                if fobi.state is not State.RESTRICTED:
                    links[fobi.state is not State.NEW] += 1
                if failing := _failing(fobi):
                    cause, tist = failing
                    url = " ".join(refipo.raw.split())
                    yield Finding(True, cause, f"{obi.id} File-URL {refipo.n}", url, _date(tist))


def _failing(fobi: Obi) -> tuple[str, int] | None:
    """The cause for which a link leads to no file, and since which tist; None where it does."""
    if fobi.state is State.LOST:
        outcome = fobi.missed[-1][1] if fobi.missed else "gone"
        return f"lost, {outcome}", fobi.lost or 0
    if fobi.state is State.NEVER:
        outcome, since = (fobi.missed[-1][1], fobi.missed[0][0]) if fobi.missed else ("", 0)
        return f"never got, {outcome or 'no answer'}", since or fobi.seen or 0
    return (_SOFT, fobi.noted or 0) if fobi.soft else None


def _meaning(cause: str, *, links: bool) -> str:
    """Return what *cause* says, and what mends it."""
    if not links:
        return f"{CODES.get(cause, 'no code that is known')}. {_REMEDIES.get(cause, '')}".rstrip()
    if cause == _SOFT:
        return "The server sends a page. Write the URL that the file has now."
    with suppress(ValueError):
        return Outcome(cause.rpartition(", ")[2]).meaning
    return "Nothing came. Try the URL in a browser."


def _order(one: Finding) -> tuple[Any, ...]:
    order = {code: place for place, code in enumerate(CODES)}
    return one.is_link, order.get(one.cause, len(order)), *one[1:4], one.line


def _date(tist: int) -> str:
    return f"{to_time(tist):%Y-%m-%d}"
