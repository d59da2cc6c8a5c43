# ruff: noqa: S608 - statements are put together from texts of this file, never from values
"""Papers found by pid, DOI, URL, host or words, in pages that follow one another, with counts.

Pages are by key, not by number: ``after`` says where the last one ended, so the thousandth costs
what the first does, and what comes in between moves nothing. Each way has an index of the database
to go along; a filter that few papers pass is the way itself, others are looked at on the way.

Work is bounded, however large the archive is: :data:`LOOKED` papers are compared with filters, and
where all words are frequent, a part of the index is looked through at a time. Where that ends a
search before its end, ``is_least`` and ``note`` say so, and ``after`` goes on from there.

>>> with open_to_read(place.database) as db:  # doctest: +SKIP
...     page = search(db, Question(text="RePEc:abc:"))
...     more = search(db, Question(text="RePEc:abc:", after=page.after))
"""

from __future__ import annotations

import json
import re
import sqlite3
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from lafka.errors import BadArgument, BadPid
from lafka.index.rows import STATES
from lafka.index.tables import JOINER, spaced
from lafka.pids import SCHEMES

PAGE = 25
LARGEST_PAGE = 1000
LONGEST_TEXT = 16 << 10
COUNTED = 200
"""Papers that are counted, and looked at for facets; there may be more."""
LOOKED = 4_000
"""Papers that are compared with filters."""
RARE = 1_000
"""Papers that have a rare word at most; a word of more is frequent, and ranks nothing."""
PART = 100
"""Papers of a part, where all words are frequent; its shortest titles come first."""
PART_OF_FEW = 50
"""As :data:`PART`, of papers that pass a filter, each of which is looked for among few."""
WORK = 1_500_000
"""Papers that are looked through for the words of a part, times words."""
FACETS_MAX = 12
MARKS = "\x02", "\x03"
"""Around each word of a title that was looked for, in ``FoundPaper.marked``."""
_MOST_WORDS = 32
_RANKING = 3
"""Rare words that rank."""
_BEGUN = 10_000
"""Papers with words that begin like the last one, counted for each word; of more words, the most
frequent of those that were met.
"""
_FORMS = 20
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


def _arrays(*columns: str) -> str:
    """Ask for *columns*, each as one array of JSON: a row by itself costs Python's lock."""
    return "SELECT " + ", ".join(f"json_group_array({column})" for column in columns)


_RANK = "rank MATCH 'bm25(5.0, 10.0, 4.0, 1.0)'"  # pid, title, authors, url
_THESE = "IN (SELECT value FROM json_each(?))"
_BY_RANK = f"SELECT rowid, rank FROM words WHERE words MATCH ? AND {_RANK}"
_BY_LENGTH = f"SELECT id, ifnull(length(title), 1000) * 1.0 FROM paper WHERE id {_THESE}"
_NAMED = f"{_arrays('archive', 'series', 'year')} FROM paper WHERE id {_THESE}"
_LINKS_OF = f"{_arrays('paper', 'host', 'state')} FROM futli WHERE paper {_THESE}"
_OF_MANY = (
    "Each of these words is in very many papers: only a part of the index was looked through. A"
    " rarer word finds more."
)
_OF_FORMS = (
    "Very many words begin like the last one: only some of them were looked for. The whole word"
    " finds more."
)
_OF_FILTERS = "Only some of the papers were compared with what the search is narrowed to."


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question to the index; every part that is given narrows it.

    ``text``: a pid or the beginning of one, a DOI, a URL or the beginning of one in any form, a
    host, else words of title, authors, pid or URL, the last of which may be cut short where it is
    not itself a frequent word. ``archive``:
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
    looked for: ``pid``, ``url``, ``host``, ``words``, ``frequent-words``, ``archive``, ``year``,
    ``state`` or ``all``, which has the newest first.

    ``count``: of all pages; ``is_least``: there may be more; ``note``: a sentence where the search
    ended before its end. ``facets``: by ``archive``, ``series``, ``year``, ``host`` and ``state``,
    values with numbers of papers, most first, of the first :data:`COUNTED`.
    """

    papers: tuple[FoundPaper, ...]
    after: str
    way: str
    count: int = 0
    is_least: bool = False
    note: str = ""
    facets: Mapping[str, list[tuple[str, int]]] = field(default_factory=dict)


class _Words(NamedTuple):
    """FTS5 expressions: ``match`` of all words, which are ``size`` forms; ``rare``: of those that
    rank, empty where all are frequent; ``is_cut``: it leaves out forms of the last word;
    ``forms``: each word in a folded text.
    """

    match: str
    size: int
    rare: str
    is_cut: bool
    forms: re.Pattern[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """A walk along an index: rows of ``columns``, which order them, the last a paper's number.

    That of ``words`` has rows of the number behind which its part begins, a score and the paper's.
    """

    name: str
    columns: tuple[str, ...]
    source: str
    where: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()
    is_descending: bool = False
    words: _Words | None = None

    @property
    def types(self) -> list[type]:
        """The types of the columns."""
        return [int, float, int] if self.words else [str] * (len(self.columns) - 1) + [int]


class _Filter(NamedTuple):
    """Papers that pass: numbers in ``column`` of rows ``of`` a table."""

    column: str
    of: str
    values: Sequence[Any]
    is_indexed: bool


class _Condition(NamedTuple):
    """What stands behind ``WHERE``."""

    text: str
    values: Sequence[Any]


_Row = Sequence[Any]
_T = TypeVar("_T")


class _Stretch(NamedTuple):
    """Rows in their order; ``end``: where to go on, if the work's bound ended them."""

    rows: Sequence[_Row]
    end: _Row | None = None


