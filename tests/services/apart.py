"""Programs in Python that judge what we write, each in an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.services.kafkas import folder as kafka_folder

PROGRAMS = {
    "wacz": "wacz==0.6.0",
    "wayback": "pywb==2.9.1",
    "datasette": "datasette==0.65.5",
    "ia": "internetarchive==5.8.0",  # AGPL: never imported; later ones want a certifi of the future
    "cdxt": "cdx-toolkit==0.9.39 wayback==0.5.1 memento-client==0.6.1",
}
"""Commands, and the packages that bring them."""
HOW = "make services brings it"


def place(name: str) -> Path:
    """The command *name*."""
    folder = PROGRAMS[name].replace("==", "-").replace(" ", "+")
    return kafka_folder().parent / folder / "bin" / name


def fetch() -> None:
    """Make the environments that are missing."""
    for name, packages in PROGRAMS.items():
        folder = place(name).parents[1]
        if not place(name).is_file():
            venv.create(folder, with_pip=True, clear=True)
            pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "setuptools<81"]
            subprocess.run([*pip, *packages.split()], check=True)


def program(name: str) -> Path:
    """The command *name*; skips the test, or fails it under CI, where it is missing."""
    if not place(name).is_file():
        told = f"{name} is not here: {HOW}"
        pytest.fail(told) if os.environ.get("CI") else pytest.skip(told)
    return place(name)


def run(name: str, *args: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run it, nothing of this environment around it."""
    return _run([program(name), *args], cwd)


def python(
    name: str, *args: str | Path, cwd: Path, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run the Python of *name*'s environment; *more*: variables of its environment."""
    return _run([program(name).with_name("python"), *args], cwd, more)


def _run(
    command: Sequence[str | Path], cwd: Path, more: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "HOME": str(cwd), "LC_ALL": "C.UTF-8", **(more or {})}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    sys.exit(fetch())
