"""The outcome feed: a Scrapy feed whose storage appends and syncs each line as it comes.

Scrapy's file feed buffers until the end. An outcome line is an acknowledgement, so it has to be on
the disk once it is there, after the suwaf it speaks of; lines that come together share a sync.
Each line carries the chain of all before it, so that none can change or go unseen.
"""

from __future__ import annotations

import io
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Self, cast

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exporters import CsvItemExporter
from scrapy.settings import BaseSettings

from lafka.capture.run import Run
from lafka.errors import StorageTrouble
from lafka.runs.reporting import RunReports
from lafka.storage.drafts import NO_CHAIN, chained_lines, split_chain
from lafka.storage.folders import make_folders, sync_folder
from lafka.storage.outputs import csv_cell, escaped
from lafka.storage.stopping import STORAGE_TROUBLE, note_storage_trouble, stop_crawl
from lafka.storage.threads import the_reactor
from lafka.warc.format.sources import write_all

URI = "lafka:outcomes"
WAITING_MAX = 4_000
"""Lines that wait to be written, over which who appends waits: some 2 MB."""
GATHERING = 0.05
"""Seconds in which lines gather behind the first that waits, to share its sync."""
FIELDS = ["pid", "futli", "outcome", "time", "futs", "splap", "candidates", "capped", "requests",
          "error", "as_written"]  # fmt: skip
OPTIONS: dict[str, Any] = {
    "format": "jsonlines",
    "encoding": "utf-8",
    "fields": FIELDS,
    "store_empty": True,
    "overwrite": False,
    "indent": None,
    "batch_item_count": 0,
}

_JSON_LINES = frozenset(("jsonlines", "jsonl", "jl"))


def add_outcome_feed(settings: BaseSettings, **options: Any) -> None:
    """Put the outcome feed among FEEDS, beside those that ``-o`` or scrapyd set.

    *options* go over those of the feed, as Scrapy has them.
    """
    feeds = dict(settings.getdict("FEEDS"))
    feeds.setdefault(URI, OPTIONS | options)
    # Above the user's own: Scrapy puts those over a crawler's settings once more.
    settings.set("FEEDS", feeds, priority=(settings.getpriority("FEEDS") or 0) + 1)


class CsvExporter(CsvItemExporter):
    """CSV as ``lafka outcomes --csv`` writes it: a list is JSON, no cell is a formula."""

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        return super().serialize_field(field, name, csv_cell(value))


class OutcomeFeedStorage:
    """Storage of the feed ``lafka:outcomes``: ``runs/<run>.jsonl`` of the archive.

    Where the file cannot be made or written, nothing can be acknowledged: the crawl stops. A spider
    that has a method ``acknowledged`` is told of lines that are on the disk, in the feed's thread;
    one that has ``take_feed`` is given what makes the file, where its own lines can stand there.
    """

    def __init__(self, crawler: Crawler, *, chained: bool = True) -> None:
        self._crawler = crawler
        self._chained = chained
        self._lines: SyncedLines | None = None

    @classmethod
    def from_crawler(
        cls,
        crawler: Crawler,
        uri: str,  # noqa: ARG003
        *,
        feed_options: dict[str, Any] | None = None,
    ) -> Self:
        options = feed_options or OPTIONS
        storage = cls(crawler, chained=options["format"] in _JSON_LINES)
        if has_plain(options) and (take := getattr(crawler.spider, "take_feed", None)):
            take(storage.lines)
        return storage

    def open(self, spider: Spider) -> IO[bytes]:  # noqa: ARG002
        return cast("IO[bytes]", self.lines())

    def lines(self) -> SyncedLines:
        """The file of the feed, made when it is asked for; in the thread of the reactor."""
        self._lines = self._lines or self._create()
        return self._lines

    def _create(self) -> SyncedLines:
        run = Run.of(self._crawler)
        path = run.root / "runs" / f"{run.name}.jsonl"
        reports = self._crawler.get_extension(RunReports)
        heard = [reports.tally.add] if reports else []
        if acknowledged := getattr(self._crawler.spider, "acknowledged", None):
            heard.append(acknowledged)

        def synced(lines: bytes) -> None:
            for hear in heard:
                hear(lines)

        return SyncedLines(path, self._refused, synced, chained=self._chained)

    def _refused(self, error: StorageTrouble) -> None:
        if note_storage_trouble(self._crawler, error):
            the_reactor().callFromThread(stop_crawl, self._crawler, STORAGE_TROUBLE)

    def store(self, file: IO[bytes]) -> None:
        file.close()


