"""A fleet behind a gate whose workers are disturbed; ``make faults`` has the long form."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.machines import Ordeal, Servers, disturbed

PAPERS = 120


@pytest.fixture
def servers() -> Iterator[Servers]:
    with Servers.started() as servers:
        yield servers


@pytest.mark.rare("each of its disturbances alone is in the long suite")
@pytest.mark.server("Kafka and PostgreSQL")
def test_a_fleet_whose_workers_are_killed_stopped_added_and_lost_has_each_line_once(
    servers: Servers, tmp_path: Path
) -> None:
    events = [
        Ordeal.kill_a_worker, Ordeal.stop_a_worker, Ordeal.add_a_worker, Ordeal.take_a_worker_away,
    ]  # fmt: skip
    assert disturbed(Ordeal(servers, tmp_path, PAPERS, random.Random(30)), events) == []
