"""promtool, which judges rules and metrics for Prometheus: the distribution's."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HOW = "apt install prometheus brings promtool"


def promtool(*words: str, stdin: str = "", cwd: Path | None = None) -> str:
    """Return what promtool says; fails the test where it finds fault, skips it without promtool."""
    program = shutil.which("promtool")
    if program is None:
        told = f"promtool is not here: {HOW}"
        pytest.fail(told) if os.environ.get("CI") else pytest.skip(told)
    done = subprocess.run(
        [program, *words], input=stdin, cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
