"""A fileset that another process has is tried again, soon at first."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lafka.filesets.crawling import ingests
from lafka.filesets.crawling.ingests import BUSY_MOST, Ingest
from lafka.filesets.model.messages import IngestRequest


@pytest.mark.parametrize("seconds", [3.0, 60.0])
def test_a_worker_waits_no_longer_than_the_other_took(
    monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """At most twice as long, and at most so many seconds more."""
    waited: list[float] = []

    async def sleep(pause: float) -> None:
        waited.append(pause)

    async def aside(work: Any, fileset: str) -> Any:
        assert work == "locked"
        return SimpleNamespace(summary=None) if sum(waited) >= seconds else None

    shop: Any = SimpleNamespace(
        locks={},
        wire=SimpleNamespace(aside=aside),
        filesets=SimpleNamespace(locked="locked", root=Path()),
    )
    monkeypatch.setattr(ingests.asyncio, "sleep", sleep)
    ingest = Ingest(shop, IngestRequest.of_url("https://x.example/"), 1)
    asyncio.run(ingest._locked("fileset:x:y:1"))
    assert seconds <= sum(waited) <= min(2 * seconds + 0.1, seconds + BUSY_MOST)
    assert len(waited) < 20 + seconds / BUSY_MOST
