"""Names of WARC files (WARC/1.1 annex B, IIPC WARC Implementation Guidelines, "File naming").

``PREFIX-timestamp-serial-host.warc.gz``: unlike from run to run, from host to host, and sorted by
time.
"""

from __future__ import annotations

import itertools
import os
import re
import socket
import string
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ..errors import BadValue
from ..format.dates import WarcDate

TEMPLATE = "{prefix}-{timestamp}-{serial:05}-{host}.warc"
VARIABLES = frozenset({"prefix", "timestamp", "timestamp14", "serial", "host"})

_NOT_WRITTEN = (".bz2", ".zst", ".lz4", ".xz")
_NAME = re.compile(r"[^\x00-\x1f\x7f/\\]+")
_FOREIGN = re.compile(r"[^A-Za-z0-9._~-]")


def this_host() -> str:
    """The name of this machine, each character that has no place in a file's name as ``_``."""
    return _FOREIGN.sub("_", socket.gethostname()) or "localhost"


def make_name(template: str, *, prefix: str, host: str, date: WarcDate, serial: int) -> str:
    """*template* filled; ``BadValue`` where it is none, or where no file's name comes of it.

    Variables: ``prefix``, ``timestamp`` (17 digits), ``timestamp14``, ``serial``, ``host``, with
    format specifications as :meth:`str.format` has them.
    """
    values = {
        "prefix": prefix,
        "timestamp": date.digits17,
        "timestamp14": date.digits14,
        "serial": serial,
        "host": host,
    }
    try:
        fields = [field for _, field, _, _ in string.Formatter().parse(template)]
        unknown = {field for field in fields if field is not None} - VARIABLES
        name = "" if unknown else template.format_map(values)
    except (ValueError, LookupError, AttributeError) as error:
        raise BadValue(f"not a template of file names: {template!r} ({error})") from None
    if unknown:
        raise BadValue(f"no such variable in {template!r}: {', '.join(sorted(unknown))}")
    if not _NAME.fullmatch(name) or name.startswith(".") or len(os.fsencode(name)) > 240:
        raise BadValue(f"not the name of a file: {name!r}")
    return name


def is_gzip(name: Path | str, asked: bool | None = None) -> bool:
    """Return whether what is written under *name* is compressed: where that ends so, or as *asked*.

    ``BadValue`` where the name is that of a compression that is read and not written.
    """
    if asked is not None:
        return asked
    end = Path(name).suffix.lower()
    if end in _NOT_WRITTEN:
        raise BadValue(f"{name}: written plain or as .gz, not as {end}")
    return end == ".gz"


def rename_new(source: Path, target: Path) -> None:
    """Rename a file; ``FileExistsError`` where *target* is there: nothing is ever overwritten."""
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:
        # A disk without hard links: the name is taken by an empty file, and that one is replaced.
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC))
        try:
            source.rename(target)
        except OSError:
            target.unlink()
            raise
    else:
        source.unlink()


def put_in_place(draft: Path, path: Path) -> None:
    """Give *draft*, whose bytes are on the disk, the name *path*, durably; what had it is gone."""
    draft.replace(path)
    sync_folder(path.parent)


def rename_free(source: Path, target: Path) -> Path:
    """Rename *source* to *target*, or to the first of ``target-1``, ``-2``... that is free."""
    for name in or_numbered(target):
        with suppress(FileExistsError):
            rename_new(source, name)
            return name
    raise AssertionError


def or_numbered(path: Path, sign: str = "-") -> Iterator[Path]:
    """*path*, then the same with ``-1``, ``-2``... behind it, without end."""
    yield path
    yield from numbered(path, sign)


def numbered(path: Path, sign: str = "-", first: int = 1) -> Iterator[Path]:
    """*path* with ``-1``, ``-2``... behind it, without end, from the number *first* on."""
    return (path.with_name(f"{path.name}{sign}{number}") for number in itertools.count(first))


def sync_folder(folder: Path) -> None:
    """Sync *folder*, so that names made or replaced in it survive a power cut."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
