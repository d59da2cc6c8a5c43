"""Every call by which a process changes the files below a folder: told, refused, left out.

Installed in a crawl's own process, over ``os``, ``fcntl`` and ``open``, and knows nothing of Lafka:
a call that the store will make tomorrow is seen as well. ``straces`` compares what is told here
with the system calls that the kernel saw.
"""
# ruff: noqa: PTH100, PTH116, PTH119, PTH120

from __future__ import annotations

import builtins
import errno
import fcntl
import io
import os
import pickle
import re
import signal
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

KINDS = ("open", "write", "pwrite", "sendfile", "fsync", "fdatasync", "ftruncate", "rename", "link",
         "symlink", "unlink", "mkdir", "rmdir", "flock")  # fmt: skip
UNTOLD = ("list.sqlite",)
"""A queue that SQLite writes, made anew by each run and without a name while it is used."""
_STEPS = str(Path(__file__).with_name("stepcalls.py"))
_LENGTH = struct.Struct(">Q")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """The call number *nth* among those of *kinds*, below paths that match *path*."""

    nth: int
    kinds: tuple[str, ...] = KINDS
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A call in a source file: lines *first* to *last* of *file*, to the function *call*.

    *by*: only where that one, in another file, led to it.
    """

    file: str
    first: int
    last: int
    call: str
    by: Site | None = None

    def __str__(self) -> str:
        by = f" by {self.by}" if self.by else ""
        return f"{self.call} at {'/'.join(Path(self.file).parts[-2:])}:{self.first}{by}"

    def is_in(self, stack: tuple[tuple[str, int], ...]) -> bool:
        """Whether a call with these files and lines behind it, innermost first, is this one."""
        return any(
            file == self.file and self.first <= line <= self.last for file, line in stack
        ) and (self.by is None or self.by.is_in(stack))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to happen to a process.

    ``kill``: at that call, *how* is before, half (of its bytes) or after. ``refuse``: from that
    call on *times* calls of its kinds fail with the error *number*; half of a write is done, and
    what a failed sync should have kept is lost. ``stop``: the process stops itself before it.
    ``without``: a sync or lock that is passed over. ``late``: a sync that is done
    once those of three other places were, when what was to wait for it has gone on.
    ``batch``: how many papers the store takes side by side, once so many wait (0: as it likes).
    """

    root: str
    told: str = ""
    data: bool = False
    kill: Which | None = None
    how: str = "before"
    refuse: Which | None = None
    number: int = errno.ENOSPC
    times: int = 1
    stop: Which | None = None
    without: Site | None = None
    late: Site | None = None
    batch: int = 0


@dataclass(slots=True, kw_only=True)
class Call:
    """One call, as it was done; ``ino`` is the file's, ``stack`` the lines that led to it."""

    kind: str
    path: str
    ino: int = 0
    parent: int = 0
    offset: int = 0
    data: bytes = b""
    size: int = 0
    to: str = ""
    to_parent: int = 0
    created: bool = False
    anonymous: bool = False
    failed: int = 0
    stack: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        name = "/".join(Path(self.path).parts[-2:])
        to = f" -> {Path(self.to).name}" if self.to else ""
        size = f" {len(self.data) or self.size}" if self.kind in _WITH_SIZE else ""
        return f"{self.kind} {name}{to}{size}{' failed' * bool(self.failed)}"


_LEFT_OUT = ("fsync", "fdatasync", "flock")
_WITH_SIZE = ("write", "pwrite", "sendfile", "ftruncate")


def told(path: Path) -> list[Call]:
    """What was told to the file *path*, whole calls only."""
    return list(_told(path.read_bytes())) if path.exists() else []


def _told(data: bytes) -> Iterator[Call]:
    place = 0
    while place + 8 <= len(data):
        end = place + 8 + _LENGTH.unpack_from(data, place)[0]
        if end > len(data):
            return
        yield pickle.loads(data[place + 8 : end])
        place = end


