"""A template as it was read, with its fields, clusters and files, and what restricts these.

Templates of one archive have the same few orders of field names again and again, so each order
is examined once (``plain_shape``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from lafka.archec.redif.uris import file_uris
from lafka.archec.redif.vocabulary import PLACES, SINGLE, spellings
from lafka.errors import BadUrl

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lafka.archec.redif.handles import Handle
    from lafka.archec.redif.uris import FileUri
    from lafka.archec.redif.vocabulary import Problem


_ENCLOSING = ("archive", "series")


class Restrictions:
    """The restrictions of series and archives; whole when all their templates were added."""

    def __init__(self) -> None:
        self._said: dict[str, str] = {}

    def add(self, template: Template) -> None:
        """Take what *template* says, if it is of an archive or a series; the first one counts."""
        if template.type in _ENCLOSING and template.handle:
            said = template.first("Restriction")
            if said:
                self._said.setdefault(template.handle.text, said)

    def of(self, handle: Handle, file: File) -> str | None:
        """Return what restricts *file* of the template with *handle*; None for nothing.

        The nearest that says anything counts: the file, the template, the series, the archive;
        ``none`` says that nothing does.
        """
        if file.restriction or file.free:
            return file.restriction
        said = next(filter(None, map(self._said.get, handle.enclosing)), None)
        return restricting(said)


_SIZE = re.compile(
    r"(?:about |ca\.? |~)?([0-9]+(?:[.,][0-9]+)?) *"
    r"(bytes?|b|ko?|kb|kbytes|kilobytes?|mo?|mb|megabytes?)?",
    re.IGNORECASE,
)
_UNITS = {"": 1024, "b": 1, "k": 1024, "m": 1024 * 1024}
_NO_RESTRICTION = re.compile(
    r"(?:none?|n/?a|nil|null|free|open|public|unrestricted|-+)?[ .!]*"
    r"|(?:free|open|public)(?:ly)? (?:access|available|download|domain)[ .!]*"
    r"|no (?:access )?restrictions?(?: (?:apply|on access))?[ .!]*"
    r"|not? restricted[ .!]*",
    re.IGNORECASE,
)


class Field(NamedTuple):
    """One field: its canonical name, its value in one line, the line it begins in, from 1."""

    name: str
    value: str
    line: int


class Cluster(NamedTuple):
    """Fields that belong together: the key field that opened the cluster comes first."""

    prefix: str
    fields: tuple[Field, ...]

    def first(self, name: str) -> str | None:
        """The value of a field by its name in the cluster (``Name``, ``Workplace-Name``)."""
        return _first(self.fields, f"{self.prefix}-{name}")

    def all(self, name: str) -> list[str]:
        """The values of a field by its name in the cluster."""
        return _all(self.fields, f"{self.prefix}-{name}")


@dataclass(slots=True, kw_only=True)  # not frozen, as Template
class File:
    """A file as its template describes it; ``RePEc:nbr:nberwo:0001#file-1`` is its pointer.

    ``n`` is the position of its File-URL in the template, from 1. ``url`` is the value as it
    stands there, ``uris`` its one or two readings, none where it cannot be asked for. ``size`` is
    in bytes. ``restriction`` is the file's own, else the template's; ``free`` says that the
    template denies one itself. What is inherited where it says neither, ``Restrictions`` knows.
    """

    n: int
    url: str
    uris: tuple[FileUri, ...]
    line: int
    format: str | None = None
    function: str | None = None
    size: int | None = None
    restriction: str | None = None
    free: bool = False


LONGEST_KEPT = 300
"""Fields; the order of a longer template is not kept."""
_OF_FILES = frozenset(("File-Format", "File-Function", "File-Size", "File-Restriction"))
_ONCE = SINGLE | _OF_FILES


class FileShape(NamedTuple):
    """The places of the fields of a file cluster in their template, 0 where they are missing."""

    url: int
    format: int = 0
    function: int = 0
    size: int = 0
    restriction: int = 0


class TemplateShape(NamedTuple):
    """The names of a template's fields, their places by these in lower case, and its files'."""

    names: tuple[str, ...]
    places: Mapping[str, Sequence[int]]
    files: tuple[FileShape, ...]
    in_order: bool

    def of(self, name: str) -> Sequence[int]:
        """Return where the fields of that name, in any case, stand."""
        return self.places.get(name.lower(), ())


@lru_cache(maxsize=4096)
def plain_shape(kind: str, begun: tuple[str, ...]) -> TemplateShape:
    """The shape of a template of type *kind* whose lines are *begun* so, each of them a field.

    ``KeyError`` where one may be none.
    """
    own = spellings(kind)
    return shape(("Template-Type", *[own[name] for name in begun[1:]]))


def shape(names: tuple[str, ...]) -> TemplateShape:
    """The shape of a template that has fields of these names."""
    return _shape(names) if len(names) <= LONGEST_KEPT else _shape.__wrapped__(names)


@lru_cache(maxsize=4096)
def _shape(names: tuple[str, ...]) -> TemplateShape:
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        places.setdefault(name.lower(), []).append(place)
    in_order = not any(disorder(names))
    return TemplateShape(names=names, places=places, files=tuple(_files(names)), in_order=in_order)


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


Columns = tuple["Sequence[str]", "Sequence[str]", "Sequence[int]"]
"""Names, values and lines of the fields of a template."""


@dataclass(slots=True, kw_only=True)  # not frozen: made three times as fast
class Template:
    """One template.

    ``type`` is ``paper`` and so on, in lower case; of a type that is none, what stands there.
    ``data`` are its exact bytes, from its Template-Type line to the next one, of at most 4 MiB;
    ``offset`` is where they begin in the file, None in a UTF-16 file, where they are turned to
    UTF-8. ``encoding`` is ``utf-8``, ``windows-1252`` or ``mixed``. ``handle`` is None where there
    is none, or none that is one.
    """

    type: str
    data: bytes = field(repr=False)
    offset: int | None
    encoding: str
    handle: Handle | None
    problems: tuple[Problem, ...]
    _columns: Columns = field(repr=False)
    _shape: TemplateShape = field(repr=False)

    @property
    def fields(self) -> tuple[Field, ...]:
        """All fields, in their order."""
        return tuple(map(Field, *self._columns))

    @property
    def line(self) -> int:
        """The line in which it begins, from 1."""
        return self._columns[2][0]

    @property
    def length(self) -> int:
        """Bytes of ``data``."""
        return len(self.data)

    def first(self, name: str) -> str | None:
        """The value of the first field of that name, in any case; None where there is none."""
        places = self._shape.of(name)
        return self._columns[1][places[0]] if places else None

    def all(self, name: str) -> list[str]:
        """The values of all fields of that name, in any case."""
        values = self._columns[1]
        return [values[place] for place in self._shape.of(name)]

    @property
    def fingerprint(self) -> bytes:
        """16 bytes, equal for templates of the same fields, whatever encoding and line ends."""
        names, values, _ = self._columns
        return blake2b("\0".join([*names, *values]).encode(), digest_size=16).digest()

    def clusters(self, prefix: str) -> list[Cluster]:
        """The clusters of that prefix (``Author``, ``Primary``), with those within them."""
        return list(_clusters(self.fields, prefix))

    def files(self) -> tuple[File, ...]:
        """Return what the template says of files, in its order."""
        files = self._shape.files
        said = next(filter(None, self.all("Restriction")), "") if files else ""
        return tuple(_file(self, n, cluster, said) for n, cluster in enumerate(files, 1))

    def authors(self) -> list[Cluster]:
        """The author clusters, workplaces included."""
        return self.clusters("Author")

    @property
    def restriction(self) -> str | None:
        """The text that restricts the access to all files of the template."""
        return restricting(next(filter(None, self.all("Restriction")), None))


def _file(template: Template, n: int, places: FileShape, restriction: str) -> File:
    _, values, lines = template._columns

    def value(place: int) -> str | None:
        return values[place] or None if place else None

    url = value(places.url) or ""
    said = value(places.restriction) or restriction
    restricted = restricting(said) if said else None
    return File(
        n=n,
        url=url,
        uris=_uris_of(url),
        line=lines[places.url],
        format=value(places.format),
        function=value(places.function),
        size=size_in_bytes(value(places.size) or "") if places.size else None,
        restriction=restricted,
        free=bool(said) and not restricted,
    )


def _uris_of(url: str) -> tuple[FileUri, ...]:
    """The readings of a File-URL, none where it cannot be asked for."""
    try:
        return file_uris(url)
    except BadUrl:
        return ()


def _first(fields: tuple[Field, ...], name: str) -> str | None:
    lower = name.lower()
    return next((found.value for found in fields if found.name.lower() == lower), None)


def _all(fields: tuple[Field, ...], name: str) -> list[str]:
    lower = name.lower()
    return [found.value for found in fields if found.name.lower() == lower]


def _clusters(fields: tuple[Field, ...], prefix: str) -> Iterator[Cluster]:
    inside = (prefix, f"{prefix}-Workplace")
    gathered: list[Field] = []
    for found in fields:
        place = PLACES.get(found.name)
        if not place or place.prefix not in inside:
            continue
        if place.opens and place.prefix == prefix:
            if gathered:
                yield Cluster(prefix, tuple(gathered))
            gathered = []
        elif not gathered:
            continue
        gathered.append(found)
    if gathered:
        yield Cluster(prefix, tuple(gathered))


def restricting(value: str | None) -> str | None:
    """*value* where it restricts; None for nothing, and for ``none`` and what means that."""
    return value if value and not _NO_RESTRICTION.fullmatch(value) else None


def size_in_bytes(value: str) -> int | None:
    """Return what a File-Size says: a bare number is of kilobytes (ReDIF 1); None for prose."""
    size = _SIZE.fullmatch(value.strip())
    if not size or len(size[1]) > 18:
        return None
    number = float(size[1].replace(",", "."))
    return round(number * _UNITS[(size[2] or "")[:1].lower()])
