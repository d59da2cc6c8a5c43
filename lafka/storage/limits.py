"""Limits of this machine: lived with where that can be, else found before a crawl begins.

A limit of memory bounds addresses, not only what is used: a thread's stack of 8 MiB and the arena
of 64 MiB that the C library gives each thread count in full. So where there is such a limit,
threads get small stacks and share two arenas.

Python's collector looks for garbage whenever some hundreds of objects are more than before, and
from time to time at all there are. A crawl makes few cycles and keeps much: looking cost it 5 % of
its time, so it is made to look rarely.
"""

from __future__ import annotations

import ctypes
import errno
import gc
import mmap
import sys
import threading
from contextlib import contextmanager, suppress

from lafka.errors import MachineTrouble, machine_trouble, memory_is_bound

try:
    import resource
except ImportError:  # Windows, where an archive can be read
    resource = None  # type: ignore[assignment]

from collections.abc import Iterator

RAISES = {
    errno.EMFILE: "the number of open files (ulimit -n)",
    errno.ENFILE: "the number of open files of the system (fs.file-max)",
    errno.ENOMEM: "the memory (ulimit -v)",
    errno.EAGAIN: "the number of processes (ulimit -u)",
    errno.EFBIG: "the size of a file (ulimit -f)",
}
"""What an operator can raise where the system refuses something by such an error."""

THREADS = 24
"""Threads that a crawl has at most beside its first, the ten of the reactor among them."""
ROOM = 192 << 20
"""Bytes of addresses that a crawl takes beyond what it has when it begins."""
_STACK = 512 << 10
_M_ARENA_MAX = -8  # of mallopt(3)


def live_with_limits() -> None:
    """Take as much as is there without being asked for, and little where little is there.

    To be called before there are threads. ``MachineTrouble`` where a crawl needs more.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard not in (soft, resource.RLIM_INFINITY):
        with suppress(OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if memory_is_bound():
        threading.stack_size(_STACK)
        with suppress(OSError, AttributeError):  # another C library than GNU's
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)
        try:
            mmap.mmap(-1, ROOM).close()
        except OSError as error:
            raise MachineTrouble(f"{ROOM >> 20} MiB more", error) from error
    _try_threads()


def _try_threads() -> None:
    """Begin as many threads as a crawl has, and let them end; ``MachineTrouble``."""
    end = threading.Event()
    begun: list[threading.Thread] = []
    try:
        with limits_named(f"{THREADS} threads"):
            for _ in range(THREADS):
                thread = threading.Thread(target=end.wait, daemon=True)
                thread.start()
                begun.append(thread)
    finally:
        end.set()
        for thread in begun:
            thread.join()


@contextmanager
def limits_named(what: str = "this process") -> Iterator[None]:
    """Raise ``MachineTrouble`` of *what* where memory or a thread is refused."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if trouble := machine_trouble(error, what):
            raise trouble from error
        raise


def open_files_max() -> int:
    """Return how many files this process may have open."""
    if resource is None:
        return sys.maxsize
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if files == resource.RLIM_INFINITY else files


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
