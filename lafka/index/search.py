# ruff: noqa: S608 - statements are put together from texts of this file, never from values
"""Papers found by pid, beginning of a pid, URL, host or words, in pages that follow one another.

Pages are by key, not by number: ``after`` says where the last one ended, so the thousandth costs
what the first does, and what comes in between moves nothing. Each way has an index of the database
to go along; filters are looked at on the way.

>>> with open_to_read(place.database) as db:  # doctest: +SKIP
...     page = search(db, Question(text="RePEc:abc:"))
...     more = search(db, Question(text="RePEc:abc:", after=page.after))
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lafka.errors import BadArgument, BadPid
from lafka.index.rows import STATES
from lafka.pids import SCHEMES

PAGE = 50
LARGEST_PAGE = 1000
LONGEST_TEXT = 16 << 10
_MOST_WORDS = 32
_WORD = re.compile(r"[^\W_]+")
_URL = re.compile(r"https?://", re.IGNORECASE)
_LAST = "\U0010ffff"
"""Behind every text that begins alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question to the index; every part that is given narrows it.

    ``text``: a pid or the beginning of one, a URL or the beginning of one, a host, else words of
    title, pid or URL, the last of which may be cut short. ``archive``: a RePEc archive, ``abc``, or
    ``doi``; ``state``: papers with a futli that is so. ``after``: the ``after`` of the page before.
    """

    text: str = ""
    host: str = ""
    archive: str = ""
    state: str = ""
    after: str = ""
    limit: int = PAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPaper:
    """A paper: ``futs`` are different ones, ``states`` those of its futlis, each once."""

    pid: str
    title: str | None
    year: int | None
    futs: int
    first: str | None
    last: str | None
    futlis: int
    states: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPage:
    """At most ``limit`` papers; ``after`` is empty where there are no more. ``way``: how they were
    looked for: ``pid``, ``url``, ``host``, ``words``, ``archive``, ``state`` or ``all``.
    """

    papers: tuple[FoundPaper, ...]
    after: str
    way: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """A walk along an index: rows of ``columns``, which order them, the last a paper's number."""

    name: str
    columns: tuple[str, ...]
    source: str
    where: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()


def search(db: sqlite3.Connection, question: Question) -> FoundPage:
    """The papers that *question* matches, in the order of the way that finds them.

    ``BadArgument`` where a part of it is none. Raises what SQLite does: ``tables.reraising``.
    """
    _check(question)
    way = _way(db, question)
    rows = _rows(db, way, question)
    page, more = rows[: question.limit], rows[question.limit :]
    numbers = list(dict.fromkeys(row[-1] for row in page))
    return FoundPage(
        papers=tuple(_papers(db, numbers)),
        after=json.dumps(page[-1]) if more else "",
        way=way.name,
    )


def _check(question: Question) -> None:
    texts = (question.text, question.host, question.archive, question.after)
    if any(len(text) > LONGEST_TEXT for text in texts):
        raise BadArgument(f"a search for more than {LONGEST_TEXT} characters")
    if question.state and question.state not in STATES:
        raise BadArgument(f"{question.state}: no state, which are {', '.join(STATES)}")
    if not 0 < question.limit <= LARGEST_PAGE:
        raise BadArgument(f"a page of {question.limit}: from 1 to {LARGEST_PAGE} can be had")


def _way(db: sqlite3.Connection, question: Question) -> _Way:
    text = _utf8(question.text.strip())
    if _URL.match(text):
        return _Way(name="url", columns=("l.url", "l.paper"), source="futli l",
                    where=("l.url >= ?", "l.url < ?"), values=(text, text + _LAST))  # fmt: skip
    if text and (start := _pid(db, text)):
        return _Way(name="pid", columns=("p.pid", "p.id"), source="paper p",
                    where=("p.pid >= ?", "p.pid < ?"), values=(start, start + _LAST))  # fmt: skip
    host = _host(db, text) if text and not question.host else None
    if host is not None:
        return _of_host("host", host)
    if text:
        return _Way(name="words", columns=("w.rowid",), source="words w",
                    where=("words MATCH ?",), values=(_match(text),))  # fmt: skip
    return _by_filters(db, question)


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


def _host(db: sqlite3.Connection, text: str) -> int | None:
    row = db.execute("SELECT id FROM host WHERE name = ?", (text.lower(),)).fetchone()
    return int(row[0]) if row and text else None


