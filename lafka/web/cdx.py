"""A CDX server over the captures, with the parameters that pywb and OutbackCDX clients send.

``url``, ``matchType``, ``from``, ``to``, ``sort``, ``closest``, ``limit``, ``output``, ``filter``,
``fl``. Lines have the 11 columns of OutbackCDX, or are CDXJ or JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from time import monotonic
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lafka.errors import BadArgument
from lafka.warc.indexes.base import Entry
from lafka.web.captures import Captured, Captures, padded
from lafka.web.site import Site

LIMIT = 1_000
LIMIT_MAX = 100_000
FILTERS_MAX = 10
PATTERN_MAX = 200
LINE_MAX = 1 << 10
"""Characters of a field that a pattern is held against: with two repetitions some ms at worst."""
FIELDS = ("urlkey", "timestamp", "url", "mime", "status", "digest", "redirect", "robotflags",
          "length", "offset", "filename")  # fmt: skip
_OTHERS = {"original": "url", "mimetype": "mime", "statuscode": "status", "file": "filename"}
_TYPES = ("response", "revisit", "resource")
_FILTER = re.compile(r"(?P<not>!?)(?P<how>[=~]?)(?P<field>[a-z]+):(?P<value>.*)", re.DOTALL)
_REPEATED = re.compile(r"(?<!\\)[*+?]")
_GROUPED = re.compile(r"(?<!\\)[(){}]")
_REPEATED_MAX = 2
_SECONDS = 5.0
_OUTPUTS = {"cdx": "text/x-cdx", "cdxj": "text/x-cdxj", "json": "application/json"}

Line = dict[str, Any]


class Cdx:
    """The handler of CDX questions to *site*."""

    def __init__(self, site: Site) -> None:
        self._captures = Captures(site)

    def query(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        query = request.query_params
        output = query.get("output", "cdx")
        if output not in _OUTPUTS:
            raise BadArgument(f"output: {', '.join(_OUTPUTS)}")
        fields = _fields(query.get("fl", ""))
        lines = islice(self._lines(query, request), _limit(query.get("limit", "")))
        text = "".join(_written(line, output, fields) for line in lines)
        return Response(text, media_type=_OUTPUTS[output])

    def _lines(self, query: Mapping[str, str], request: Request) -> Iterator[Line]:
        tests = [_filter(text) for text in request.query_params.getlist("filter")]
        if len(tests) > FILTERS_MAX:
            raise BadArgument(f"filter: at most {FILTERS_MAX}")
        first, last = _digits(query, "from", "0"), _digits(query, "to", "9")
        until = monotonic() + _SECONDS
        for captured in self._found(query):
            if monotonic() > until:
                raise BadArgument(f"this takes over {_SECONDS:.0f} s: ask for less")
            line = self._line(captured)
            if first <= line["timestamp"] <= last and all(test(line) for test in tests):
                yield line

    def _found(self, query: Mapping[str, str]) -> Iterator[Captured]:
        """Captures in the order that is asked for."""
        url = query.get("url", "")
        if not url:
            raise BadArgument("url: it is missing")
        closest = padded(query["closest"]) if query.get("closest") else None
        with self._captures.index() as index:
            entries = index.search(**_match(url, query.get("matchType", "exact")),
                                   time=closest, types=_TYPES)  # fmt: skip
            captured = partial(self._captures.captured, known={})
            found = filter(None, map(captured, islice(entries, LIMIT_MAX)))
            yield from self._sorted(found, query.get("sort", ""), closest)

    def _sorted(
        self, found: Iterable[Captured], order: str, closest: str | None
    ) -> Iterable[Captured]:
        if closest is not None or order == "closest":
            return found  # the index gives the nearest first
        if order not in ("", "default", "reverse"):
            raise BadArgument("sort: closest or reverse")
        return sorted(found, key=_place, reverse=order == "reverse")

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


def _place(captured: Captured) -> tuple[str, int, str]:
    entry: Entry = captured.entry
    return entry.key, entry.time, entry.volume


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


def _limit(text: str) -> int:
    if not text:
        return LIMIT
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise BadArgument("limit: a number")
    return min(int(text), LIMIT_MAX)


def _digits(query: Mapping[str, str], name: str, fill: str) -> str:
    text = query.get(name, "")
    if not re.fullmatch(r"[0-9]{0,14}", text):
        raise BadArgument(f"{name}: at most 14 digits")
    return text.ljust(14, fill)


def _fields(text: str) -> tuple[str, ...]:
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
