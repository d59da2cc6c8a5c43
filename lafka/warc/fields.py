"""Named fields: ordered, case-blind, repeatable (WARC/1.1 section 4, "named fields")."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_FORBIDDEN = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
_SPACE = " \t\r"
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class Fields:
    """The fields of a record header or of an ``application/warc-fields`` body.

    Values are ``str``. Ask for a field by how many there should be: ``sole``, ``first``, ``all``.
    """

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[tuple[str, str]] = ()) -> None:
        self._items = list(items)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fields) and self._items == other._items

    __hash__ = None  # type: ignore[assignment]  # it can grow

    def __repr__(self) -> str:
        return f"Fields({self._items!r})"

    def add(self, name: str, value: str) -> None:
        self._items.append((name, value))

    def all(self, name: str) -> list[str]:
        """Every value of *name*, in order."""
        wanted = name.lower()
        return [value for key, value in self._items if key.lower() == wanted]

    def first(self, name: str, default: str = "") -> str:
        """The first value of *name*, or *default*."""
        wanted = name.lower()
        for key, value in self._items:
            if key.lower() == wanted:
                return value
        return default

    def sole(self, name: str) -> str:
        """The only value of *name*; ``LookupError`` where there is none or more than one."""
        values = self.all(name)
        if len(values) != 1:
            raise LookupError(f"{name} stands {len(values)} times")
        return values[0]

    def to_bytes(self) -> bytes:
        """``name: value`` lines, each ended by CRLF.

        A value cannot write a line of its own: ``ValueError`` for control characters in it, so
        whoever has a foreign value escapes it first (:func:`one_line`).
        """
        for name, value in self._items:
            if not _NAME.fullmatch(name):
                raise ValueError(f"not a field name: {name!r}")
            if _FORBIDDEN.search(value):
                raise ValueError(f"control character in {name}: {value!r}")
        return "".join(f"{name}: {value}\r\n" for name, value in self._items).encode()

    @classmethod
    def parse(cls, data: bytes) -> Fields:
        """The fields in *data*, leniently: bare LF, folded lines, lines without a colon skipped.

        UTF-8; other bytes become U+FFFD. Only ASCII whitespace around a value is none of it.
        """
        items: list[tuple[str, list[str]]] = []
        for line in data.decode("utf-8", "replace").split("\n"):
            if line[:1] in (" ", "\t"):
                if items:
                    items[-1][1].append(line.strip(_SPACE))
            elif ":" in line:
                name, value = line.split(":", 1)
                items.append((name.strip(_SPACE), [value.strip(_SPACE)]))
        return cls((name, " ".join(filter(None, parts))) for name, parts in items)


def one_line(value: str) -> str:
    """*value* without line breaks, control characters and surrogates, each percent-encoded."""
    return _FORBIDDEN.sub(
        lambda found: "".join(f"%{b:02X}" for b in found[0].encode("utf-8", "surrogatepass")),
        value,
    )
