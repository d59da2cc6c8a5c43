"""Lines of a list as rows, by its format, and the verdict on each row.

- tsv: ``pid TAB futli``. A quote is a character like any, but around a whole field.
- csv: ``pid,futli``, quoted as in RFC 4180, except that a quoted pid or link ends with its line:
  one stray quote costs one line, never the rest of the list. A line with more columns than its
  header (without one: than its first lines all have) is refused, as it holds an unquoted URL with
  a comma.
- blanks: words, quoted or not, as R's ``write.table`` has them, or columns that two blanks part.
- jsonl: ``{"pid": ..., "futli": ...}``.

A header or a key may name a ``restriction`` and a ``title`` as well. Where no header names the
columns, contents tell which one has the pids and which the links.

Whatever a line holds, it gives a row that says what is wrong with it, and raises nothing; the
verdict on a row is a line that can be asked for, or why it cannot.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote

from lafka.errors import BadPid, BadUrl, HopelessList
from lafka.papers.lists.futlis import Futli, Line
from lafka.pids import Pid, Scheme
from lafka.urls import check_url, is_plain

TITLE_MAX = 500
"""Characters of a title that are read."""


WORDS, RUNS = " ", "  "
"""What parts columns of words, and columns whose texts have single blanks."""
SEPARATOR = re.compile(r"sep=(?P<mark>.)", re.IGNORECASE)
"""The first line by which Excel is told what parts the columns."""
NO_LINE = re.compile(
    r"(?:\"\"|[\s\x1a,;|])*"
    r"|(?=[+|:=\s]*-{3})[-+|:=\s]+"
    r"|\s*\([0-9]+ rows?\)\s*"
    r"|[\s\"]*#(?!https?://).*",
    re.DOTALL,
)
"""What is no line of a list: nothing but delimiters, the rule of a table or the count below it, an
editor's end of a file, a comment.
"""
_BLANKS = " \t\r\n\u00a0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_HIDDEN = "\u00ad\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\ufeff"
_AROUND = {"<": ">", "'": "'", '"': '"', "#": "#", "“": "”", "„": "“", "‘": "’", "«": "»"}


def bare(text: str) -> str:
    """Return *text* without what editors put around a pid or a link: blanks, hidden letters, quotes
    and brackets, and the marks of Access around a link.
    """
    text = text.strip(_BLANKS)
    if text.isascii() and text[:1].isalnum():  # as nearly all are
        return text
    text = text.strip(_BLANKS + _HIDDEN)
    is_within = len(text) > 1 and _AROUND.get(text[0]) == text[-1]
    return bare(text[1:-1]) if is_within else text


class ListRow(NamedTuple):
    """The columns of one line; ``broken_pid`` and ``broken_url`` say what is wrong with them."""

    pid: str
    url: str
    restriction: str = ""
    broken_pid: str = ""
    broken_url: str = ""
    title: str = ""
    others: Mapping[str, str] = MappingProxyType({})
    """What else the list says of it, by the names of its columns."""


_NOTHING_ELSE = ListRow("", "")[2:]


def _row(columns: Columns, fields: list[str]) -> ListRow:
    # As nearly all lists have them.
    if len(fields) == 2 and not columns.names:
        return ListRow(fields[0], fields[1])

    def field(column: int | None) -> str:
        return fields[column] if column is not None and column < len(fields) else ""

    return ListRow(
        field(columns.pid),
        field(columns.url),
        field(columns.restriction),
        title=field(columns.title),
        others={name: field(at) for at, name in columns.others(len(fields))},
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


_WORD = re.compile(r'"((?:[^"\\]|\\.|"")*)"(?![^ \t\u00a0])|[^ \t\u00a0]+')
_QUOTE = re.compile(r'\\"|""')
_RUN = re.compile("[ \u00a0]{2,}|[ \u00a0]*\t[ \u00a0]*")


def _split_words(text: str) -> _Split:
    words = (
        word[0] if word[1] is None else _QUOTE.sub('"', word[1]) for word in _WORD.finditer(text)
    )
    return _Split([*words])


def splitter(mark: str) -> Callable[[str], _Split]:
    """Return what parts a line into its fields at *mark*."""
    if mark == "\t":
        return _split_tsv
    if mark == WORDS:
        return _split_words
    if mark == RUNS:
        return lambda text: _Split([*map(_unquoted, _RUN.split(text.strip(_BLANKS)))])
    return _csv_splitter(mark)


def _csv_splitter(mark: str) -> Callable[[str], _Split]:
    mark = re.escape(mark)
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


_UNQUOTED = "more columns than a pid and a URL: quote the URL"


class ColumnRows:
    """Rows of a list in *columns*; its first line may be a header."""

    def __init__(self, mark: str, columns: Columns) -> None:
        self._strict = mark != "\t"
        self._split = splitter(mark)
        self._split_record = self._split if self._strict else _csv_splitter(mark)
        self._columns = columns
        self._left = columns.above + columns.has_header
        self._is_simple = not self._strict and not columns.names
        self._header = ""
        self._is_blank = mark in (WORDS, RUNS)
        self.may_go_on = columns.has_header and columns.width > 2 and not self._is_blank
        """Whether a quoted field may go on in the next line."""

    def row(self, text: str) -> ListRow | None:
        """The columns of a line, None for the header, again too, and for Excel's ``sep=;``."""
        if not self._header and SEPARATOR.fullmatch(text.strip('"')):
            return None
        if self._left:
            self._left -= 1
            self._header = text
            return None
        if text == self._header and self._columns.has_header:
            return None
        if not self._header:
            self._header = "-"
        if self._is_simple and '"' not in text and len(fields := text.split("\t")) == 2:
            return ListRow._make((*fields, *_NOTHING_ELSE))  # in half the time of ListRow()
        split = self._split_record if "\n" in text else self._split
        return self._checked(self._columns, split(text))

    def is_open(self, text: str) -> bool:
        """Return whether *text* ends within a quoted field that may go on in the next line."""
        if not self.may_go_on or '"' not in text:
            return False
        if self._strict:
            return self._split(text).open_quote
        return text.count('"') % 2 == 1 and text[text.rfind("\t") + 1 :].startswith('"')

    def is_record(self, text: str) -> bool:
        """Return whether *text* is one record, its pid and its link on lines of their own."""
        split = self._split_record(text)
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
            extra = "more columns than the first lines have" if self._is_blank else _UNQUOTED
            return row._replace(broken_url=extra)
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
        others = {"title": title, "restriction": shown} | _unread(keys)
        return ListRow(pid, url, shown, broken_pid, broken_url, title, others)

    def _text(self, keys: dict[str, Any], names: tuple[str, ...]) -> tuple[str, str]:
        value = next((keys[name] for name in names if name in keys), None)
        if isinstance(value, str):
            return value, ""
        shown = str(value) if isinstance(value, int | float) else ""
        return shown, f"no {names[0]}" if value is None else f"{names[0]} is no string"


