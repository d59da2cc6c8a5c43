"""Lines that are put on a fleet's topics."""

from __future__ import annotations

import socket

import pytest

from lafka.jobs.kafka import BrokerTrouble
from lafka.papers.crawling.fleets import Fleet, put
from lafka.papers.lists.rows import ListRow, verdict
from lafka.pids import SCHEMES

SCHEME = SCHEMES["RePEc"]


def test_a_put_ends_where_no_broker_answers_and_the_queue_is_full() -> None:
    rows = [ListRow(f"RePEc:a:b:{n}", f"http://h.example/{n}") for n in range(200)]
    lines = [verdict(number, row, SCHEME) for number, row in enumerate(rows)]
    with socket.socket() as kept:  # bound, and nobody listens
        kept.bind(("127.0.0.1", 0))
        how = {"message.timeout.ms": "500", "queue.buffering.max.messages": "10"}
        fleet = Fleet(
            servers=f"127.0.0.1:{kept.getsockname()[1]}", name="crawl", partitions=1, properties=how
        )
        with pytest.raises(BrokerTrouble, match=r"^crawl\.lines: .*[Tt]imed out"):
            put(fleet, lines, SCHEME)
