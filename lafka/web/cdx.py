"""A CDX server over the captures, with the parameters that pywb and OutbackCDX clients send.

Lines have the 11 columns of OutbackCDX, or are CDXJ or JSON, one a line, in the order of key, time
and place. A parameter that is not known is refused: an answer never passes one over.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import dropwhile, groupby, islice
from time import monotonic
from typing import Any
from urllib.parse import quote_plus, unquote_plus

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from lafka.errors import BadArgument
from lafka.web.answers import check_asked
from lafka.web.captures import Captured, Captures, padded
from lafka.web.site import Site

LIMIT = 1_000
LIMIT_MAX = 100_000
FILTERS_MAX = 10
PATTERN_MAX = 200
LINE_MAX = 1 << 10
"""Characters of a field that a pattern is held against: with two repetitions some ms at worst."""
PARAMETERS = frozenset({
    "url", "matchType", "from", "to", "sort", "closest", "limit", "output", "filter", "fl",
    "fields", "collapse", "page", "pageSize", "showNumPages", "resumeKey", "showResumeKey", "gzip",
    "resolveRevisits",
})  # fmt: skip
"""``gzip`` is cdx_toolkit's and says nothing that Accept-Encoding does not."""
FIELDS = ("urlkey", "timestamp", "url", "mime", "status", "digest", "redirect", "robotflags",
          "length", "offset", "filename")  # fmt: skip
_ORIGINAL = ("length", "offset", "filename")
"""What a line has more with ``resolveRevisits``: the place of what a revisit refers to."""
_OTHERS = {"original": "url", "mimetype": "mime", "statuscode": "status", "file": "filename"}
_TYPES = ("response", "revisit", "resource")
_FILTER = re.compile(r"(?P<not>!?)(?P<how>[=~]?)(?P<field>[a-z]+):(?P<value>.*)", re.DOTALL)
_COLLAPSE = re.compile(r"([a-z]+)(?::([1-9][0-9]{0,3}))?")
_KEY = re.compile(r"(\S*) ([0-9]{1,20}) (\S*) ([0-9]{1,20})")
_REPEATED = re.compile(r"(?<!\\)[*+?]")
_GROUPED = re.compile(r"(?<!\\)[(){}]")
_REPEATED_MAX = 2
_SECONDS = 5.0
_OUTPUTS = {"cdx": "text/x-cdx", "cdxj": "text/x-cdxj", "json": "application/json"}

Line = dict[str, Any]
Place = tuple[str, int, str, int]
"""Key, time, volume and offset, by which captures are sorted and resumed."""


