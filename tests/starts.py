"""``python -m scrapy``, ``lafka``, a module of tests or ``python -c``, without a start's second.

``Popen`` and ``run`` are those of ``subprocess``, but that such a line, or one that starts a child
of ``storage.children``, becomes a fork of a process that has imported what commands need
(``tests.warm``). It is a child of whoever starts it all the same: its pid, its signals, its exit
code and what it used are those of any process. What a fork cannot be, another interpreter with
other variables of Python's or with limits, is started as ever.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lafka.storage import children
from tests.waiting import LIMIT

ROOT = Path(__file__).parents[1]
NAMES = ("lafka", "scrapy")
STARTED = "tests.started"
"""The audit event of a start that is none of ``subprocess``."""
Before = tuple[str, str, Any]
"""A module, a function in it and, as JSON, what it is called with before the program begins."""

ASKS = """\
#!{python} -IS
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.connect({address!r})
asked = {{
    "argv": sys.argv, "module": "scrapy", "folder": os.getcwd(), "environment": dict(os.environ),
    "session": False, "attended": True, "before": {before!r},
}}
socket.send_fds(server, [json.dumps(asked).encode()], [0, 1, 2])
sys.exit(int(server.recv(9)))
"""
_CHILD = [sys.executable, "-c", children._CODE]
_SET_CHILD_SUBREAPER = 36  # of prctl(2)
_AT_START = ("PYTHON", "LC_", "LANG", "TZ", "LD_", "MALLOC_")
_LATER = {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONWARNINGS", "LD_LIBRARY_PATH"}


def address() -> str:
    """Where the warm process is asked."""
    return _server().address


def python() -> str:
    """Return the Python that knows the Lafka of :func:`programs`."""
    return f"{INSTALLED}/python" if INSTALLED else sys.executable


class Popen(subprocess.Popen):
    """A process; *before* is called in a fork before its program begins."""

    def __init__(self, args: Sequence[Any], *, before: Before | None = None, **how: Any) -> None:
        self._before = before
        super().__init__([os.fspath(arg) for arg in args], **how)

    def _execute_child(
        self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo,
        creationflags, shell, p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite,
        restore_signals, gid, gids, uid, umask, start_new_session, process_group,
    ):  # fmt: skip
        env = os.environ if env is None else env
        special = executable or preexec_fn or pass_fds or shell or process_group != -1
        if special or not _can_fork(args, env):
            assert not self._before
            super()._execute_child(
                args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo,
                creationflags, shell, p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite,
                restore_signals, gid, gids, uid, umask, start_new_session, process_group,
            )  # fmt: skip
            return
        asked = {
            "folder": os.fspath(cwd or Path.cwd()), "environment": dict(env),
            "session": start_new_session, "attended": False, "before": self._before,
        }  # fmt: skip
        if args[:3] == _CHILD:
            asked |= {"path": json.loads(args[3]), "serves": args[4]}
        elif args[1] == "-c":
            asked |= {"argv": ["-c", *args[3:]], "code": args[2]}
        else:
            asked |= {"argv": [_file_of(args[2]), *args[3:]], "module": args[2]}
        wanted = zip((p2cread, c2pwrite, errwrite), (0, 1, 2), strict=True)
        sys.audit(STARTED)
        self.pid = _server().forked(asked, [own if own != -1 else std for own, std in wanted])
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)


def run(
    args: Sequence[Any], *, input: Any = None, capture_output: bool = False,  # noqa: A002
    timeout: float | None = None, check: bool = False, **how: Any,
) -> subprocess.CompletedProcess[Any]:  # fmt: skip
    """Run *args* to the end, as ``subprocess.run`` does."""
    if capture_output:
        how |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        how["stdin"] = subprocess.PIPE
    with Popen(args, **how) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


def verb(
    program: str, *args: object, folder: Path = ROOT, stdin: str = "",
    timeout: float | None = None, **env: str,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Run ``lafka`` or ``scrapy`` with *args* in *folder*, with these variables besides ours."""
    return run(
        [sys.executable, "-m", program, *map(str, args)], cwd=folder, input=stdin, text=True,
        capture_output=True, timeout=timeout, env=os.environ | {"PYTHONPATH": str(ROOT)} | env,
    )  # fmt: skip


def _can_fork(args: list[str], env: Mapping[str, str]) -> bool:
    """Whether a fork is as good as a start of its own."""
    if sys.platform != "linux" or len(args) < 3 or args[0] != _CHILD[0]:
        return False
    ours = args[1] == "-m" and (args[2] in NAMES or args[2].startswith("tests."))
    return (ours or args[1] == "-c") and _at_start(env) == _server().environment


