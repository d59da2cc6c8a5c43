"""A crawl's brokers: requests come from them, results go to them, and both end in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from lafka.errors import StorageTrouble
from lafka.filesets.crawling.arguments import Arguments
from lafka.filesets.crawling.inbox import Aside, Inbox
from lafka.filesets.crawling.publishing import Publisher
from lafka.filesets.results.tables import burying
from lafka.filesets.results.topics import group, results
from lafka.jobs.kafka import BrokerTrouble
from lafka.jobs.kafka.producing import Producer


class Brokers:
    """Publishes results, and reads requests where the *arguments* name a topic; made in the loop.

    *names*: prefix and environment of topics and groups. *acknowledged* is called, in a thread,
    with each result that is at the broker, before its request is done; *let_go*, in a thread, with
    the places of messages that are another worker's by now; *failed*, in the loop, with what ends
    reading or publishing.
    """

    def __init__(
        self,
        arguments: Arguments,
        names: tuple[str, str],
        *,
        aside: Aside,
        dead: Path,
        acknowledged: Callable[[Mapping[str, Any]], object],
        let_go: Callable[[list[str]], object],
        failed: Callable[[BrokerTrouble | StorageTrouble], object],
        window: int,
        properties: Mapping[str, str],
    ) -> None:
        loop = asyncio.get_running_loop()

        def told(error: BrokerTrouble | StorageTrouble) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(lambda: failed(error))

        self._acknowledged, self._let_go, self._told = acknowledged, let_go, told
        self.publisher = Publisher(
            Producer(arguments.servers, properties),
            results(*names),
            acknowledged=self._done,
            failed=told,
        )
        self.inbox: Inbox | None = None
        if arguments.topic is not None:
            self.inbox = Inbox(
                arguments.topic,
                group(*names, "ingest-fileset"),
                arguments.rules.types,
                aside=aside,
                dead=burying(dead),
                failed=told,
                let_go=self._lost,
                window=window,
                properties=properties,
            )

    def start(self) -> None:
        if self.inbox is not None:
            self.inbox.start()

    def _lost(self, places: list[str]) -> None:
        try:
            self._let_go(places)
        except StorageTrouble as error:
            self._told(error)

    def _done(self, result: Mapping[str, Any]) -> None:
        self._acknowledged(result)
        if self.inbox is not None:
            self.inbox.done(result.get("lafka", {}).get("message", ""))

    @property
    def counts(self) -> dict[str, int]:
        """Messages by what became of them."""
        read = self.inbox.counts if self.inbox is not None else {}
        return {**read, "published": self.publisher.published}

    def leave(self) -> None:
        """Wait for what is published, commit what is done, leave the group; ``BrokerTrouble``."""
        try:
            self.publisher.close()
        finally:
            if self.inbox is not None:
                self.inbox.stop()
