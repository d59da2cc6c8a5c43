"""The requests of an input, a line each, or of a topic, and the counts of their begins.

A line is a JSON object or a plain URL; a file of them may be gzipped. A message that was begun too
often without an end kills its worker and is given up. Whoever is killed beside such a message is
counted too. So what was begun twice is done alone, and only what was killed alone then is given up
at its next begin. Progress, the first file or byte that is kept, counts as an end: a dataset of a
week may be interrupted as often as it likes.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from io import BufferedReader, FileIO
from pathlib import Path
from typing import IO, Any

from lafka.errors import BadList, printable
from lafka.filesets.archive.index import HitIndex
from lafka.filesets.model.messages import (
    LONGEST_BASE_URL,
    LONGEST_MESSAGE,
    LONGEST_REQUEST,
    BadRequest,
    IngestRequest,
    IngestResult,
)
from lafka.filesets.model.types import Status
from lafka.jobs.kafka import BrokerTrouble, Message
from lafka.jobs.kafka.consuming import Consumer, Partition
from lafka.jobs.kafka.topics import Place
from lafka.jobs.lines import Message as Persisted
from lafka.jobs.lines import UnusableMessage

ALONE = 2
"""After so many begins a request is done with no other beside it."""
MOST = 3
"""Begins without an end; the next one is none any more."""


class Attempts:
    """The begins of this worker's messages, counted in *index*; from any thread, and it blocks.

    Lines of a file are not counted: whoever starts the crawl again sees what ended it.
    ``StorageTrouble``.
    """

    def __init__(self, index: HitIndex) -> None:
        self._index = index
        self._open: dict[str, str] = {}

    def begin(self, line: RequestLine, below: int = MOST) -> int:
        """Count that *line* is begun, unless it was *below* times before; how often it was.

        0 where it is of no topic.
        """
        if not _is_counted(line):
            return 0
        before = self._index.begin(_key(line), below)
        if before < below:
            self._open[line.message] = _key(line)
        return before

    def end(self, messages: Iterable[str]) -> None:
        """The requests at these places ended, came further, or are another worker's."""
        keys = [self._open.pop(message, "") for message in messages]
        if any(keys):
            self._index.forget(filter(None, keys))

    def given_up(self, line: RequestLine, request: IngestRequest) -> dict[str, Any]:
        """The result of *line*, which was begun too often; with it the counting ends."""
        self._open[line.message] = _key(line)
        told = IngestResult(request=request.raw, status=Status.GAVE_UP, error_message=_GIVEN_UP)
        return told.as_json()

    def end_all(self) -> None:
        """The worker stops in order: what it had begun killed nobody."""
        self.end(list(self._open))


def _is_counted(line: RequestLine) -> bool:
    return bool(line.message) and line.request is not None


def _key(line: RequestLine) -> str:
    """A topic that was made again has other messages at its places."""
    return f"{line.message} {line.request.base_url if line.request else ''}"


_GIVEN_UP = f"begun {MOST} times, and each time its worker was gone before anything was kept"


_KEY = ("ingest_type", "base_url")
_SMALL = 16 << 10
"""Bytes of a message that are read in less time than a thread takes to be asked."""


ThreadRunner = Callable[..., Awaitable[Any]]
"""Has work that blocks, called with the arguments behind it, done in a thread."""


class Inbox:
    """The messages of the topic *place*, for the workers of *group*; made in the loop.

    *types*: the ingest types that are done here, others are passed over. *dead* keeps a message
    that is no request, *failed* is told, in any thread, of what ends the consumer, *let_go* of the
    places of messages that were begun here and are another worker's from now on.
    """

    def __init__(
        self,
        place: Place,
        group: str,
        types: frozenset[str],
        *,
        aside: ThreadRunner,
        dead: Callable[[UnusableMessage], None],
        failed: Callable[[BrokerTrouble], object],
        let_go: Callable[[list[str]], object],
        window: int,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Queue[Message] = asyncio.Queue()
        self._begun: dict[str, Message] = {}
        self._types = types
        self._aside = aside
        self._bury = dead
        self._let_go = let_go
        self._passed = self._dead = self._number = 0
        self._consumer = Consumer(
            place.servers,
            [place.topic],
            group,
            deliver=self._deliver,
            failed=failed,
            let_go=self._lost,
            window=window,
            properties=properties,
        )

    def start(self) -> None:
        self._consumer.start()

    @property
    def counts(self) -> dict[str, int]:
        return {**self._consumer.counts, "passed": self._passed, "dead": self._dead}

    def _deliver(self, message: Message) -> None:
        """In the consumer's thread."""
        self._loop.call_soon_threadsafe(self._waiting.put_nowait, message)

    def _lost(self, partitions: frozenset[Partition]) -> None:
        """In the consumer's thread."""
        begun = list(self._begun.values())
        self._let_go([one.place for one in begun if (one.topic, one.partition) in partitions])

    async def next(self) -> RequestLine:
        """The next request that is ours; waits for it. ``StorageTrouble``."""
        while True:
            message = await self._waiting.get()
            if not self._consumer.is_ours(message):
                continue  # the partition is another's by now, and so is the request
            line = await self._line_of(message.value)
            if line is None:
                self._passed += 1
                self._consumer.done(message)
            elif (ready := await self._begin(message, line)) is not None:
                return ready

    async def _line_of(self, value: bytes) -> RequestLine | None:
        if len(value) <= _SMALL:
            return line_of(value, self._types)
        line: RequestLine | None = await self._aside(line_of, value, self._types)
        return line

    async def _begin(self, message: Message, line: RequestLine) -> RequestLine | None:
        """*line* with its number and place; None where nothing can be told of it."""
        if line.request is None:
            self._dead += 1
            letter = Persisted(place=message.place, data=message.value)
            await self._aside(self._bury, UnusableMessage(message=letter, reason=line.trouble))
            if not line.said:
                self._consumer.done(message)
                return None
        self._begun[message.place] = message
        self._number += 1
        return replace(line, number=self._number, message=message.place)

    def done(self, place: str) -> None:
        """All that came of the message at *place* is safe; from any thread."""
        if message := self._begun.pop(place, None):
            self._consumer.done(message)

    def stop(self) -> None:
        """Commit what is done and leave the group; waits for it."""
        self._consumer.stop()


def line_of(value: bytes, types: frozenset[str]) -> RequestLine | None:
    """Return what a message asks for; None for an ingest type that others do.

    Of one that is no request, ``said`` is what it says, empty where that names no type and URL.
    """
    said = _object_in(value)
    if isinstance(kind := said.get("ingest_type"), str) and kind not in types:
        return None
    try:
        return RequestLine(number=0, request=IngestRequest.parse(value))
    except BadRequest as error:
        has_key = all(said.get(name) and isinstance(said[name], str) for name in _KEY)
        return RequestLine(number=0, trouble=str(error), said=said if has_key else {})


def _object_in(value: bytes) -> dict[str, Any]:
    """The object in *value*, of one that is too long its key alone; empty where there is none."""
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    if len(value) <= LONGEST_REQUEST:
        return found
    return {n: found[n][:LONGEST_BASE_URL] for n in _KEY if isinstance(found.get(n), str)}


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
        return RequestLine(number=number, trouble=str(error), said=_claimed(data))


def _claimed(data: bytes) -> dict[str, Any]:
    """Return what a bad request says, as far as it is JSON, for the result that tells of it."""
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        return {"base_url": data.decode("utf-8", "replace")[:1_500]}
    return values if isinstance(values, dict) else {}
