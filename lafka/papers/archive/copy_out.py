"""Futs handed out: written to a file or to stdout, and held to their digests on the way."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from lafka.errors import BadWarc, StorageTrouble
from lafka.papers.archive.archives import StoredFut
from lafka.storage.folders import free_name
from lafka.storage.outputs import STDOUT, file_at, new_draft, opened_stream
from lafka.warc.writing.names import or_numbered


def hand_out(fut: StoredFut, output: str = STDOUT) -> None:
    """Write *fut* to *output*, a file, device or pipe; without one to stdout.

    A file is put in place, over what is there, once the fut is known to be what it was; else it is
    ``<output>.damaged``, which replaces nothing. ``BadWarc`` where the digest is another.
    ``BadArgument``, ``StorageTrouble`` as in :mod:`lafka.storage.outputs`.
    """
    path = file_at(output)
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
