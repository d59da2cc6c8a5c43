"""The wheel ``lafka-warc``: built offline, installed into a folder, and the library's tests for it.

``python -m tests.warc.wheel`` (``make warc-wheel``) builds it into ``dist/`` and runs every test of
the library against what was installed from it; other arguments go to pytest.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
PROJECT = Path("packaging/lafka-warc")
_PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
_OWN = re.compile(r"\blafka\.warc\b(?!\.arc2warc\")")
_WITHOUT_CACHES = shutil.ignore_patterns("__pycache__", "build", "*.egg-info")


def build(folder: Path) -> Path:
    """Build the wheel in *folder*, out of a copy, so that nothing is left in the work tree."""
    copy = folder / "source"
    for part in (Path("lafka/warc"), PROJECT):
        shutil.copytree(ROOT / part, copy / part, ignore=_WITHOUT_CACHES)
    wheels = folder / "wheels"
    # Setuptools is there already: no network.
    options = ("--no-build-isolation", "--no-deps", "--no-index", "-w", str(wheels))
    subprocess.run([*_PIP, "wheel", *options, str(copy / PROJECT)], check=True)
    (wheel,) = wheels.glob("lafka_warc-*.whl")
    return wheel


def install(wheel: Path, site: Path) -> None:
    """Install *wheel* alone into the folder *site*."""
    options = ("--no-deps", "--no-index", "--target", str(site))
    subprocess.run([*_PIP, "install", *options, str(wheel)], check=True)


def copy_tests(folder: Path) -> None:
    """Copy the library's tests and page to *folder*, with ``lafka_warc`` for ``lafka.warc``."""
    shutil.copytree(ROOT / "tests/warc", folder / "tests/warc", ignore=_WITHOUT_CACHES)
    shutil.copy(ROOT / "tests/memory.py", folder / "tests")
    (folder / "docs").mkdir()
    shutil.copy(ROOT / "docs/warc.md", folder / "docs")
    for path in (*folder.rglob("*.py"), *folder.rglob("*.md")):
        text = _OWN.sub("lafka_warc", path.read_text("utf-8"))
        text = text.replace("from lafka import warc", "import lafka_warc as warc")
        path.write_text(text, "utf-8")
    (folder / "tests/warc/test_wheel.py").unlink()


def run_tests(site: Path, folder: Path, *arguments: str) -> int:
    """Run the tests in *folder* against the package in *site*; return pytest's exit code."""
    path = os.pathsep.join(map(str, (folder, site, ROOT)))
    options = ("-q", "--import-mode=importlib", "-p", "no:cacheprovider", "--rootdir", str(folder))
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "PYTEST_ADDOPTS": ""},
        check=False,
    ).returncode


def main(arguments: list[str]) -> int:
    with TemporaryDirectory(prefix="lafka-warc-") as name:
        folder = Path(name)
        wheel = build(folder)
        (ROOT / "dist").mkdir(exist_ok=True)
        shutil.copy(wheel, ROOT / "dist")
        install(wheel, folder / "site")
        copy_tests(folder / "copy")
        return run_tests(folder / "site", folder / "copy", *arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
