"""Named fields: ordered, case-blind, repeatable (WARC/1.1 section 4, "named fields").

They stand in the header of a record, in an ``application/warc-fields`` block (ANVL: values may be
folded, lines that begin with ``#`` are comments) and in the head of an HTTP message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from email.errors import MessageError
from email.header import decode_header, make_header
from functools import lru_cache
from pathlib import Path
from typing import Self

from ..errors import BadValue, NotFound
from ..problems import Problem

LINE_MAX = 1 << 16
"""The longest header line, in bytes, that is no problem."""
TOLD_MAX = 100
"""The most problems that are told of one header: they are its writer's habits by then."""
_FORBIDDEN = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
_PLAIN = bytes({*range(32, 256)} - {127} | {9})  # what may stand in a line
_NO_UTF_8 = re.compile("[\udc80-\udcff]")
_SPACE = " \t\r"
_NAMED = "[!$%&'*+.^_`|~0-9A-Za-z-][!#$%&'*+.^_`|~0-9A-Za-z-]*+"  # with # in front: a comment
_NAME = re.compile(_NAMED)
_WORD = "[!-~\x80-\U0010ffff]++"
_LINE = re.compile(rf"(?m)^({_NAMED}): ?((?:{_WORD}(?: ++{_WORD})*+)?+)\r\n")

Report = Callable[..., None]  # code, byte, and what the sentence of the code names


