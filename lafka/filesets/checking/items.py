"""Where the checker looks for an item's files: a folder, or whoever gives what a bucket has."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Protocol

from lafka.filesets.checking.records import stretch_of

DESCRIPTION = "item.json"
_DESCRIPTION_MAX = 64 << 20


class Bucket(Protocol):
    """A store of items that is no folder."""

    def sizes(self, item: str, names: Iterable[str]) -> Mapping[str, int]:
        """Bytes of those of an item's files *names* that are there."""

    def opened(self, item: str, name: str) -> BinaryIO:
        """A file of an item, to read and to seek; ``OSError``."""

    def place(self, item: str, name: str) -> Path | str:
        """Return where a file of an item stands."""


class Items:
    """The items in *folder*, or in *bucket*, which then are made in *folder*."""

    def __init__(self, folder: Path, bucket: Bucket | None = None) -> None:
        self._folder = folder
        self._bucket = bucket

    def place(self, item: str, name: str) -> Path | str:
        return self._bucket.place(item, name) if self._bucket else self._folder / item / name

    def have(self, item: str, names: Iterable[str]) -> set[str]:
        """Those of *names* that the item has."""
        if self._bucket:
            return set(self._bucket.sizes(item, names))
        return {name for name in names if (self._folder / item / name).is_file()}

    def stretch(self, item: str, name: str, start: int, length: int) -> Iterator[bytes]:
        """At most *length* bytes of a file from byte *start* on."""
        path = self._folder / item / name
        with self._bucket.opened(item, name) if self._bucket else path.open("rb") as file:
            yield from stretch_of(file, start, length)

    def ill_described(self, item: str, versions: Iterable[set[str]]) -> str:
        """Return what is wrong with the item's ``item.json``; empty where whoever uploads it can
        use it.

        *versions*: the names of each whole version's files, all of which it has to name of one.
        """
        try:
            told = b"".join(self.stretch(item, DESCRIPTION, 0, _DESCRIPTION_MAX))
            values = json.loads(told)
            texts = [values["identifier"], *values["files"], *values["files"].values()]
            names = set(values["files"].values())
            if not all(isinstance(text, str) and text for text in texts):
                return "it names something that is no text"
            if not isinstance(values["metadata"], dict):
                return "its metadata are no object"
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return "it is none"
        if outside := [name for name in sorted(names) if not _is_inside(name)]:
            return f"it names {outside[0]!r}, which is outside of files/"
        lacking = min((wanted - names for wanted in versions), key=len, default=set())
        return f"it does not name {min(lacking)!r}" if lacking else ""

    def on_their_way(self) -> Iterator[Path]:
        """Files that are being fetched, or were when a crawl ended."""
        for part in sorted(self._folder.rglob(".part-*")):
            if not part.name.endswith(".json"):
                yield part


def _is_inside(name: str) -> bool:
    first, *parts = name.split("/")
    return first == "files" and bool(parts) and not {"", ".", ".."} & set(parts)
