"""Child processes with bounds, for what foreign bytes could make stop, fill memory or crash.

A child runs ``serve()`` of a module, which hands its tasks to :func:`serve` here; it answers one
question at a time and is started anew when it dies. A question is a name, a JSON object and bytes;
an answer is JSON: a child has read what a site wrote, so nothing of it is unpickled. On the pipe, a
question is two lengths of eight bytes, its JSON and its bytes; an answer a length and its JSON.
The first answer of a child says that it has begun, or the number and text of what prevented that.

The methods of :class:`Children` block: a crawl calls them in its threads.
"""

from __future__ import annotations

import json
import os
import queue
import select
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO

from lafka.errors import LafkaError, MachineTrouble
from lafka.warc.format.sources import write_all

try:
    import resource
except ImportError:  # Windows, where an archive can be read
    resource = None  # type: ignore[assignment]

MEMORY = 1 << 30
"""Bytes of address space of a child."""
PATIENCE = 6
"""Seconds of the clock for a second of work: a machine has other things to do, too."""
BEGIN_SECONDS = 120
"""Seconds in which a child has to begin, however busy the machine is."""

CHILD = "a child process"
"""The name of a child in sentences."""

Task = Callable[[dict[str, Any], bytes], Any]
"""A question and its bytes -> what ``json.dumps`` takes."""

_CODE = """\
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from importlib import import_module
import_module(sys.argv[2]).serve()
"""
_ASKED = struct.Struct(">QQ")
_LENGTH = struct.Struct(">Q")


class ChildDied(LafkaError):
    """A child that had begun took too long or died over what it was asked; ``str`` says which."""


class Children:
    """At most *count* children that run ``serve()`` of *module*, started when there is work."""

    def __init__(self, module: str, count: int) -> None:
        self._all = [_Child(module) for _ in range(count)]
        self._idle: queue.LifoQueue[_Child] = queue.LifoQueue()
        for child in self._all:
            self._idle.put(child)
        self.is_cut = False

    def ask(self, name: str, question: dict[str, Any], data: bytes = b"", *, seconds: int) -> Any:
        """Return what the task *name* answers to *question* and *data*, after *seconds* of CPU at
        most.

        ``ChildDied`` where there is no answer, and after ``cut`` or ``stop``; ``MachineTrouble``
        where no child can begin, for which what was asked is not to blame.
        """
        child = self._idle.get()
        try:
            if self.is_cut:
                raise ChildDied("not begun")
            return child.ask({**question, "task": name, "seconds": seconds}, data, seconds)
        finally:
            self._idle.put(child)

    def cut(self) -> None:
        """Answer nothing any more; whoever waits for an answer gets ``ChildDied`` at once."""
        self.is_cut = True
        for child in self._all:
            child.give_up()

    def stop(self) -> None:
        """End the children, after what they were asked last; who asks later has no answer."""
        ended = [self._idle.get() for _ in self._all]
        for child in ended:
            child.stop()
        self.is_cut = True
        for child in ended:  # for who has begun to ask and waits for one
            self._idle.put(child)


class _Child:
    """A process that answers one question at a time; it ends with its standard input."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None
        self._given_up = False

    def ask(self, question: dict[str, Any], data: bytes, seconds: int) -> Any:
        head = json.dumps(question).encode()
        process = self._process
        if process is None or process.poll() is not None:
            process = self._start()
        if self._given_up:
            process.kill()
        deadline = monotonic() + PATIENCE * seconds
        try:
            for part in (_ASKED.pack(len(head), len(data)) + head, data):
                _send(process, part, deadline)
            return json.loads(_message(process, deadline))
        except (BrokenPipeError, EOFError, TimeoutError) as error:
            raise ChildDied(self._end(error, seconds)) from None

    def _start(self) -> subprocess.Popen[bytes]:
        """Start a process and wait until it takes questions; ``MachineTrouble``."""
        process = self._process = started(self._module)
        if self._given_up:
            process.kill()
        try:
            number, text = json.loads(_message(process, monotonic() + BEGIN_SECONDS))
        except EOFError:
            self._process = None
            code = closed(process)
            if self._given_up:
                raise ChildDied("not begun") from None
            number, text = 0, f"it ended with {code} before it began"
        except TimeoutError:
            self._process = None
            process.kill()
            closed(process)
            number, text = 0, f"it did not begin within {BEGIN_SECONDS} seconds"
        if text:
            self.stop()
            raise MachineTrouble(CHILD, OSError(number, text))
        return process

    def _end(self, error: Exception, seconds: int) -> str:
        process, self._process = self._process, None
        assert process is not None
        late = isinstance(error, TimeoutError)
        if late:
            process.kill()
        code = closed(process)
        if late:
            return f"no answer after {PATIENCE * seconds} seconds"
        if code == -signal.SIGXCPU:
            return f"more than {seconds} seconds of work"
        return f"its reader ended with {code}"

    def give_up(self) -> None:
        self._given_up = True
        process = self._process
        if process is not None:
            process.kill()

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            closed(process)


def started(module: str) -> subprocess.Popen[bytes]:
    """Start a process that runs ``serve()`` of *module*; its standard input does not block.

    ``MachineTrouble`` where the system refuses one.
    """
    command = [sys.executable, "-c", _CODE, json.dumps(sys.path), module]
    try:
        process = subprocess.Popen(  # noqa: S603  our own code
            command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
    except OSError as error:
        raise MachineTrouble(CHILD, error) from error
    assert process.stdin is not None
    os.set_blocking(process.stdin.fileno(), False)
    return process


def closed(process: subprocess.Popen[bytes]) -> int:
    """The exit code of *process*, after the end of its standard input."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(OSError):
        process.stdin.close()
    process.stdout.close()
    try:
        return process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _send(process: subprocess.Popen[bytes], data: bytes, deadline: float) -> None:
    assert process.stdin is not None
    fd = process.stdin.fileno()
    left = memoryview(data)
    while left:
        _await(fd, select.POLLOUT, deadline)
        left = left[os.write(fd, left) :]