def _file_of(module: str) -> str:
    """What ``python -m`` puts before the arguments."""
    spec = find_spec(f"{module}.__main__" if module in NAMES else module)
    assert spec
    assert spec.origin
    return spec.origin


def _at_start(env: Mapping[str, str]) -> dict[str, str]:
    """Those variables that are looked at when an interpreter starts."""
    return {k: v for k, v in env.items() if k.startswith(_AT_START) and k not in _LATER}


class _Server:
    """The process that becomes others."""

    def __init__(self, address: str, environment: dict[str, str]) -> None:
        self.address = address
        self.environment = environment
        self._turn = threading.Lock()
        self._prctl = ctypes.CDLL(None, use_errno=True).prctl

    def forked(self, asked: dict[str, Any], files: list[int]) -> int:
        """The pid of a child that becomes what is *asked* for.

        The server forks twice, so that the child is an orphan: it falls to the nearest ancestor
        that gathers them, which is this process for so long.
        """
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server, self._turn:
            server.connect(self.address)
            self._gather_orphans(True)
            try:
                socket.send_fds(server, [json.dumps(asked).encode()], files)
                return int(server.recv(20))
            finally:
                self._gather_orphans(False)

    def _gather_orphans(self, gathers: bool) -> None:
        if self._prctl(_SET_CHILD_SUBREAPER, int(gathers), 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")


@cache
def _server() -> _Server:
    """That of this process; it ends with it."""
    folder = tempfile.mkdtemp(prefix="lafka-")  # addresses have to be short
    server = _Server(str(Path(folder) / "starts"), _at_start(os.environ))
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.warm", server.address], cwd=ROOT,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    atexit.register(_end, process, folder, os.getpid())
    return server


def _end(server: subprocess.Popen[bytes], folder: str, pid: int) -> None:
    if os.getpid() != pid:
        return  # a fork of a test's
    assert server.stdin is not None
    server.stdin.close()
    server.wait()
    shutil.rmtree(folder)


def children_are_forks(server: _Server | None = None) -> None:
    """Have ``storage.children`` of this process start forks, of *server* where there is one."""
    global _server  # noqa: PLW0603
    if server:
        _server = lambda: server  # type: ignore[assignment]  # noqa: E731
    names = {"Popen": Popen, "PIPE": subprocess.PIPE, "TimeoutExpired": subprocess.TimeoutExpired}
    vars(children)["subprocess"] = SimpleNamespace(**names)


INSTALLED = ""
"""The folder of programs that are installed, from ``--programs``; empty for those of here."""


@dataclass(frozen=True, slots=True)
class Shell:
    """``sh`` in *folder*; programs are looked for in *bins* first."""

    folder: Path
    bins: tuple[Path, ...]
    more: dict[str, str] = field(default_factory=dict)
    """Variables of the environment."""

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PATH": os.pathsep.join((*map(str, self.bins), os.environ["PATH"])),
            "PYTHONPATH": "" if INSTALLED else str(ROOT),
            "LAFKA_ALLOWED_NETWORKS": "127.0.0.0/8",
            "LAFKA_CONTACT": "you@example.org",
            **self.more,
        }

    def __call__(self, line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", line], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=LIMIT,
        )  # fmt: skip

    @contextmanager
    def serving(self, line: str) -> Iterator[str]:
        """While *line* serves, at a free port; the address that it says first."""
        with subprocess.Popen(
            ["sh", "-c", f"exec {line.rstrip(' &')} --port 0"], cwd=self.folder,
            env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        ) as server:  # fmt: skip
            assert server.stdout is not None
            try:
                yield server.stdout.readline().strip()
            finally:
                server.terminate()


@contextmanager
def programs() -> Iterator[Path]:
    """A folder with the programs ``lafka`` and ``scrapy``: installed, or such as start at once."""
    if INSTALLED:
        yield Path(INSTALLED)
        return
    with tempfile.TemporaryDirectory(prefix="lafka-") as folder:
        for name in NAMES:
            asks = ASKS.format(
                python=sys.executable, address=_server().address,
                before=("tests.starts", "without_throttle", None),
            )  # fmt: skip
            (Path(folder) / name).write_text(asks)
            (Path(folder) / name).chmod(0o755)
        yield Path(folder)


def without_throttle(_: None) -> None:
    """Do without AutoThrottle: sites are ours here."""
    import lafka.settings

    lafka.settings.AUTOTHROTTLE_ENABLED = False