def has_plain(options: Mapping[str, Any]) -> bool:
    """Return whether a feed of these *options* has each item, as JSON as in ``OPTIONS``."""
    unusual = ("postprocessing", "item_classes", "item_filter", "item_export_kwargs")
    as_ours = all(options.get(name) == value for name, value in OPTIONS.items())
    return as_ours and not any(options.get(name) for name in unusual)


class SyncedLines(io.RawIOBase):
    """A file that a thread appends to: all lines that wait are written and synced together.

    It is made when the first line waits, or at the end.

    *refused* is called, in that thread, with the first StorageTrouble; no line is written after it.
    *synced* is called there with lines that are on the disk. ``close`` waits until all are.
    *chained*: what is written are whole JSON objects, a line each, which get their chain.
    """

    def __init__(
        self,
        path: Path,
        refused: Callable[[StorageTrouble], None],
        synced: Callable[[bytes], object] | None = None,
        *,
        chained: bool = False,
    ) -> None:
        self._chained = chained
        self._path = path
        self._refused = refused
        self._synced = synced
        self._size = 0
        self._waiting: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._drained = threading.Event()
        self._ended = False
        self._thread = threading.Thread(target=self._work, name="lafka-feed", daemon=True)
        self._thread.start()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        data = escaped(bytes(data).decode()).encode()
        self._waiting.put(data)
        self._size += len(data)
        return len(data)

    def append(self, line: str) -> None:
        """Write one whole *line*, from any thread; wait where too many do.

        What comes after ``close``, or after the disk has refused, is not written.
        """
        if not line.isascii() or "\x7f" in line:
            line = escaped(line)
        self._waiting.put(line.encode())
        if self._waiting.qsize() > WAITING_MAX:
            self._drained.clear()
            if self._waiting.qsize() > WAITING_MAX and not self._ended:
                self._drained.wait()

    def tell(self) -> int:
        return self._size

    def _work(self) -> None:
        try:
            lines, ended = self._batch()
            with _create(self._path) as fd:
                chain = last_chain(self._path) if self._chained else None
                while True:
                    self._drained.set()
                    if lines:
                        if chain is not None:
                            lines, chain = chained_lines(lines, chain)
                        _append_synced(fd, lines)
                        if self._synced:
                            self._synced(lines)
                    if ended:
                        return
                    lines, ended = self._batch()
        except StorageTrouble as error:
            self._refused(error)
        except OSError as error:
            self._refused(StorageTrouble(self._path, error))
        finally:
            self._ended = True
            self._drained.set()

    def _batch(self) -> tuple[bytes, bool]:
        """Return what waits, at least one piece; and whether the file is closed behind it."""
        pieces = [self._waiting.get()]
        if pieces[0] is not None:
            time.sleep(GATHERING)
        while not self._waiting.empty() and len(pieces) <= WAITING_MAX:
            pieces.append(self._waiting.get())
        return b"".join(piece for piece in pieces if piece), None in pieces

    def close(self) -> None:
        if not self.closed:
            self._waiting.put(None)
            self._thread.join()
        super().close()


def last_chain(path: Path) -> bytes:
    """The chain of the last line of the feed at *path*; that before the first where it has none."""
    line = b""
    with path.open("rb") as feed:
        for line in feed:  # noqa: B007  the last is wanted
            pass
    return split_chain(line)[1] or NO_CHAIN


def _append_synced(fd: int, lines: bytes) -> None:
    """Append *lines* and sync them; where the disk refuses, the file ends as it did before."""
    size = os.fstat(fd).st_size
    try:
        write_all(fd, lines)
        os.fdatasync(fd)
    except OSError:
        with suppress(OSError):
            os.ftruncate(fd, size)
        raise


@contextmanager
def _create(path: Path) -> Iterator[int]:
    """A descriptor that appends to *path*, whose name is on the disk."""
    make_folders(path.parent)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        sync_folder(path.parent)
        yield fd
    finally:
        os.close(fd)