def _message(process: subprocess.Popen[bytes], deadline: float) -> bytes:
    assert process.stdout is not None
    fd = process.stdout.fileno()
    (length,) = _LENGTH.unpack(_exactly(fd, _LENGTH.size, deadline))
    return _exactly(fd, length, deadline)


def _exactly(fd: int, length: int, deadline: float) -> bytes:
    pieces = bytearray()
    while len(pieces) < length:
        _await(fd, select.POLLIN, deadline)
        piece = os.read(fd, length - len(pieces))
        if not piece:
            raise EOFError
        pieces += piece
    return bytes(pieces)


def _await(fd: int, event: int, deadline: float) -> None:
    poll = select.poll()  # select.select knows descriptors up to 1023 alone
    poll.register(fd, event)
    if not poll.poll(max(0.0, deadline - monotonic()) * 1000):
        raise TimeoutError


# In the child -----------------------------------------------------------------------------


def serve(tasks: Mapping[str, Task], memory: int = MEMORY) -> None:
    """Answer questions until standard input ends, in *memory* bytes at most. Runs in the child."""
    for number in (signal.SIGINT, signal.SIGTERM):
        # A terminal and systemd send them to us, too. The crawl ends us when it has its answer;
        # were we to end before, what it asked for would be told as what cannot be read.
        signal.signal(number, signal.SIG_IGN)
    answers = os.dup(1)
    with suppress(BrokenPipeError):  # who asked was killed
        trouble = _trouble_of_settling(memory)
        write_all(answers, _framed(trouble or (0, "")))
        while not trouble and (asked := _next_asked(sys.stdin.buffer)):
            question = json.loads(asked[0])
            _allow(question["seconds"])
            write_all(answers, _framed(tasks[question["task"]](question, asked[1])))


def _trouble_of_settling(memory: int) -> tuple[int, str] | None:
    """Settle; the number and text of what the system refused, None where it did not."""
    try:
        _settle(memory)
    except OSError as error:
        reason = error.strerror or str(error)
        return error.errno or 0, f"{error.filename}: {reason}" if error.filename else reason
    return None


def _settle(memory: int) -> None:
    """Bound this process, and let what libraries print go nowhere; ``OSError``."""
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_AS, memory)
    with Path(os.devnull).open("wb") as nothing:
        os.dup2(nothing.fileno(), 1)


def _limit(which: int, most: int) -> None:
    """Set the limit *which*; one that is lower already, as batch systems set it, stays."""
    hard = resource.getrlimit(which)[1]
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(which, (least, least))


def _framed(answer: Any) -> bytes:
    """Return *answer* as it goes through the pipe."""
    data = json.dumps(answer).encode()
    return _LENGTH.pack(len(data)) + data


def _next_asked(source: BinaryIO) -> tuple[bytes, bytes] | None:
    """The next question and its bytes; None where no more come, or the crawl was killed."""
    lengths = source.read(_ASKED.size)
    if len(lengths) < _ASKED.size:
        return None
    sizes = _ASKED.unpack(lengths)
    head, data = map(source.read, sizes)
    return (head, data) if (len(head), len(data)) == sizes else None


def _allow(seconds: int) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime) + seconds + 1
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