def _unread(keys: dict[str, Any]) -> dict[str, str]:
    """Return the values of *keys* that no column takes, as texts."""
    taken = {next((name for name in names if name in keys), "") for names in (PID_NAMES, URL_NAMES)}
    taken.update(("title",) if isinstance(keys.get("title"), str) else (), RESTRICTION_NAMES)
    return {
        f"{key}_2" if key in _KNOWN else key: value if isinstance(value, str) else json.dumps(value)
        for key, value in keys.items()
        if key not in taken and value is not None
    }


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
    if (
        row[2:] == _NOTHING_ELSE
        and (plain := scheme.plain_pid(row.pid))
        and _is_asked_as_is(row.url)
    ):
        asked = Futli(pid=plain, url=row.url, as_written=row.url)
        return Line(
            number=number, pid_text=row.pid, url_text=row.url, futli=asked, others=row.others
        )
    url = _as_escapes(row.url.strip(" \t\r\n"))
    others: Mapping[str, str] = row.others
    if others:
        others = {_as_escapes(name): _as_escapes(value) for name, value in others.items()}
    futli = outcome = problem = None
    try:
        title = " ".join(_as_escapes(row.title[:TITLE_MAX]).split()) if row.title else ""
        futli = Futli(pid=_pid(row, scheme), url=_url(row, url), title=title, as_written=url)
        if restriction := row.restriction.strip():
            outcome, problem = "restricted", beginning(_as_escapes(restriction))
    except BadPid as error:
        outcome, problem = "bad-pid", str(error)
    except BadUrl as error:
        outcome, problem = "bad-url", str(error)
    return Line(
        number=number,
        pid_text=_as_escapes(row.pid),
        url_text=url,
        futli=futli,
        outcome=outcome,
        problem=problem,
        others=others,
    )