def _of_host(name: str, host: int | None) -> _Way:
    return _Way(name=name, columns=("l.paper",), source="futli l", where=("l.host = ?",),
                values=(host,))  # fmt: skip


def _match(text: str) -> str:
    """*text* as FTS5 takes it: words in quotes, the last may go on."""
    words = _WORD.findall(text)[:_MOST_WORDS]
    if not words:
        raise BadArgument(f"{text[:100]}: no word is in it")
    return " ".join(f'"{word}"' for word in words) + "*"


def _by_filters(db: sqlite3.Connection, question: Question) -> _Way:
    if question.host:
        return _of_host("host", _host(db, _utf8(question.host)))
    if question.state and question.state not in ("held", "never"):
        return _Way(name="state", columns=("l.paper",), source="futli l",
                    where=("l.state = ?", "l.state NOT IN ('held', 'never')"),
                    values=(question.state,))  # fmt: skip
    if question.archive:
        return _Way(name="archive", columns=("p.series", "p.id"), source="paper p",
                    where=("p.archive = ?",), values=(_utf8(question.archive),))  # fmt: skip
    return _Way(name="all", columns=("p.id",), source="paper p")


def _rows(db: sqlite3.Connection, way: _Way, question: Question) -> list[Sequence[Any]]:
    """One row more than the page has, where there is one."""
    where, values = [*way.where], [*way.values]
    if question.after:
        where.append(f"({', '.join(way.columns)}) > ({', '.join('?' * len(way.columns))})")
        values += _place(question.after, len(way.columns))
    for condition, value in _filters(way, question):
        where.append(condition)
        values.append(value)
    columns = ", ".join(way.columns)
    condition = f" WHERE {' AND '.join(where)}" if where else ""
    once = "DISTINCT" if len(way.columns) == 1 else ""
    return db.execute(
        f"SELECT {once} {columns} FROM {way.source}{condition} ORDER BY {columns} LIMIT ?",
        (*values, question.limit + 1),
    ).fetchall()


def _place(after: str, count: int) -> list[Any]:
    try:
        place = json.loads(after)
        if isinstance(place, list) and [*map(type, place)] == [str] * (count - 1) + [int]:
            place[-1] = max(-1, min(place[-1], 1 << 62))
            "".join(place[:-1]).encode()  # a lone surrogate is no text of a database
            return place
    except (ValueError, RecursionError):
        pass
    raise BadArgument("after: not where a page of this search ended")


def _filters(way: _Way, question: Question) -> list[tuple[str, Any]]:
    """Return the other conditions on a paper, each with its value."""
    paper, wanted = way.columns[-1], []
    if question.archive and way.name != "archive":
        wanted.append((f"{paper} IN (SELECT id FROM paper WHERE id = {paper} AND archive = ?)",
                       _utf8(question.archive)))  # fmt: skip
    futli = f"EXISTS (SELECT 1 FROM futli f WHERE f.paper = {paper} AND "
    if question.host and way.name != "host":
        condition = "f.host = (SELECT id FROM host WHERE name = ?))"
        wanted.append((futli + condition, _utf8(question.host.lower())))
    if question.state and way.name != "state":
        wanted.append((f"{futli}f.state = ?)", question.state))
    return wanted


def _papers(db: sqlite3.Connection, numbers: Sequence[int]) -> Iterator[FoundPaper]:
    """The papers of these *numbers*, in their order; one that is gone by now is left out."""
    these = ", ".join("?" * len(numbers))
    rows = db.execute(
        f"SELECT id, pid, title, year, futs, first, last FROM paper WHERE id IN ({these})", numbers
    )
    found = {row[0]: row[1:] for row in rows}
    states: dict[int, list[str]] = defaultdict(list)
    for paper, state in db.execute(
        f"SELECT paper, state FROM futli WHERE paper IN ({these})", numbers
    ):
        states[paper].append(state)
    for number in numbers:
        if number in found:
            pid, title, year, futs, first, last = found[number]
            lives = states[number]
            yield FoundPaper(
                pid=pid, title=title, year=year, futs=futs, first=first, last=last,
                futlis=len(lives), states=tuple(state for state in STATES if state in lives),
            )  # fmt: skip
