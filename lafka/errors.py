"""The errors of Lafka, grouped by who has to act.

Every error is one sentence that names the file, line or pid it is about. ``str(error)`` is fit
for a terminal: control characters of foreign text are shown as escapes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def printable(text: object) -> str:
    """*text* with every character that could write a line or drive a terminal as an escape."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(text)
    )


class LafkaError(Exception):
    """Anything that Lafka itself raises."""

    def __str__(self) -> str:
        return printable(super().__str__())


class OperatorError(LafkaError):
    """The operator has to change a setting, an argument, a list or a folder."""


class BadArgument(OperatorError):
    """A spider argument, command argument or setting that is unknown or has a bad value."""


class BadList(OperatorError):
    """The list as a whole cannot be read: missing, a folder, not the format that its name says."""


class BadArchive(OperatorError):
    """The archive's root cannot be used: another layout or collection, or not writable."""


class ArchiveBusy(OperatorError):
    """Another process holds a lock that this command needs."""


class StorageTrouble(OperatorError):
    """The disk said no (full, read-only, I/O error): the crawl stops, the same command goes on."""

    def __init__(self, path: Path | str, error: OSError) -> None:
        super().__init__(f"{path}: {error.strerror or error}")
        self.path = Path(path)
        self.error = error

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.error)


class CallerError(LafkaError, ValueError):
    """The caller gave a value that is not one."""


class BadPid(CallerError):
    """Not a pid of the collection: raised by ``Collection.pid`` with the reason."""


class BadUrl(CallerError):
    """Not a URL that can be asked for: raised by the list reader and the walk."""


class NotHeld(LafkaError, LookupError):
    """The archive holds no such paper, futli, time or fut."""


class SiteError(LafkaError):
    """A site sent what it should not have: raised by the parsers of ``lafka.warc.http``."""


class BadHttp(SiteError):
    """Bytes that are no HTTP message, or a body that its own coding contradicts."""


class KeeperError(LafkaError):
    """Something stored is not as it was left: the keeper of the archive has to look.

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


class BadSuwaf(KeeperError):
    """A suwaf that is not JSON, or not a suwaf: ``scrapy rebuild`` makes it again."""


class BadWarc(KeeperError):
    """Bytes in a WARC that are no WARC record."""


class TornWarc(BadWarc):
    """A WARC that ends inside a record; ``offset`` is where that record begins."""


class ShortWarc(KeeperError):
    """A WARC shorter than its suwaf says: bytes are missing, nothing is written to it."""
