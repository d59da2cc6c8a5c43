"""Workers of a fleet behind a gate, disturbed: the short form; the long one is ``make faults``."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.machines import Ordeal, Servers, disturbed


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with Servers.started() as both:
        yield both


@pytest.mark.server("Kafka")
@pytest.mark.server("PostgreSQL")
def test_a_fleet_behind_a_gate_loses_nothing_and_asks_no_host_too_soon(
    servers: Servers, tmp_path: Path
) -> None:
    ordeal = Ordeal(servers, tmp_path, 120, random.Random(1), stopped=3.0)
    events = [Ordeal.kill_a_worker, Ordeal.stop_a_worker, Ordeal.kill_the_broker,
              Ordeal.kill_the_gate, Ordeal.cut_the_way_of_one_to_the_gate]  # fmt: skip
    assert disturbed(ordeal, events) == []
    assert ordeal.counts["asked twice"] <= ordeal.lines // 10
