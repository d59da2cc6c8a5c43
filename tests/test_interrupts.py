"""Commands that are interrupted, or whose output nobody reads: a line, or none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lafka import __main__ as program
from lafka.cli.base import INTERRUPTED, attempt
from tests import starts
from tests.stores import Store, pdf
from tests.waiting import LIMIT, sleeps, until

ROOT = Path(__file__).parents[1]
PID = "RePEc:abc:wpaper:{}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    store = Store(tmp_path / "archive")
    for number in range(3):
        store.put(store.fut(pdf(number), pid=PID.format(number)))
    store.raw.close()
    return store.root


def heeding() -> None:
    """In the child: SIGINT does what it does, also where a shell's ``&`` had it ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def begun(root: Path, verb: str, **how: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "scrapy", verb, "-s", f"LAFKA_ARCHIVE={root}"]
    return starts.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, start_new_session=True,
        preexec_fn=heeding,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how},
    )  # fmt: skip


@pytest.mark.forms(count=2)
@pytest.mark.parametrize("to_all", [True, False])
@pytest.mark.parametrize("verb", ["verify", "rebuild"])
def test_a_tick_of_ctrl_c_is_one_line(root: Path, verb: str, to_all: bool) -> None:
    """While it reads the suwaf, to the program alone or, as a terminal does, its children too."""
    suwaf = root / "suwaf/RePEc/abc/wpaper/1.json"
    suwaf.unlink()
    os.mkfifo(suwaf)
    process = begun(root, verb)
    with suwaf.open("wb"):  # waits for a reader, which then waits for a byte
        until(lambda: sleeps(process.pid))
        if to_all:
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(signal.SIGINT)
        if verb == "rebuild" or to_all:
            out, told = process.communicate(timeout=LIMIT)
    if verb == "verify" and not to_all:  # it waits until its children have done what they began
        out, told = process.communicate(timeout=LIMIT)
    first = b"archive: " if verb == "rebuild" else b""  # it writes, and says where
    *before, last = told.splitlines()
    assert last == f"scrapy {verb}: interrupted".encode()
    assert [line[:9] for line in before] == [first] * bool(first)
    assert process.returncode == 130
    assert out.count(b"\n") == (verb == "verify")  # the problem found before: that is no file


INTERRUPTED_AT_ONCE = """
import os, signal
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from lafka.witness.processes import WorkerProcesses
signal.signal(signal.SIGINT, signal.default_int_handler)
os.register_at_fork(after_in_child=lambda: os.kill(os.getpid(), signal.SIGINT))
with WorkerProcesses(2, get_context("fork")) as pool:
    try:
        pool.submit(pow, 2, 2).result()
    except BrokenProcessPool:
        print("ended")
os.kill(os.getpid(), signal.SIGINT)
"""


def test_a_worker_that_is_interrupted_as_it_begins_says_nothing() -> None:
    """Ctrl-C came before the worker knew what to do at it; in this process it is what it was."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_AT_ONCE], cwd=ROOT, capture_output=True, check=False,
        text=True,
    )  # fmt: skip
    assert done.stdout == "ended\n"
    assert done.stderr.splitlines()[-1] == "KeyboardInterrupt"
    assert "Process" not in done.stderr


def interrupted() -> None:
    raise KeyboardInterrupt


def test_any_command_is_interrupted_with_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert attempt("warc check", interrupted) == 130
    assert capsys.readouterr() == ("", "scrapy warc check: interrupted\n")


ATTEMPTED = """
import sys
from lafka import __main__ as program
from lafka.cli.base import INTERRUPTED, attempt
from lafka.errors import BadArgument
def work():
    print("x" * 100_000 if sys.argv[1] == "much" else "x")
    if sys.argv[1] == "refused":
        raise BadArgument("no")
    if sys.argv[1] == "interrupted":
        raise KeyboardInterrupt
sys.exit(attempt("verb", work))
"""


BUFFERED = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize(
    ("how", "code", "told"),
    [
        ("much", 1, b""),
        ("little", 1, b""),
        ("refused", 2, b"scrapy verb: no\n"),
        ("interrupted", 130, b"scrapy verb: interrupted\n"),
    ],
)
def test_a_broken_pipe_is_silence(how: str, code: int, told: bytes, both: bool) -> None:
    """Standard output, or standard error as well, as of ``2>&1 | head -1``."""
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-c", ATTEMPTED, how], cwd=ROOT, env=BUFFERED, check=False,
            stdout=write, stderr=write if both else subprocess.PIPE,
        )  # fmt: skip
    finally:
        os.close(write)
    assert done.returncode == (1 if both else code)
    assert done.stderr in (None, told)


def test_a_disk_that_takes_no_output_is_told_once() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", ATTEMPTED, "little"], cwd=ROOT, check=False, stdout=full,
            stderr=subprocess.PIPE,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == b"scrapy verb: standard output: No space left on device\n"


@pytest.mark.forms(count=1)
@pytest.mark.parametrize("verb", ["verify", "rebuild"])
def test_a_command_ends_quietly_where_nobody_reads(root: Path, verb: str) -> None:
    for path in (root / "warc").rglob("*.warc"):
        path.write_bytes(path.read_bytes().replace(b"WARC/1.1", b"WARC/9.1"))
    read, write = os.pipe()
    os.close(read)
    process = begun(root, verb, stdout=write, stderr=write)
    os.close(write)
    assert process.wait(LIMIT) == 1


class Interrupting:
    """A finder of modules at which somebody presses Ctrl-C."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "lafka.cli.entry":
            raise KeyboardInterrupt


def test_a_tick_of_ctrl_c_while_the_program_starts_is_one_line_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "lafka.cli.entry", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    assert program.main() == INTERRUPTED
    assert capsys.readouterr() == ("", "lafka: interrupted\n")
