"""A crawl's brokers: requests come from them, results go to them, and both end in order."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from lafka.errors import StorageTrouble
from lafka.filesets.crawling.arguments import Arguments
from lafka.filesets.crawling.lines import Inbox, ThreadRunner
from lafka.filesets.model.messages import file_result
from lafka.filesets.results import group, key, results
from lafka.jobs.dead import burying
from lafka.jobs.kafka import BrokerTrouble
from lafka.jobs.kafka.producing import Producer, TooLarge


class _Owed:
    """A request's result, and how many acknowledgements it waits for."""

    def __init__(self, result: Mapping[str, Any], left: int) -> None:
        self.result = result
        self._left = left
        self._turn = threading.Lock()

    def came(self) -> bool:
        """One more acknowledgement came; whether it was the last."""
        with self._turn:
            self._left -= 1
            return not self._left


class Publisher:
    """Sends results by *producer* to *topics*, those of filesets and of files.

    *acknowledged* is called with a fileset's result when all of it is at the broker, *failed* with
    what ends the publishing; in whatever thread.
    """

    def __init__(
        self,
        producer: Producer,
        topics: tuple[str, str],
        *,
        acknowledged: Callable[[Mapping[str, Any]], object],
        failed: Callable[[BrokerTrouble | StorageTrouble], object],
    ) -> None:
        self._producer = producer
        self._filesets, self._files = topics
        self._acknowledged = acknowledged
        self._failed = failed
        self._files_owed: defaultdict[str, deque[_Owed]] = defaultdict(deque)
        self.published = 0

    def publish(self, results: Sequence[dict[str, Any]]) -> None:
        """Send *results*, in the feed's order: a file's behind its fileset's. From one thread.

        One whose request has no type or no URL has no key, and is told in the feed alone.
        """
        for result in results:
            request = result["request"]
            if not (request.get("ingest_type") and request.get("base_url")):
                self._acknowledged(result)
            elif owed := self._owed_for(key(result)):
                self._send(self._files, result, owed)
            else:
                self._publish(result)

    def _publish(self, result: dict[str, Any]) -> None:
        file = file_result(result)
        owed = _Owed(result, 1 if file is None else 2)
        if file is not None:
            self._files_owed[key(file)].append(owed)
        self._send(self._filesets, result, owed)

    def _owed_for(self, name: str) -> _Owed | None:
        """Return the request whose file result has the key *name*."""
        if name not in self._files_owed:
            return None
        waiting = self._files_owed[name]
        owed = waiting.popleft()
        if not waiting:
            del self._files_owed[name]
        return owed

    def _send(self, topic: str, result: dict[str, Any], owed: _Owed) -> None:
        text = json.dumps(result, ensure_ascii=False).encode("utf-8", "backslashreplace")
        answer = self._producer.send(topic, key(result), text)
        answer.add_done_callback(lambda answer: self._answered(answer, topic, result, owed))

    def _answered(
        self, answer: Future[None], topic: str, result: dict[str, Any], owed: _Owed
    ) -> None:
        try:
            answer.result()
            self.published += 1
            if owed.came():
                self._acknowledged(owed.result)
        except TooLarge as error:
            if "manifest" in result:
                self._send(topic, without_manifest(result), owed)
            else:
                self._failed(error)
        except (BrokerTrouble, StorageTrouble) as error:
            self._failed(error)

    def close(self) -> None:
        """Wait until all is acknowledged; ``BrokerTrouble`` where it is not in half a minute."""
        self._producer.close()


def without_manifest(result: Mapping[str, Any]) -> dict[str, Any]:
    """*result* as it is told where a message of the whole would be too large."""
    left = {name: value for name, value in result.items() if name != "manifest"}
    return {**left, "manifest_truncated": True}


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
        aside: ThreadRunner,
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
