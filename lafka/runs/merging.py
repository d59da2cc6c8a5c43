"""Outcome feeds and reports of runs, taken from one archive into another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lafka.errors import BadReport, StorageTrouble
from lafka.runs.reports import KILLED, Report
from lafka.storage import drafts
from lafka.warc.format.sources import FileSource

_PIECE = 1 << 20


def merge_runs(source: Path, target: Path, *, dry: bool = False) -> Iterator[str]:
    """Take feeds and closed reports of the archive at *source* into that at *target*.

    Yields a sentence for each that is in the way, and leaves it. Of a feed that goes on its whole
    lines are taken; the report of a run that lives, or was killed, is not. ``StorageTrouble``.
    """
    for path in sorted((source / "runs").glob("*.json*")):
        ours = target / "runs" / path.name
        if path.name.startswith("."):
            continue
        try:
            if path.suffix == ".jsonl":
                yield from _merge_feed(path, ours, dry=dry)
            elif path.suffix == ".json":
                yield from _merge_report(path, ours, dry=dry)
        except OSError as error:
            raise StorageTrouble(error.filename or path, error) from error


def _merge_feed(theirs: Path, ours: Path, *, dry: bool) -> Iterator[str]:
    end = _end_of_lines(theirs)
    held = ours.stat().st_size if ours.exists() else 0
    common = min(held, end)
    begins = zip(_pieces(theirs, 0, common), _pieces(ours, 0, common), strict=True)
    if any(one != other for one, other in begins):
        yield f"{ours} and {theirs} are feeds of one run, and differ"
    elif end > held and not dry:
        drafts.replace(ours, _pieces(theirs, 0, end))


def _end_of_lines(feed: Path) -> int:
    """Return the byte behind the last whole line."""
    size = feed.stat().st_size
    for begin in range(max(0, size - _PIECE), -_PIECE, -_PIECE):
        piece = b"".join(_pieces(feed, max(0, begin), min(size, begin + _PIECE)))
        if b"\n" in piece:
            return max(0, begin) + piece.rindex(b"\n") + 1
    return 0


def _pieces(path: Path, begin: int, end: int) -> Iterator[bytes]:
    if begin < end:
        with path.open("rb") as file:
            yield from FileSource(file.fileno(), begin, end - begin).chunks()


def _merge_report(theirs: Path, ours: Path, *, dry: bool) -> Iterator[str]:
    try:
        found = Report.load(theirs)
        known = Report.load(ours) if ours.exists() else None
    except BadReport as error:
        yield str(error)
        return
    if found.reason in (None, KILLED):
        return
    if known is None or known.reason in (None, KILLED):
        if not dry:
            drafts.replace(ours, [theirs.read_bytes()])
    elif known.values != found.values:
        yield f"{ours} and {theirs} are reports of one run, and differ"
