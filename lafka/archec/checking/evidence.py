"""Evidence files: WARCs with the heads of the exchanges behind fobis, read here by length alone."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from lafka.archec.checking.problems import Problem

_NAME = re.compile(r"([1-9][0-9]{8,10})\.warc")
_KEPT = re.compile(r"[0-9]+\.warc\.torn-[0-9]+")
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,18})[ \t]*\r\n", re.IGNORECASE)
_HEAD_MAX = 1 << 20


def check_evidence(folder: Path, gatherings: Collection[int]) -> Iterator[Problem]:
    """Yield what is wrong with the WARCs in *folder*; *gatherings* have a journal."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if _KEPT.fullmatch(path.name):
            continue
        found = _NAME.fullmatch(path.name)
        if not found or int(found[1]) not in gatherings:
            yield Problem(path=path, code="bad-evidence", sentence="of no gathering of this store")
        elif (place := _torn(path)) is not None:
            sentence = f"byte {place}: no record of a WARC, or a torn one"
            yield Problem(path=path, code="bad-evidence", sentence=sentence)


def _torn(path: Path) -> int | None:
    """Return where the records of *path* end before the file does; None where they do not."""
    size, place = path.stat().st_size, 0
    with path.open("rb") as file:
        while place < size:
            file.seek(place)
            head, blank, _ = file.read(_HEAD_MAX).partition(b"\r\n\r\n")
            length = _LENGTH.search(head + b"\r\n")
            if not (head.startswith(b"WARC/1.") and blank and length):
                return place
            end = place + len(head) + 4 + int(length[1])
            file.seek(end)
            if file.read(4) != b"\r\n\r\n":
                return place
            place = end + 4
    return None
