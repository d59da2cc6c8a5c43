"""The fields and clusters of ReDIF version 1 as data, and the closed list of oddities.

Source: "ReDIF version 1" (openlib.org), and what RePEc has taken up since: ``DOI``,
``Quaternary-``, ``Publication-Type``. The codes of oddities are those of docs/redif.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

CODES = {
    # The file
    "unreadable": "a file or folder cannot be read; its archive cannot lose anything in this run",
    "truncated": "a tarball ends too early or is damaged; nothing can be lost in this run",
    "passed-over": "what has the name of a file is no plain one, or larger than any can be",
    "no-template": "bytes stand before the first template, or there is none",
    "not-told": "the file has more problems than are told one by one",
    # The bytes
    "control-character": "NUL or Ctrl-Z",
    "replacement-character": "U+FFFD: an earlier program lost a character",
    "conflict-marker": "a line that git left behind in a merge",
    # The template
    "unknown-type": "the template is of none of the ten types",
    "too-long": "the template is longer than 4 MiB; what lies beyond is left out",
    "no-handle": "the template has no handle",
    "bad-handle": "the handle is none",
    "repeated-handle": "the template has several handles; the first counts",
    "duplicate-handle": "another template has the same handle and another text",
    # The fields
    "glued-field": "Template-Type stands behind other text: a line end is missing before it",
    "spaced-field": "blanks stand before the colon of a field",
    "misspelt-field": "a name is one edit away from that of a field, and is taken for it",
    "unknown-field": "a field is none of this type of template",
    "unindented-line": "a line within prose looks like a field and is none: it goes on",
    "stray-cluster-field": "a field of a cluster stands before any key field of that cluster",
    "repeated-field": "a field stands twice that may stand once; the first counts",
    "bad-uri": "a File-URL cannot be asked for",
}
"""Code -> what it says."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Problem:
    """A fact about one place of RePEc data.

    ``file`` is the path below the source, ``line`` counts from 1 and is 0 where the file as a
    whole is meant. ``sentence`` is printable and does not name the place.
    """

    file: str
    line: int
    code: str
    sentence: str

    def __str__(self) -> str:
        place = f"{self.file}, line {self.line}" if self.line else self.file
        return f"{place}: {self.code}: {self.sentence}"


ITEMS = frozenset(("paper", "article", "chapter", "book", "software"))
"""The types whose templates have files."""

TYPES = ITEMS | {"archive", "series", "mirror", "person", "institution"}
"""The ten types, as a template is told to be of in lower case and without ``ReDIF-``."""

_ORGANISATION = "Name Name-English Homepage Postal Location Email Phone Fax Institution"
_PERSON = "Name Name-First Name-Last Name-Full Homepage Email Fax Postal Phone Person Comment"

CLUSTERS = {
    "File": "URL Format Function Size Restriction",
    "Author": _PERSON,
    "Author-Workplace": _ORGANISATION,
    "Editor": _PERSON,
    "Editor-Workplace": _ORGANISATION,
    "Provider": _ORGANISATION,
    "Publisher": _ORGANISATION,
    "Primary": _ORGANISATION + " Defunct",
    "Secondary": _ORGANISATION + " Defunct",
    "Tertiary": _ORGANISATION + " Defunct",
    "Quaternary": _ORGANISATION + " Defunct",
    "Workplace": _ORGANISATION + " Share Organization",
}
"""Prefix of a cluster -> its fields; the first of them is the key that opens it."""

_EVERY = "Template-Type Handle Note Notification Restriction Comment"
_ITEM = (
    "Title Language Contact-Email Abstract Keywords Number Creation-Date Revision-Date"
    " Publication-Date Publication-Status Publication-Type Length Availability Price DOI"
    " Order-URL Order-Email Order-Homepage Order-Postal Order-Phone Order-Fax"
    " Article-Handle Book-Handle Chapter-Handle Paper-Handle Software-Handle"
)
_CONTACT = "Email Homepage Fax Postal Phone"
_MAINTAINER = "Maintainer-Name Maintainer-Email Maintainer-Phone Maintainer-Fax"

