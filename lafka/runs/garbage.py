"""The frequency at which Python's collector looks for objects that only hold each other.

Left alone it looks whenever some hundreds of objects are more than before, and from time to time at
all there are. A crawl makes few cycles and keeps much: looking cost it 5 % of its time.
"""

from __future__ import annotations

import gc

OBJECTS = 5_000
"""Objects more than at the last look before the next: a megabyte, were all of them garbage."""
LOOKS = 2
"""Looks at the young after which the older are looked at too. What was in flight at a look is taken
for old; with Python's own 10 and 10 some 100 MB of it wait, with these some 10."""


def look_rarely() -> None:
    """From now on; for the beginning of a process, before it imports much."""
    gc.set_threshold(OBJECTS, LOOKS, LOOKS)


def look_later() -> None:
    """Not before :func:`keep_what_stands`: what is imported until then stays, all of it."""
    gc.disable()


def keep_what_stands() -> None:
    """Exempt all objects that there are from garbage collection, the garbage among them too.

    That is little, and to look for it first would take longer than anything else here.
    """
    gc.freeze()
    gc.enable()
    # The oldest are looked at when a quarter more have come than were there at the last look: so
    # that one must not have counted what is frozen.
    gc.collect()
