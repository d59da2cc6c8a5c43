"""The holdings of a fileset while its ingest has it, and how much more the disk takes."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from lafka.filesets.archive.filesets import Filesets
from lafka.filesets.archive.storing import Storing, held_version
from lafka.filesets.model.summaries import FilesetVersion
from lafka.filesets.model.types import FilesetPlatformItem
from lafka.filesets.strategies.strategy import HeldVersion
from lafka.filesets.targets.target import TargetItem


class HeldHere:
    """The holdings of the claimed fileset: by its summary, and, of items, by their folder."""

    def __init__(self, store: Storing, filesets: Filesets, target: TargetItem | None) -> None:
        self._store = store
        self._filesets = filesets
        self._target = target

    def version(self, item: FilesetPlatformItem) -> HeldVersion | None:
        """The version of that name; of what changes in place, the latest."""
        found = self._store.latest(item)
        return None if found is None else held_version(self._there(found))

    def _there(self, version: FilesetVersion) -> FilesetVersion:
        """*version* without the files whose item has lost them."""
        lost = self._filesets.lost(version.files.values())
        files = {
            path: entry
            for path, entry in version.files.items()
            if (entry.item, entry.name) not in lost
        }
        described = self._target is None or self._target.is_described
        complete = version.complete and len(files) == len(version.files) and described
        return replace(version, files=files, complete=complete)


def free_bytes(paths: tuple[Path, ...]) -> int:
    """Bytes that are free for all of *paths*, or for what they are to be made in."""
    found = []
    for path in paths:
        while not path.exists() and path != path.parent:
            path = path.parent
        state = os.statvfs(path)
        found.append(state.f_bavail * state.f_frsize)
    return min(found)
