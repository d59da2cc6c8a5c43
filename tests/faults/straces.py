"""Crawls under strace: killed and refused at system calls, and seen as the kernel sees them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from tests import waiting
from tests.faults.crawls import Crawls, Run
from tests.faults.kills import Ordeal
from tests.faults.storecalls import UNTOLD, Call

SYSTEM_CALLS = {
    "openat": "open", "open": "open", "write": "write", "writev": "write", "pwrite64": "pwrite",
    "pwritev": "pwrite", "pwritev2": "pwrite", "sendfile": "sendfile", "fsync": "fsync",
    "fdatasync": "fdatasync", "sync_file_range": "", "ftruncate": "ftruncate", "truncate": "",
    "rename": "rename", "renameat": "rename", "renameat2": "rename", "link": "link",
    "linkat": "link", "unlink": "unlink", "unlinkat": "unlink", "mkdir": "mkdir",
    "mkdirat": "mkdir", "rmdir": "rmdir", "flock": "flock", "copy_file_range": "",
    "fallocate": "", "symlink": "",
}  # fmt: skip
"""What a store could work with, as ``storecalls`` calls it; empty where it has no name for it."""
STORES_ONLY = ("fdatasync", "fsync", "rename", "sendfile", "flock", "mkdir", "pwritev", "ftruncate")
"""Those that a crawl makes for its archive alone, so that their n-th is one of the store's."""
_LINE = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (-?\d+)(?:<[^>]*>)?(?: (E[A-Z]+))?")
_PLACE = re.compile(r'<([^>]*)>|"([^"]*)"')
_BELOW = re.compile(r'^\d+<([^>]*)>, "([^"]*)"')


def _below(arguments: str) -> str:
    """The path of a name that is given with the descriptor of its folder; empty where it is not."""
    found = _BELOW.match(arguments)
    return f"{found[1]}/{found[2]}" if found else ""


@lru_cache
def can_trace() -> bool:
    if not shutil.which("strace"):
        return False
    return not subprocess.call(
        ["strace", "-qq", "-o", "/dev/null", "true"], stderr=subprocess.DEVNULL
    )


def attached(pid: int, tracer: subprocess.Popen[bytes]) -> None:
    """Wait until *tracer* traces the process *pid*; fail where it ends instead."""
    status, traced = Path(f"/proc/{pid}/status"), f"TracerPid:\t{tracer.pid}\n"
    waiting.until(lambda: traced in status.read_text(), tracer.pid)


def traced(crawls: Crawls, ordeal: Ordeal, *options: str, told: bool = False) -> Run:
    """Run the command of *ordeal* with strace attached to it from its first call on."""
    plan = ordeal.plan() if told else None
    # One writer, for strace counts the calls of each thread by themselves.
    going = crawls.start(ordeal.archive, ordeal.list_, plan, hold=True, LAFKA_WRITERS=1)
    assert waiting.stops_itself(going.pid)
    tracer = subprocess.Popen(
        ["strace", "-f", "-qq", "--seccomp-bpf", *options, "-p", str(going.pid)],
        stderr=subprocess.DEVNULL,
    )
    attached(going.pid, tracer)
    going.go_on()
    try:
        return going.ended()
    finally:
        tracer.wait()


def injected(crawls: Crawls, ordeal: Ordeal, call: str, when: int, what: str) -> Run:
    """Run with *what* (``signal=KILL``, ``error=EIO``) at the call number *when* of one thread."""
    inject = f"inject={call}:{what}:when={when}"
    return traced(crawls, ordeal, "-o", "/dev/null", "-e", f"trace={call}", "-e", inject)


def seen_by_the_kernel(trace: Path, root: Path) -> Counter[tuple[str, str]]:
    """Kind and path of each system call below *root* that could change anything there."""
    return Counter(_seen(trace.read_text(errors="replace"), str(root)))


def _seen(text: str, root: str) -> Iterator[tuple[str, str]]:
    for line in _whole(text):
        found = _LINE.match(line)
        if not found or found[1] not in SYSTEM_CALLS or found[4]:
            continue
        if found[1].startswith("open") and not re.search(r"O_WRONLY|O_RDWR|O_CREAT", found[2]):
            continue
        kind = SYSTEM_CALLS[found[1]] or found[1]
        if kind == "unlink" and "AT_REMOVEDIR" in found[2]:
            kind = "rmdir"
        names = [name for _, name in _PLACE.findall(found[2]) if name.startswith("/")]
        places = [place for place, _ in _PLACE.findall(found[2]) if place.startswith("/")]
        by_name = kind in ("open", "rename", "link", "unlink", "mkdir", "rmdir")
        path = next(iter((names if by_name else places) or [_below(found[2])]))
        if path.startswith(root) and not any(name in path for name in UNTOLD):
            yield kind, path.removesuffix(" (deleted)")


def _whole(text: str) -> Iterator[str]:
    """The lines of a trace, with those put together that another thread interrupted."""
    begun: dict[str, str] = {}
    for line in text.splitlines():
        pid = line.partition(" ")[0]
        if line.endswith("<unfinished ...>"):
            begun[pid] = line.removesuffix("<unfinished ...>").rstrip()
        elif resumed := re.match(r"\d+ +<\.\.\. \w+ resumed>(.*)", line):
            yield begun.pop(pid, "") + resumed[1]
        else:
            yield line


def told_by_the_process(calls: tuple[Call, ...]) -> Counter[tuple[str, str]]:
    """The same of the calls that the process told of itself."""
    writes = 3 | 64  # O_WRONLY, O_RDWR, O_CREAT
    return Counter(
        (call.kind, call.path)
        for call in calls
        if call.kind in SYSTEM_CALLS.values()
        and not call.failed
        and not (call.kind == "open" and not call.size & writes)
    )
