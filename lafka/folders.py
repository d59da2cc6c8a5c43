"""Folders and names that survive a power cut, and the name that a file has while it is made."""

from __future__ import annotations

import os
from pathlib import Path

from lafka.errors import StorageTrouble

DRAFT = ".draft-"
"""What stands before the name of a file that is not whole yet."""


def sync_folder(folder: Path) -> None:
    """Sync *folder*, so that names made or replaced in it survive a power cut."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_folders(folder: Path) -> None:
    """Make *folder* and its missing parents, each name synced; ``StorageTrouble`` if refused."""
    missing = []
    try:
        while not folder.is_dir():
            missing.append(folder)
            folder = folder.parent
        for name in reversed(missing):
            name.mkdir(exist_ok=True)
            sync_folder(name.parent)
    except OSError as error:
        raise StorageTrouble(folder, error) from error


def free_name(path: Path) -> Path:
    """*path*, or *path* with the first number behind it that no file has."""
    names = (path.with_name(f"{path.name}.{n}") for n in range(1, 10_000))
    return path if not path.exists() else next(name for name in names if not name.exists())
