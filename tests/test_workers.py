"""Tests run by forks: each once, told as ever, whoever dies or interrupts."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.starts import ROOT
from tests.waiting import LIMIT, until

COMMON = """\
import os, sys, time, warnings
from pathlib import Path
import pytest

HERE = Path(__file__).parent

def note(name, text):
    with (HERE / name).open("a") as file:
        file.write(f"{os.getpid()} {text}\\n")
"""
FIXTURES = """\
from common import *

@pytest.fixture(scope="session")
def of_session():
    note("session", "made")
    yield
    note("session", "gone")

@pytest.fixture(scope="module")
def of_module(request, of_session):
    note("module", request.path.name)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "common.py").write_text(COMMON)
    (tmp_path / "conftest.py").write_text(FIXTURES)
    return tmp_path


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(f"from common import *\n{text}")


def line(folder: Path, *options: str) -> list[str]:
    options = ("-p", "tests.workers", "--workers", "3", "-p", "no:cacheprovider", *options)
    return [sys.executable, "-m", "pytest", *options, str(folder)]


def started(folder: Path, *options: str, out: Any = subprocess.PIPE) -> subprocess.Popen[str]:
    alone = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.Popen(
        line(folder, *options), cwd=folder, text=True, stdout=out,
        stderr=subprocess.STDOUT, env=os.environ | alone,
    )  # fmt: skip


def ran(folder: Path, *options: str) -> tuple[int, str]:
    with started(folder, *options) as process:
        out, _ = process.communicate(timeout=LIMIT)
    return process.returncode, out


def noted(folder: Path, name: str) -> list[list[str]]:
    return [one.split() for one in (folder / name).read_text().splitlines()]


def test_each_test_runs_once_and_files_share_their_fixtures(folder: Path):
    text = """
@pytest.mark.parametrize("number", range(5))
def test_it(number, of_module, tmp_path):
    note("ran", f"{Path(__file__).name}-{number}")
    (tmp_path / "it").touch(exist_ok=False)
"""
    write(folder, **{f"file{number}": text for number in range(7)})
    code, out = ran(folder, "--basetemp", str(folder / "temporary"))
    assert code == 0, out
    assert "35 passed" in out
    assert len([*folder.glob("temporary/w*/*[0-9]/it")]) == 35
    assert len({text for _, text in noted(folder, "ran")}) == len(noted(folder, "ran")) == 35
    modules = noted(folder, "module")
    assert len({name for _, name in modules}) == len(modules) == 7
    sessions = noted(folder, "session")
    pids = {pid for pid, _ in noted(folder, "ran")}
    assert sorted(sessions) == sorted([pid, what] for pid in pids for what in ("made", "gone"))
    assert len(pids) > 1


def test_what_fails_is_told_with_its_own_output_and_warnings(folder: Path):
    write(
        folder,
        a='def test_bad():\n    print("of a")\n    assert 1 == 2\n',
        b='def test_good():\n    print("of b")\n    warnings.warn("odd")\n',
        c='def test_skipped():\n    pytest.skip("why")\n',
    )
    code, out = ran(folder, "-rs")
    assert code == 1
    assert re.search(r"1 failed, 1 passed, 1 skipped", out), out
    assert "assert 1 == 2" in out
    assert "of a" in out
    assert "of b" not in out
    assert "test_b.py::test_good" in out
    assert "UserWarning: odd" in out
    assert "why" in out


@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_a_worker_that_dies_fails_the_test_it_ran_alone(folder: Path, end: str):
    bad = f"def test_1(): pass\ndef test_2(): {end}\ndef test_3(): note('behind', 'x')\n"
    write(folder, a=bad, b="def test_1(): pass\n", c="def test_1(): pass\n", d=bad)
    code, out = ran(folder)
    assert code == 1
    assert "2 failed, 6 passed" in out
    assert "the worker died that ran" in out
    assert len(noted(folder, "behind")) == 2


def test_a_fork_that_a_worker_leaves_behind_does_not_hide_its_death(folder: Path):
    os.mkfifo(folder / "held")
    dies = """
def test_1():
    if not os.fork():
        open(HERE / "held").read()
        os._exit(0)
    os._exit(1)
"""
    write(folder, a=dies, b="def test_1(): pass\n")
    with (folder / "out").open("w") as out:  # the fork holds this, too
        process = started(folder, out=out)
        process.wait(LIMIT)
    with (folder / "held").open("w"):
        pass
    assert "1 failed, 1 passed" in (folder / "out").read_text()


def test_the_first_failure_ends_it_where_that_is_asked_for(folder: Path):
    text = "def test_1(): assert 0\n" + "".join(f"def test_{n}(): pass\n" for n in range(2, 9))
    write(folder, **{f"file{number}": text for number in range(40)})
    code, out = ran(folder, "-x")
    assert code == 1
    assert "stopping after" in out
    found = re.search(r"(\d+) failed(, \d+ passed)? in", out)
    assert found, out
    assert 1 <= int(found[1]) <= 3  # one a worker


def test_an_interrupt_ends_workers_with_their_fixtures(folder: Path):
    # a signal that comes just before a sleep begins does not end it
    waits = "def test_1(of_session):\n    note('here', 'x')\n    while True: time.sleep(0.01)\n"
    write(folder, a=waits, b=waits)
    with started(folder) as process:
        until(lambda: (folder / "here").exists() and len(noted(folder, "here")) == 2)
        pids = [int(pid) for pid, _ in noted(folder, "here")]
        for pid in (process.pid, *pids):  # as a terminal does, all at once
            os.kill(pid, signal.SIGINT)
        out, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, out
    assert [what for _, what in noted(folder, "session")].count("gone") == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