@dataclass(slots=True)
class _Real:
    """The functions that are stood in for."""

    open: Any = os.open
    close: Any = os.close
    write: Any = os.write
    writev: Any = os.writev
    pwrite: Any = os.pwrite
    pwritev: Any = os.pwritev
    sendfile: Any = os.sendfile
    fsync: Any = os.fsync
    fdatasync: Any = os.fdatasync
    ftruncate: Any = os.ftruncate
    rename: Any = os.rename
    replace: Any = os.replace
    link: Any = os.link
    symlink: Any = os.symlink
    unlink: Any = os.unlink
    remove: Any = os.remove
    mkdir: Any = os.mkdir
    rmdir: Any = os.rmdir
    flock: Any = fcntl.flock
    io_open: Any = io.open


REAL = _Real()


@dataclass(slots=True)
class Watch:
    """The calls of this process, by a plan."""

    plan: Plan
    lock: Any = field(default_factory=threading.RLock)
    paths: dict[int, tuple[str, int]] = field(default_factory=dict)
    synced: dict[int, int] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)
    refused: int = 0
    fd: int = -1
    busy: bool = False
    behalf: Any = field(default_factory=threading.local)
    """``stack``: the lines that made what this thread does for others (``stepcalls``)."""

    def install(self) -> None:
        if self.plan.told:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self.fd = REAL.open(self.plan.told, flags, 0o644)
        os.open, os.close = self.open, self.close
        os.write, os.pwrite, os.sendfile = self.write, self.pwrite, self.sendfile
        os.writev, os.pwritev = self.writev, self.pwritev
        os.fsync, os.fdatasync = self.fsync, self.fdatasync
        os.ftruncate = self.ftruncate
        os.rename, os.replace = self._moves("rename"), self._moves("replace")
        os.link = self._moves("link")
        os.symlink = self.symlink
        os.unlink, os.remove = self._names("unlink"), self._names("remove")
        os.mkdir, os.rmdir = self._names("mkdir"), self._names("rmdir")
        fcntl.flock = self.flock
        io.open = builtins.open = self.io_open
        sys.addaudithook(self.heard)

    # What happens to a call ----------------------------------------------------------------

    def is_told(self, path: object) -> str:
        """The path where it is below the root, else nothing."""
        try:
            text = os.path.abspath(os.fsdecode(path))  # type: ignore[arg-type]
        except TypeError:
            return ""
        below = text == self.plan.root or text.startswith(self.plan.root + "/")
        return text if below and os.path.basename(text) not in UNTOLD else ""

    def _hits(self, name: str, which: Which | None, call: Call) -> bool:
        """Whether *call* is *which*, or one behind it."""
        if which is None or call.kind not in which.kinds or not re.search(which.path, call.path):
            return False
        self.seen[name] = self.seen.get(name, 0) + 1
        return self.seen[name] >= which.nth

    def _done(
        self, call: Call, do: Callable[[], Any], half: Callable[[], Any] | None = None
    ) -> Any:
        """Do *call*, unless the plan has something else in store for it."""
        if self.plan.without and self._is_left_out(call):
            with self.lock:
                self.tell(replace(call, kind="left out"))
            return None
        if self._hits("stop", self.plan.stop, call) and self.seen["stop"] == self.plan.stop.nth:  # type: ignore[union-attr]
            # To this thread: sent to the process, another one may take it, and this one go on.
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
        with self.lock:
            dies = self._hits("kill", self.plan.kill, call)
            if dies and self.plan.how != "after":
                if self.plan.how == "half" and half:
                    half()
                self._die()
            if self._hits("refuse", self.plan.refuse, call) and self.refused < self.plan.times:
                self.refused += 1
                self._refuse(call, half)
            try:
                result = do()
            except OSError as error:
                call.failed = error.errno or 1
                self.tell(call)
                raise
            self.tell(call)
            if dies:
                self._die()
            return result

    def _die(self) -> None:
        self.busy = True
        os.kill(os.getpid(), signal.SIGKILL)
        signal.pause()

    def _refuse(self, call: Call, half: Callable[[], Any] | None) -> None:
        call.failed = self.plan.number
        if half and self.plan.number != errno.EIO:
            half()
        if call.kind in ("fsync", "fdatasync") and call.ino in self.synced:
            self._lose(call)
        self.tell(call)
        raise OSError(self.plan.number, os.strerror(self.plan.number), call.path)

    def _lose(self, call: Call) -> None:
        """What a kernel does to pages that it could not write: gone, and taken for clean."""
        fd = REAL.open(call.path, os.O_WRONLY)
        try:
            size, begin = os.fstat(fd).st_size, self.synced[call.ino]
            if os.fstat(fd).st_ino == call.ino and size > begin:
                REAL.pwrite(fd, bytes(size - begin), begin)
        finally:
            REAL.close(fd)

    def _is_left_out(self, call: Call) -> bool:
        assert self.plan.without
        return call.kind in _LEFT_OUT and self.plan.without.is_in(call.stack)

    def tell(self, call: Call) -> None:
        if self.fd < 0:
            return
        if not self.plan.data:
            call.size, call.data = len(call.data) or call.size, b""
        data = pickle.dumps(call)
        REAL.write(self.fd, _LENGTH.pack(len(data)) + data)

    def heard(self, event: str, args: tuple[Any, ...]) -> None:
        """Tell of what this process reaches for outside: files to be written, addresses."""
        if self.fd < 0 or self.busy:
            return
        if event == "socket.connect":
            self.tell(Call(kind="connect", path=str(args[1])))
        elif event == "open" and isinstance(args[0], str | bytes) and args[2] & 3:
            path = os.path.abspath(os.fsdecode(args[0]))
            if not path.startswith((self.plan.root, "/dev/", "/proc/", self.plan.told)):
                self.tell(Call(kind="outside", path=path))

    # The calls -----------------------------------------------------------------------------

    def open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        place = self.is_told(_full(path, dir_fd))
        if not place:
            return REAL.open(path, flags, mode, dir_fd=dir_fd)
        anonymous = bool(flags & os.O_TMPFILE == os.O_TMPFILE)
        call = Call(kind="open", path=place, anonymous=anonymous, size=flags)
        call.created = anonymous or (bool(flags & os.O_CREAT) and not os.path.lexists(place))

        def do() -> int:
            fd = REAL.open(path, flags, mode, dir_fd=dir_fd)
            self._take(fd, call)
            return fd

        return self._done(call, do)

    def _take(self, fd: int, call: Call) -> None:
        state = os.fstat(fd)
        call.ino, call.parent = state.st_ino, _parent(call.path)
        self.paths[fd] = call.path, call.ino
        if call.size & _WRITES:
            self.synced.setdefault(state.st_ino, 0 if call.created else state.st_size)

    def again(self, fd: int) -> int:
        """Another descriptor of an open file, without its lock, told of by the same name."""
        other = REAL.open(f"/proc/self/fd/{fd}", os.O_RDWR | os.O_CLOEXEC)
        if fd in self.paths:
            self.paths[other] = self.paths[fd]
        return other

    def close(self, fd: int) -> None:
        self.paths.pop(fd, None)
        REAL.close(fd)

    def _of(self, kind: str, fd: int, **more: Any) -> Call | None:
        if not isinstance(fd, int) or fd not in self.paths:
            return None
        path, ino = self.paths[fd]
        if os.fstat(fd).st_ino != ino:  # closed where we do not see it, and given to another file
            del self.paths[fd]
            return None
        stack = ()
        if kind in _LEFT_OUT:
            stack = self._stack()
        return Call(kind=kind, path=path, ino=ino, stack=stack, **more)

    def _stack(self) -> tuple[tuple[str, int], ...]:
        return caller() + getattr(self.behalf, "stack", ())

    def write(self, fd: int, data: Any) -> int:
        call = self._of("write", fd)
        if call is None:
            return REAL.write(fd, data)
        view = bytes(data)

        def do() -> int:
            appends = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_APPEND
            call.offset = os.fstat(fd).st_size if appends else os.lseek(fd, 0, os.SEEK_CUR)
            count = REAL.write(fd, view)
            call.data = view[:count]
            return count

        return self._done(call, do, lambda: REAL.write(fd, view[: len(view) // 2]))

    def pwrite(self, fd: int, data: Any, offset: int) -> int:
        call = self._of("pwrite", fd, offset=offset)
        if call is None:
            return REAL.pwrite(fd, data, offset)
        view = bytes(data)

        def do() -> int:
            count = REAL.pwrite(fd, view, offset)
            call.data = view[:count]
            return count

        return self._done(call, do, lambda: REAL.pwrite(fd, view[: len(view) // 2], offset))

    def writev(self, fd: int, pieces: Any) -> int:
        return self.write(fd, b"".join(pieces)) if fd in self.paths else REAL.writev(fd, pieces)

    def pwritev(self, fd: int, pieces: Any, offset: int, flags: int = 0) -> int:
        if fd in self.paths:
            return self.pwrite(fd, b"".join(pieces), offset)
        return REAL.pwritev(fd, pieces, offset, flags)

    def sendfile(self, out: int, source: int, offset: int, count: int) -> int:
        call = self._of("sendfile", out)
        if call is None:
            return REAL.sendfile(out, source, offset, count)

        def do() -> int:
            call.offset = os.lseek(out, 0, os.SEEK_CUR)
            sent = REAL.sendfile(out, source, offset, count)
            call.data = os.pread(source, sent, offset)
            return sent

        return self._done(call, do, lambda: REAL.sendfile(out, source, offset, count // 2))

    def _sync(self, kind: str, fd: int) -> None:
        call = self._of(kind, fd if isinstance(fd, int) else fd.fileno())
        real = getattr(REAL, kind)
        if call is None:
            real(fd)
            return
        self._done(call, lambda: real(fd))
        with suppress(OSError):
            self.synced[call.ino] = os.fstat(fd).st_size

    def fsync(self, fd: int) -> None:
        self._sync("fsync", fd)

    def fdatasync(self, fd: int) -> None:
        self._sync("fdatasync", fd)

    def ftruncate(self, fd: int, length: int) -> None:
        call = self._of("ftruncate", fd, size=length)
        if call is None:
            REAL.ftruncate(fd, length)
        else:
            self._done(call, lambda: REAL.ftruncate(fd, length))
            self.synced[call.ino] = min(self.synced.get(call.ino, length), length)

    def flock(self, fd: Any, operation: int) -> None:
        call = self._of("flock", fd if isinstance(fd, int) else fd.fileno(), size=operation)
        if call is None:
            REAL.flock(fd, operation)
            return
        if operation & fcntl.LOCK_NB:
            self._done(call, lambda: REAL.flock(fd, operation))
            return
        if self._done(call, lambda: self._try(fd, operation)) is False:
            with self.lock:
                self.tell(Call(kind="waits", path=call.path))
            REAL.flock(fd, operation)

    def _try(self, fd: Any, operation: int) -> bool:
        """Whether the lock was free: waiting for it, other threads' calls have to go on."""
        try:
            REAL.flock(fd, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _names(self, name: str) -> Callable[..., Any]:
        real, kind = getattr(REAL, name), "unlink" if name == "remove" else name

        def named(path: Any, *rest: Any, dir_fd: int | None = None) -> Any:
            place = self.is_told(_full(path, dir_fd))
            if not place:
                return real(path, *rest, dir_fd=dir_fd)
            call = Call(kind=kind, path=place, parent=_parent(place))

            def do() -> None:
                real(path, *rest, dir_fd=dir_fd)
                if kind == "mkdir":
                    call.ino = os.stat(place).st_ino

            return self._done(call, do)

        return named

    def _moves(self, name: str) -> Callable[..., Any]:
        real, kind = getattr(REAL, name), "link" if name == "link" else "rename"

        def moved(source: Any, target: Any, **more: Any) -> Any:
            place, to = self.is_told(source), self.is_told(target)
            if not place:
                return real(source, target, **more)
            call = Call(kind=kind, path=place, to=to, parent=_parent(place), to_parent=_parent(to))
            call.stack = self._stack()
            with suppress(OSError):
                call.ino = os.stat(source).st_ino
            return self._done(call, lambda: real(source, target, **more))

        return moved

    def symlink(self, source: Any, target: Any, *rest: Any, **more: Any) -> None:
        place = self.is_told(target)
        if not place:
            REAL.symlink(source, target, *rest, **more)
            return
        call = Call(kind="symlink", path=place, parent=_parent(place), data=os.fsencode(source))

        def do() -> None:
            REAL.symlink(source, target, *rest, **more)
            call.ino = os.lstat(target).st_ino

        self._done(call, do)

    def io_open(self, file: Any, mode: str = "r", *rest: Any, **more: Any) -> Any:
        if isinstance(file, int) and file in self.paths and set(mode) & set("wax+"):
            return io.BufferedWriter(_File(self, file, closes=more.get("closefd", True)))
        place = self.is_told(file) if isinstance(file, str | bytes | os.PathLike) else ""
        if not place or more.get("opener"):
            return REAL.io_open(file, mode, *rest, **more)
        if not set(mode) & set("wax+"):
            call = Call(kind="open", path=place, size=os.O_RDONLY)
            return self._done(call, lambda: REAL.io_open(file, mode, *rest, **more))
        flags = os.O_CLOEXEC | (os.O_RDWR if "+" in mode else os.O_WRONLY)
        for letter, flag in (("w", os.O_CREAT | os.O_TRUNC), ("x", os.O_CREAT | os.O_EXCL),
                             ("a", os.O_CREAT | os.O_APPEND)):  # fmt: skip
            flags |= flag if letter in mode else 0
        raw = _File(self, self.open(file, flags, 0o666))
        buffering = rest[0] if rest else more.get("buffering", -1)
        if "b" in mode and buffering == 0:
            return raw
        buffered = io.BufferedWriter(raw)
        if "b" in mode:
            return buffered
        return io.TextIOWrapper(buffered, encoding=more.get("encoding") or "utf-8")


class _File(io.RawIOBase):
    """A file whose writes are the calls above, where ``io.FileIO`` would make its own."""

    def __init__(self, watch: Watch, fd: int, *, closes: bool = True) -> None:
        self._watch = watch
        self._fd = fd
        self._closes = closes

    def fileno(self) -> int:
        return self._fd

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._watch.write(self._fd, bytes(data))

    def close(self) -> None:
        if not self.closed:
            super().close()
            if self._closes:
                self._watch.close(self._fd)


def _full(path: Any, dir_fd: int | None) -> Any:
    """*path* below the open folder that it is seen from."""
    if dir_fd is None:
        return path
    return Path(f"/proc/self/fd/{dir_fd}").readlink() / os.fsdecode(path)


def _parent(path: str) -> int:
    try:
        return os.stat(os.path.dirname(path)).st_ino if path else 0
    except OSError:
        return 0


def caller() -> tuple[tuple[str, int], ...]:
    """Files and lines of who calls, innermost first, without this module."""
    frames = []
    frame = sys._getframe(1)
    while frame is not None and len(frames) < 12:
        if frame.f_code.co_filename not in (__file__, _STEPS):
            frames.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back  # type: ignore[assignment]
    return tuple(frames)
