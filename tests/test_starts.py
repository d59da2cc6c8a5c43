"""A fork of the process that has imported everything is a process as any."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import starts
from tests.crawls.running import ROOT

LINE = [sys.executable, "-m", "scrapy"]
ASKS = """
import json, os, sys
print(json.dumps({
    "folder": os.getcwd(), "path": sys.path[0], "given": os.environ.get("GIVEN"), "argv": sys.argv,
    "terminals": [sys.stdin.isatty(), sys.stdout.isatty(), sys.stderr.isatty()],
    "parent": os.getppid(), "session": os.getsid(0) == os.getpid(), "read": sys.stdin.read(),
    "bytecode": sys.dont_write_bytecode, "warnings": sys.warnoptions,
}))
print("told", file=sys.stderr)
sys.exit(3)
"""
WAITS = "import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)\n"
"""Sleeps briefly, as a signal that comes just before a sleep begins does not end it."""


def both(program: str, folder: Path, **how: object) -> list[subprocess.CompletedProcess[str]]:
    """How the program ends as a fork, and as a process of its own."""
    (folder / "program.py").write_text(program)
    line = [*LINE, "runspider", "program.py", "-s", "LOG_ENABLED=0"]
    given = {"cwd": folder, "capture_output": True, "text": True, "check": False} | how
    return [run(line, **given) for run in (starts.run, subprocess.run)]


@pytest.mark.forms(count=2)
@pytest.mark.parametrize("how", [
    {}, {"input": "some lines\nof input\n"}, {"env": {**os.environ, "GIVEN": "1"}},
    {"start_new_session": True}, {"env": {**os.environ, "PYTHONWARNINGS": "error,ignore"}},
    {"env": {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}},
    {"env": {**os.environ, "PYTHONUTF8": "1"}},
])  # fmt: skip
def test_a_fork_has_what_a_process_of_its_own_has(tmp_path, how):
    how = {"stdin": subprocess.DEVNULL} | how if "input" not in how else how
    fork, own = both(ASKS, tmp_path, **how)
    assert (fork.returncode, fork.stdout, fork.stderr) == (own.returncode, own.stdout, own.stderr)
    assert own.returncode == 3
    assert "told" in own.stderr


def test_code_in_a_command_line_has_what_a_process_of_its_own_has(tmp_path):
    line = [sys.executable, "-c", ASKS, "an argument", "-x"]
    how = {"cwd": tmp_path, "stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    fork, own = (run(line, **how) for run in (starts.run, subprocess.run))
    assert (fork.returncode, fork.stdout, fork.stderr) == (own.returncode, own.stdout, own.stderr)
    assert (own.returncode, json.loads(own.stdout)["argv"]) == (3, ["-c", "an argument", "-x"])


def test_what_is_not_caught_ends_a_fork_as_it_ends_a_process(tmp_path):
    fork, own = both("raise SystemExit('a sentence')", tmp_path)
    assert (fork.returncode, fork.stderr) == (own.returncode, own.stderr) == (1, "a sentence\n")


@pytest.mark.forms(count=1)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_a_fork_is_a_child_that_signals_reach(tmp_path, number):
    (tmp_path / "program.py").write_text(WAITS)
    line = [*LINE, "runspider", "program.py"]
    ended = []
    for kind in (starts.Popen, subprocess.Popen):
        with kind(line, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            process.send_signal(number)
            ended.append(process.wait())
    assert ended == [-number, -number]


def test_its_children_and_what_it_used_are_told_to_this_process(tmp_path):
    (tmp_path / "program.py").write_text("raise SystemExit(5)")
    process = starts.Popen([*LINE, "runspider", tmp_path / "program.py"], cwd=ROOT)
    pid, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert (pid, process.returncode) == (process.pid, 5)
    assert usage.ru_maxrss > 10_000