class Cdx:
    """The handler of CDX questions to *site*."""

    def __init__(self, site: Site) -> None:
        self._captures = Captures(site)

    def query(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        query = request.query_params
        check_asked(request, PARAMETERS, ("filter", "collapse"))
        output, fields = query.get("output", "cdx"), _fields(query)
        if output not in _OUTPUTS:
            raise BadArgument(f"output: {', '.join(sorted(_OUTPUTS))}")
        if _flag(query, "showNumPages"):
            return self._pages(query)
        captures, resume = self._limited(query)
        line = self._line
        if _flag(query, "resolveRevisits"):
            line = self._resolved
            fields += tuple(f"orig.{name}" for name in _ORIGINAL) if fields is FIELDS else ()
        text = "".join(_written(line(one), output, fields) for one in captures)
        if resume:
            key = json.dumps({"resumeKey": resume}) if output == "json" else f"\n{resume}"
            text += f"{key}\n"
        return Response(text, media_type=_OUTPUTS[output])

    def _pages(self, query: QueryParams) -> Response:
        size = _number(query, "pageSize", 1, LIMIT_MAX // LIMIT)
        count = sum(1 for _ in self._found(query))
        blocks = -(-count // LIMIT)
        told = {"pages": -(-blocks // size), "pageSize": size, "blocks": blocks}
        return Response(json.dumps(told) + "\n", media_type="application/json")

    def _limited(self, query: QueryParams) -> tuple[list[Captured], str]:
        """At most ``limit`` captures, those at the end where it is negative; the resume key."""
        text = query.get("limit", "")
        if not re.fullmatch(r"(-?[1-9][0-9]{0,8}|0)?", text):
            raise BadArgument("limit: a number, negative for the last ones")
        limit = max(-LIMIT_MAX, min(int(text or LIMIT), LIMIT_MAX))
        if "page" in query and not text:
            limit = LIMIT_MAX
        captures = self._kept(query)
        if limit < 0:
            return [*deque(captures, -limit)], ""
        found = [*islice(captures, limit + _flag(query, "showResumeKey"))]
        more = len(found) > limit > 0
        return found[:limit], quote_plus("{} {} {} {}".format(*_place(found[limit - 1]))
                                         ) if more else ""  # fmt: skip

    def _kept(self, query: QueryParams) -> Iterator[Captured]:
        """The captures of a page that the other parameters leave."""
        tests = [_filter(text) for text in query.getlist("filter")]
        if len(tests) > FILTERS_MAX:
            raise BadArgument(f"filter: at most {FILTERS_MAX}")
        first, last = _digits(query, "from", "0"), _digits(query, "to", "9")
        kept: Iterator[Captured] = (
            one for one in self._paged(query, self._resumed(query))
            if first <= one.digits <= last and all(test(self._line(one)) for test in tests)
        )  # fmt: skip
        for text in query.getlist("collapse"):
            kept = (next(group) for _, group in groupby(kept, key=self._collapsed(text)))
        return kept

    def _collapsed(self, text: str) -> Callable[[Captured], str]:
        """Return what adjacent captures of one line have in common; ``BadArgument``."""
        found = _COLLAPSE.fullmatch(text)
        field = _OTHERS.get(found[1], found[1]) if found else ""
        if found is None or field not in FIELDS:
            raise BadArgument("collapse: it is not like timestamp:10")
        length = int(found[2]) if found[2] else None
        return lambda one: str(self._line(one)[field])[:length]

    def _resumed(self, query: QueryParams) -> Iterator[Captured]:
        text = query.get("resumeKey", "")
        if not text:
            return self._found(query)
        found = _KEY.fullmatch(text if " " in text else unquote_plus(text))
        if found is None or query.get("sort") or query.get("closest"):
            raise BadArgument("resumeKey: not one of an answer in the order of key and time")
        place: Place = found[1], int(found[2]), found[3], int(found[4])
        return dropwhile(lambda one: _place(one) <= place, self._found(query))

    def _paged(self, query: QueryParams, captures: Iterator[Captured]) -> Iterator[Captured]:
        """The page that is asked for, of blocks of 1,000 captures, before any filter."""
        size = _number(query, "pageSize", 1, LIMIT_MAX // LIMIT) * LIMIT
        if "page" not in query:
            return captures
        number = _number(query, "page", 0, 10**6, least=0)
        page = [*islice(captures, number * size, (number + 1) * size)]
        if number and not page:
            raise BadArgument(f"page: {number} is beyond the last one")
        return iter(page)

    def _found(self, query: QueryParams) -> Iterator[Captured]:
        """Captures in the order that is asked for, within some seconds."""
        url, order = query.get("url", ""), query.get("sort", "")
        if not url:
            raise BadArgument("url: it is missing")
        closest = padded(query["closest"]) if query.get("closest") else None
        if order not in ("", "default", "reverse", "closest"):
            raise BadArgument("sort: closest or reverse")
        until = monotonic() + _SECONDS
        with self._captures.index() as index:
            entries = index.search(**_match(url, query.get("matchType", "exact")),
                                   time=closest, types=_TYPES)  # fmt: skip
            captured = partial(self._captures.captured, known={})
            found = filter(None, map(captured, entries))
            # The index gives the nearest first, of a prefix one key after the other.
            for one in found if closest or order == "closest" else _sorted(found, order):
                if monotonic() > until:
                    raise BadArgument(f"this takes over {_SECONDS:.0f} s: ask for less")
                yield one

    def _line(self, captured: Captured) -> Line:
        entry = captured.entry
        return {
            "urlkey": entry.key,
            "timestamp": captured.digits,
            "url": entry.url,
            "mime": entry.mime or "-",
            "status": "-" if entry.status is None else str(entry.status),
            "digest": entry.digest or "-",
            "redirect": "-",
            "robotflags": "-",
            "length": "-" if entry.length is None else str(entry.length),
            "offset": str(entry.offset),
            "filename": self._captures.address(entry),
        }

    def _resolved(self, captured: Captured) -> Line:
        """The line of *captured*; of a revisit with type, status and place of its original."""
        line = self._line(captured)
        original = self._captures.original(captured)
        first = self._line(original) if original else {}
        line |= {name: first[name] for name in ("mime", "status") if original}
        return line | {f"orig.{name}": first.get(name, "-") for name in _ORIGINAL}


def _place(captured: Captured) -> Place:
    entry = captured.entry
    assert entry.offset is not None
    return entry.key, entry.time, entry.volume, entry.offset


def _sorted(found: Iterable[Captured], order: str) -> Iterator[Captured]:
    if order == "reverse":
        every = [*islice(found, LIMIT_MAX + 1)]
        if len(every) > LIMIT_MAX:
            raise BadArgument(f"sort: over {LIMIT_MAX} captures are not turned around")
        yield from sorted(every, key=_place, reverse=True)
        return
    for _, group in groupby(found, key=lambda one: one.entry.key):
        yield from sorted(group, key=_place)


def _flag(query: QueryParams, name: str) -> bool:
    text = query.get(name, "false")
    if text not in ("true", "false"):
        raise BadArgument(f"{name}: true or false")
    return text == "true"


def _number(query: QueryParams, name: str, usual: int, most: int, *, least: int = 1) -> int:
    text = query.get(name, str(usual))
    if not re.fullmatch(r"[0-9]{1,9}", text) or not least <= int(text) <= most:
        raise BadArgument(f"{name}: a number from {least} to {most}")
    return int(text)


def _match(url: str, kind: str) -> dict[str, str]:
    """Return what the index is asked by."""
    if url.endswith("*") and kind == "exact":
        url, kind = url[:-1], "prefix"
    if kind == "exact":
        return {"url": url}
    if kind == "prefix":
        return {"url_prefix": url}
    if kind in ("host", "domain"):
        host = re.sub(r"\Ahttps?://", "", url).partition("/")[0]
        return {"url_prefix": f"http://{host}/" if kind == "host" else f"*.{host}"}
    raise BadArgument("matchType: exact, prefix, host or domain")


def _digits(query: QueryParams, name: str, fill: str) -> str:
    if text := query.get(name, ""):
        padded(text)
    return text.ljust(14, fill)


def _fields(query: QueryParams) -> tuple[str, ...]:
    text = query.get("fl") or query.get("fields", "")
    if not text:
        return FIELDS
    names = tuple(_OTHERS.get(name, name) for name in text.split(","))
    for name in names:
        if name not in FIELDS:
            raise BadArgument(f"fl: {name[:40]} is no field; they are {', '.join(FIELDS)}")
    return names


def _filter(text: str) -> Callable[[Line], bool]:
    """The test that a ``filter=`` is: ``[!][=|~]field:value``; ``BadArgument``."""
    found = _FILTER.fullmatch(text)
    field = _OTHERS.get(found["field"], found["field"]) if found else ""
    if found is None or field not in FIELDS:
        raise BadArgument("filter: it is not like !~field:value")
    value, wanted = found["value"], not found["not"]
    if found["how"] == "=":
        return lambda line: (line[field] == value) is wanted
    if found["how"] == "":
        return lambda line: (value in line[field]) is wanted
    if len(value) > PATTERN_MAX or _GROUPED.search(value):
        raise BadArgument(f"filter: no groups, and at most {PATTERN_MAX} characters")
    if len(_REPEATED.findall(value)) > _REPEATED_MAX:
        raise BadArgument(f"filter: at most {_REPEATED_MAX} repetitions")
    try:
        pattern = re.compile(value)
    except re.error as error:
        raise BadArgument(f"filter: {error}") from None
    return lambda line: (pattern.fullmatch(line[field][:LINE_MAX]) is not None) is wanted


def _written(line: Line, output: str, fields: tuple[str, ...]) -> str:
    kept = {name: line[name] for name in fields}
    if output == "json":
        return json.dumps(kept) + "\n"
    if output == "cdxj":
        key, time = line["urlkey"], line["timestamp"]
        rest = {n: v for n, v in kept.items() if n not in ("urlkey", "timestamp") and v != "-"}
        return f"{key} {time} {json.dumps(rest)}\n"
    return " ".join(re.sub(r"\s", "%20", value) or "-" for value in kept.values()) + "\n"
