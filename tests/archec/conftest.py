"""One mongod for all tests of a process, and a home with RePEc data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.archec.mongods import Mongod, started
from tests.archec.stores import Home, template


@pytest.fixture(scope="session")
def mongod() -> Iterator[Mongod]:
    server = started()
    yield server
    server.end()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Data of three papers, which no run has taken in."""
    home = Home(tmp_path / "archec")
    home.put({f"abc/wpaper/{n}.rdf": template(n) for n in range(3)})
    return home
