"""One broker for the tests of a process that need one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.filesets.crawls.ingesting import Ingest
from tests.services import postgresqls
from tests.services.kafkas import Kafka, started
from tests.services.postgresqls import Postgres
from tests.sites.platforms import PlatformSite


@pytest.fixture(scope="session")
def broker() -> Iterator[Kafka]:
    made = started()
    yield made
    made.end()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    server = postgresqls.started()
    yield server
    server.end()


@pytest.fixture
def site() -> Iterator[PlatformSite]:
    with PlatformSite() as served:
        yield served


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "archive"


@pytest.fixture
def ingest(broker: Kafka, tmp_path: Path) -> Iterator[Ingest]:
    with PlatformSite() as site:
        yield Ingest(broker, site, tmp_path / "archive")
