"""What the order of its field names says of a template.

Templates of one archive have the same few orders again and again, so each is looked at once:
where handle and files stand, and whether a field stands where it should not.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from lafka.archec.redif.vocabulary import PLACES, SINGLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_LONGEST_KEPT = 300  # fields; the order of a longer template is not kept
_OF_FILES = frozenset(("File-Format", "File-Function", "File-Size", "File-Restriction"))
_ONCE = SINGLE | _OF_FILES


class FileShape(NamedTuple):
    """Where the fields of a file cluster stand in their template, 0 where they do not."""

    url: int
    format: int = 0
    function: int = 0
    size: int = 0
    restriction: int = 0


class Shape(NamedTuple):
    """Where in a template stand its fields, by their names, and its files."""

    places: Mapping[str, Sequence[int]]
    files: tuple[FileShape, ...]
    in_order: bool

    def of(self, name: str) -> Sequence[int]:
        """Return where the fields of that name, in any case, stand."""
        if name in self.places:
            return self.places[name]
        lower = name.lower()
        return next((at for other, at in self.places.items() if other.lower() == lower), ())


def shape(names: Sequence[str]) -> Shape:
    """The shape of a template that has fields of these names."""
    if len(names) > _LONGEST_KEPT:
        return _shape.__wrapped__(tuple(names))
    return _shape(tuple(names))


@lru_cache(maxsize=4096)
def _shape(names: tuple[str, ...]) -> Shape:
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        places.setdefault(name, []).append(place)
    in_order = not any(disorder(names))
    return Shape(places=places, files=tuple(_files(names)), in_order=in_order)


def _files(names: tuple[str, ...]) -> Iterator[FileShape]:
    gathered: dict[str, int] = {}
    for place, name in enumerate(names):
        if name == "File-URL":
            if gathered:
                yield FileShape(**gathered)
            gathered = {"url": place}
        elif gathered and name in _OF_FILES:
            gathered.setdefault(name.partition("-")[2].lower(), place)
    if gathered:
        yield FileShape(**gathered)


def disorder(names: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Place, code and sentence of each field that stands too often or outside its cluster."""
    opened: set[str] = set()
    seen: set[str] = set()
    for at, name in enumerate(names):
        if place := PLACES.get(name):
            if place.opens:
                opened.add(place.prefix)
                opened.discard(f"{place.prefix}-Workplace")
                seen -= _OF_FILES if place.prefix == "File" else frozenset()
            elif place.prefix not in opened:
                yield at, "stray-cluster-field", f"{name} before any {place.prefix} that it is of"
        if name in _ONCE:
            if name in seen:
                yield at, "repeated-field", name
            seen.add(name)