def _is_asked_as_is(url: str) -> bool:
    """Return whether *url*, as nearly all do, is what is asked for, without a look at its parts."""
    return is_plain(url) and "doi.org/" not in url[:20]


def _pid(row: ListRow, scheme: Scheme) -> Pid:
    if row.broken_pid:
        raise BadPid(row.broken_pid)
    if not row.pid.isascii() and _SURROGATE.search(row.pid):
        raise BadPid("not UTF-8")
    return scheme.pid(bare(row.pid))


def _url(row: ListRow, url: str) -> str:
    if row.broken_url:
        raise BadUrl(row.broken_url)
    if not row.url.isascii() and _SURROGATE.search(row.url):
        raise BadUrl("not UTF-8")
    url = bare(url)
    url = resolved(url) or url
    check_url(url)
    return url


PID_NAMES = ("pid", "handle", "id", "paper", "paper-id", "paper_id", "doi")
URL_NAMES = ("futli", "url", "link", "href", "uri", "file-url", "file_url", "fulltext")
TITLE_NAMES = ("title", "titel", "titre", "titolo", "título")
RESTRICTION_NAMES = ("restriction", "restricted", "file-restriction", "file_restriction")
_KNOWN = frozenset((*PID_NAMES, *URL_NAMES, *TITLE_NAMES, *RESTRICTION_NAMES))

_PID_WORD = re.compile(r"\b(?:pid|handle|id|identifier|doi)\b")
_URL_WORD = re.compile(r"\b(?:url|link|futli|href|uri|full ?text)s?\b")
_HTTP = re.compile(r"\s*https?://\S", re.IGNORECASE)
_MEANT = re.compile(r"\s*(?:[a-z]{2,6}:/{1,2}|www\.)\S", re.IGNORECASE)
_RESOLVED = re.compile(r"\s*(?:doi:|hdl:|arxiv:|10\.[0-9]{4,9}/)\s*\S", re.IGNORECASE)
_NO_NAME = re.compile(r"[0-9:/]")
_MOST = 0.9
"""Of the lines that are looked at, a column without a name has to fit so many."""


class Columns(NamedTuple):
    """The places of the columns; a line of csv has at most ``width`` of them."""

    pid: int = 0
    url: int = 1
    restriction: int | None = None
    width: int = 2
    title: int | None = None
    has_header: bool = False
    is_guess: bool = False
    """True where contents tell, not names or the usual order."""
    above: int = 0
    """Lines above the header, such as a title."""
    names: tuple[str, ...] = ()
    """Of all columns where there are more than a pid and a URL, no name twice."""
    has_row_names: bool = False
    """Whether the first column is one that the header does not count."""

    def others(self, width: int) -> Iterator[tuple[int, str]]:
        """Yield place and name of each column that has neither pid nor URL, in *width* columns."""
        for at in range(max(len(self.names), width)):
            if at not in (self.pid, self.url):
                yield at, self.names[at] if at < len(self.names) else f"column_{at + 1}"

    def __str__(self) -> str:
        """The assumption in words; empty where names or the usual order tell."""
        if not self.is_guess:
            return "line 1 names its columns from the second on" if self.has_row_names else ""
        header = "line 1 is its header, " if self.has_header else ""
        if self.pid == self.url:
            return f"{header}column {self.pid + 1} has its pids, which are asked for"
        return f"{header}column {self.pid + 1} has its pids, column {self.url + 1} its links"


