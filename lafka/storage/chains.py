"""The chain along the lines of a file: each carries a digest of itself and of all before it.

The last key of a line, ``chain``, is ``sha256:`` and the hex of SHA-256 over the chain of the line
before (32 zero bytes before the first) and the line's bytes without its chain and line feed.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress

NO_CHAIN = bytes(32)
"""The chain before the first line."""
MARK = b', "chain": "sha256:'
_TAIL = b'"}\n'
LENGTH = len(MARK) + 64 + len(_TAIL)
"""Bytes with which a line that carries a chain ends."""


def chained_lines(lines: bytes, chain: bytes) -> tuple[bytes, bytes]:
    """Whole *lines* with their chains (docs/formats.md), and the chain after the last of them.

    *chain* is that of the line before them, 32 bytes.
    """
    pieces = []
    for line in lines.splitlines():
        chain = hashlib.sha256(chain + line).digest()
        pieces += [line[:-1], MARK, chain.hex().encode(), _TAIL]
    return b"".join(pieces), chain


def split_chain(line: bytes) -> tuple[bytes, bytes | None]:
    """*line* as it was before it got its chain, without a line feed, and that chain.

    The line itself and None where it carries none.
    """
    if line[-LENGTH : len(MARK) - LENGTH] == MARK and line.endswith(_TAIL):
        with suppress(ValueError):
            return line[:-LENGTH] + b"}", bytes.fromhex(line[len(MARK) - LENGTH : -3].decode())
    return line, None


def is_next(line: bytes, chain: bytes, before: bytes) -> bool:
    """Return whether *chain* is that of *line* behind one with the chain *before*."""
    return hashlib.sha256(before + line).digest() == chain
