"""The payload of an HTTP message as far as it can be had, whatever its head says of it.

Recorders undo codings and leave the head as it was, servers end early, lengths are those of other
bytes. What :mod:`http` refuses is told here, and the bytes are given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..errors import BadHttp
from . import http
from .codings import Tell, decode
from .http import Head
from .sources import Source

_LINE_MAX = 8192
_CHUNK_LINE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\n]*)?(\r?\n)")


def is_chunked(source: Source, message: Head) -> bool:
    """Whether the body is chunked, as its head says: its first chunk is one, or is cut."""
    found = _CHUNK_LINE.match(source.read(message.end, _LINE_MAX))
    if not found:
        return False
    size = int(found[1], 16)
    end = message.end + found.end() + size
    if not size or end >= source.size:
        return found[2] == b"\r\n"  # a text can begin with a line of digits
    return source.read(end, 2).startswith((b"\r\n", b"\n"))


def payload(
    source: Source, message: Head, tell: Tell, *, decoded: bool = False, to_end: bool = False
) -> Iterator[bytes]:
    """The payload in pieces, or *decoded* the entity, up to where it breaks; *tell* is told why.

    *to_end*: as :func:`http.payload` has it. A coding that the bytes contradict
    was undone already: then they are the payload.
    """
    if message.chunked and not is_chunked(source, message):
        tell("undone-coding", coding="chunked")
        body = source.chunks(message.end)
    else:
        body = http.framed(source, message, to_end=to_end)
    codings = (*(message.content_codings if decoded else ()), *message.transfer_codings)
    try:
        yield from decode(body, codings, tell) if codings else body
    except BadHttp as error:
        tell("bad-payload", reason=str(error))
