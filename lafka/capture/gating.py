"""The gate of a run: connected as LAFKA_GATE says, looked at in its loop, closed at its end.

Imported where LAFKA_GATE is set alone.
"""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import create_looping_call

from lafka.errors import BadArgument
from lafka.jobs.database.postgresql import Server
from lafka.politeness.claims import Claims, GateAway
from lafka.politeness.courier import RECONNECT
from lafka.politeness.gate import LOST, TICK, Gate
from lafka.storage.stopping import STOPPING, stop_for
from lafka.storage.threads import the_reactor

SCHEMES = ("postgresql://", "postgres://")


def _server(url: str) -> Server:
    if not url.startswith(SCHEMES):
        raise BadArgument("LAFKA_GATE has to be a URL that begins with postgresql://")
    try:
        return Server(url)
    except BadArgument as error:
        raise BadArgument(f"LAFKA_GATE: {error}") from None


def _claims(server: Server) -> Claims:
    return Claims(server, f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex}")


def check_gate(url: str, patience: float = 0.0) -> None:
    """Raise ``BadArgument`` where the gate at *url* does not answer or cannot be written to.

    A server that is starting is waited for, *patience* seconds at most.
    """
    server = _server(url)
    ends_at = time.monotonic() + patience
    while server.is_starting() and time.monotonic() < ends_at:
        time.sleep(RECONNECT)
    claims = _claims(server)
    try:
        claims.claim({})
        claims.leave()
    except GateAway as error:
        raise BadArgument(f"LAFKA_GATE cannot be used: {error}") from None


def _delay(crawler: Crawler, host: str) -> float:
    """Seconds between two requests to *host*, as its slot has them or will have them."""
    slot = crawler.engine.downloader.slots.get(host) if crawler.engine else None
    if slot is not None:
        return float(slot.delay)
    settings = crawler.settings
    own = settings.getdict("DOWNLOAD_SLOTS").get(host, {})
    return float(own.get("delay", settings.getfloat("DOWNLOAD_DELAY")))


def _call(work: Callable[[], object]) -> None:
    with suppress(RuntimeError):  # the loop is closed: nobody asks any more
        the_reactor().callFromThread(work)


def open_gate(crawler: Crawler, url: str) -> Gate:
    """The gate at *url*, for as long as the spider of *crawler* is open; ``BadArgument``."""
    gate = Gate(
        _claims(_server(url)),
        delay=partial(_delay, crawler),
        call=_call,
        on_lost=lambda sentence: stop_for(crawler, LOST, sentence),
        patience=crawler.settings.getfloat("LAFKA_GATE_PATIENCE"),
    )
    looks = create_looping_call(gate.look)

    def opened() -> None:
        looks.start(TICK, now=False)

    def closed() -> None:
        if looks.running:
            looks.stop()
        gate.close()
        assert crawler.stats is not None
        for name, count in gate.counts.items():
            crawler.stats.set_value(f"lafka/gate/{name}", count)

    crawler.signals.connect(opened, signals.spider_opened, weak=False)
    crawler.signals.connect(closed, signals.spider_closed, weak=False)
    crawler.signals.connect(gate.stop, STOPPING)
    return gate
