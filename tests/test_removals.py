"""The hook that hears of each removal does: with code of Lafka, and with no other."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from lafka.storage import drafts
from tests.removals import LAFKA, WATCH, ForeignPath, watched

ACTS = {
    "unlink": "path.unlink()",
    "unlink in an open folder": "os.unlink(path.name, dir_fd=os.open(path.parent, os.O_RDONLY))",
    "rename": "path.rename(path.with_name('other'))",
    "rename over": "drafts.replace(path, [b'other'])",
    "truncate": "os.truncate(path, 1)",
    "ftruncate": "os.ftruncate(os.open(path, os.O_RDWR), 1)",
    "open to truncate": "path.write_text('other')",
    "write over": "drafts.write(path, [b'other'])",
    "rmtree": "shutil.rmtree(path.parent)",
}


def as_lafka(act: str, path: Path) -> None:
    """Do *act* as code of Lafka would."""
    exec(
        compile(act, f"{LAFKA}made_up.py", "exec"),
        {"os": os, "shutil": shutil, "drafts": drafts, "path": path},
    )


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_a_foreign_file_is_not_touched_and_the_test_fails(tmp_path: Path, act: str) -> None:
    path = tmp_path / "thesis.txt"
    path.write_text("mine")
    with pytest.raises(AssertionError, match=str(tmp_path)), watched():
        _is_refused(act, path)
    assert path.read_text() == "mine"
    assert WATCH.faults == []


def _is_refused(act: str, path: Path) -> None:
    with pytest.raises(ForeignPath):
        as_lafka(act, path)


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_what_lafka_made_may_go(tmp_path: Path, act: str) -> None:
    path = tmp_path / "folder" / "own.txt"
    as_lafka("path.parent.mkdir(); path.write_text('own')", path)
    as_lafka(act, path)
    assert not path.exists() or path.read_text() != "own"


def test_what_a_test_does_itself_is_its_own_affair(tmp_path: Path) -> None:
    path = tmp_path / "thesis.txt"
    for _ in range(2):
        path.write_text("mine")
    drafts.replace(path, [b"other"])
    path.unlink()
