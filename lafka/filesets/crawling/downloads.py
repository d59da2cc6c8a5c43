"""Huge files streamed into parts of items: asked for again where they broke off, never in memory.

The body goes from the wire to the disk, past the raw WARC; a thread hashes and writes it, and the
connection waits for that thread where the disk is slower than the network.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from lafka.capture.logged import LoggedExchange
from lafka.errors import BadHttp, StorageTrouble
from lafka.filesets.bundles.children import BundleChildren
from lafka.filesets.crawling.answers import BundleReader, RequestOutcome, framing_trouble
from lafka.filesets.model.asks import Fetch, FetchBundle, Fetched
from lafka.filesets.model.bundles import BundleLimits
from lafka.filesets.model.manifests import FileFacts, compare, facts_of
from lafka.filesets.model.types import OTHER_DIGESTS, FilesetManifestFile, FileStatus
from lafka.filesets.targets.folder import SYNC_SECONDS, PartFile
from lafka.filesets.targets.item import DownloadProgress, DownloadStep, begun, step_after
from lafka.politeness.failures import is_final
from lafka.warc.format.fields import Fields

HIGH = 16 << 20
LOW = 4 << 20
"""Bytes that may wait to be written; the connection is stopped above the first until the second."""
TOGETHER = 1 << 20
"""Bytes that are handed to the writer at once: TLS brings 16 KiB, and each would wake it. A file
that has no more is written when all of it is there."""
_AGAIN = (408, 425, 429)

logger = logging.getLogger(__name__)


class PartSink:
    """Takes the body of one answer for *want* into *file*, on its *way*.

    ``step`` is what the answer meant, None before one came.
    """

    def __init__(self, file: PartFile, want: Fetch | FetchBundle, way: DownloadContext) -> None:
        self.step: DownloadStep | None = None
        self.status = 0
        self.start = file.part.offset
        self._file = file
        self._url = want.url
        self._call = way.call
        self._moved = way.moved
        self._synced = file.part.offset
        self._waiting: queue.SimpleQueue[list[bytes] | DownloadProgress | None] = (
            queue.SimpleQueue()
        )
        self._gathered: list[bytes] = []
        self._gathered_size = 0
        self._size = 0  # bytes that are gathered or wait
        self._lock = threading.Lock()
        self._paused = False
        self._pause: Callable[[], object] = bool
        self._resume: Callable[[], object] = bool
        self._trouble: StorageTrouble | None = None
        self._thread: threading.Thread | None = None
        self._has_begun = False
        self._is_small = isinstance(want, Fetch) and is_small(want.file)

    # ---- In the reactor's thread

    def wants(self, status: int, fields: Fields) -> bool:
        self.status = status
        if 300 <= status < 400:
            return False
        asked = self._file.part.headers()
        self.step = step_after(self._file.part, status, fields) if asked else _first(status)
        if self.step is DownloadStep.BEGIN:
            self.start = 0
            self._waiting.put(begun(self._url, status, fields))
        return self.step in (DownloadStep.BEGIN, DownloadStep.GO_ON)

    def begin(self, pause: Callable[[], object], resume: Callable[[], object]) -> None:
        self._pause, self._resume = pause, resume
        self._has_begun = True
        if not self._is_small:
            self._start()

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._work, name="lafka-part", daemon=True)
        self._thread.start()

    def receive(self, data: bytes) -> None:
        if self._trouble is not None:
            raise self._trouble
        with self._lock:
            self._size += len(data)
            pauses = self._size > HIGH and not self._paused
            self._paused = self._paused or pauses
            self._gathered.append(data)
            self._gathered_size += len(data)
            if self._gathered_size >= TOGETHER:
                self._hand_on()
                if self._thread is None:  # it is longer than its platform says
                    self._start()
        if pauses:
            self._pause()

    def _hand_on(self) -> None:
        """Give what is gathered to the writer. Whoever calls it has the lock, so order is kept."""
        if self._gathered:
            self._waiting.put(self._gathered)
            self._gathered, self._gathered_size = [], 0

    # ---- In the writer's

    def _work(self) -> None:
        for piece in self._pieces():
            try:
                if self._trouble is None:
                    self._take(piece)
            except StorageTrouble as error:
                self._trouble = error
            if isinstance(piece, bytes):
                self._written(len(piece))

    def _pieces(self) -> Iterator[bytes | DownloadProgress]:
        """Yield what comes, until the end is told; an empty piece where nothing comes for
        a while.
        """
        while True:
            try:
                piece = self._waiting.get(timeout=SYNC_SECONDS / 2)
            except queue.Empty:
                with self._lock:
                    idle = not self._gathered
                    self._hand_on()
                if idle:
                    yield b""
                continue
            if piece is None:
                return
            yield b"".join(piece) if isinstance(piece, list) else piece

    def _take(self, piece: bytes | DownloadProgress) -> None:
        if isinstance(piece, DownloadProgress):
            self._file.begin(piece)
        elif piece:
            self._file.write(piece)
        else:
            self._file.sync()
        if self._file.part.offset > self._synced:
            self._moved()
        self._synced = self._file.part.offset

    def _written(self, size: int) -> None:
        with self._lock:
            self._size -= size
            resumes = self._paused and self._size < LOW
            self._paused = self._paused and not resumes
        if resumes:
            self._call(self._resume)

    def finish(self, is_whole: bool = False) -> None:
        """Wait until all that came is on the disk; ``StorageTrouble``. To be called in a thread.

        *is_whole*: it is all of the file, which gets its name next.
        """
        if self._has_begun:
            with self._lock:
                self._hand_on()
                self._waiting.put(None)
            if self._thread is not None:
                self._thread.join()
            else:
                self._work()
        if self._trouble is not None:
            with suppress(StorageTrouble):  # what was written before may do all the same
                self._file.sync()
            raise self._trouble
        if self._has_begun:
            self._file.sync(is_whole=is_whole)


def is_small(file: FilesetManifestFile) -> bool:
    """Return whether *file* is written when all of it is there, by what its platform says."""
    return file.size is not None and file.size <= TOGETHER


def _first(status: int) -> DownloadStep:
    return DownloadStep.BEGIN if status == 200 else DownloadStep.FAIL


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadContext:
    """The parts of a crawl that a download needs.

    ``get`` asks with these header fields and this sink; ``aside`` works in a thread; ``call`` in
    the reactor's. ``moved`` is called, in a thread, when more bytes are synced; ``look`` looks into
    a file that is whole, as :func:`looked_into`.
    """

    get: Callable[[dict[str, str], PartSink], Awaitable[RequestOutcome]]
    aside: Callable[..., Awaitable[Any]]
    call: Callable[[Callable[[], object]], object]
    moved: Callable[[], object]
    look: Callable[[Fetched, Fetch | FetchBundle, PartFile], Fetched]
    told: Callable[[str], str]
    tries: int


@dataclass(slots=True)
class Download:
    """One file's download into *file*, taken up: its captures, and which bytes each brought."""

    file: PartFile
    captures: list[tuple[LoggedExchange, ...]] = field(default_factory=list)
    ranges: list[tuple[int, int]] = field(default_factory=list)

    async def run(self, want: Fetch | FetchBundle, way: DownloadContext) -> Fetched:
        """Fetch what is missing, and look into it; ``tries`` requests without a further byte end
        it.
        """
        left, status = way.tries, 200
        while not self.file.part.is_whole:
            before = self.file.size
            sink = PartSink(self.file, want, way)
            try:
                came = await way.get(self.file.part.headers(), sink)
            except BaseException:
                await way.aside(sink.finish)
                raise
            status = sink.status or status
            word, sentence = _trouble(came, sink)
            if not word:
                found: Fetched = await way.aside(self._finished, want, way, sink, came, status)
                self._note(came, sink)
                return found
            await way.aside(sink.finish)
            self._note(came, sink)
            if sink.step is DownloadStep.ASK_ANEW:
                await way.aside(self.file.begin, DownloadProgress(url=want.url))
            left = way.tries if self.file.size > before else left - 1
            if left <= 0 or _is_final(came, sink):
                return _give_up(came, want, sentence)
            logger.info("%s: broken off at byte %d: %s", want.url, self.file.size, sentence)
        whole: Fetched = await way.aside(self._finished, want, way, None, None, status)
        return whole

    def _finished(
        self,
        want: Fetch | FetchBundle,
        way: DownloadContext,
        sink: PartSink | None,
        came: RequestOutcome | None,
        status: int,
    ) -> Fetched:
        """Have all of it on the disk, and look into it. In a thread."""
        if sink is not None:
            sink.finish(is_whole=True)
        if came is not None and came.last is not None and came.last.too_big:
            return _failed(FileStatus.TOO_LARGE_FILE, want, "more bytes than are allowed")
        fetched = Fetched(
            status=FileStatus.SUCCESS,
            url=way.told(came.last.url) if came and came.last else want.url,
            dt=came.moment() if came and came.hops.exchanges else self.file.moment(),
            http_status=status,
            facts=self.file.facts(),
        )
        return way.look(fetched, want, self.file)

    def _note(self, came: RequestOutcome, sink: PartSink) -> None:
        if came.hops.exchanges:
            self.captures.append(came.hops.exchanges)
            self.ranges.append((sink.start, self.file.size))


