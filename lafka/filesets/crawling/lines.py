"""The requests of an input, a line each: JSON objects, or plain URLs; gzipped or not."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader, FileIO
from pathlib import Path
from typing import IO, Any

from lafka.errors import BadList, printable
from lafka.filesets.model.requests import LONGEST_REQUEST, BadRequest, IngestRequest
from lafka.filesets.model.results import LONGEST_MESSAGE
from lafka.filesets.model.statuses import Status

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLine:
    """A line of an input: its request; or, where it is none, why, and what it says.

    ``message``: where it stands on a topic, ``TOPIC/PARTITION@OFFSET``; empty for a line of a file.
    """

    number: int
    request: IngestRequest | None = None
    trouble: str = ""
    said: dict[str, Any] | None = None
    message: str = ""


class LineCount:
    """The number of requests that an input has: ``total``, None while or where that is not known.

    ``loaded``: that is all of them.
    """

    def __init__(self) -> None:
        self.total: int | None = None
        self.loaded = False

    def load(self, source: str) -> None:
        """Count those of the file *source*; who reads it tells what is wrong with it. Blocks."""
        with suppress(OSError, EOFError, zlib.error), _opened(source) as stream:
            self.total = sum(1 for _ in _texts(stream))
            self.loaded = True


def bad_result(line: RequestLine) -> dict[str, Any]:
    """Return what is told of *line*, which is no request."""
    where = line.message or f"line {line.number}"
    return {
        "hit": False,
        "status": str(Status.BAD_REQUEST),
        "request": line.said or {},
        "error_message": f"{where}: {line.trouble}"[:LONGEST_MESSAGE],
    }


def request_lines(source: str) -> Iterator[RequestLine]:
    """The lines of *source* (``-``: standard input) without blank ones and ``#`` comments.

    ``BadList`` where it cannot be read, or no more.
    """
    try:
        with _opened(source) as stream:
            yield from _read(stream)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadList(f"{source}: {printable(reason)}") from None


def _opened(source: str) -> IO[bytes]:
    # Unbuffered below: Python aborts where a thread holds the lock of sys.stdin at the end.
    file = FileIO(0, closefd=False) if source == "-" else FileIO(Path(source))
    stream = BufferedReader(file)
    if stream.peek(2)[:2] == _GZIP:
        return gzip.GzipFile(fileobj=stream)  # type: ignore[return-value]
    return stream


def _read(stream: IO[bytes]) -> Iterator[RequestLine]:
    for number, text in _texts(stream):
        if text is None:
            yield RequestLine(number=number, trouble=f"a request of over {LONGEST_REQUEST} bytes")
        else:
            yield request_line(number, text)


def _texts(stream: IO[bytes]) -> Iterator[tuple[int, bytes | None]]:
    """The lines that say something, by number; None for one that is too long."""
    number = 0
    while line := stream.readline(LONGEST_REQUEST + 2):
        number += 1
        is_long = len(line.rstrip(b"\r\n")) > LONGEST_REQUEST
        while is_long and not line.endswith(b"\n") and (line := stream.readline(LONGEST_REQUEST)):
            pass
        text = (line.removeprefix(_BOM) if number == 1 else line).strip()
        if is_long:
            yield number, None
        elif text and not text.startswith(b"#"):
            yield number, text


def request_line(number: int, data: bytes) -> RequestLine:
    """The line *number*, which holds *data*: JSON where it begins with a brace, else a URL."""
    try:
        text = data.decode("utf-8")
        if text.startswith("{"):
            return RequestLine(number=number, request=IngestRequest.parse(text))
        return RequestLine(number=number, request=IngestRequest.of_url(text))
    except UnicodeDecodeError:
        return RequestLine(number=number, trouble="the request is not UTF-8")
    except BadRequest as error:
        return RequestLine(number=number, trouble=str(error), said=_said(data))


def _said(data: bytes) -> dict[str, Any]:
    """Return what a bad request says, as far as it is JSON, for the result that tells of it."""
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        return {"base_url": data.decode("utf-8", "replace")[:1_500]}
    return values if isinstance(values, dict) else {}
