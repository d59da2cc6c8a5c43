"""Programs that fetch or check datasets, each in an environment of its own, out of our way."""

from __future__ import annotations

import os
import subprocess
import venv
from pathlib import Path

PACKAGES = {
    "zenodo_get": "zenodo-get==3.1.0",
    "ia": "internetarchive==5.12.0",
    "pooch": "pooch==1.9.0",
    "bagit": "bagit==1.9.0",
}
RETRIEVE = """
import sys
import pooch
pooch.retrieve(sys.argv[1], known_hash=sys.argv[2], path=sys.argv[3], fname="file")
"""


def _folder(name: str) -> Path:
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "lafka-benchmarks" / PACKAGES[name].replace("==", "-")


def make() -> None:
    """Make the environments that are missing."""
    for name, package in PACKAGES.items():
        python = _folder(name) / "bin" / "python"
        if not python.is_file():
            venv.create(_folder(name), with_pip=True, clear=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", package], check=True)


def program(name: str, command: str = "") -> str:
    """The *command* of peer *name*, the one that has its name by default."""
    return str(_folder(name) / "bin" / (command or name))
