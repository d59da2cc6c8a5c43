"""``scrapy fut PID``: the full text of a paper."""

from __future__ import annotations

import hashlib
import sys
import uuid
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from lafka.cli import ArchiveCommand
from lafka.errors import BadArgument, BadWarc, StorageTrouble
from lafka.papers.archive.suwafs import begins_time
from lafka.storage.folders import DRAFT, free_name
from lafka.warc.writing.names import or_numbered

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from lafka.papers.archive.archives import StoredFut


class Command(ArchiveCommand):
    most_args = 1

    def syntax(self) -> str:
        return "PID [--futli URL] [--time T] [--label LABEL] [-o FILE]"

    def short_desc(self) -> str:
        return "Write the full text of a paper, a PDF, to stdout or a file"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--futli", metavar="URL", help="the fut of this link")
        parser.add_argument(
            "--time", metavar="T", help="the latest by this time, 2026-11-20T10:11Z"
        )
        parser.add_argument(
            "--label",
            default="",
            metavar="LABEL",
            help="a PDF that is labelled so: supplement, other; any for any",
        )
        parser.add_argument("-o", "--output", metavar="FILE", help="write to FILE, not to stdout")

    def act(self, args: list[str], opts: Namespace) -> None:
        time = _time(opts.time) if opts.time else None
        label = None if opts.label == "any" else opts.label
        fut = self.archive().fut(self.the_pid(args), opts.futli, time, label=label)
        if not opts.output:
            with fut.open() as source:
                _check(fut, _copy(source, None), "")
            return
        _written(fut, opts.output)
        told = filter(None, (fut.time, fut.digest, fut.url, fut.label))
        print(f"{fut.length} bytes, {', '.join(told)}", file=sys.stderr)


def _time(text: str) -> str:
    """*text* without its Z; ``BadArgument`` where it is no beginning of a time in a suwaf."""
    if not begins_time(text):
        raise BadArgument(f"--time {text!r} is not like 2026, 2026-11-20 or 2026-11-20T10:11:12Z")
    return text.removesuffix("Z")


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


def _written(fut: StoredFut, output: str) -> None:
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
