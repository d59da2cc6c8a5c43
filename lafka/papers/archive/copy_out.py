"""Futs copied out of an archive, to a file, stdout or a folder; digests are checked on the way."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from lafka.errors import BadWarc, StorageTrouble
from lafka.papers.archive.archives import StoredFut
from lafka.pids import LONGEST_COMPONENT
from lafka.storage.folders import free_name
from lafka.storage.outputs import STDOUT, file_at, new_draft, opened_stream, write_output
from lafka.warc.writing.names import or_numbered


def hand_out(fut: StoredFut, output: str = STDOUT) -> None:
    """Write *fut* to *output*, a file, device or pipe; without one to stdout.

    A file is put in place, over what is there, once the fut is known to be what it was; else it is
    ``<output>.damaged``, which replaces nothing. ``BadWarc`` where the digest is another.
    ``BadArgument``, ``StorageTrouble`` as in :mod:`lafka.storage.outputs`.
    """
    path = file_at(output, never_gzipped="a fut")
    if path is not None:
        _hand_out_file(fut, output, path)
        return
    with fut.open() as source, opened_stream(output) as stream:
        digest = _copy(source, stream)
    _check(fut, digest, "")


def _hand_out_file(fut: StoredFut, output: str, path: Path) -> None:
    draft = new_draft(path)
    try:
        with fut.open() as source, draft.open("wb") as file:
            digest = _copy(source, file)
        _check(fut, digest, str(free_name(or_numbered(Path(f"{path}.damaged")))), draft)
        draft.replace(path)
    except OSError as error:
        raise StorageTrouble(output, error) from error
    finally:
        with suppress(OSError):
            draft.unlink()


def _copy(source: BinaryIO, target: BinaryIO) -> str:
    """Write what *source* has to *target*; its digest."""
    digest = hashlib.sha256()
    while data := source.read(1 << 20):
        digest.update(data)
        target.write(data)
    return f"sha256:{digest.hexdigest()}"


def _check(fut: StoredFut, digest: str, aside: str, draft: Path | None = None) -> None:
    """``BadWarc`` where *digest* is not that of *fut*; *draft* is then kept as *aside*."""
    if digest == fut.digest or not fut.digest.startswith("sha256:"):
        return
    if draft:
        draft.rename(aside)
    where = f"; it is in {aside}" if aside else ""
    raise BadWarc(fut.warc, f"the fut is not what its digest says{where}", fut.start)


_KEPT = re.compile(r"[^A-Za-z0-9.-]+")
_SUFFIX = ".pdf"


def name_of(pid: str, label: str = "") -> str:
    """The name of a PDF of *pid*, without number and suffix: ``RePEc_abc_wpaper_1``."""
    name = _KEPT.sub("_", pid).strip("_.-") or "paper"
    if len(name) > LONGEST_COMPONENT - 50:
        name = f"{name[: LONGEST_COMPONENT - 90]}_{hashlib.sha256(pid.encode()).hexdigest()[:32]}"
    return f"{name}.{_KEPT.sub('_', label)}" if label else name


def names(stem: str, suffix: str = _SUFFIX) -> Iterator[str]:
    """``x.pdf``, ``x-2.pdf``, ``x-3.pdf`` ..."""
    yield f"{stem}{suffix}"
    number = 2
    while True:
        yield f"{stem}-{number}{suffix}"
        number += 1


def put_text_into(folder: Path, fut: StoredFut, text: str) -> tuple[Path, bool]:
    """Write *text*, that of *fut*, into *folder* as ``put_into`` does, with the suffix ``.txt``."""
    data = text.encode()
    for name in names(name_of(str(fut.pid), fut.label), ".txt"):
        path = folder / name
        with StorageTrouble.at(path):
            if not path.exists() and not path.is_symlink():
                write_output(str(path), [data])
                return path, True
            if path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data:
                return path, False
    raise AssertionError  # the names do not end


def put_into(folder: Path, fut: StoredFut) -> tuple[Path, bool]:
    """Write *fut* into *folder* under the first of its names that is free; whether it was written.

    Where one of them has the same bytes already it is left as it is: the same command again writes
    what is new alone. ``BadWarc`` as ``hand_out``, ``StorageTrouble``.
    """
    for name in names(name_of(str(fut.pid), fut.label)):
        path = folder / name
        if not path.exists() and not path.is_symlink():
            hand_out(fut, str(path))
            return path, True
        if _has(path, fut):
            return path, False
    raise AssertionError  # the names do not end


def _has(path: Path, fut: StoredFut) -> bool:
    """Return whether the file at *path* has the bytes of *fut*."""
    with StorageTrouble.at(path):
        if not path.is_file() or path.stat().st_size != fut.length:
            return False
        with path.open("rb") as file:
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}" == fut.digest
