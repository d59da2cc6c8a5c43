"""One archive and one server for all tests of a process that only look; a browser a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.services.chromiums import browsing
from tests.web.served import Served, filled, serving


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("web")
    with serving(filled(folder / "archive"), folder / "withheld") as made:
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing() as made:
        yield made


@pytest.fixture
def pages(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.pages) as client:
        yield client


@pytest.fixture
def others(served: Served) -> Iterator[httpx.Client]:
    """The origin of the bytes of others."""
    with httpx.Client(base_url=served.bytes) as client:
        yield client