class Fields:
    """The fields of a record header, of an ``application/warc-fields`` body or of an HTTP head.

    Values are ``str``. Ask for a field by how many there should be: ``sole``, ``first``, ``all``;
    ``fields[name]`` is ``sole``, ``fields[name] = value`` is ``set``. Iteration gives names with
    values, as ``items`` does. What was read is ``frozen`` and keeps the bytes it was read from
    as ``raw``; :meth:`copy` gives fields that can be changed.
    """

    __slots__ = ("_firsts", "_items", "raw")

    def __init__(self, items: Iterable[tuple[str, str]] | dict[str, str] = ()) -> None:
        self._items = list(items.items() if isinstance(items, dict) else items)
        self._firsts: dict[str, str] | None = None
        self.raw: bytes | None = None
        """The exact bytes that were parsed; None for fields made here."""

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._by_name()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fields) and self._items == other._items

    __hash__ = None  # type: ignore[assignment]  # it can grow

    def __repr__(self) -> str:
        return f"Fields({self._items!r})"

    def _by_name(self) -> dict[str, str]:
        if self._firsts is None:
            self._firsts = {name.lower(): value for name, value in reversed(self._items)}
        return self._firsts

    def names(self) -> list[str]:
        """Every name once, as it is first spelled, in order."""
        seen: dict[str, str] = {}
        for name, _ in self._items:
            seen.setdefault(name.lower(), name)
        return list(seen.values())

    def all(self, name: str) -> list[str]:
        """Every value of *name*, in order."""
        wanted = name.lower()
        if wanted not in self._by_name():
            return []
        return [value for key, value in self._items if key.lower() == wanted]

    def first(self, name: str, default: str = "") -> str:
        """The first value of *name*, or *default*."""
        firsts = self._firsts  # asked for a dozen times a record
        return (self._by_name() if firsts is None else firsts).get(name.lower(), default)

    def sole(self, name: str) -> str:
        """The only value of *name*; ``NotFound`` where there is none or more than one."""
        values = self.all(name)
        if len(values) != 1:
            raise NotFound(f"{name} stands {len(values)} times")
        return values[0]

    __getitem__ = sole

    def get(self, name: str, default: str | None = None) -> str | None:
        """The first value of *name*, or *default*."""
        return self._by_name().get(name.lower(), default)

    def items(self) -> list[tuple[str, str]]:
        """Every field, name and value, in order; a name may come again."""
        return list(self._items)

    def values(self) -> list[str]:
        """Every value, in order."""
        return [value for _, value in self._items]

    @property
    def frozen(self) -> bool:
        """True if these fields were read, and so cannot be changed."""
        return self.raw is not None

    def copy(self) -> Fields:
        """The same fields, to be changed; written anew they may differ from ``raw``."""
        return Fields(self._items)

    def add(self, name: str, value: str) -> None:
        """One more field at the end; ``BadValue`` where these are frozen, as for each change."""
        self._thaw()
        self._items.append((name, value))

    def set(self, name: str, value: str) -> None:
        """*value* as the only one of *name*, where the first one stood, else at the end."""
        self._thaw()
        wanted = name.lower()
        places = [i for i, (key, _) in enumerate(self._items) if key.lower() == wanted]
        for place in places[:0:-1]:
            del self._items[place]
        if places:
            self._items[places[0]] = (name, value)
        else:
            self._items.append((name, value))

    def remove(self, name: str) -> None:
        """Drop every field *name*; there may be none."""
        self._thaw()
        wanted = name.lower()
        self._items = [item for item in self._items if item[0].lower() != wanted]

    def __setitem__(self, name: str, value: str) -> None:
        self.set(name, value)

    def __delitem__(self, name: str) -> None:
        """Drop every field *name*; ``NotFound`` where there is none."""
        if name not in self:
            raise NotFound(f"{name} stands 0 times")
        self.remove(name)

    def _thaw(self) -> None:
        if self.raw is not None:
            raise BadValue("fields that were read cannot be changed: copy() them first")
        self._firsts = None

    def to_bytes(self) -> bytes:
        """``name: value`` lines, each ended by CRLF; ``raw`` where there is one.

        A value cannot write a line of its own: ``BadValue`` for control characters in it, so
        whoever has a foreign value escapes it first (:func:`one_line`).
        """
        if self.raw is not None:
            return self.raw
        for name, _ in self._items:
            if not _is_name(name):
                raise BadValue(f"not a field name: {name!r}")
        if _FORBIDDEN.search("".join(value for _, value in self._items)):
            name, value = next(item for item in self._items if _FORBIDDEN.search(item[1]))
            raise BadValue(f"control character in {name}: {value!r}")
        return "".join(f"{name}: {value}\r\n" for name, value in self._items).encode()

    @classmethod
    def parse(
        cls,
        data: bytes,
        *,
        strict: bool = False,
        problems: list[Problem] | None = None,
        encoding: str = "utf-8",
        comments: bool = True,
    ) -> Self:
        """The fields in *data*, frozen: lines from the first field's to the last one's.

        Lenient: bare LF, folded lines, comments; lines without a colon are skipped; what is not
        UTF-8 becomes U+FFFD; a value that is all encoded words (RFC 2047) is decoded. Only ASCII
        whitespace around a value is none of it. *problems* gets what is wrong, at its byte in
        *data* (``Problem.at`` puts it into a file). *strict*: ``BadValue`` for the first error.
        HTTP heads are ``latin-1`` and have no comments.
        """
        found: list[Problem] | None = [] if strict else problems
        items = _plain(data, encoding)
        fields = cls(_unfolded(data, encoding, comments, found) if items is None else items)
        fields.raw = data
        if strict and found:
            error = next((p for p in found if p.severity == "error"), None)
            if error:
                raise BadValue(f"byte {error.offset} of the fields: {error.sentence}")
            (problems if problems is not None else []).extend(found)
        return fields


@lru_cache(1024)  # there are few names
def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def _plain(data: bytes, encoding: str) -> list[tuple[str, str]] | None:
    """The fields of *data* where nothing is wrong or folded: nearly always, and twice as fast."""
    if len(data) > LINE_MAX or not data.endswith(b"\r\n") or b"=?" in data:
        return None
    try:
        items: list[tuple[str, str]] = _LINE.findall(data.decode(encoding))
    except UnicodeDecodeError:
        return None
    return items if len(items) == data.count(b"\n") else None


