"""One mongod for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.archec.mongods import Mongod, started


@pytest.fixture(scope="session")
def mongod() -> Iterator[Mongod]:
    server = started()
    yield server
    server.end()
