"""The short form of the phase ``removals``: the commands that write, with the worst plants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.faults import plants
from tests.faults.crawls import Crawls, Going
from tests.faults.sites import FaultSite


@pytest.mark.forms(count=3)
@pytest.mark.parametrize("command", ["crawl", "recover", "repair"])
@pytest.mark.parametrize("plant", ["files with our endings", "a folder", "links"])
def test_nothing_foreign_is_changed(
    crawls: Crawls, site: FaultSite, command: str, plant: str
) -> None:
    assert plants.changed(crawls, site, command, plant) == []


def test_a_change_is_seen(crawls: Crawls, site: FaultSite, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Crawls.command

    def removing(self: Crawls, archive: Path, *arguments: str, **more: Any) -> Going:
        (archive / "raw" / "thesis.txt").unlink(missing_ok=True)
        return real(self, archive, *arguments, **more)

    monkeypatch.setattr(Crawls, "command", removing)
    [trouble] = plants.changed(crawls, site, "runs", "a file")
    assert trouble.endswith("raw/thesis.txt is not as it was")
