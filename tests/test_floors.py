"""What tests reach is told as it is, and a room that is below its floor, or has none, is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import reached
from tests.floors import FLOORS, below, runs, shares
from tests.starts import ROOT

MODULE = '''\
"""Text."""
from __future__ import annotations
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import nothing
class Class:
    """Text."""
    field: int = 1
def which(value):
    """Text."""
    global seen
    try:
        if value:
            seen = "yes"
        else:
            seen = "no"
        match value:
            case 0:
                raise ValueError
            case 1:
                return value
    except ValueError:
        seen = "error"
    finally:
        value = None
    while True:
        break
    else:
        seen = "never"
    return seen
'''


def package(folder: Path, modules: dict[str, str]) -> Path:
    for path, text in modules.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("values", "missed"),
    [
        ([], {11, 12, 13, 14, 16, 17, 19, 21, 23, 25, 26, 27, 29, 30}),
        ([0], {14, 21, 29}),
        ([1], {16, 19, 23, 26, 27, 29, 30}),
        ([2], {16, 19, 21, 23, 29}),
        ([0, 1], {29}),
    ],
)  # fmt: skip
def test_each_statement_that_ran_is_told(
    tmp_path: Path, values: list[int], missed: set[int]
) -> None:
    pack = package(tmp_path / "pack", {"a.py": "x = 1\n", "b.py": MODULE})
    marks = bytearray(200)
    before = "x = 1\n".count("\n") + 2
    names: dict[str, Any] = {"__name__": "b", "__reached__": marks}
    exec(reached.marked(MODULE.encode(), "b.py", before), names)
    assert names["__doc__"] == "Text."
    assert names["which"].__doc__ == "Text."
    assert [names["which"](value) for value in values] == [
        {0: "error", 1: 1, 2: "yes"}[value] for value in values
    ]
    yes, no = reached.lines(pack, bytes(marks))[pack / "b.py"]
    assert set(no) == missed
    assert set(yes) | missed == {
        3,
        4,
        6,
        8,
        9,
        *range(11, 15),
        16,
        17,
        19,
        21,
        23,
        25,
        26,
        27,
        29,
        30,
    }
    assert reached.lines(pack, bytes(marks))[pack / "a.py"] == ([], [1])


def test_a_traceback_names_the_lines_of_the_file() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        exec(reached.marked(b"x = 1\n\ny = x / 0\n", "made.py", 0), {"__reached__": bytearray(9)})
    assert caught.traceback[-1].lineno + 1 == 3


def test_a_process_that_is_killed_has_told_what_it_reached(tmp_path: Path) -> None:
    """In a run of its own; what it forks is told, too."""
    code = (
        "import os, signal, sys\n"
        "sys.argv.append('--floors')\n"
        "import tests\n"
        "from tests import reached\n"
        "if not (pid := os.fork()):\n"
        "    import lafka.storage.outputs\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "os.waitpid(pid, 0)\n"
        "assert 'lafka' not in sys.modules\n"
        "found = reached.end()\n"
        "assert 'TESTS_REACHED' not in os.environ\n"
        "print(*(p.relative_to(reached.PACKAGE) for p, (yes, no) in found.items() if yes))\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != reached.FILE}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment | {"TMPDIR": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert "storage/outputs.py" in done.stdout.split()
    assert list(tmp_path.iterdir()) == []


def test_lines_that_were_missed_are_told_as_runs() -> None:
    assert runs([1, 5, 20], [3, 4, 7, 9, 12, 22]) == "3-4, 7-12, 22"
    assert runs([1], []) == ""


def test_a_share_is_of_the_room_alone(tmp_path: Path) -> None:
    found = {
        tmp_path / "alone.py": ([1], []), tmp_path / "never.py": ([], [1]),
        tmp_path / "one/half.py": ([1, 2, 4], [3]), tmp_path / "one/__init__.py": ([], []),
        tmp_path / "two/deep/whole.py": ([1], []),
    }  # fmt: skip
    assert shares(found, tmp_path) == {".": 50, "one": 75, "two": 100}


def test_what_is_below_its_floor_or_has_none_is_told() -> None:
    found = {"papers": 90.4, "web": 80.0, "new": 99.0}
    assert below(found, {"papers": 91, "web": 80, "gone": 5}) == [
        "papers: 90.4 %, and its floor is 91 %",
        "new: it has no floor in tests/floors.py",
        "gone: there is no such room",
    ]
    assert below(found, {"papers": 90, "web": 80, "new": 98}) == []


def test_each_room_has_a_floor() -> None:
    rooms = {path.parent.name for path in (ROOT / "lafka").glob("*/__init__.py")}
    assert set(FLOORS) == rooms | {"."}
