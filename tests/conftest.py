"""For all tests: no deadlines, as machines are busy, and nothing foreign is touched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests import removals, starts

settings.register_profile("lafka", settings.default, deadline=None)
settings.load_profile("lafka")
removals.install()


@pytest.fixture(autouse=True)
def _nothing_foreign_is_touched() -> Iterator[None]:
    with removals.watched():
        yield


@pytest.fixture(scope="session")
def programs() -> Iterator[Path]:
    """A folder with ``lafka`` and ``scrapy``, which start at once."""
    with starts.programs() as folder:
        yield folder
