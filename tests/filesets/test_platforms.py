"""Every recorded case gives the item, or the named status, that is written beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lafka.filesets.platforms import PLATFORMS
from lafka.filesets.platforms.archiveorg import ArchiveorgHelper
from lafka.filesets.platforms.dataverse import parse_dataverse_persistentid
from lafka.filesets.platforms.figshare import parse_figshare_url_path
from lafka.filesets.platforms.web import file_name
from tests.filesets.driving import CASES, outcome

FILES = sorted(CASES.glob("*/*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_recorded_case_gives_what_is_written_beside_it(path: Path) -> None:
    case = json.loads(path.read_text("utf-8"))
    assert outcome(case) == case["expected"]


def test_every_platform_has_recorded_cases() -> None:
    assert {path.parent.name for path in FILES} == {made.platform_name for made in PLATFORMS}
