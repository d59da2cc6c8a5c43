"""Packages of npm that tests put into a browser: fetched once by ``make services``, by digest."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest

from tests.services.kafkas import folder as kafka_folder

PACKAGES = {  # SHA-512, as npm has it
    "axe-core@4.10.2": (
        "RE3mdQ7P3FRSe7eqCWoeQ/Z9QXrtniSjp1wUjt5nRC3WIpz5rSCve6o3fsZ2aCpJtrZjSZgjwXAoTO5k4tEI0w=="
    ),
    "replaywebpage@2.5.3": (
        "nCj2PSON3BxeSJKE8AsYPyULv0XPZKJWfy4l9PyQre9SqwLZ+WKZVs/sfLqPOQ4GrH+0YkjbwOhr8cSTH08gsQ=="
    ),
}
HOW = "make services fetches it, with npm (apt install npm)"


def place(package: str) -> Path:
    name, _, version = package.rpartition("@")
    return kafka_folder().parent / f"{name}-{version}.tgz"


def fetch() -> None:
    """Bring the packages that are missing; ``SystemExit`` where one is not what it should be."""
    npm = shutil.which("npm")
    for package, digest in PACKAGES.items():
        if _is_whole(place(package), digest) or npm is None:
            continue
        place(package).parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            pack = [npm, "pack", "--silent", package]
            subprocess.run(pack, cwd=scratch, check=True, stdout=subprocess.DEVNULL)
            found = next(Path(scratch).glob("*.tgz"))
            if not _is_whole(found, digest):
                raise SystemExit(f"{package} is not the one that is expected")
            draft = place(package).with_suffix(f".{os.getpid()}")
            shutil.copyfile(found, draft)
            draft.rename(place(package))


def _is_whole(path: Path, digest: str) -> bool:
    if not path.is_file():
        return False
    found = base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
    return found == digest


def member(package: str, name: str) -> bytes:
    """The file *name* of *package*; skips the test, or fails it under CI, where it is missing."""
    path = place(package)
    if not _is_whole(path, PACKAGES[package]):
        told = f"{package} is not here: {HOW}"
        pytest.fail(told) if os.environ.get("CI") else pytest.skip(told)
    with tarfile.open(fileobj=io.BytesIO(path.read_bytes())) as packed:
        found = packed.extractfile(f"package/{name}")
        assert found is not None
        return found.read()
