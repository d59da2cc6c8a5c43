"""Lines that are put on a fleet's topics, and a worker whose brokers are away."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lafka.jobs.kafka import BrokerTrouble
from lafka.papers.crawling.fleetinput import FleetInput
from lafka.papers.crawling.fleets import Fleet, put
from lafka.papers.lists.rows import ListRow, verdict
from lafka.pids import SCHEMES

SCHEME = SCHEMES["RePEc"]


@contextmanager
def silent_fleet() -> Iterator[Fleet]:
    """A fleet at a broker that answers nobody."""
    with socket.socket() as kept:  # bound, and nobody listens
        kept.bind(("127.0.0.1", 0))
        how = {"message.timeout.ms": "500", "queue.buffering.max.messages": "10"}
        servers = f"127.0.0.1:{kept.getsockname()[1]}"
        yield Fleet(servers=servers, name="crawl", partitions=1, properties=how)


def test_a_put_ends_where_no_broker_answers_and_the_queue_is_full() -> None:
    rows = [ListRow(f"RePEc:a:b:{n}", f"http://h.example/{n}") for n in range(200)]
    lines = [verdict(number, row, SCHEME) for number, row in enumerate(rows)]
    with (
        silent_fleet() as fleet,
        pytest.raises(BrokerTrouble, match=r"^crawl\.lines: .*[Tt]imed out"),
    ):
        put(fleet, lines, SCHEME)


def test_a_worker_says_in_a_sentence_that_no_broker_tells_what_is_done(tmp_path: Path) -> None:
    sentence = r"^no broker has said within 2 seconds how far crawl\.lines is done$"
    with silent_fleet() as fleet:
        dead = tmp_path / "dead.jsonl"
        given = FleetInput(fleet, SCHEME, "w", dead=dead, failed=print, patience=60.0)
        with pytest.raises(BrokerTrouble, match=sentence):
            given._are_committed([0])
        given.close()
