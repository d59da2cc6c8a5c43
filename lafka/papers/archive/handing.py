"""A fut handed out: written to a file or to stdout, and held to its digest on the way."""

from __future__ import annotations

import hashlib
import sys
import uuid
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import BinaryIO

from lafka.errors import BadWarc, StorageTrouble
from lafka.papers.archive.archives import StoredFut
from lafka.storage.folders import DRAFT, free_name
from lafka.warc.writing.names import or_numbered


def _copy(source: BinaryIO, output: str | None) -> str:
    """Write what *source* has to *output*, or to stdout; its digest."""
    try:
        with Path(output).open("wb") if output else nullcontext(sys.stdout.buffer) as target:
            digest = hashlib.sha256()
            while data := source.read(1 << 20):
                digest.update(data)
                target.write(data)
            target.flush()
    except OSError as error:
        if output:
            raise StorageTrouble(output, error) from error
        raise
    return f"sha256:{digest.hexdigest()}"


def hand_out(fut: StoredFut) -> None:
    """Write *fut* to stdout; ``BadWarc``, then, where it is not what its digest says."""
    with fut.open() as source:
        _check(fut, _copy(source, None), "")


def hand_out_to(fut: StoredFut, output: str) -> None:
    """Write *fut* to the file *output*, over what is there, once it is known to be what it was.

    Else to ``<output>.damaged``, and ``BadWarc``; a file that is there already is left as it is.
    """
    path = Path(output)
    if path.exists() and not path.is_file():  # a device, a pipe
        with fut.open() as source:
            _check(fut, _copy(source, output), "")
        return
    path = path.resolve()
    draft = path.with_name(f"{DRAFT}{path.name}-{uuid.uuid4().hex}")
    try:
        with fut.open() as source:
            digest = _copy(source, str(draft))
        _check(fut, digest, str(free_name(or_numbered(Path(f"{path}.damaged")))), draft)
        draft.replace(path)
    except StorageTrouble as error:
        raise StorageTrouble(output, error.error) from error
    except OSError as error:
        raise StorageTrouble(output, error) from error
    finally:
        with suppress(OSError):
            draft.unlink()


def _check(fut: StoredFut, digest: str, aside: str, draft: Path | None = None) -> None:
    """``BadWarc`` where *digest* is not that of *fut*; *draft* is then kept as *aside*."""
    if digest == fut.digest or not fut.digest.startswith("sha256:"):
        return
    if draft:
        draft.rename(aside)
    where = f"; it is in {aside}" if aside else ""
    raise BadWarc(fut.warc, f"the fut is not what its digest says{where}", fut.start)
