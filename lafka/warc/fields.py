"""Named fields: ordered, case-blind, repeatable (WARC/1.1 section 4, "named fields")."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_FORBIDDEN = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
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

        UTF-8; other bytes become U+FFFD.
        """
        items: list[tuple[str, str]] = []
        for line in data.decode("utf-8", "replace").split("\n"):
            line = line.removesuffix("\r")
            if line[:1] in (" ", "\t") and items:
                name, value = items[-1]
                items[-1] = (name, f"{value} {line.strip()}".strip())
            elif ":" in line:
                name, value = line.split(":", 1)
                items.append((name.strip(), value.strip()))
        return cls(items)


def one_line(value: str) -> str:
    """*value* without line breaks and control characters, each percent-encoded."""
    return _FORBIDDEN.sub(lambda found: f"%{ord(found[0]):02X}", value)
