"""The lines of a damaged journal that are as they were written, by the chain along them.

The chain of a line is that of the line before it and its own text, so of a line with one damaged
byte the chain tells which byte it was; and behind a line that nothing mends, the next ones are
proved by the chain that it carries.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from lafka.storage.drafts import LENGTH, NO_CHAIN, chained_lines, is_next, split_chain

_LONGEST = 1536
"""Bytes of a line in which a damaged byte is looked for: it takes a second by then."""
_MOST = 8
"""Lines of one journal in which it is looked for."""
_END = re.compile(rb', "chain": "sha256:[0-9a-f]{64}"\}')


@dataclass(slots=True)
class SalvagedJournal:
    """Lines as they were written, with their chains; ``mended`` of them were not as they were.

    ``lost`` are the places of lines that nothing mends; ``is_whole``: from the first to an end;
    ``tried``: in so many lines a damaged byte was looked for.
    """

    lines: list[bytes] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    mended: int = 0
    tried: int = 0
    is_whole: bool = False

    @property
    def values(self) -> list[dict[str, Any]]:
        """The lines as objects, without their chains."""
        return [json.loads(split_chain(line)[0]) for line in self.lines]


def salvaged(data: bytes, seals: Collection[str] = ()) -> SalvagedJournal:
    """Return what the journal *data* proves; *seals*: what others say of its end."""
    pieces = deque(_pieces(data))
    if not any(_END.search(piece) for _, piece in pieces):
        return _without_chain(data.splitlines(keepends=True))
    found, before = SalvagedJournal(), NO_CHAIN
    while pieces:
        place, piece = pieces.popleft()
        line, rest = _proved(piece, before), b""
        if line is None:
            line, rest = _with_a_chain(piece, before, pieces[0][1] if pieces else b"", seals)
        if line is None:
            line = _with_a_byte_else(piece, before, found)
        if line is None and b"\n" in piece[:-1]:  # the end of one of two lines was not known
            first, rest = piece.split(b"\n", 1)
            pieces.extendleft([(place + len(first) + 1, rest), (place, first + b"\n")])
            continue
        if line is None:
            found.lost.append(place)
            before = split_chain(piece)[1] or before
            continue
        found.mended += line != piece
        found.lines.append(line)
        before = split_chain(line)[1] or before
        if rest:
            pieces.appendleft((place + len(piece) - len(rest), rest))
        if _is_end(line):
            found.is_whole = not found.lost
            break  # what stands behind an end is none of it
    return found


def _pieces(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines by the chains at their ends, each with its place and a right line end."""
    place = 0
    for end in _END.finditer(data):
        yield place, data[place : end.end()] + b"\n"
        place = end.end() + 1
    if place < len(data):
        yield place, data[place:]


def _proved(piece: bytes, before: bytes) -> bytes | None:
    text, own = split_chain(piece)
    return piece if own is not None and is_next(text, own, before) else None


def _with_a_chain(
    piece: bytes, before: bytes, following: bytes, seals: Collection[str]
) -> tuple[bytes | None, bytes]:
    """The line with which *piece* begins, its damaged chain made again, and what is behind it.

    Proved by the line that follows, or as the last one by *seals*; None where it is not.
    """
    place = piece.find(b"\n")
    while place >= 0:
        line, chain = chained_lines(piece[: max(0, place + 1 - LENGTH)] + b"}\n", before)
        text, own = split_chain(piece[place + 1 :] or following)
        is_next_proved = own is not None and is_next(text, own, chain)
        if is_next_proved or f"sha256:{chain.hex()}" in seals:
            return line, piece[place + 1 :]
        place = piece.find(b"\n", place + 1)
    return None, b""


def _with_a_byte_else(piece: bytes, before: bytes, found: SalvagedJournal) -> bytes | None:
    """*piece* with the byte that its chain proves; None where there is none."""
    text, own = split_chain(piece)
    if own is None or found.tried >= _MOST or len(text) > _LONGEST:
        return None
    found.tried += 1
    for candidate in _one_byte_else(text, own, before):
        return chained_lines(candidate + b"\n", before)[0]
    return None


def _one_byte_else(text: bytes, own: bytes, before: bytes) -> Iterator[bytes]:
    """*text* with that one byte else which makes its chain *own*."""
    begun = hashlib.sha256(before)
    for place in range(len(text)):
        rest = text[place + 1 :]
        for byte in range(256):
            digest = begun.copy()
            digest.update(bytes((byte,)) + rest)
            if digest.digest() == own:
                yield text[:place] + bytes((byte,)) + rest
        begun.update(text[place : place + 1])


def _without_chain(lines: list[bytes]) -> SalvagedJournal:
    """Of a journal of before there were chains: each line that is an object."""
    found, place = SalvagedJournal(), 0
    for line in lines:
        try:
            is_line = line.endswith(b"\n") and isinstance(json.loads(line), dict)
        except (ValueError, RecursionError):
            is_line = False
        if not is_line:
            found.lost.append(place)
        else:
            found.lines.append(line)
            if _is_end(line):
                found.is_whole = not found.lost
                break
        place += len(line)
    return found


def _is_end(line: bytes) -> bool:
    return bool(json.loads(split_chain(line)[0]).get("e") == "end")