def _trouble(came: RequestOutcome, sink: PartSink) -> tuple[str, str]:
    """Word and sentence for what went wrong with a request; both empty where nothing did."""
    if came.error is not None:
        return came.trouble
    last = came.last
    if sink.step is DownloadStep.VERIFY:
        return "", ""
    if sink.step not in (DownloadStep.BEGIN, DownloadStep.GO_ON):
        return "status", f"HTTP status {sink.status}" if sink.status else "no answer"
    if last is not None and last.truncated not in ("", "length"):
        return "truncated", "the body ends early"
    return "", ""


def _is_final(came: RequestOutcome, sink: PartSink) -> bool:
    """Return whether asking again cannot help."""
    if came.error is not None:
        return is_final(came.error)
    refused = 400 <= sink.status < 500 and sink.status not in _AGAIN
    return refused and sink.step is DownloadStep.FAIL


def _give_up(came: RequestOutcome, want: Fetch | FetchBundle, sentence: str) -> Fetched:
    if framing := framing_trouble(came.error):
        return _failed(FileStatus.TRANSFER_ENCODING_ERROR, want, framing)
    return _failed(FileStatus.ERROR_PLATFORM_DOWNLOAD, want, sentence)


def _failed(status: FileStatus, want: Fetch | FetchBundle, sentence: str) -> Fetched:
    return Fetched(status=status, url=want.url, trouble=sentence)


