"""The last items of a crawl: tests/crawls/test_stops.py has the crawls that need it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import signals
from scrapy.signalmanager import SignalManager
from twisted.internet.defer import Deferred

from lafka.runs import exits
from lafka.runs.exits import LastItems


def called_back(
    monkeypatch: pytest.MonkeyPatch, slot: Any, *, looks: int = 1, then: Any = None
) -> list[Any]:
    """With what the *slot*'s closing was called back, after so many looks; *then* before each."""
    calls: list[Any] = []
    monkeypatch.setattr(exits, "call_later", lambda _, work: calls.append(work))
    crawler: Any = SimpleNamespace(
        signals=SignalManager(), spider="spider", engine=SimpleNamespace(
            scraper=SimpleNamespace(slot=slot)
        ),
    )  # fmt: skip
    extension = LastItems.from_crawler(crawler)
    for _ in range(3):  # one look for all
        crawler.signals.send_catch_log(signals.item_scraped, item={})
    for _ in range(looks):
        [look] = calls
        calls.clear()
        look()
        if then:
            then()
    told: list[Any] = []
    if slot is not None and slot.closing is not None:
        slot.closing.addCallback(told.append)
    assert extension._looks == bool(calls)
    return told


def slot_with(items: int, *, closes: bool = True) -> Any:
    slot = SimpleNamespace(items=items, closing=Deferred() if closes else None)
    slot.is_idle = lambda: not slot.items
    return slot


def test_the_last_item_lets_the_spider_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert called_back(monkeypatch, slot_with(0)) == ["spider"]


def test_it_looks_again_while_items_are_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    slot = slot_with(1)
    assert called_back(monkeypatch, slot) == []

    def ends() -> None:
        slot.items = 0

    slot = slot_with(1)
    assert called_back(monkeypatch, slot, looks=2, then=ends) == ["spider"]


def test_nothing_is_told_that_was_told_already_or_to_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slot = slot_with(0)
    slot.closing.callback("told")
    assert called_back(monkeypatch, slot) == ["told"]
    assert called_back(monkeypatch, slot_with(0, closes=False)) == []
    assert called_back(monkeypatch, None) == []