def _unfolded(
    data: bytes, encoding: str, comments: bool, problems: list[Problem] | None
) -> Iterator[tuple[str, str]]:
    """The fields of any *data*; *problems* gets what is wrong."""

    def report(code: str, place: int, **values: object) -> None:
        if problems is not None and len(problems) < most:
            problems.append(Problem.of(code, Path(), place, **values))

    most = len(problems or ()) + TOLD_MAX
    items: list[tuple[str, list[str]]] = []
    place = 0
    bare = False
    for raw in data.split(b"\n"):
        line = raw.removesuffix(b"\r")
        if not bare and len(line) == len(raw) and place + len(raw) < len(data):
            bare = True  # once is enough: all lines of a header are mostly alike
            report("line-end", place)
        if len(line) > LINE_MAX:
            report("long-line", place, size=len(line))
        if comments and line.startswith(b"#"):
            report("comment", place)
        elif line[:1] in (b" ", b"\t"):
            _fold(items, line, place, encoding, report)
        elif line:
            _field(items, line, place, encoding, report)
        place += len(raw) + 1
    values = ((name, " ".join(filter(None, parts))) for name, parts in items)
    if encoding != "utf-8":
        return values
    return ((name, _understood(value)) for name, value in values)


def _understood(value: str) -> str:
    """*value*, decoded where all of it is encoded words and gives one line."""
    if not (value.startswith("=?") and value.endswith("?=")):
        return value
    decoded = decoded_words(value)
    return value if _FORBIDDEN.search(decoded) else decoded


def _fold(
    items: list[tuple[str, list[str]]], line: bytes, place: int, encoding: str, report: Report
) -> None:
    if not items:
        report("folded-first-line", place)
        return
    name, parts = items[-1]
    report("folded-line", place, name=name)
    parts.append(_text(line, place, name, encoding, report).strip(_SPACE))


def _field(
    items: list[tuple[str, list[str]]], line: bytes, place: int, encoding: str, report: Report
) -> None:
    before, colon, after = line.partition(b":")
    name = before.decode(encoding, "replace").strip(_SPACE)
    if not colon:
        report("no-colon", place, line=name[:80])
    elif not name:
        report("no-name", place, line=line[:80].decode(encoding, "replace"))
    else:
        if not _NAME.fullmatch(name) or before[-1:] in (b" ", b"\t"):
            report("bad-name", place, name=before.decode(encoding, "replace"))
        items.append((name, [_text(after, place, name, encoding, report).strip(_SPACE)]))


def _text(data: bytes, place: int, name: str, encoding: str, report: Report) -> str:
    if data.translate(None, _PLAIN):
        report("control-character", place, name=name)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        report("bad-utf-8", place, name=name)
        is_url = encoding == "utf-8" and name.lower().endswith("-uri")
        return lossless(data) if is_url else data.decode(encoding, "replace")


def lossless(data: bytes) -> str:
    """*data* as UTF-8, each byte that is none as an escape, ``%E9``: what a URL can be had from."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        text = data.decode("utf-8", "surrogateescape")
        return _NO_UTF_8.sub(lambda found: f"%{ord(found[0]) - 0xDC00:02X}", text)


def one_line(value: str) -> str:
    """*value* without line breaks, control characters and surrogates, each percent-encoded."""
    return _FORBIDDEN.sub(
        lambda found: "".join(f"%{b:02X}" for b in found[0].encode("utf-8", "surrogatepass")),
        value,
    )


_DECODED_MAX = 8192


def decoded_words(value: str) -> str:
    """*value* with its encoded words, ``=?utf-8?Q?...?=``, decoded (RFC 2047; WARC/1.0 section 4).

    As it is where they are broken, in a charset that Python does not know, or over 8 KiB.
    """
    if "=?" not in value or len(value) > _DECODED_MAX:
        return value
    try:
        return str(make_header(decode_header(value)))
    except (MessageError, ValueError, LookupError):
        return value
