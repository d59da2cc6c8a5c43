"""The errors of Lafka, grouped by who has to act.

Every error is one sentence that names the file, line or pid it is about. ``str(error)`` is fit
for a terminal: control characters of foreign text are shown as escapes.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lafka.warc.errors import BadHttp as BadHttp
from lafka.warc.errors import BadWarc as BadWarc
from lafka.warc.errors import DamagedFile
from lafka.warc.errors import TornWarc as TornWarc
from lafka.warc.errors import WarcError as WarcError
from lafka.warc.errors import printable as printable

try:
    import resource
except ImportError:  # Windows, where an archive can be read
    resource = None  # type: ignore[assignment]

KeeperError = DamagedFile
"""Something stored is not as it was left: the keeper of the archive has to look."""


class LafkaError(Exception):
    """Anything that Lafka itself raises, but for what its WARC library raises (``WarcError``)."""

    def __str__(self) -> str:
        return printable(super().__str__())


class OperatorError(LafkaError):
    """The operator has to change a setting, an argument, a list or a folder."""


class BadArgument(OperatorError):
    """A spider argument, command argument or setting that is unknown or has a bad value."""


class BadList(OperatorError):
    """The list as a whole cannot be read: missing, a folder, not the format that its name says."""


class HopelessList(BadList):
    """A list of which no line can be asked for."""


class BadStore(OperatorError):
    """The obi store cannot be used: another format, not writable, or its database is another's."""


class RecordsAway(OperatorError):
    """The obi store's database cannot be reached: the journals have all; the command goes on."""


class BadSource(OperatorError):
    """RePEc data that cannot be read as a whole: neither a folder nor a tarball, or missing."""


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

    @classmethod
    @contextmanager
    def at(cls, path: Path | str) -> Iterator[None]:
        """An OSError of what is done within is such a trouble of *path*."""
        try:
            yield
        except OSError as error:
            raise cls(path, error) from error

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.error)


class MachineTrouble(StorageTrouble):
    """The machine refused what a crawl needs, as a child process: no site is to blame for it."""


def machine_trouble(error: BaseException, what: str = "this process") -> MachineTrouble | None:
    """Return the refusal of memory or a thread that *error* is; None where it is another error."""
    if isinstance(error, MemoryError):
        return MachineTrouble(what, OSError(errno.ENOMEM, "Cannot allocate memory"))
    if isinstance(error, RuntimeError) and str(error) == "can't start new thread":
        number = errno.ENOMEM if memory_is_bound() else errno.EAGAIN
        return MachineTrouble(what, OSError(number, str(error)))
    return None


def memory_is_bound() -> bool:
    """Return whether the addresses of this process are limited, as by ``ulimit -v``."""
    if resource is None:
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


class NoLocks(OperatorError):
    """The system has no flock(2), so nothing may be written to a store: raised by who locks."""


class Stopped(OperatorError):
    """The crawl is being stopped and this was given up: nobody's fault, and nothing is told of it.

    The next run asks again.
    """


class CallerError(LafkaError, ValueError):
    """The caller gave a value that is not one."""


class BadChoice(CallerError):
    """A choice of futs that cannot be; its text begins with the name of the argument."""


class BadPid(CallerError):
    """Not a pid of the scheme: raised by ``Scheme.pid`` with the reason."""


class BadHandle(CallerError):
    """Not a RePEc handle: raised by ``archec.handles`` with the reason."""


class BadUrl(CallerError):
    """Not a URL that can be asked for: raised by the list reader, the walk and ``archec.uris``."""


class BadTist(CallerError):
    """Not a unix time stamp of 9 to 11 digits."""


class BadId(CallerError):
    """Not an id that an obi can have: no colon in it, or no text."""


class NotHeld(LafkaError, LookupError):
    """The archive holds no such paper, futli, time or fut."""


class SiteError(LafkaError):
    """A site sent what it should not have; ``BadHttp`` is the library's own word for it."""


class TornFile(SiteError):
    """A file of RePEc data that cannot be read to its end; what is read of it is no whole."""


class BadSuwaf(KeeperError):
    """A suwaf that is not JSON, or not a suwaf: ``lafka rebuild`` makes it again."""


class BadReport(KeeperError):
    """A file in ``runs/`` that should say what a run was, and does not."""


class BadJournal(KeeperError):
    """A line of a journal that is not JSON, or does not say what such a line says."""


class TornJournal(BadJournal):
    """A journal whose last line has no line end: a kill left it, and recovery cuts it off."""


class ShortWarc(KeeperError):
    """A WARC shorter than its suwaf says: bytes are missing, nothing is written to it."""
