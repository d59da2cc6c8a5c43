"""Every status of the closed vocabulary is told by a real crawl in a test."""

from __future__ import annotations

import ast

from lafka.filesets.model.types import Status
from tests.crawls.running import ROOT


def test_each_status_is_named_by_a_test_of_crawls() -> None:
    told = {
        inner.value
        for path in (ROOT / "tests" / "filesets" / "crawls").glob("test_*.py")
        for test in ast.parse(path.read_text("utf-8")).body
        if isinstance(test, ast.FunctionDef) and test.name.startswith("test_")
        for inner in ast.walk(test)
        if isinstance(inner, ast.Constant)
    }
    assert set(map(str, Status)) - told == set()
