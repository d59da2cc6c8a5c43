"""The frequency at which Python looks for cycles of garbage while templates go by in their
thousands.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS = 100_000


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Look for cycles rarely while the block lasts.

    A batch of templates makes next to none, and holds so many objects that by Python's own measure
    all of them, and all that was imported, are looked through again and again: a sixth of the CPU
    of a rebuild.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
