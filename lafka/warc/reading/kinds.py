"""Who knows what kinds of files there are: asked when one is opened as a volume.

The reader of WARCs does not know the readers of other files, which are made of it. They are told
here by name, and imported when a file is first opened.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from ..format.sources import Source

KNOWERS: list[str] = []
"""Functions, as ``module:name``: each is given a file's name and, where it is not in the file, its
source; and gives the class that reads it. ``OSError`` and ``BadWarc`` where it cannot be read."""
ClassOf = Callable[[Path, Source | None], type]


def class_of(path: Path, source: Source | None) -> type | None:
    """The class that reads the file at *path*, or what *source* holds; None where nobody knows."""
    for knower in KNOWERS:
        module, _, name = knower.partition(":")
        asked: ClassOf = getattr(import_module(module), name)
        return asked(path, source)
    return None
