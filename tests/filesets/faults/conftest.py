"""One site of all roads and one starter of crawls for the fault tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.crawls import Crawls
from tests.filesets.faults.roads import RoadSite


@pytest.fixture(scope="session")
def starter() -> Iterator[Crawls]:
    with Crawls() as crawls:
        yield crawls


@pytest.fixture
def crawls(starter: Crawls) -> Iterator[Crawls]:
    yield starter
    starter.clean()


@pytest.fixture(scope="session")
def site() -> Iterator[RoadSite]:
    with RoadSite() as site:
        yield site
