"""Counts of how often a message was begun without an end: one that kills its worker is given up.

Whoever is killed beside such a message is counted too. So what was begun twice is done alone, and
only what was killed alone then is given up at its next begin. Progress, the first file or byte that
is kept, counts as an end: a dataset of a week may be interrupted as often as it likes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lafka.filesets.archive.index import HitIndex
from lafka.filesets.crawling.lines import RequestLine
from lafka.filesets.model.requests import IngestRequest
from lafka.filesets.model.results import IngestResult
from lafka.filesets.model.statuses import Status

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
