"""Sizes as people write them: ``1G`` is 10**9 bytes, ``1Gi`` is 2**30."""

from __future__ import annotations

import re

from ..errors import BadValue

_SIZE = re.compile(r"([0-9]{1,18})([KMG]i?)?")
UNITS = {
    "": 1,
    "K": 10**3, "M": 10**6, "G": 10**9,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30,
}  # fmt: skip


def parse_size(size: int | str) -> int:
    """*size* in bytes: a number over 0, or one with a suffix, ``"512Mi"``; else ``BadValue``."""
    if isinstance(size, str) and (found := _SIZE.fullmatch(size)):
        size = int(found[1]) * UNITS[found[2] or ""]
    if type(size) is not int or size <= 0:
        raise BadValue(f"not a size: {size!r} (a number of bytes, or one with K, M, G, Ki, Mi, Gi)")
    return size
