"""What a process does that is sent SIGINT and SIGTERM: each in one of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from lafka.runs.exits import BROKEN_OFF, STOPPED
from tests import starts
from tests.waiting import LIMIT

NUMBERS = [signal.SIGINT, signal.SIGTERM]
BEGIN = """
import logging, signal, sys, threading
from lafka.runs import exits
logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(message)s")
shutdown = exits.Shutdown(float(sys.argv[1]))
shutdown.begin()
stopped = threading.Event()
"""
IN_ORDER = """
shutdown.attend(stopped.set)
print("ready", flush=True)
assert stopped.wait(500)
print("in order")
shutdown.ended(exits.STOPPED)
sys.exit(exits.STOPPED)
"""
DEAF = """
shutdown.attend(lambda: print("asked", flush=True))
print("ready", flush=True)
while True: signal.pause()
"""
LATE = """
print("ready", flush=True)
while not shutdown.asked: pass
shutdown.attend(stopped.set)
sys.exit(0 if stopped.is_set() else 5)
"""
FAILS = """
def fail(): raise LookupError("nothing is there to stop")
shutdown.attend(fail)
print("ready", flush=True)
while True: signal.pause()
"""
LINGERS = """
exits.LINGER = 0.1
def lingers():
    threading.Event().wait()
shutdown.attend(stopped.set)
print("ready", flush=True)
assert stopped.wait(500)
threading.Thread(target=lingers).start()
shutdown.ended(exits.STOPPED)
"""
STUCK_LOG = """
class Stuck(logging.Handler):
    def emit(self, record): threading.Event().wait()
exits.TELLING = 0.1
shutdown.attend(lambda: logging.getLogger().addHandler(Stuck()))
print("ready", flush=True)
while True: signal.pause()
"""
CHILD = """
import subprocess
code = ("import signal, sys; blocked = signal.pthread_sigmask(signal.SIG_BLOCK, []);"
        "sys.exit({signal.SIGINT, signal.SIGTERM} - blocked != set())")
sys.exit(subprocess.call([sys.executable, "-c", code]))
"""


@contextmanager
def going(script: str, seconds: float = 30) -> Iterator[subprocess.Popen[str]]:
    with starts.Popen(
        [sys.executable, "-c", BEGIN + script, str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(
    script: str, numbers: Sequence[signal.Signals], seconds: float = 30
) -> tuple[int, str, str]:
    """Exit code, standard output and log of a process that was sent *numbers*, each awaited."""
    with going(script, seconds) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        log = ""
        for place, number in enumerate(numbers):
            process.send_signal(number)
            log += process.stderr.readline() if place < len(numbers) - 1 else ""
        out, rest = process.communicate(timeout=LIMIT)
        return process.returncode, out, log + rest


@pytest.mark.parametrize("number", NUMBERS)
def test_the_first_signal_asks_for_an_end_in_order(number: signal.Signals) -> None:
    code, out, log = ended(IN_ORDER, [number])
    assert (code, out) == (STOPPED, "in order\n")
    assert log.startswith(f"{number.name}: the crawl ends")


@pytest.mark.parametrize("first", NUMBERS)
@pytest.mark.parametrize("second", NUMBERS)
def test_the_second_ends_at_once_and_says_so(first: signal.Signals, second: signal.Signals) -> None:
    code, out, log = ended(DEAF, [first, second])
    assert (code, out) == (BROKEN_OFF, "asked\n")
    assert f"{second.name} again: the crawl is broken off. The same command goes on" in log


def test_beside_a_log_file_the_sentences_are_printed() -> None:
    to_file = "logging.root.handlers[:] = [logging.FileHandler('/dev/null')]\n"
    _, _, told = ended(to_file + DEAF, [signal.SIGINT, signal.SIGINT])
    assert "SIGINT: the crawl ends, in 30 s at most; once more ends it at once\n" in told
    assert "SIGINT again: the crawl is broken off. The same command goes on" in told


def test_what_does_not_end_in_time_is_ended_and_says_so() -> None:
    code, _, log = ended(DEAF, [signal.SIGTERM], 0.2)
    assert code == BROKEN_OFF
    assert "No end in 0.2 s after SIGTERM: the crawl is broken off." in log


def test_a_signal_that_came_before_there_was_anything_to_stop_is_not_forgotten() -> None:
    assert ended(LATE, [signal.SIGINT])[0] == 0


def test_a_stop_that_fails_leaves_the_second_signal_its_effect() -> None:
    assert ended(FAILS, [signal.SIGINT, signal.SIGTERM])[0] == BROKEN_OFF


def test_a_thread_that_lingers_does_not_hold_the_end_or_change_its_code() -> None:
    code, _, log = ended(LINGERS, [signal.SIGTERM])
    assert code == STOPPED
    assert "broken off" not in log


def test_a_log_that_cannot_be_written_does_not_hold_the_end() -> None:
    assert ended(STUCK_LOG, [signal.SIGTERM, signal.SIGTERM])[0] == BROKEN_OFF


def test_children_are_not_ended_by_what_is_sent_to_all() -> None:
    with going(CHILD) as process:
        assert process.wait(LIMIT) == 0
