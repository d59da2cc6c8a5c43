"""Lines of a list as rows, by its format, and the verdict on each row.

- tsv: ``pid TAB futli``. A quote is a character like any, but around a whole field.
- csv: ``pid,futli``, quoted as in RFC 4180, except that a quoted pid or link ends with its line:
  one stray quote costs one line, never the rest of the list. A line with more columns than its
  header (without one: than its first lines all have) is refused, as it holds an unquoted URL with
  a comma.
- jsonl: ``{"pid": ..., "futli": ...}``.

A header or a key may name a ``restriction`` and a ``title`` as well; ``lafka.papers.lists.columns``
knows the names.

Whatever a line holds, it gives a row that says what is wrong with it, and raises nothing; the
verdict on a row is a line that can be asked for, or why it cannot.
"""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from lafka.errors import BadPid, BadUrl
from lafka.papers.lists.columns import PID_NAMES, RESTRICTION_NAMES, TITLE_NAMES, URL_NAMES, Columns
from lafka.papers.lists.futlis import Futli, Line
from lafka.urls import check_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from lafka.pids import Pid, Scheme


TITLE_MAX = 500
"""Characters of a title that are read."""


SEPARATOR = re.compile(r"sep=(?P<mark>.)", re.IGNORECASE)
"""The first line by which Excel is told what parts the columns."""


class ListRow(NamedTuple):
    """The columns of one line; ``broken_pid`` and ``broken_url`` say what is wrong with them."""

    pid: str
    url: str
    restriction: str = ""
    broken_pid: str = ""
    broken_url: str = ""
    title: str = ""


def _row(columns: Columns, fields: list[str]) -> ListRow:
    # As nearly all lists have them.
    if columns[:3] == (0, 1, None) and columns.title is None and len(fields) > 1:
        return ListRow(fields[0], fields[1])

    def field(column: int | None) -> str:
        return fields[column] if column is not None and column < len(fields) else ""

    return ListRow(
        field(columns.pid),
        field(columns.url),
        field(columns.restriction),
        title=field(columns.title),
    )


class _Split(NamedTuple):
    fields: list[str]
    open_quote: bool = False
    """The last field begins with a quote that its line does not close."""


def _split_tsv(text: str) -> _Split:
    fields = text.split("\t")
    return _Split([_unquoted(field) for field in fields] if '"' in text else fields)


def _unquoted(field: str) -> str:
    """Return *field* without the quotes that spreadsheets put around one with a comma."""
    is_quoted = len(field) > 1 and field[0] == field[-1] == '"'
    return field[1:-1].replace('""', '"') if is_quoted else field


def _splitter(mark: str) -> Callable[[str], _Split]:
    """Return what parts a line of csv at *mark*."""
    quoted_field = re.compile(rf' *"([^"]*(?:""[^"]*)*)" *(?={mark}|\Z)')
    plain_field = re.compile(rf'(?! *")[^{mark}]*')
    return partial(_split_csv, quoted_field, plain_field)


def _split_csv(quoted_field: re.Pattern[str], plain_field: re.Pattern[str], text: str) -> _Split:
    fields: list[str] = []
    at = 0
    while at <= len(text):
        if quoted := quoted_field.match(text, at):
            fields.append(quoted[1].replace('""', '"'))
            at = quoted.end() + 1
        elif plain := plain_field.match(text, at):
            fields.append(plain[0])
            at = plain.end() + 1
        else:
            return _Split([*fields, text[at:]], open_quote=True)
    return _Split(fields)


class ColumnRows:
    """Rows of a list in *columns*; its first line may be a header."""

    def __init__(self, mark: str, columns: Columns) -> None:
        self._strict = mark != "\t"
        self._split = _splitter(mark) if self._strict else _split_tsv
        self._columns = columns
        self._is_first = True

    def row(self, text: str) -> ListRow | None:
        """The columns of a line, None for the header and for Excel's ``sep=;``."""
        if self._is_first and SEPARATOR.fullmatch(text.strip('"')):
            return None
        is_header = self._is_first and self._columns.has_header
        self._is_first = False
        return None if is_header else self._checked(self._columns, self._split(text))

    def is_open(self, text: str) -> bool:
        """Return whether *text* ends within a quoted field that may go on in the next line."""
        is_wide = self._strict and self._columns.has_header and self._columns.width > 2
        return is_wide and '"' in text and self._split(text).open_quote

    def is_record(self, text: str) -> bool:
        """Return whether *text*, of several lines, is one record, its pid and its link each on a
        line of their own.
        """
        split = self._split(text)
        row = _row(self._columns, split.fields)
        is_whole = not split.open_quote and len(split.fields) == self._columns.width
        return is_whole and "\n" not in row.pid + row.url

    def _checked(self, columns: Columns, split: _Split) -> ListRow:
        row = _row(columns, split.fields)
        if split.open_quote:
            problem = "a quote is not closed on its line"
            if len(split.fields) <= columns.pid + 1:
                return row._replace(broken_pid=problem)
            return row._replace(broken_url=problem)
        if self._strict and any(split.fields[columns.width :]):
            return row._replace(broken_url="more columns than a pid and a URL: quote the URL")
        return row


