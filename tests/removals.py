"""No unlink, rmdir, rename or truncate, by code of Lafka, of a path that Lafka did not make.

An audit hook (PEP 578) hears of each such call in the test process before it is done. A path is
Lafka's own where its code made it in this process, or where its name is one that Lafka gives: files
of a crawl in another process, or that a test copied, are known by that.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from lafka.capture.leftovers import RUN

ROOT = Path(__file__).parents[1]
LAFKA = f"{ROOT / 'lafka'}{os.sep}"
STANDARD = f"{Path(os.__file__).parent}{os.sep}"
SITE_PACKAGES = "site-packages"

OWN = re.compile(
    rf"""
    .*/raw/{RUN.pattern}(?:/(?:lock|copied|list\.sqlite(?:-wal|-shm|-journal)?|[^/]+\.warc))?
    | .*/(?:warc|suwaf)/.+\.(?:warc|json)   # papers', under the names of their pids
    | .*/index/(?:archive|captures)\.sqlite(?:-wal|-shm|-journal)?   # SQLite makes them
    | .*/records\.sqlite(?:-wal|-shm|-journal)?   # an obi store's, likewise
    | .*/index/metadata\.yml
    | .*/runs/{RUN.pattern}\.jsonl?
    | .*/evidence/[0-9]{{9,11}}\.warc
    | .*/\.(?:draft|probe|lafka\.json)-[^/]+
    | .*/[^/]+\.open                        # a WARC that is being written
    | .*/__pycache__/[^/]+                  # byte code, which Python and pytest write at an import
    """,
    re.VERBOSE,
)
DEVICES = re.compile(r"/dev/(?!shm/pytest-)")
"""Devices, and files in memory of other processes; those of ``tmp_path`` may be there, too."""
ASKED = {
    ("papers/archive/copy_out.py", "_hand_out_file"): "-o FILE is written over, as cp(1) does",
    ("storage/outputs.py", "write_output"): "-o FILE is written over, as cp(1) does",
    ("storage/outputs.py", "_opened"): "a device or a pipe is written into",
    ("cli/sheets.py", "_by_file"): "--sqlite FILE is written over, as cp(1) does",
    ("papers/archive/archives.py", "adopt"): "--adopt moves a WARC, once it has its second name",
}
"""Functions that do it since they were asked to, by name, to the very file."""


PRIMITIVES = ("storage/drafts.py", "storage/steps.py", "warc/writing/names.py",
              "papers/archive/suwafs.py")  # fmt: skip
"""What replaces the very file that it is given: who gave it answers for that."""


class ForeignPath(Exception):
    """Code of Lafka was about to remove, rename or cut a path that it did not make."""


@dataclass(slots=True)
class Watch:
    """What Lafka made in this process, and what it was kept from; ``heard`` is an audit hook."""

    made: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    def heard(self, event: str, args: tuple[Any, ...]) -> None:
        if event not in _WATCHED or (event == "open" and not _writes(args[2])):
            return
        frame = _ours(sys._getframe(1))
        if frame is None:
            return
        if event == "open":
            self._open(frame, args[0], args[2])
        elif event == "os.mkdir":
            self.made.add(_full(args[0], args[2]))
        elif event == "os.link":
            self.made.add(_full(args[1], args[3]))
        elif event == "os.rename":
            self._rename(frame, _full(args[0], args[2]), _full(args[1], args[3]))
        elif event == "os.truncate":
            self._check(frame, event, _full(args[0], -1))
        else:  # os.remove, os.rmdir, shutil.rmtree
            path = _full(args[0], args[1])
            self._check(frame, event, path)
            if event != "shutil.rmtree":  # what is in it comes first
                self.made.discard(path)

    def _open(self, frame: FrameType, path: object, flags: int) -> None:
        full = _full(path, -1)
        if flags & os.O_CREAT and not os.path.lexists(full):
            self.made.add(full)
        elif flags & os.O_TRUNC and not Path(full).is_dir():  # else a file without a name in it
            self._check(frame, "open to truncate", full)

    def _rename(self, frame: FrameType, source: str, target: str) -> None:
        self._check(frame, "os.rename", source)
        if os.path.lexists(target) and not Path(target).is_dir():  # which no file can replace
            self._check(frame, "os.rename over", target)
        self.made.discard(source)
        self.made.add(target)

    def _check(self, frame: FrameType, event: str, path: str) -> None:
        if path in self.made or OWN.fullmatch(path) or path.endswith(" (deleted)"):
            return
        if not os.path.lexists(path) or DEVICES.match(path):
            return
        code = frame.f_code
        place = code.co_filename.removeprefix(LAFKA)
        if (place, code.co_name) in ASKED:
            return
        fault = f"{event} of {path} by {place}:{frame.f_lineno}"
        self.faults.append(fault)
        raise ForeignPath(fault)


_WATCHED = frozenset(("open", "os.mkdir", "os.link", "os.rename", "os.truncate", "os.remove",
                      "os.rmdir", "shutil.rmtree"))  # fmt: skip
_MAKES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def _writes(flags: object) -> bool:
    return isinstance(flags, int) and bool(flags & _MAKES)


def _ours(frame: FrameType | None) -> FrameType | None:
    """The frame of Lafka's that called, past the standard library's; None where a test did."""
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(LAFKA):
            if not name.endswith(PRIMITIVES):
                return frame
        elif not (name.startswith((STANDARD, "<")) or SITE_PACKAGES in name):
            return None
        frame = frame.f_back
    return None


def _full(path: Any, folder: Any) -> str:
    """*path*, or that of an open file, from the open *folder* where one is meant."""
    if isinstance(path, int):
        return str(Path(f"/proc/self/fd/{path}").readlink())
    full = Path(os.fsdecode(path))
    if isinstance(folder, int) and folder >= 0:
        full = Path(f"/proc/self/fd/{folder}").readlink() / full
    return f"{os.path.realpath(full.parent)}/{full.name}"


WATCH = Watch()


def install() -> None:
    """Begin to watch this process, once: an audit hook cannot be taken away."""
    if not _INSTALLED:
        _INSTALLED.append(True)
        sys.addaudithook(WATCH.heard)


_INSTALLED: list[bool] = []


@contextmanager
def watched() -> Iterator[None]:
    """``AssertionError`` where Lafka was about to touch what is not its own, caught or not."""
    before = len(WATCH.faults)
    yield
    faults = WATCH.faults[before:]
    del WATCH.faults[before:]
    assert not faults, faults
