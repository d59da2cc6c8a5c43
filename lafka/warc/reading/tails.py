"""What stands behind the end of the records that are known: a tail that was torn, or more."""

from __future__ import annotations

import os
import re

from ..format.sources import FileSource


def begins_record(fd: int, offset: int) -> bool:
    """Whether a record seems to begin at *offset* of the open file *fd*, or anywhere behind."""
    tail = FileSource(fd, offset, max(0, os.fstat(fd).st_size - offset))
    last = b""
    for data in tail.chunks():
        if _RECORD_BEGINS.search(last + data):
            return True
        last = data[-_OVERLAP:]
    return False


_RECORD_BEGINS = re.compile(rb"\r\n\r\nWARC/1\.[01]\r?\n[A-Za-z-]{1,60}:")
_OVERLAP = 80