class Jsonl:
    """Rows of a list of JSON objects."""

    def row(self, text: str) -> ListRow:
        """The values of a line that name a pid, a URL, a restriction and a title."""
        try:
            keys = json.loads(text)
        except (ValueError, RecursionError):
            return ListRow(beginning(text), "", broken_pid="the line is not JSON")
        if not isinstance(keys, dict):
            return ListRow(beginning(text), "", broken_pid="the line is no JSON object")
        keys = {key.lower(): value for key, value in keys.items()}
        pid, broken_pid = self._text(keys, PID_NAMES)
        url, broken_url = self._text(keys, URL_NAMES)
        restriction = next((keys[key] for key in RESTRICTION_NAMES if keys.get(key)), "")
        shown = restriction if isinstance(restriction, str) else "yes"
        title = next((keys[key] for key in TITLE_NAMES if isinstance(keys.get(key), str)), "")
        return ListRow(pid, url, shown, broken_pid, broken_url, title)

    def _text(self, keys: dict[str, Any], names: tuple[str, ...]) -> tuple[str, str]:
        value = next((keys[name] for name in names if name in keys), None)
        if isinstance(value, str):
            return value, ""
        shown = str(value) if isinstance(value, int | float) else ""
        return shown, f"no {names[0]}" if value is None else f"{names[0]} is no string"


Rows = ColumnRows | Jsonl


FORMATS = {".tsv": "\t", ".txt": "\t", ".csv": ",", ".jsonl": "", ".ndjson": ""}
"""By the ending of the list's name, in lower case: what parts its columns, nothing for JSON."""


def beginning(text: str) -> str:
    """*text* as far as it is shown to users: 200 characters."""
    return text if len(text) <= 200 else f"{text[:200]}..."


_SAFE = "/:;()@!$&'*+,=~"
"""What a path of RFC 3986 has as it stands."""
_DOI = re.compile(r"(?:doi:[ ]?)?(?P<name>10\.[0-9][0-9.]*/[^\s\x00-\x20].*)", re.IGNORECASE)
_DOI_OF_DOI = re.compile(r"https?://(?:dx\.)?doi\.org/doi:[ ]?(?=10\.)", re.IGNORECASE)
_HANDLE = re.compile(r"hdl:[ ]?(?P<name>[^\s/]+/[^\s\x00-\x20].*)", re.IGNORECASE)
_ARXIV = re.compile(
    r"arxiv:[ ]?(?P<name>\d{4}\.\d{4,5}(?:v\d+)?|[a-z-]+(?:\.[a-z]{2})?/\d{7}(?:v\d+)?)"
    r"(?:[ ]\[[a-z.-]+\])?",
    re.IGNORECASE,
)
_RESOLVERS = (
    (_DOI, "https://doi.org/"),  # DOI Handbook 3.8
    (_HANDLE, "https://hdl.handle.net/"),  # RFC 3650
    (_ARXIV, "https://arxiv.org/abs/"),  # https://info.arxiv.org/help/arxiv_identifier.html
)


def resolved(text: str) -> str | None:
    """The URL at which *text*, a DOI, handle or arXiv id, is asked for; None where it is none.

    ``doi:10.1000/182``, ``10.1000/182``, ``hdl:2027/x``, ``arXiv:2101.00001v2``. What a URL cannot
    have is escaped, ``%`` too, for these are names, not URLs. So is what ``https://doi.org/doi:``
    begins, as it stands.
    """
    if text.startswith("http"):  # as nearly all do
        found = _DOI_OF_DOI.match(text) if "doi.org/" in text[:20] else None
        return _RESOLVERS[0][1] + text[found.end() :] if found else None
    for names, resolver in _RESOLVERS:
        if found := names.fullmatch(text):
            return resolver + quote(found["name"], safe=_SAFE)
    return None


_SURROGATE = re.compile("[\ud800-\udfff]")


def _as_escapes(text: str) -> str:
    r"""*text* with bytes that were no UTF-8 as ``\xNN``, lone surrogates as ``\uNNNN``."""
    if text.isascii():
        return text

    def escape(match: re.Match[str]) -> str:
        code = ord(match[0])
        return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"

    return _SURROGATE.sub(escape, text)


def verdict(number: int, row: ListRow, scheme: Scheme) -> Line:
    """The line that *row* makes, a pid of *scheme* and a URL, or what is wrong with it."""
    url = _as_escapes(row.url.strip(" \t\r\n"))
    line = partial(Line, number=number, pid_text=_as_escapes(row.pid), url_text=url)
    try:
        title = " ".join(_as_escapes(row.title[:TITLE_MAX]).split()) if row.title else ""
        futli = Futli(pid=_pid(row, scheme), url=_url(row, url), title=title, as_written=url)
    except BadPid as error:
        return line(outcome="bad-pid", problem=str(error))
    except BadUrl as error:
        return line(outcome="bad-url", problem=str(error))
    if restriction := row.restriction.strip():
        shown = beginning(_as_escapes(restriction))
        return line(futli=futli, outcome="restricted", problem=shown)
    return line(futli=futli)


def _pid(row: ListRow, scheme: Scheme) -> Pid:
    if row.broken_pid:
        raise BadPid(row.broken_pid)
    if not row.pid.isascii() and _SURROGATE.search(row.pid):
        raise BadPid("not UTF-8")
    return scheme.pid(row.pid.strip())  # blanks at its ends, U+00A0 too, are no part of a pid


def _url(row: ListRow, url: str) -> str:
    if row.broken_url:
        raise BadUrl(row.broken_url)
    if not row.url.isascii() and _SURROGATE.search(row.url):
        raise BadUrl("not UTF-8")
    url = resolved(url) or url
    check_url(url)
    return url
