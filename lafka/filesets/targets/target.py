"""What every target can do: say what it has of an item, read a file of it, take one in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO, Protocol

from lafka.errors import ArchiveBusy, OperatorError
from lafka.filesets.targets.item import ItemDescription

MARKER = ".lafka.json"
DESCRIPTION = "item.json"


class ForeignItem(ArchiveBusy):
    """Something has an item's name and is not of its fileset: nothing is written there."""


class TargetTrouble(OperatorError):
    """The store of items refuses, or does not answer; the same command goes on later."""


class TargetItem(Protocol):
    """One item of a target, ``path`` being the folder in which its files are made."""

    path: Path
    description: ItemDescription
    is_remote: bool

    @property
    def is_described(self) -> bool:
        """True where ``item.json`` is there: the item was finished once."""

    def make(self) -> None:
        """Have the item's name; ``ForeignItem``, ``StorageTrouble``, ``TargetTrouble``."""

    def name_of(self, path: str) -> str:
        """Return where the file *path* of the manifest stands, below the item."""

    def final(self, path: str) -> Path:
        """Return where the file *path* is whole on the disk."""

    def finish(self) -> None:
        """Write ``item.json``, last of all, where it is not there."""

    def describe(self) -> None:
        """Write ``item.json``, for whatever is there in the folder."""


class Target(Protocol):
    """A place of items; ``work`` is the folder in which their files are made."""

    work: Path

    def item(self, description: ItemDescription, fileset_id: str) -> TargetItem:
        """The item that *description* names."""

    def sizes(self, item: str, names: Iterable[str]) -> Mapping[str, int]:
        """Bytes of those of an item's files *names* that are there; ``TargetTrouble``."""

    def opened(self, item: str, name: str) -> BinaryIO:
        """A file of an item, to read and to seek; ``OSError``, ``TargetTrouble``."""

    def place(self, item: str, name: str) -> Path | str:
        """Return where a file of an item stands: a path, or a URL."""
