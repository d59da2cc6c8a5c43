"""Futs as files in a folder, by names that people can use."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lafka.errors import StorageTrouble
from lafka.papers.archive.copy_out import hand_out
from lafka.pids import LONGEST_COMPONENT

if TYPE_CHECKING:
    from lafka.papers.archive.archives import StoredFut

_KEPT = re.compile(r"[^A-Za-z0-9.-]+")
_SUFFIX = ".pdf"


def name_of(pid: str, label: str = "") -> str:
    """The name of a PDF of *pid*, without number and suffix: ``RePEc_abc_wpaper_1``."""
    name = _KEPT.sub("_", pid).strip("_.-") or "paper"
    if len(name) > LONGEST_COMPONENT - 50:
        name = f"{name[: LONGEST_COMPONENT - 90]}_{hashlib.sha256(pid.encode()).hexdigest()[:32]}"
    return f"{name}.{_KEPT.sub('_', label)}" if label else name


def names(stem: str) -> Iterator[str]:
    """``x.pdf``, ``x-2.pdf``, ``x-3.pdf`` ..."""
    yield f"{stem}{_SUFFIX}"
    number = 2
    while True:
        yield f"{stem}-{number}{_SUFFIX}"
        number += 1


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
    try:
        if not path.is_file() or path.stat().st_size != fut.length:
            return False
        with path.open("rb") as file:
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}" == fut.digest
    except OSError as error:
        raise StorageTrouble(path, error) from error