def columns_of(
    lines: Sequence[Sequence[str]], scheme: Scheme, *, by_comma: bool, pid: str = "", url: str = ""
) -> Columns:
    """Return the columns of the list that begins with *lines*, fields as they stand.

    *pid* and *url* name a column as the header does, or by number from 1; ``HopelessList`` where
    there is none. *by_comma*: what parts the columns may stand in a URL.
    """
    if above := _above(lines):
        below = columns_of(lines[above:], scheme, by_comma=by_comma, pid=pid, url=url)
        return below._replace(above=above)
    if not lines:
        return Columns()
    if is_short := _is_short(lines):
        lines = [["", *lines[0]], *lines[1:]]
    first = [name.strip().lower() for name in lines[0]]
    named_pid = _named_column(pid, first) or _named(first, PID_NAMES, _PID_WORD)
    named_url = _named_column(url, first) or _named(first, URL_NAMES, _URL_WORD)
    if not named_url and (pid or "doi" in first) and not _is_link(" ".join(first)):
        named_url = [at for at, name in enumerate(first) if name == "doi"]
    is_one = named_pid == named_url != [] and first[named_pid[0]] != "doi"
    is_named = bool(named_pid and named_url) and not is_one
    names = [name for name in first if name]
    is_header = is_short or (
        min(len(lines), len(names)) > 1 and not any(map(_NO_NAME.search, names))
    )
    has_header = not any(map(_is_link, first)) and (is_named or is_header)
    body = lines[1:] if has_header else lines
    if is_named:
        pid_at = max(named_pid, key=lambda at: (_pids(body, at, scheme), -_pages(body, at), -at))
        places = [at for at in named_url if at != pid_at] or named_url
        url_at = max(places, key=lambda at: (_links(body, at), "pdf" in first[at], -at))
        names = first if has_header else [""] * max(map(len, lines))
        columns = Columns(
            pid_at,
            url_at,
            _sole(names, RESTRICTION_NAMES),
            len(names),
            _sole(names, TITLE_NAMES),
            has_header=has_header,
        )
    else:
        pids = named_pid if has_header and not is_one else []
        columns = _by_contents(body, scheme, pids, has_header=has_header, by_comma=by_comma)
        if columns.has_header:
            columns = columns._replace(title=_sole(first, TITLE_NAMES))
    width = columns.width if by_comma else max(map(len, lines))
    header = lines[0] if columns.has_header else ()
    return columns._replace(names=_names(columns, header, width), has_row_names=is_short)


def _above(lines: Sequence[Sequence[str]]) -> int:
    """Return how many of *lines* stand above a header: each has one text, the header names more."""
    filled = (sum(map(bool, map(str.strip, fields))) for fields in lines)
    count = next((at for at, number in enumerate(filled) if number > 1), 0)
    first = [name.strip().lower() for name in lines[count]] if count else []
    named = _named(first, PID_NAMES, _PID_WORD), _named(first, URL_NAMES, _URL_WORD)
    return (
        count if all(named) and not any(_is_link(" ".join(above)) for above in lines[:count]) else 0
    )


def _is_short(lines: Sequence[Sequence[str]]) -> bool:
    """Return whether a header names all columns of *lines* but the first, the names of R's rows."""
    header, *body = lines
    width = len(header)
    if not body or any(len(fields) != width + 1 for fields in body):
        return False
    named = _named([name.strip().lower() for name in header], URL_NAMES, _URL_WORD)
    return any(_links(body, at + 1) and not _links(body, at) for at in named)


def _names(columns: Columns, header: Sequence[str], width: int) -> tuple[str, ...]:
    """Return the names of *columns* in a list that calls its pids ``pid``, its links ``futli``.

    As the *header* has them, but none twice and none that would be taken for another column.
    """
    if width <= 2 and columns[:3] == (0, 1, None) and columns.title is None:
        return ()
    known = {columns.pid: "pid", columns.url: "futli"}
    known |= {columns.title: "title"} if columns.title is not None else {}
    known |= {columns.restriction: "restriction"} if columns.restriction is not None else {}
    names: list[str] = []
    for at in range(width):
        name = _field(header, at).strip() or f"column_{at + 1}"
        is_free = name.lower() not in _KNOWN and name not in names
        names.append(known.get(at) or (name if is_free else f"{name}_{at + 1}"))
    return tuple(names)


def _named_column(text: str, first: list[str]) -> list[int]:
    if not text:
        return []
    if text.isascii() and text.isdigit() and 0 < int(text) <= len(first):
        return [int(text) - 1]
    if text.strip().lower() not in first:
        raise HopelessList(f"no column {text!r}; the first line has {', '.join(first)}")
    return [first.index(text.strip().lower())]