FIELDS = {
    "paper": f"{_ITEM} Series ISBN",
    "article": f"{_ITEM} Journal Volume Year Issue Month Pages ISSN",
    "chapter": f"{_ITEM} Book-Title Year Month Pages Chapter Volume Edition Series ISBN In-Book",
    "book": f"{_ITEM} Year Month Volume Edition Series ISBN HasChapter Pages",
    "software": f"{_ITEM} Programming-Language Version Size Series Requires",
    "archive": f"Name URL Homepage Description {_MAINTAINER} Contact-Email",
    "series": (
        f"Name Type Description {_MAINTAINER} Order-URL Order-Email Order-Homepage Order-Postal"
        " Price Keywords ISSN Followup Predecessor Language Publication-Type Homepage"
    ),
    "mirror": f"Archive-Handle Name URL Homepage Description {_MAINTAINER}",
    "person": (
        f"Name-Full Name-First Name-Last Name-Prefix Name-Middle Name-Suffix Name-ASCII {_CONTACT}"
        " Short-Id Last-Login-Date Registered-Date Last-Modified-Date Workplace-Organization"
        " Author-Paper Author-Article Author-Software Author-Book Author-Chapter"
        " Editor-Paper Editor-Article Editor-Software Editor-Book Editor-Chapter Editor-Series"
    ),
    "institution": "",
}
"""Type -> the fields of its own, beside those of its clusters and of every template."""

_ITEM_CLUSTERS = "File Author Author-Workplace Editor Editor-Workplace Provider Publisher"
_CLUSTERS_OF = {
    "paper": _ITEM_CLUSTERS,
    "article": _ITEM_CLUSTERS,
    "chapter": _ITEM_CLUSTERS,
    "book": _ITEM_CLUSTERS,
    "software": _ITEM_CLUSTERS,
    "archive": "",
    "series": "Provider Publisher Editor Editor-Workplace",
    "mirror": "",
    "person": "Workplace",
    "institution": "Primary Secondary Tertiary Quaternary",
}
# Field families: the scheme of a classification, the source of keywords, what is local.
_FAMILIES = ("classification-", "keywords-", "x-")

PROSE = frozenset(("Abstract", "Title", "Note", "Keywords", "Description"))
"""Fields within which a line that looks like a field may well be a sentence."""

JOINED = frozenset(
    ["Handle", "URL", "Homepage", "Archive-Handle", "Order-URL", "Short-Id", "DOI"]
    + [f"{kind}-Handle" for kind in ("Article", "Book", "Chapter", "Paper", "Software")]
    + [
        f"{prefix}-{end}"
        for prefix in CLUSTERS
        for end in ("URL", "Homepage", "Person", "Institution")
    ]
)
"""Fields whose lines are joined without a blank: handles and URLs."""

_SINGLE = (
    "Title Creation-Date Publication-Date Length Number Journal Volume Year Issue Month Pages"
    " Book-Title Chapter Edition Name URL Type Short-Id Name-Full Name-First Name-Last"
)
SINGLE = frozenset(_SINGLE.split())
"""Fields that a template may have once; with those of a file cluster, once in it."""


_MOST_SPELLINGS = 2_000
_SPELLINGS: dict[str, dict[str, str]] = {}


def spellings(kind: str) -> dict[str, str]:
    """The names of a type that need no second look, as they may stand in column one."""
    if kind not in _KNOWN:
        kind = ""
    if kind not in _SPELLINGS:
        names = _KNOWN.get(kind, _ANYWHERE)
        _SPELLINGS[kind] = dict(zip(names.values(), names.values(), strict=True)) | names
    return _SPELLINGS[kind]


def learn(kind: str, text: str, name: str) -> None:
    """Note that *text* was found to be the field *name*, in a type of template."""
    known_by_now = spellings(kind)
    if len(known_by_now) < _MOST_SPELLINGS:
        known_by_now[text] = name


class LineKind(Enum):
    """The kind of the beginning of a line up to its colon."""

    FIELD = "a field"
    SPACED = "a field, with blanks before its colon"
    MISSPELT = "a field, one edit away"
    FOREIGN = "a field of another type of template"
    URL = "the beginning of a URL"
    UNKNOWN = "the name of no field"
    NONE = "no name at all"


