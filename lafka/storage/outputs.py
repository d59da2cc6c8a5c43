"""The one place where the output of a command goes: a file, standard output, a device or a pipe.

What a user names with ``-o`` may be anything. A file appears whole or not at all, the file behind a
link is replaced and the link stays, and what is no file is written into, never replaced. What a
command writes is gzipped where the name ends in ``.gz``.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
import uuid
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from lafka.errors import BadArgument, StorageTrouble
from lafka.storage import drafts
from lafka.storage.folders import DRAFT

STDOUT = "-"
GZIP = ".gz"
# What ends a line for some readers, drives a terminal or hides in it; JSON may hold it as it is.
_UNSAFE = re.compile(
    r"[\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_DESCRIPTOR = re.compile(r"/dev/(?:(stdout)|(stderr)|fd/([0-9]+))|/proc/self/fd/([0-9]+)")


def escaped(text: str) -> str:
    r"""*text*, JSON or CSV, with what hides in it or ends a line for some as ``\u200b``."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def csv_cell(value: Any) -> Any:
    """Return *value* as a cell of CSV has it: lists and objects as JSON, no text that is a formula.

    A spreadsheet runs a cell that begins like a formula, whoever wrote it (OWASP, CSV Injection);
    such a text gets an apostrophe before it.
    """
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def counted(number: int, what: str) -> str:
    """Return *number* of *what* for people: ``1 paper``, ``1,204 papers``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def in_bytes(size: int) -> str:
    """Return *size* for people, in the decimal unit that reads best, to a tenth: ``1.2 MB``."""
    units = iter(("bytes", "kB", "MB", "GB", "TB", "PB"))
    amount, unit = float(size), next(units)
    while abs(amount) >= 999.95 and unit != "PB":
        amount, unit = amount / 1000, next(units)
    return f"{amount:,.0f} {unit}" if unit == "bytes" else f"{amount:,.1f} {unit}"


def file_at(name: str, *, never_gzipped: str = "") -> Path | None:
    """Return the path of the file that *name* names, or that a link there leads to.

    The file may be missing yet. None for standard output (``-``), a device, a pipe or a socket:
    such an output is written into. ``BadArgument`` for a folder, and for a name in ``.gz`` where
    *never_gzipped* says what is written; ``StorageTrouble``.
    """
    if never_gzipped and name.lower().endswith(GZIP):
        raise BadArgument(f"{name}: {never_gzipped} is not gzipped, name it without .gz")
    if name == STDOUT or _DESCRIPTOR.fullmatch(name):
        return None
    path = Path(name)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return path.resolve()
    except OSError as error:
        raise StorageTrouble(name, error) from error
    if stat.S_ISDIR(mode):
        raise BadArgument(f"{name}: a folder; name a file in it")
    return path.resolve() if stat.S_ISREG(mode) else None


def ending_of(name: str) -> str:
    """Return the ending that tells the form of the output *name*, in lower case: ``.csv``."""
    return Path(name.lower().removesuffix(GZIP)).suffix


def new_draft(path: Path) -> Path:
    """Return a name beside *path* for its file until that is whole, as no other process has it."""
    return path.with_name(f"{DRAFT}{path.name}-{uuid.uuid4().hex}")


def write_output(name: str, pieces: Iterable[bytes], *, as_is: bool = False) -> None:
    """Write *pieces* to the output *name*; an empty name is standard output.

    Gzipped where the name ends in ``.gz``, unless they are a file's own bytes, to be written
    *as_is*. ``BadArgument`` for a folder. ``StorageTrouble`` where the disk refuses: a file that
    was there is then as it was.
    """
    path = file_at(name or STDOUT)
    if name.lower().endswith(GZIP) and not as_is:
        pieces = _gzipped(pieces)
    if path is not None:
        drafts.replace(path, pieces, draft=new_draft(path))
        return
    with opened_stream(name or STDOUT) as stream:
        stream.writelines(pieces)


def _gzipped(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield *pieces* as gzip without a time, so that equal ones are equal files."""
    packing = zlib.compressobj(wbits=31)
    yield from map(packing.compress, pieces)
    yield packing.flush()


@contextmanager
def opened_stream(name: str) -> Iterator[BinaryIO]:
    """Open standard output, or the device or pipe *name*, to be written into.

    ``StorageTrouble`` where opening or writing fails; that of standard output stays an ``OSError``,
    by which a reader that has read enough is known.
    """
    if name == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with StorageTrouble.at(name), _opened(name) as stream:
        yield stream


def _opened(name: str) -> BinaryIO:
    """Open the device or pipe *name*; an open descriptor as it is, for ``>>`` to go on behind."""
    if not (found := _DESCRIPTOR.fullmatch(name)):
        return Path(name).open("wb")
    out, err, *numbers = found.groups()
    return os.fdopen(os.dup(1 if out else 2 if err else int(next(filter(None, numbers)))), "wb")
