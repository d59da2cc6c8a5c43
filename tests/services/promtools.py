"""promtool, which judges rules and metrics for Prometheus: the distribution's."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.services.kafkas import folder as kafka_folder

HOW = "make services unpacks Debian's package prometheus; elsewhere, install it"


def program() -> Path | None:
    """The system's, or what ``fetch`` unpacked."""
    own = kafka_folder().parent / "prometheus" / "usr" / "bin" / "promtool"
    found = shutil.which("promtool")
    return Path(found) if found else own if own.is_file() else None


def fetch() -> None:
    """Unpack Debian's package where there is no promtool; nothing is installed, no root needed."""
    if program() or not (apt := shutil.which("apt-get")):
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [apt, "--quiet=2", "download", "prometheus"], cwd=folder, check=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for package in Path(folder).glob("*.deb"):
            place = kafka_folder().parent / "prometheus"
            subprocess.run(["dpkg-deb", "--extract", package, place], check=True)


def promtool(*words: str, stdin: str = "", cwd: Path | None = None) -> str:
    """Return what promtool says; fails the test where it finds fault, skips it without promtool."""
    found = program()
    if found is None:
        told = f"promtool is not here: {HOW}"
        pytest.fail(told) if os.environ.get("CI") else pytest.skip(told)
    done = subprocess.run(
        [found, *words], input=stdin, cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
