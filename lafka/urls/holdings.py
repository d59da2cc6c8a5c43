"""Holdings that a gateway serves: a protocol, and the values that it speaks in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A version that was noted at ``tist``, seconds UTC; ``facts`` go into the TimeMap in JSON."""

    tist: int
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The versions of the id ``id``, oldest first, at least one.

    ``lost``: since when it is gone, None where it is not; it is served all the same. ``facts`` go
    into the TimeMap in JSON.
    """

    id: str
    versions: Sequence[Version]
    lost: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldFile:
    """The bytes of a version: the open file ``fd``, which whoever gets this closes.

    ``md5`` is what its ETag says, ``sha256`` of the bytes in hex, empty where it is not known.
    """

    fd: int
    size: int
    md5: str
    sha256: str = ""
    media_type: str = "application/octet-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """The version redirected: what came is the version at ``tist`` of the id ``id``."""

    id: str
    tist: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """The version was taken down by its keeper; ``why`` is a few words."""

    why: str


Held = HeldFile | Elsewhere | Withdrawn


class Holdings(Protocol):
    """What is served. One thread asks. Each method may raise what says that the disk refuses."""

    def the_id(self, text: str) -> str:
        """The id that *text* means; ``BadArgument`` where it can be none."""

    def history(self, name: str, *, full: bool = False) -> History | None:
        """Return what there is of an id; None where nothing ever was. *full*: with facts of
        versions.
        """

    def held(self, name: str, tist: int) -> Held:
        """The version that was noted at *tist*; ``NotHeld``."""

    def refipos(self, name: str, at: int | None) -> Iterable[Mapping[str, Any]] | None:
        """Pointers to files of a template, now or at *at*; None where no such thing is kept."""

    def listed(self) -> Iterator[str] | None:
        """Lines of a list for a crawl, without line ends; None where there is none."""

    def about(self) -> Mapping[str, Any]:
        """Return what this is, and how much; for people."""

    def health(self) -> Mapping[str, Any]:
        """That it can be read; cheap."""

    def close(self) -> None: ...
