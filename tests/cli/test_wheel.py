"""The wheel has all that Lafka needs, and a folder without a checkout is enough to use it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from lafka.cli.docs import pages

ROOT = Path(__file__).parents[2]
BUILD = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the checkout, made without a network."""
    place = tmp_path_factory.mktemp("wheel")
    source = place / "source"
    left_out = shutil.ignore_patterns("__pycache__")
    for name in ("lafka", "docs"):
        shutil.copytree(ROOT / name, source / name, ignore=left_out)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    subprocess.run(
        [sys.executable, "-c", BUILD, place], cwd=source, check=True, capture_output=True
    )
    (made,) = place.glob("lafka-*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)
    (data,) = folder.glob("lafka-*.data/data")
    shutil.move(data / "share", folder / "share")
    return folder


def test_it_has_each_file_of_the_package(installed: Path) -> None:
    ours = {
        path.relative_to(ROOT)
        for path in (ROOT / "lafka").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    there = {
        path.relative_to(installed) for path in (installed / "lafka").rglob("*") if path.is_file()
    }
    assert sorted(map(str, ours - there)) == []


def test_it_has_each_page(installed: Path) -> None:
    docs = installed / "share/doc/lafka"
    assert {page.stem for page in docs.rglob("*.md")} >= set(pages())


def test_it_is_used_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    env = os.environ | {"PYTHONPATH": str(installed), "HOME": str(tmp_path)}
    code = "import sysconfig; from lafka.cli import docs; from lafka.cli.entry import main\n"
    code += f"docs.sysconfig.get_path = lambda *args: {str(installed)!r}\nraise SystemExit(main())"
    line = [sys.executable, "-P", "-c", code, "docs", "mine-texts"]
    done = subprocess.run(line, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (ROOT / "docs/how-to/mine-texts.md").read_text("utf-8")