def search(db: sqlite3.Connection, question: Question) -> FoundPage:
    """The papers that *question* matches, in the order of the way that finds them.

    ``BadArgument`` where a part of it is none. Raises what SQLite does: ``tables.reraising``.
    """
    _check(question)
    way = _way(db, question)
    place = _place(question.after, way.types) if question.after else None
    most = max(question.limit, COUNTED) + 1
    shown = first = _walk(db, way, question, None, most)
    if place:
        shown = _walk(db, way, question, place, question.limit + 1)
    page, more = shown.rows[: question.limit], shown.rows[question.limit :]
    counted = list(dict.fromkeys(row[-1] for row in first.rows))
    notes = {_OF_MANY if way.words else _OF_FILTERS: bool(first.end),
             _OF_FORMS: bool(way.words and way.words.is_cut)}  # fmt: skip
    end = page[-1] if more else shown.end
    return FoundPage(
        papers=tuple(_papers(db, list(dict.fromkeys(row[-1] for row in page)), way)),
        after=json.dumps(end) if end else "",
        way=way.name,
        count=len(counted),
        is_least=any(notes.values()) or (not way.words and len(first.rows) == most),
        note=" ".join(note for note, is_so in notes.items() if is_so),
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
    if first.words:  # the last of all ways
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
    """All *words* in quotes as FTS5 takes them; the last may go on."""
    forms = {f'"{spaced(word)}"': 1 for word in words}
    looked = [re.escape(_folded(form.strip(f'"{JOINER}'))) for form in forms]
    is_cut, last = False, f'"{spaced(words[-1])}"'
    is_frequent = {last: _is_frequent(db, last)}
    if words[-1] not in words[:-1] and not is_frequent[last]:
        del forms[last]
        last, forms[last], is_frequent[last], is_cut = _going_on(db, last)
        looked[-1] += f"(?:{_WORD.pattern})?"
    rare: list[str] = []
    for form in sorted(forms, key=len, reverse=True):  # the rarest are long
        if len(rare) == _RANKING:
            break
        if not (is_frequent[form] if form in is_frequent else _is_frequent(db, form)):
            rare.append(form)
    every = _Words(" AND ".join(forms), sum(forms.values()), " AND ".join(rare), is_cut,
                   re.compile(rf"(?<![^\W_])(?:{'|'.join(looked)})(?![^\W_])"))  # fmt: skip
    return _Way(name="words" if rare else "frequent-words", columns=(), source="words",
                where=("words MATCH ?",), values=(every.match,), words=every)  # fmt: skip


def _is_frequent(db: sqlite3.Connection, match: str) -> bool:
    return _more_than(db, RARE, "words WHERE words MATCH ?", [match])


def _more_than(db: sqlite3.Connection, count: int, rows: str, values: Sequence[Any]) -> bool:
    row = db.execute(f"SELECT 1 FROM {rows} LIMIT 1 OFFSET ?", (*values, count))
    return row.fetchone() is not None


def _going_on(db: sqlite3.Connection, phrase: str) -> tuple[str, int, bool, bool]:
    """The expression for words that begin like *phrase*, of how many forms it is, whether these are
    frequent taken together, and whether it leaves some out, for FTS5 gathers all papers of all of
    them before the first.
    """
    if JOINER in phrase:
        return f"{phrase}*", 1, _is_frequent(db, f"{phrase}*"), False
    begin, total, met = _folded(phrase.strip('"')), 0, list[tuple[int, str]]()
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.form USING fts5vocab(main, words, row)")
    forms = "SELECT doc, term FROM temp.form WHERE term >= ? AND term < ?"
    for papers, form in db.execute(forms, (begin, begin + _LAST)):
        met.append((papers, f'"{form}"'))
        total += papers
        if total > _BEGUN:
            some = {phrase, *(one for _, one in nlargest(_FORMS, met))}
            return f"({' OR '.join(sorted(some))})", len(some), True, True
    return f"{phrase}*", 1, total > RARE, False


def _folded(text: str) -> str:
    """*text* much as the tokenizer has it, of the same length."""
    if text.isascii():
        return text.lower()
    plain = (unicodedata.normalize("NFD", one)[0] for one in text)
    bare = (new if new.isascii() else old for old, new in zip(text, plain, strict=True))
    folded = ((one.casefold(), one) for one in bare)
    return "".join(new if len(new) == 1 else old for new, old in folded)


def _by_filters(db: sqlite3.Connection, question: Question) -> _Way:
    if question.host:
        return _of_host("host", _hosts(db, _utf8(question.host)) or [-1])
    if question.state and question.state not in ("held", "never"):
        return _Way(name="state", columns=("l.paper",), source="futli l",
                    where=("l.state = ?", "l.state NOT IN ('held', 'never')"),
                    values=(question.state,))  # fmt: skip
    if question.archive:
        named = {"archive": _utf8(question.archive), "series": _utf8(question.series)}
        return _Way(name="archive", columns=("p.series", "p.id"), source="paper p",
                    where=tuple(f"p.{name} = ?" for name in named if named[name]),
                    values=tuple(filter(None, named.values())))  # fmt: skip
    if question.year:
        return _Way(name="year", columns=("p.id",), source="paper p",
                    where=("p.year = ?", "p.year IS NOT NULL"),
                    values=(int(question.year),))  # fmt: skip
    return _Way(name="all", columns=("coalesce(p.last, '')", "p.id"), source="paper p",
                is_descending=True)  # fmt: skip


# ---- Along it


def _walk(
    db: sqlite3.Connection, way: _Way, question: Question, place: _Row | None, most: int
) -> _Stretch:
    """The rows behind *place*, or from the beginning: so many, all, or those of a bound of work."""
    filters = _filters(way, question)
    if way.words:
        return _ranked(db, way.words, filters, place)
    if not filters:
        return _Stretch(_rows(db, way, place, most))
    if few := _few(db, filters, way.columns[-1]):
        return _Stretch(_rows(db, way, place, most, few))
    rows: list[_Row] = []
    at = place
    for _ in range(LOOKED // COUNTED):
        some = _rows(db, way, at, COUNTED)
        passing = {*_passing(db, filters, [row[-1] for row in some])}
        rows += [row for row in some if row[-1] in passing]
        if len(some) < COUNTED or len(rows) >= most:
            return _Stretch(rows[:most])
        at = some[-1]
    return _Stretch(rows, at)


def _rows(
    db: sqlite3.Connection,
    way: _Way,
    place: _Row | None,
    most: int,
    few: _Condition | None = None,
) -> list[_Row]:
    """The rows behind *place*, at most so many, of *few* papers or of all."""
    where, values = [*way.where], [*way.values]
    if few and _more_than(db, LOOKED, f"{way.source} WHERE {' AND '.join(where)}", values):
        where = [f"+{one}" for one in where]  # of no index: it goes along the few
    if place:
        sign = "<" if way.is_descending else ">"
        where.append(f"({', '.join(way.columns)}) {sign} ({', '.join('?' * len(way.columns))})")
        values += place
    if few:
        where.append(few.text)
        values += few.values
    columns = ", ".join(way.columns)
    order = ", ".join(f"{one} DESC" for one in way.columns) if way.is_descending else columns
    condition = f" WHERE {' AND '.join(where)}" if where else ""
    once = "DISTINCT" if len(way.columns) == 1 else ""
    return db.execute(
        f"SELECT {once} {columns} FROM {way.source}{condition} ORDER BY {order} LIMIT ?",
        (*values, most),
    ).fetchall()


def _ranked(
    db: sqlite3.Connection, words: _Words, filters: Sequence[_Filter], place: _Row | None
) -> _Stretch:
    """The papers with all *words* behind *place*, best first: of rare words all, else of a part."""
    if words.rare == words.match and not filters:
        return _Stretch(_in_order(db.execute(_BY_RANK, [words.rare]), 0, place))
    few = _few(db, filters, "+words.rowid")
    start = place[0] if place else 0
    (last,) = db.execute("SELECT ifnull(max(id), 0) FROM paper").fetchone()
    until = last if words.rare else min(last, start + WORK // words.size)
    most = RARE if words.rare else PART_OF_FEW if few else PART
    of_few, values = (f" AND {few.text}", few.values) if few else ("", [])
    numbers = [number for (number,) in db.execute(
        f"SELECT rowid FROM words WHERE words MATCH ? AND rowid > ? AND rowid <= ?{of_few} LIMIT ?",
        (words.match, start, until, *values, most),
    )]  # fmt: skip
    if not words.rare and len(numbers) == most:
        until = numbers[-1]
    if filters and not few:
        numbers = _passing(db, filters, numbers)
    by_rank = (f"{_BY_RANK} AND +rowid {_THESE}", [words.rare])
    score, ranking = by_rank if words.rare else (_BY_LENGTH, [])
    scores = db.execute(score, (*ranking, json.dumps(numbers)))
    end = (until, -1.0, -1) if until < last else None
    return _Stretch(_in_order(scores, start, place), end)


def _in_order(scores: Iterable[_Row], start: int, place: _Row | None) -> list[_Row]:
    """The rows behind *place*, of numbers and scores in the part from *start* on."""
    rows = sorted((start, score, number) for number, score in scores)
    return [row for row in rows if row > tuple(place)] if place else [*rows]


def _place(after: str, types: Sequence[type]) -> list[Any]:
    try:
        place = json.loads(after)
        if isinstance(place, list) and [*map(type, place)] == [*types]:
            place = [max(-1, min(one, 1 << 62)) if type(one) is int else one for one in place]
            "".join(map(str, place)).encode()  # a lone surrogate is no text of a database
            return place
    except (ValueError, RecursionError):
        pass
    raise BadArgument("after: not where a page of this search ended")


def _filters(way: _Way, question: Question) -> list[_Filter]:
    """Return the other conditions on a paper, those of an index first."""
    archive, state = _utf8(question.archive), question.state
    series = [_utf8(question.series), *([archive] if archive else [])]
    of_series = "paper WHERE series = ?" + (" AND archive = ?" if archive else "")
    is_other = state not in ("held", "never")
    of_state = "futli WHERE state = ?" + (" AND state NOT IN ('held', 'never')" if is_other else "")
    of_host = "futli WHERE host = (SELECT id FROM host WHERE name = ?)"
    of_year = "paper WHERE year = ? AND year IS NOT NULL"
    every = {
        "archive": _Filter("id", "paper WHERE archive = ?", [archive], True),
        "series": _Filter("id", of_series, series, bool(archive)),
        "year": _Filter("id", of_year, [int(question.year or 0)], True),
        "host": _Filter("paper", of_host, [_utf8(question.host.lower())], True),
        "state": _Filter("paper", of_state, [state], is_other),
    }
    done = ("archive", "series") if way.name == "archive" else (way.name,)
    wanted = (one for name, one in every.items() if getattr(question, name) and name not in done)
    return sorted(wanted, key=lambda one: not one.is_indexed)


def _few(db: sqlite3.Connection, filters: Sequence[_Filter], number: str) -> _Condition | None:
    """That the paper *number* passes all *filters*, where one of these lets few pass; else None."""
    for one in filters:
        if one.is_indexed and not _more_than(db, LOOKED, one.of, one.values):
            others = [other for other in filters if other is not one]
            text = f"{number} IN (SELECT {one.column} FROM {one.of})"
            more = _condition(others, number)
            return _Condition(" AND ".join(filter(None, (text, more.text))),
                              [*one.values, *more.values])  # fmt: skip
    return None


def _condition(filters: Sequence[_Filter], number: str) -> _Condition:
    """That the paper *number* passes all *filters*."""
    each = [f"EXISTS (SELECT 1 FROM {one.of} AND {one.column} = {number})" for one in filters]
    return _Condition(" AND ".join(each), [value for one in filters for value in one.values])


def _passing(
    db: sqlite3.Connection, filters: Sequence[_Filter], numbers: Sequence[int]
) -> list[int]:
    """Those of *numbers* that pass all *filters*."""
    passing = _condition(filters, "value")
    rows = db.execute(f"SELECT value FROM json_each(?) WHERE {passing.text}",
                      (json.dumps(numbers), *passing.values))  # fmt: skip
    return [number for (number,) in rows]


def _read(db: sqlite3.Connection, statement: str, values: Sequence[Any]) -> list[list[Any]]:
    """The columns of a *statement* of :func:`_arrays`."""
    return [json.loads(column) for column in db.execute(statement, values).fetchone()]


def _facets(db: sqlite3.Connection, numbers: Sequence[int]) -> dict[str, list[tuple[str, int]]]:
    """Count the papers of these *numbers* by what they can be narrowed to."""
    these = json.dumps(numbers)
    archives, series, years = _read(db, _NAMED, (these,))
    papers, links, states = _read(db, _LINKS_OF, (these,))
    hosts = Counter(host for _, host in {*zip(papers, links, strict=True)})
    least = min((count for _, count in hosts.most_common(FACETS_MAX + 1)), default=0)
    most = [host for host, count in hosts.items() if count >= least]  # one has no name
    names = db.execute(f"SELECT name, id FROM host WHERE id {_THESE}", (json.dumps(most),))
    in_years = Counter(year for year in years if year is not None)
    in_archives = Counter(one for one in zip(archives, series, strict=True) if one[1])
    return {
        "archive": _most(Counter(archives)),
        "series": [("/".join(one), count) for one, count in _most(in_archives)],
        "year": [(str(year), count) for year, count in _most(in_years)],
        "host": _most({name: hosts[number] for name, number in names if name}),
        "state": _most(Counter(state for _, state in {*zip(papers, states, strict=True)})),
    }


def _most(counts: Mapping[_T, int]) -> list[tuple[_T, int]]:
    """The most frequent, these first."""
    most = sorted((-count, one) for one, count in counts.items())[:FACETS_MAX]
    return [(one, -count) for count, one in most]


def _papers(
    db: sqlite3.Connection, numbers: Sequence[int], way: _Way | None = None
) -> Iterator[FoundPaper]:
    """The papers of these *numbers*, in their order; one that is gone by now is left out."""
    these = json.dumps(numbers)
    rows = db.execute(
        f"SELECT id, pid, title, authors, year, futs, first, last FROM paper WHERE id {_THESE}",
        (these,),
    )
    found = {row[0]: row[1:] for row in rows}
    states: dict[int, list[str]] = defaultdict(list)
    links = db.execute(f"SELECT paper, state FROM futli WHERE paper {_THESE}", (these,))
    for paper, state in links:
        states[paper].append(state)
    for number in numbers:
        if number in found:
            pid, title, authors, year, futs, first, last = found[number]
            lives = states[number]
            yield FoundPaper(
                pid=pid, title=title, authors=authors, year=year, futs=futs, first=first,
                last=last, futlis=len(lives),
                states=tuple(state for state in STATES if state in lives),
                marked=_marked(title or "", way.words.forms) if way and way.words else "",
            )  # fmt: skip


def _marked(title: str, forms: re.Pattern[str]) -> str:
    """*title* with :data:`MARKS` around its words of these *forms*."""
    text = spaced(title) or ""
    parts, at = [], 0
    for found in forms.finditer(_folded(text)):
        begin, end = found.span()
        parts += [text[at:begin], MARKS[0], text[begin:end], MARKS[1]]
        at = end
    return "".join([*parts, text[at:]]).replace(JOINER, "")