class Name(NamedTuple):
    """The canonical spelling of a field, where there is one, and how it was come by."""

    verdict: LineKind
    name: str


class FieldPlace(NamedTuple):
    """The place of a field in a cluster: its prefix, and whether it opens it."""

    prefix: str
    opens: bool


PLACES: dict[str, FieldPlace] = {
    f"{prefix}-{name}": FieldPlace(prefix, not order)
    for prefix, names in CLUSTERS.items()
    for order, name in enumerate(names.split())
}
"""Canonical name of a field -> its place in a cluster."""


def _names(kind: str) -> dict[str, str]:
    """The fields of a type by their names in lower case."""
    own = f"{_EVERY} {FIELDS[kind]}".split()
    for prefix in _CLUSTERS_OF[kind].split():
        own += [f"{prefix}-{name}" for name in CLUSTERS[prefix].split()]
    return {name.lower(): name for name in own}


_KNOWN = {kind: _names(kind) for kind in TYPES}
_ANYWHERE = {lower: name for kind in sorted(TYPES) for lower, name in _KNOWN[kind].items()}
_IN_ITEMS = {lower: name for kind in sorted(ITEMS) for lower, name in _KNOWN[kind].items()}
_LONGEST = max(map(len, _ANYWHERE)) + 1
_NAME_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789#-_")


def known(kind: str) -> dict[str, str]:
    """The fields of a type (any type of template, for one that is none) by names in lower case."""
    return _KNOWN.get(kind, _ANYWHERE)


def _spelt(name: str) -> str:
    return name.lower().replace("_", "-")


def _shorter(name: str) -> set[str]:
    return {name[:place] + name[place + 1 :] for place in range(len(name))}


@lru_cache(maxsize=16)
def _neighbours(kind: str) -> dict[str, set[str]]:
    """Return what is left of each long name of a type when one character goes -> the names it is
    of.
    """
    found: dict[str, set[str]] = {}
    for name in known(kind):
        if len(name.replace("-", "")) > 4:
            for left in {name, *_shorter(name)}:
                found.setdefault(left, set()).add(name)
    return found


def one_edit(name: str, other: str) -> bool:
    """Return whether two names are at most one edit apart (Damerau-Levenshtein)."""
    if name == other:
        return True
    if len(name) > len(other):
        name, other = other, name
    start = next(
        (i for i, (a, b) in enumerate(zip(name, other, strict=False)) if a != b), len(name)
    )
    rest, other_rest = name[start:], other[start:]
    if len(name) < len(other):
        return rest == other_rest[1:]
    swapped = rest[1:2] + rest[:1] + rest[2:]
    return rest[1:] == other_rest[1:] or swapped == other_rest


def misspelt(kind: str, name: str) -> str | None:
    """The one field of a type that *name* is one edit away from; None for none or several."""
    spelt = _spelt(name)
    if len(spelt) > _LONGEST:
        return None
    near = _neighbours(kind)
    candidates = {found for left in {spelt, *_shorter(spelt)} for found in near.get(left, ())}
    close = [found for found in candidates if one_edit(spelt, found)]
    return known(kind)[close[0]] if len(close) == 1 else None


@lru_cache(maxsize=4096)
def judged(kind: str, text: str) -> Name:
    """Return what *text*, the beginning of a line up to its colon, is in a template of
    type *kind*.
    """
    name = text.rstrip(" \t")
    if not name or not _NAME_CHARACTERS.issuperset(name):
        return Name(LineKind.NONE, "")
    lower = name.lower()
    spaced = LineKind.FIELD if name == text else LineKind.SPACED
    if canonical := known(kind).get(lower):
        return Name(spaced, canonical)
    if lower.startswith(_FAMILIES) and not lower.endswith("-"):
        return Name(spaced, "-".join(part[:1].upper() + part[1:] for part in name.split("-")))
    if lower in ("http", "https", "ftp"):
        return Name(LineKind.URL, "")
    if canonical := misspelt(kind, name):
        return Name(LineKind.MISSPELT, canonical)
    if kind in ITEMS and (canonical := _IN_ITEMS.get(lower)):
        return Name(LineKind.FOREIGN, canonical)
    return Name(LineKind.UNKNOWN, name)
