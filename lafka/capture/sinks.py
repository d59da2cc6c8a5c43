"""Sinks of bodies that are too big for the raw WARC: they go past it, as they come.

The exchange then keeps request and head alone, truncated (``length``). Whoever gives a sink keeps
the body, and has to say elsewhere what it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from lafka.warc.format.fields import Fields


class BodySink(Protocol):
    """What takes a body, transfer coding undone; all of it is called in the reactor's thread."""

    def wants(self, status: int, fields: Fields) -> bool:
        """Return whether the body behind this head is to come here; else it goes the usual way."""

    def begin(self, pause: Callable[[], object], resume: Callable[[], object]) -> None:
        """The body begins: *pause* and *resume* stop and go on reading, in this thread."""

    def receive(self, data: bytes) -> None:
        """More of it; ``StorageTrouble`` where it cannot be kept."""
