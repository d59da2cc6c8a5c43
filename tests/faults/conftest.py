"""One site and one starter of crawls for all fault tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.crawls import Crawls
from tests.faults.sites import FaultSite


@pytest.fixture(scope="session")
def starter() -> Iterator[Crawls]:
    with Crawls() as crawls:
        yield crawls


@pytest.fixture
def crawls(starter: Crawls) -> Iterator[Crawls]:
    yield starter
    starter.clean()


@pytest.fixture(scope="session")
def served() -> Iterator[FaultSite]:
    with FaultSite(1) as site:
        yield site


@pytest.fixture
def site(served: FaultSite) -> FaultSite:
    served.forget()
    return served


@pytest.fixture(scope="session")
def large() -> Iterator[FaultSite]:
    """Twenty lines, two of them pages that a child process reads."""
    with FaultSite(2, pages=True) as site:
        yield site
