# ruff: noqa: S608 - statements are put together from texts of this file, never from values
"""Papers found by pid, DOI, URL, host or words, in pages that follow one another, with counts.

Pages are by key, not by number: ``after`` says where the last one ended, so the thousandth costs
what the first does, and what comes in between moves nothing. Each way has an index of the database
to go along; filters are looked at on the way. Words are ranked, up to :data:`RANKED` papers.

>>> with open_to_read(place.database) as db:  # doctest: +SKIP
...     page = search(db, Question(text="RePEc:abc:"))
...     more = search(db, Question(text="RePEc:abc:", after=page.after))
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from lafka.errors import BadArgument, BadPid
from lafka.index.rows import STATES
from lafka.index.tables import JOINER, spaced
from lafka.pids import SCHEMES

PAGE = 50
LARGEST_PAGE = 1000
LONGEST_TEXT = 16 << 10
COUNTED = 500
"""Papers that are counted, and looked at for facets; there may be more."""
RANKED = 10_000
"""Papers with the words of a question that are ranked; more come as they stand in the index."""
FACETS_MAX = 12
MARKS = "\x02", "\x03"
"""Around each word of a title that was looked for, in ``FoundPaper.marked``."""
_MOST_WORDS = 32
_LOOKS = 8
_WORD = re.compile(
    "(?:[^\\W_]|[\u0300-\u036f\u0900-\u0dff\u0e30-\u0e4e\u0eb0-\u0ecd\u1780-\u17ff])+"
)
_SCHEME = re.compile(r"https?://", re.IGNORECASE)
_BARE_URL = re.compile(r"[\w-]+(\.[\w-]+)+(:[0-9]{1,5})?/\S*")
_DOI = re.compile(
    r"(?:(?:https?://)?(?:dx\.)?doi\.org/|doi:\s*)?(10\.[0-9]{4,9}/\S+)", re.IGNORECASE
)
_RESOLVERS = ("https://doi.org/", "http://dx.doi.org/", "http://doi.org/", "https://dx.doi.org/")
_LAST = "\U0010ffff"
"""Behind every text that begins alike."""
_RANK = "rank MATCH 'bm25(5.0, 10.0, 4.0, 1.0)'"  # pid, title, authors, url


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question to the index; every part that is given narrows it.

    ``text``: a pid or the beginning of one, a DOI, a URL or the beginning of one in any form, a
    host, else words of title, authors, pid or URL, the last of which may be cut short. ``archive``:
    a RePEc archive, ``abc``, or ``doi``; ``series`` one of its series; ``year`` four digits;
    ``state``: papers with a futli that is so. ``after``: the ``after`` of the page before.
    """

    text: str = ""
    host: str = ""
    archive: str = ""
    series: str = ""
    year: str = ""
    state: str = ""
    after: str = ""
    limit: int = PAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPaper:
    """A paper: ``futs`` are different ones, ``states`` those of its futlis, each once.

    ``marked``: its title with :data:`MARKS` around the words that were looked for.
    """

    pid: str
    title: str | None
    authors: str | None
    year: int | None
    futs: int
    first: str | None
    last: str | None
    futlis: int
    states: tuple[str, ...]
    marked: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPage:
    """At most ``limit`` papers; ``after`` is empty where there are no more. ``way``: how they were
    looked for: ``pid``, ``url``, ``host``, ``words``, ``archive``, ``year``, ``state`` or ``all``,
    which has the newest first.

    ``count``: of all pages, more than :data:`COUNTED` for many more; ``facets``: by ``archive``,
    ``series``, ``year``, ``host`` and ``state``, values with numbers of papers, most first, of the
    first that are counted.
    """

    papers: tuple[FoundPaper, ...]
    after: str
    way: str
    count: int = 0
    facets: Mapping[str, list[tuple[str, int]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """A walk along an index: rows of ``columns``, which order them, the last a paper's number."""

    name: str
    columns: tuple[str, ...]
    source: str
    where: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()
    is_descending: bool = False

    @property
    def types(self) -> list[type]:
        """The types of the columns."""
        first = float if self.columns[0] == "w.rank" else str
        return [first] * (len(self.columns) - 1) + [int]


def search(db: sqlite3.Connection, question: Question) -> FoundPage:
    """The papers that *question* matches, in the order of the way that finds them.

    ``BadArgument`` where a part of it is none. Raises what SQLite does: ``tables.reraising``.
    """
    _check(question)
    way = _way(db, question)
    # One walk for both, where each of its rows is another paper.
    is_whole = not question.after and way.name != "url"
    rows = _rows(db, way, question, max(question.limit, COUNTED if is_whole else 0) + 1)
    page, more = rows[: question.limit], rows[question.limit :]
    numbers = list(dict.fromkeys(row[-1] for row in page))
    counted = [row[-1] for row in rows] if is_whole else _numbers(db, way, question)
    return FoundPage(
        papers=tuple(_papers(db, numbers, way)),
        after=json.dumps(page[-1]) if more else "",
        way=way.name,
        count=len(counted),
        facets=_facets(db, counted[:COUNTED]) if way.name != "all" else {},
    )


def _check(question: Question) -> None:
    texts = (question.text, question.host, question.archive, question.series, question.after)
    if any(len(text) > LONGEST_TEXT for text in texts):
        raise BadArgument(f"a search for more than {LONGEST_TEXT} characters")
    if question.state and question.state not in STATES:
        raise BadArgument(f"{question.state}: no state, which are {', '.join(STATES)}")
    if question.year and not re.fullmatch("[0-9]{4}", question.year):
        raise BadArgument(f"{question.year[:40]}: no year of four digits")
    if not 0 < question.limit <= LARGEST_PAGE:
        raise BadArgument(f"a page of {question.limit}: from 1 to {LARGEST_PAGE} can be had")


# ---- Which way


def _way(db: sqlite3.Connection, question: Question) -> _Way:
    """The first way that leads to a paper, else the first one."""
    ways = _ways(db, question)
    first = next(ways)
    if first.name == "words":  # the last of all ways
        return first
    for way in chain([first], ways):
        where = f" WHERE {' AND '.join(way.where)}" if way.where else ""
        if db.execute(f"SELECT 1 FROM {way.source}{where} LIMIT 1", way.values).fetchone():
            return way
    return first


def _ways(db: sqlite3.Connection, question: Question) -> Iterator[_Way]:
    """The ways that the form of *question* suggests, the surest first."""
    text = _utf8(question.text.strip())
    if not text:
        yield _by_filters(db, question)
        return
    if not _SCHEME.match(text) and (start := _pid(db, text)):
        yield _of_pid(start)
    futs = "fut t JOIN futli l ON l.id = t.futli"  # what a link page led to
    for source, column in (("futli l", "l.url"), (futs, "t.url")):
        for url in _urls(text):
            where = (f"{column} >= ?", f"{column} < ?")
            yield _Way(name="url", columns=(column, "l.paper"), source=source, where=where,
                       values=(url, url + _LAST))  # fmt: skip
    if doi := _DOI.fullmatch(text):
        yield _of_pid(f"doi:{doi[1].lower()}")
    if not question.host and (hosts := _hosts(db, text)):
        yield _of_host("host", hosts)
    words = _WORD.findall(text)[:_MOST_WORDS]
    if words:
        yield _of_words(db, words)
    elif not _SCHEME.match(text):
        raise BadArgument(f"{text[:100]}: no word is in it")


def _utf8(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _pid(db: sqlite3.Connection, text: str) -> str:
    """The canonical beginning of pids that *text* is; empty where it is none."""
    if re.search(r"\s", text) or not (":" in text or "/" in text):
        return ""
    row = db.execute("SELECT value FROM meta WHERE key = 'collection'").fetchone()
    scheme = SCHEMES.get(row[0] if row else "", SCHEMES["RePEc"])
    try:
        return str(scheme.pid(text))
    except BadPid:
        parts = text.split(":")
    if parts[0].lower() == "repec":
        return ":".join(["RePEc", *(part.lower() for part in parts[1:3]), *parts[3:]])
    return text if ":" in text else ""


def _urls(text: str) -> Iterator[str]:
    """The beginnings of URLs that *text*, a URL in any form or a DOI, may stand for."""
    if found := _DOI.fullmatch(text):
        doi = found[1]
        for name in dict.fromkeys((doi, doi.lower())):
            yield from (f"{resolver}{name}" for resolver in _RESOLVERS)
    elif _SCHEME.match(text) or _BARE_URL.fullmatch(text):
        rest = _SCHEME.sub("", text, count=1).partition("#")[0]
        bare = rest.removeprefix("www.")
        named = [text] if _SCHEME.match(text) else []
        others = [f"{scheme}://{www}{bare}" for scheme in ("https", "http") for www in ("", "www.")]
        yield from dict.fromkeys(named + others)
        if bare.endswith("/") and bare.count("/") > 1:
            yield from (other.rstrip("/") for other in others)


def _hosts(db: sqlite3.Connection, text: str) -> list[int]:
    """The numbers of the hosts that *text* names, with or without ``www.`` and port."""
    name = text.lower().removeprefix("www.")
    found: list[int] = []
    for one in (name, f"www.{name}"):
        rows = db.execute("SELECT id FROM host WHERE name = ? OR name > ? AND name < ? LIMIT 50",
                          (one, f"{one}:", f"{one};"))  # fmt: skip
        found += [number for (number,) in rows]
    return found if name else []


def _of_pid(start: str) -> _Way:
    return _Way(name="pid", columns=("p.pid", "p.id"), source="paper p",
                where=("p.pid >= ?", "p.pid < ?"), values=(start, start + _LAST))  # fmt: skip


def _of_host(name: str, hosts: Sequence[int]) -> _Way:
    places = ", ".join("?" * len(hosts))
    where = "l.host = ?" if len(hosts) == 1 else f"l.host IN ({places})"
    return _Way(name=name, columns=("l.paper",), source="futli l", where=(where,),
                values=tuple(hosts))  # fmt: skip


def _of_words(db: sqlite3.Connection, words: Sequence[str]) -> _Way:
    """Words in quotes as FTS5 takes them, the last may go on; some papers are ranked, many not."""
    match = " ".join(f'"{spaced(word)}"' for word in words) + "*"
    many = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
    is_ranked = 1 < db.execute(many, (match, RANKED + 1)).fetchone()[0] <= RANKED
    return _Way(name="words", columns=("w.rank", "w.rowid") if is_ranked else ("w.rowid",),
                source="words w", where=("words MATCH ?", *([_RANK] if is_ranked else [])),
                values=(match,))  # fmt: skip


def _by_filters(db: sqlite3.Connection, question: Question) -> _Way:
    if question.host:
        return _of_host("host", _hosts(db, _utf8(question.host)) or [-1])
    if question.state and question.state not in ("held", "never"):
        return _Way(name="state", columns=("l.paper",), source="futli l",
                    where=("l.state = ?", "l.state NOT IN ('held', 'never')"),
                    values=(question.state,))  # fmt: skip
    if question.archive:
        return _Way(name="archive", columns=("p.series", "p.id"), source="paper p",
                    where=("p.archive = ?",), values=(_utf8(question.archive),))  # fmt: skip
    if question.year:
        return _Way(name="year", columns=("p.id",), source="paper p",
                    where=("p.year = ?", "p.year IS NOT NULL"),
                    values=(int(question.year),))  # fmt: skip
    return _Way(name="all", columns=("coalesce(p.last, '')", "p.id"), source="paper p",
                is_descending=True)  # fmt: skip


# ---- Along it


def _rows(db: sqlite3.Connection, way: _Way, question: Question, most: int) -> list[Sequence[Any]]:
    """The rows of the page and behind it, at most so many."""
    where, values = _conditions(way, question)
    if question.after:
        sign = "<" if way.is_descending else ">"
        where.append(f"({', '.join(way.columns)}) {sign} ({', '.join('?' * len(way.columns))})")
        values += _place(question.after, way.types)
    columns = ", ".join(way.columns)
    order = ", ".join(f"{one} DESC" for one in way.columns) if way.is_descending else columns
    condition = f" WHERE {' AND '.join(where)}" if where else ""
    once = "DISTINCT" if len(way.columns) == 1 else ""
    return db.execute(
        f"SELECT {once} {columns} FROM {way.source}{condition} ORDER BY {order} LIMIT ?",
        (*values, most),
    ).fetchall()


def _numbers(db: sqlite3.Connection, way: _Way, question: Question) -> list[int]:
    """The numbers of the papers of all pages, of many some more than are counted."""
    where, values = _conditions(way, question)
    condition = f" WHERE {' AND '.join(where)}" if where else ""
    found = db.execute(
        f"SELECT DISTINCT {way.columns[-1]} FROM {way.source}{condition} LIMIT ?",
        (*values, COUNTED + 1),
    )
    return [number for (number,) in found]


def _conditions(way: _Way, question: Question) -> tuple[list[str], list[Any]]:
    where, values = [*way.where], [*way.values]
    for condition, value in _filters(way, question):
        where.append(condition)
        values.append(value)
    return where, values


def _place(after: str, types: Sequence[type]) -> list[Any]:
    try:
        place = json.loads(after)
        if isinstance(place, list) and [*map(type, place)] == [*types]:
            place[-1] = max(-1, min(place[-1], 1 << 62))
            "".join(map(str, place)).encode()  # a lone surrogate is no text of a database
            return place
    except (ValueError, RecursionError):
        pass
    raise BadArgument("after: not where a page of this search ended")


def _filters(way: _Way, question: Question) -> list[tuple[str, Any]]:
    """Return the other conditions on a paper, each with its value."""
    paper = way.columns[-1]
    wanted: list[tuple[str, Any]] = []
    named = {"archive": question.archive, "series": question.series, "year": question.year}
    wanted += [
        (f"{paper} IN (SELECT id FROM paper WHERE id = {paper} AND {name} = ?)",
         int(value) if name == "year" else _utf8(value))
        for name, value in named.items() if value and way.name != name
    ]  # fmt: skip
    futli = f"EXISTS (SELECT 1 FROM futli f WHERE f.paper = {paper} AND "
    if question.host and way.name != "host":
        condition = "f.host = (SELECT id FROM host WHERE name = ?))"
        wanted.append((futli + condition, _utf8(question.host.lower())))
    if question.state and way.name != "state":
        wanted.append((f"{futli}f.state = ?)", question.state))
    return wanted


_PAPERS_BY = (
    "SELECT archive, series, year, count(*) FROM paper"
    " WHERE id IN (SELECT value FROM json_each(?)) GROUP BY 1, 2, 3"
)
_LINKS_OF = "SELECT paper, host, state FROM futli WHERE paper IN (SELECT value FROM json_each(?))"


def _facets(db: sqlite3.Connection, numbers: Sequence[int]) -> dict[str, list[tuple[str, int]]]:
    """Count the papers of these *numbers* by what they can be narrowed to."""
    these = json.dumps(numbers)
    by: dict[str, Counter[str]] = {name: Counter() for name in ("archive", "series", "year")}
    for archive, series, year, count in db.execute(_PAPERS_BY, (these,)):
        by["archive"][archive] += count
        if series:
            by["series"][f"{archive}/{series}"] += count
        if year is not None:
            by["year"][str(year)] += count
    links = db.execute(_LINKS_OF, (these,)).fetchall()
    hosts = Counter(host for _, host in {(paper, host) for paper, host, _ in links})
    names = db.execute("SELECT id, name FROM host WHERE id IN (SELECT value FROM json_each(?))",
                       (json.dumps([*hosts]),))  # fmt: skip
    by["host"] = Counter({name: hosts[number] for number, name in names if name})
    by["state"] = Counter(state for _, state in {(paper, state) for paper, _, state in links})
    return {name: sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:FACETS_MAX]
            for name, counts in by.items()}  # fmt: skip


def _papers(
    db: sqlite3.Connection, numbers: Sequence[int], way: _Way | None = None
) -> Iterator[FoundPaper]:
    """The papers of these *numbers*, in their order; one that is gone by now is left out."""
    these = ", ".join("?" * len(numbers))
    rows = db.execute(
        f"SELECT id, pid, title, authors, year, futs, first, last FROM paper WHERE id IN ({these})",
        numbers,
    )
    found = {row[0]: row[1:] for row in rows}
    marked: dict[int, str] = {}
    if way and way.name == "words" and numbers:
        # Each look by a row's number gathers the words anew: of many rows one walk is quicker.
        row = "rowid" if len(numbers) <= _LOOKS else "+rowid"
        marked = dict(db.execute(
            "SELECT rowid, highlight(words, 1, ?, ?) FROM words WHERE words MATCH ? AND rowid"
            f" BETWEEN ? AND ? AND {row} IN ({these})",
            (*MARKS, way.values[0], min(numbers), max(numbers), *numbers),
        ))  # fmt: skip
    states: dict[int, list[str]] = defaultdict(list)
    for paper, state in db.execute(
        f"SELECT paper, state FROM futli WHERE paper IN ({these})", numbers
    ):
        states[paper].append(state)
    for number in numbers:
        if number in found:
            pid, title, authors, year, futs, first, last = found[number]
            lives = states[number]
            yield FoundPaper(
                pid=pid, title=title, authors=authors, year=year, futs=futs, first=first,
                last=last, futlis=len(lives),
                states=tuple(state for state in STATES if state in lives),
                marked=(marked.get(number) or "").replace(JOINER, ""),
            )  # fmt: skip
