"""The share of each room's lines and branches that the tests reach, held to a floor.

``python -m tests.floors`` (``make coverage``), where coverage has left its data, tells the shares,
and ends with 1 where one is below its floor. Floors are one to two points below what was
measured, so that a room whose new code has no test is noticed; who raises a share raises its floor.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from io import StringIO
from pathlib import Path

from coverage import Coverage
from coverage.exceptions import NoDataError

from tests.starts import ROOT

FLOORS = {
    ".": 95, "archec": 91, "capture": 94, "cli": 93, "filesets": 93, "index": 95, "jobs": 74,
    "papers": 92, "politeness": 95, "reports": 96, "runs": 95, "spiders": 87, "storage": 96,
    "urls": 95, "warc": 96, "web": 77, "witness": 96,
}  # fmt: skip
"""Room, a folder of ``lafka`` -> percent; ``.`` for the modules beside them."""


def shares(coverage: Coverage, package: Path) -> dict[str, float]:
    """Percent of the statements and branches of each room of *package* that *coverage* saw."""
    rooms = sorted(path.name for path in package.iterdir() if (path / "__init__.py").exists())
    patterns = {room: f"{package / room}/**" for room in rooms} | {".": f"{package}/*.py"}
    found = {}
    for room, pattern in patterns.items():
        try:
            found[room] = coverage.report(include=[pattern], file=StringIO(), ignore_errors=True)
        except NoDataError:
            found[room] = 0.0
    return found


def below(found: Mapping[str, float], floors: Mapping[str, int]) -> list[str]:
    """A sentence a room that is below its floor, has none, or is not there any more."""
    said = [
        f"{room}: {share:.1f} %, and its floor is {floors[room]} %"
        for room, share in found.items()
        if room in floors and share < floors[room]
    ]
    said += [f"{room}: it has no floor in tests/floors.py" for room in found if room not in floors]
    return said + [f"{room}: there is no such room" for room in floors if room not in found]


def main() -> int:
    coverage = Coverage(config_file=str(ROOT / "pyproject.toml"))
    coverage.load()
    found = shares(coverage, ROOT / "lafka")
    for room, share in found.items():
        print(f"{room:12} {share:5.1f} %")
    said = below(found, FLOORS)
    for sentence in said:
        print(sentence)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
