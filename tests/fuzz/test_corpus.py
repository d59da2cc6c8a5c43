"""Every file of the corpus through every target, and the bounded run, which ends by itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS

HERE = Path(__file__).parent
FILES = sorted(path for path in (HERE / "corpus").rglob("*") if path.is_file())


@pytest.mark.parametrize("name", TARGETS)
def test_no_file_of_the_corpus_breaks_a_target(name):
    for path in FILES:
        TARGETS[name](path.read_bytes())


def test_each_target_has_a_corpus_of_small_files():
    assert {path.parent.name for path in FILES} == set(TARGETS)
    assert max(path.stat().st_size for path in FILES) <= 8192


@pytest.mark.long("it instruments the library, and fuzzes for a second")
def test_the_run_ends_by_itself(tmp_path):
    run = [sys.executable, str(HERE / "run.py"), "--seconds", "1", "--target", "fields"]
    done = subprocess.run(
        [*run, "--found", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(("fields: ", "fuzzing skipped: "))
    assert not list(tmp_path.iterdir())


def test_an_unknown_target_is_one_sentence():
    run = [sys.executable, str(HERE / "run.py"), "--target", "none-such"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    if "skipped" not in done.stdout:
        assert (done.returncode, done.stderr.splitlines()[-1][:8]) == (2, "run.py: ")
