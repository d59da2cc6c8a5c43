"""One PostgreSQL for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.services.postgresqls import Postgres, started


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    server = started()
    yield server
    server.end()
