"""The beginning of a body: as much of it as anyone reads, and what it shows the body to be."""

from __future__ import annotations

import sys

from lafka.capture.client.answers import AnswerHead, Piece
from lafka.capture.exchanges import OPENING, decoded_opening, kind_of_opening

BODY_HANDED_ON = 64 * 1024
"""Bytes of a body that is no text that Scrapy gets to see."""
TEXT_HANDED_ON = 4 * 1024 * 1024
"""Bytes of a text body that Scrapy gets to see."""


class Beginning:
    """Takes the body behind *head* and keeps what is read of it; all of it where *whole*.

    *miss_max*: bytes after which a page that is no PDF is not wanted any more, 0 for never. What
    is neither page nor PDF is then not wanted at all: ``read_max`` says so once it is known.
    """

    __slots__ = (
        "_coding", "_left", "_media_type", "_miss_max", "_opening", "_pieces", "_whole",
        "is_pdf", "read_max", "shortened", "size",
    )  # fmt: skip

    def __init__(self, head: AnswerHead, *, whole: bool, miss_max: int) -> None:
        self.is_pdf = False
        self.shortened = False
        self.size = 0
        """Bytes that came, kept or not."""
        self.read_max = 0
        """Bytes after which this body is not read on; 0 to its end."""
        self._whole = whole
        self._miss_max = miss_max
        self._coding = _field(head, b"content-encoding")
        self._media_type = _field(head, b"content-type")
        self._opening: bytes | None = b""  # None once it has told what the body is
        self._left = sys.maxsize if whole else BODY_HANDED_ON
        self._pieces: list[bytes] = []

    @property
    def body(self) -> bytes:
        """What is kept."""
        return b"".join(self._pieces)

    def take(self, piece: Piece) -> bytes:
        """Return what is kept of *piece*, the next of the body."""
        if self._opening is not None:
            self._look(self._opening + bytes(piece[:BODY_HANDED_ON]))
        size, left = len(piece), self._left
        self.size += size
        if size > left:
            self.shortened = True
        if not left:
            return b""
        kept = bytes(piece[:left])
        self._left = max(left - size, 0)
        self._pieces.append(kept)
        return kept

    def _look(self, data: bytes) -> None:
        """What a body is decides how much of it is kept, or even read."""
        opening = decoded_opening(data, self._coding)
        kind = kind_of_opening(opening, self._media_type)
        self.is_pdf = kind == "pdf"
        if not self._whole:
            self._left = max((TEXT_HANDED_ON if kind == "text" else BODY_HANDED_ON) - self.size, 0)
        certain = opening is None or kind == "pdf" or len(opening) >= OPENING
        self._opening = None if certain or len(data) >= BODY_HANDED_ON else data
        if certain and kind in ("text", "binary"):
            # A page can be a viewer that leads on; anything else that is no PDF is a miss.
            self.read_max = self._miss_max if kind == "text" else self._miss_max and 1


def _field(head: AnswerHead, name: bytes) -> str:
    return b",".join(value for key, value in head.fields if key.lower() == name).decode("latin-1")
