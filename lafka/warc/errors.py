"""The errors of the WARC library: what is damaged, what a caller gave, what is not there.

Every error is one sentence. ``str(error)`` is fit for a terminal: control characters of foreign
text are shown as escapes. Errors of the disk pass through as ``OSError``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def printable(text: object) -> str:
    """*text* with every character that could write a line or drive a terminal as an escape."""
    plain = str(text)
    if plain.isprintable():  # as nearly all are
        return plain
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in plain
    )


class WarcError(Exception):
    """Anything that the library itself raises."""

    def __str__(self) -> str:
        return printable(super().__str__())


class DamagedFile(WarcError):
    """Something stored is not as it was left.

    ``path`` is the file, ``offset`` the byte in it where there is one.
    """

    def __init__(self, path: Path | str, message: str, offset: int | None = None) -> None:
        place = f"{path}" if offset is None else f"{path} at byte {offset}"
        super().__init__(f"{place}: {message}")
        self.path = Path(path)
        self.message = message
        self.offset = offset

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.message, self.offset)


class BadWarc(DamagedFile):
    """Bytes in a volume that are no record, or no record as the standard has it."""


class TornWarc(BadWarc):
    """A volume that ends inside a record; ``offset`` is where that record begins."""


class BadIndex(DamagedFile):
    """An index that cannot be read, or whose entry leads to no such record."""


class BadHttp(WarcError):
    """Bytes that are no HTTP message, or a body that its own coding contradicts."""


class BadValue(WarcError, ValueError):
    """The caller gave a value that cannot be parsed or written."""


class NotFound(WarcError, LookupError):
    """There is no such record, field or entry."""


class MissingSegment(NotFound):
    """A continuation that a segmented record needs is in none of the volumes searched."""
