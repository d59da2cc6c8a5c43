"""The way of a template from its file to the records, by the functions that it goes through."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import FrameType

import lafka
from tests.archec.stores import Home, template

_HOUSE = str(Path(lafka.__file__).parent)
MOST = 100
MODULES = 16
"""A road of five was asked for; each module beyond may go, and none may come."""


def calls(home: Home, name: str, count: int) -> Counter[str]:
    """The functions of Lafka that a run calls to take in *count* new templates of one file."""
    found: Counter[str] = Counter()

    def take(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(_HOUSE):
            found[f"{frame.f_code.co_filename}:{frame.f_code.co_qualname}"] += 1

    home.put({f"abc/{name}.rdf": "".join(template(f"{name}{n}") for n in range(count))})
    sys.setprofile(take)
    try:
        home.tobi()
    finally:
        sys.setprofile(None)
    return found


def test_a_template_goes_from_file_to_record_through_few_modules_and_functions(tmp_path):
    home = Home(tmp_path)
    few, many = calls(home, "a", 100), calls(home, "b", 400)
    each = {name: (many[name] - few[name]) / 300 for name in many}
    of_templates = {name for name, times in each.items() if times >= 0.5}
    assert len(of_templates) <= MOST
    assert len({name.partition(":")[0] for name in of_templates}) <= MODULES
    assert any(name.endswith("gathering.py:Gathering.put") for name in of_templates)
