"""The records of a paper WARC -> rows of captures.sqlite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lafka.papers import Archive
from lafka.warc.errors import BadWarc
from lafka.warc.indexes.base import Entry
from lafka.warc.indexes.sqlite import row_of
from lafka.warc.reading.volumes import WarcVolume


def rows_of(
    archive: Archive, name: str, way: str, part: tuple[int, int], rows: list[tuple[Any, ...]]
) -> str:
    """Put the records in *part* of the WARC of this *name* into *rows*; why not all, or nothing.

    *part*: the first byte, and the one behind the last. *way*: from the index to the archive.
    """
    place, volume = archive.root / f"warc/{name}.warc", f"{way}warc/{name}.warc"
    start, end = part
    if start >= end:
        return ""
    try:
        _check_length(place, end)
        with WarcVolume(place, strict=True) as warc:
            for record in warc.records(start=start):
                if record.offset >= end:
                    break
                rows.append(row_of(Entry.of(record, volume)))
                if warc.is_plain and record.end >= end:  # what is behind is not known to be good
                    break
    except (BadWarc, OSError) as error:
        return str(error)
    return ""


def _check_length(place: Path, end: int) -> None:
    size = place.stat().st_size
    if size < end:
        raise BadWarc(place, f"{size} bytes long, but its suwaf knows {end} bytes")
