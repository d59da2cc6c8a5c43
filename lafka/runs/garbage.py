"""How often Python's collector looks for objects that only hold each other.

Left alone it looks whenever some hundreds of objects are more than before, and from time to time at
all there are. A crawl makes few cycles and keeps much: looking cost it 5 % of its time.
"""

from __future__ import annotations

import gc

OBJECTS = 20_000
"""Objects more than at the last look before the next: some megabytes, were all of them garbage."""


def look_rarely() -> None:
    """From now on; for the beginning of a process, before it imports much."""
    gc.set_threshold(OBJECTS)


def keep_what_stands() -> None:
    """What stands now stays: it is not looked at again."""
    gc.collect()
    gc.freeze()