def others_of(want: Fetch | FetchBundle) -> tuple[str, ...]:
    """Digests that are wanted beside the usual ones."""
    if isinstance(want, FetchBundle):
        return want.others
    return tuple(name for name in OTHER_DIGESTS if name in want.file.digests)


def looked_into(
    fetched: Fetched, want: Fetch | FetchBundle, file: PartFile, children: BundleChildren,
    limits: BundleLimits,
) -> Fetched:  # fmt: skip
    """*fetched*, in the part *file*, with the type of its bytes. Blocks.

    With what stands in it where it is a bundle; with what its content coding hides where that is
    needed: the coded bytes are not the file that is wanted.
    """
    if fetched.facts is None:
        return fetched
    facts = replace(fetched.facts, mimetype=children.mimetype(fetched.facts.prefix))
    fetched = replace(fetched, facts=facts)
    if isinstance(want, FetchBundle):
        folder = file.path.parent
        reader = BundleReader(want=want, children=children, limits=limits, folder=folder)
        undone = partial(file.undone, want.max_bytes) if file.part.coding else None
        return reader.looked_into(fetched, reader.at(file.path), undone)
    decoded = _decoded(facts, want, file)
    if decoded is not None:
        decoded = replace(decoded, mimetype=children.mimetype(decoded.prefix))
    return replace(fetched, decoded=decoded)


def _decoded(facts: FileFacts, want: Fetch, file: PartFile) -> FileFacts | None:
    if not file.part.coding or compare(want.file, facts) is FileStatus.SUCCESS:
        return None
    try:
        return facts_of(file.undone(want.max_bytes), others_of(want))
    except BadHttp:
        return None
