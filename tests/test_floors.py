"""The floors of coverage: a room that is below its own, or has none, is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from coverage import Coverage

from tests.floors import FLOORS, below, shares
from tests.starts import ROOT

HALF = "def seen(): return 1\ndef unseen():\n    return 2\nseen()\n"


def test_a_share_is_of_the_room_alone(tmp_path: Path):
    for path, text in {
        "pack/__init__.py": "", "pack/alone.py": "x = 1\n", "pack/never.py": "x = 1\n",
        "pack/one/__init__.py": "", "pack/one/half.py": HALF, "pack/two/__init__.py": "",
        "pack/two/deep/__init__.py": "", "pack/two/deep/whole.py": "x = 1\n",
    }.items():  # fmt: skip
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "run.py").write_text("import pack.alone, pack.one.half, pack.two.deep.whole\n")
    line = [sys.executable, "-m", "coverage", "run", "--source=pack", "run.py"]
    subprocess.run(line, cwd=tmp_path, check=True)
    coverage = Coverage(data_file=str(tmp_path / ".coverage"), config_file=False)
    coverage.load()
    found = shares(coverage, tmp_path / "pack")
    assert {room: round(share) for room, share in found.items()} == {".": 50, "one": 75, "two": 100}


def test_what_is_below_its_floor_or_has_none_is_told():
    found = {"papers": 90.4, "web": 80.0, "new": 99.0}
    assert below(found, {"papers": 91, "web": 80, "gone": 5}) == [
        "papers: 90.4 %, and its floor is 91 %",
        "new: it has no floor in tests/floors.py",
        "gone: there is no such room",
    ]
    assert below(found, {"papers": 90, "web": 80, "new": 98}) == []


def test_each_room_has_a_floor():
    rooms = {path.parent.name for path in (ROOT / "lafka").glob("*/__init__.py")}
    assert set(FLOORS) == rooms | {"."}