def _named(first: list[str], names: Iterable[str], word: re.Pattern[str]) -> list[int]:
    """Return the columns that *names* name, else those whose names have such a *word*."""
    if any(map(_is_link, first)):
        return []
    exact = [at for at, name in enumerate(first) if name in names]
    return exact or [at for at, name in enumerate(first) if word.search(re.sub("[_-]", " ", name))]


def _sole(first: list[str], names: Iterable[str]) -> int | None:
    return next((at for at, name in enumerate(first) if name in names), None)


def _is_link(text: str) -> bool:
    return bool(_HTTP.match(text))


def _field(fields: Sequence[str], at: int) -> str:
    return fields[at] if at < len(fields) else ""


def _pids(lines: Sequence[Sequence[str]], at: int, scheme: Scheme) -> int:
    """Return how many of *lines* have a pid in the column *at*."""
    return sum(_pid_in(_field(fields, at).strip(), scheme) is not None for fields in lines)


def _handles(lines: Sequence[Sequence[str]], at: int, scheme: Scheme) -> int:
    """Return how many of *lines* begin their column *at* with a handle of *scheme*.

    It is no such handle where any word would do, and then no sign of where the pids stand.
    """
    words = ((_field(fields, at).split(maxsplit=1) or [""])[0] for fields in lines)
    pids = (_pid_in(word, scheme) for word in words)
    return sum(pid is not None and not pid.path.startswith("any/") for pid in pids)


def _pid_in(text: str, scheme: Scheme) -> Pid | None:
    try:
        return scheme.pid(text)
    except BadPid:
        return None


def _links(lines: Sequence[Sequence[str]], at: int) -> int:
    return _matching(_HTTP, lines, at)


def _matching(pattern: re.Pattern[str], lines: Sequence[Sequence[str]], at: int) -> int:
    return sum(bool(pattern.match(_field(fields, at))) for fields in lines)


def _pages(lines: Sequence[Sequence[str]], at: int) -> int:
    """Return how many of *lines* have a link in the column *at* that is no DOI."""
    fields = (_field(line, at) for line in lines)
    return sum(_is_link(field) and "doi.org/" not in field for field in fields)


def _by_contents(
    lines: Sequence[Sequence[str]],
    scheme: Scheme,
    named: list[int],
    *,
    has_header: bool,
    by_comma: bool,
) -> Columns:
    """Return the columns that nearly all *lines* fit, else the usual ones without a header.

    *named*: the columns that have the pids by their names, if any.
    """
    enough = max(1, _MOST * len(lines))
    width = max(map(len, lines), default=0)
    of_web = _fitting([_matching(_MEANT, lines, at) for at in range(width)], enough)
    links = of_web or [at for at in range(width) if _matching(_RESOLVED, lines, at) >= enough]
    own = [at for at in range(width) if _handles(lines, at, scheme) >= enough]
    fitting = named or [
        at
        for at in _fitting([_pids(lines, at, scheme) for at in range(width)], enough)
        if not own or at in own
    ]
    pids = [
        at
        for at in fitting
        if at not in links[:1]
        and (at in own or len({_field(fields, at) for fields in lines}) > len(lines) / 2)
    ]
    if width == 1 and links and not of_web and _pids(lines, 0, scheme) >= enough:
        return Columns(0, 0, has_header=has_header, is_guess=True)
    if not links or not pids or (by_comma and not _is_even(lines, links[0])):
        return Columns()
    pid, url = pids[0], links[0]
    is_usual = (pid, url) == (0, 1) and not has_header
    return Columns(pid, url, width=max(width, 2), has_header=has_header, is_guess=not is_usual)


def _fitting(counts: list[int], enough: float) -> list[int]:
    """Return the columns that *enough* lines fit, else the one that most do and no other any."""
    found = [at for at, count in enumerate(counts) if count >= enough]
    some = [at for at, count in enumerate(counts) if count]
    is_one = len(some) == 1 and counts[some[0]] > enough * 2 / 3
    return found or (some if is_one else [])


def _is_even(lines: Sequence[Sequence[str]], url: int) -> bool:
    """Return whether *lines* have as many columns each, and none that may be a link's end.

    Blanks, which no link has, or nothing at all stand in a column of its own.
    """
    after = [fields[url + 1] for fields in lines if len(fields) > url + 1]
    return len({len(fields) for fields in lines}) == 1 and all(
        not field or " " in field for field in after
    )
