"""Messages sent, every delivery awaited."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from lafka.jobs.kafka import BrokerTrouble, client, library, quiet

LARGEST = 30_000_000
"""Bytes of a message, as the topics take them."""
_POLL = 0.2  # seconds
_FLUSH = 30.0


class TooLarge(BrokerTrouble):
    """A message of over :data:`LARGEST` bytes, or more than the topic takes."""


class Producer:
    """Sends to the brokers *servers*; a thread of its own waits for what they say.

    With ``acks=all`` and idempotence: what is acknowledged is there once, in the order of its key.
    Without *has_thread*, for who puts many messages, answers come in :meth:`put` where too many
    wait, and in :meth:`close`: two threads would take turns for each answer.
    """

    def __init__(
        self,
        servers: str,
        properties: Mapping[str, str] | None = None,
        *,
        has_thread: bool = True,
    ) -> None:
        self._kafka = library()
        self._producer = client("Producer", {
            **quiet(),
                "message.timeout.ms": 0,  # a broker that is away is waited for
            **(properties or {}),
            "bootstrap.servers": servers,
            "acks": "all",
            "enable.idempotence": True,
            "compression.type": "snappy",
            "message.max.bytes": LARGEST,
        })  # fmt: skip
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="kafka-producer", daemon=True)
        if has_thread:
            self._thread.start()

    def _serve(self) -> None:
        while not self._ended.is_set():
            self._producer.poll(_POLL)

    def send(self, topic: str, key: str, value: bytes) -> Future[None]:
        """Send *value*; what the result raises: ``TooLarge``, ``BrokerTrouble``."""
        answer: Future[None] = Future()

        def told(error: Any, _: Any) -> None:
            if error is None:
                answer.set_result(None)
            else:
                answer.set_exception(self._trouble(error, topic))

        try:
            self._producer.produce(topic, value, key.encode("utf-8", "replace"), on_delivery=told)
        except self._kafka.KafkaException as error:
            answer.set_exception(self._trouble(error.args[0], topic))
        except BufferError:
            answer.set_exception(BrokerTrouble(f"{topic}: too many messages wait to be sent"))
        return answer

    def put(
        self,
        topic: str,
        partition: int,
        key: bytes,
        value: bytes | None,
        on_delivery: Callable[[Any, Any], object],
    ) -> None:
        """Send *value*, or None to withdraw *key*, to *partition*; waits where too many wait.

        *on_delivery* is called with the broker's error, None for none, and the message.
        ``BrokerTrouble``.
        """
        while True:
            try:
                self._producer.produce(topic, value, key, partition, on_delivery=on_delivery)
                return
            except BufferError:
                self._producer.poll(_POLL)
            except self._kafka.KafkaException as error:
                raise self._trouble(error.args[0], topic) from None

    def _trouble(self, error: Any, topic: str) -> BrokerTrouble:
        is_too_large = error.code() == self._kafka.KafkaError.MSG_SIZE_TOO_LARGE
        kind = TooLarge if is_too_large else BrokerTrouble
        return kind(f"{topic}: {error.str()}")

    def close(self, wait: float = _FLUSH) -> None:
        """Wait *wait* seconds at most for what was sent; ``BrokerTrouble`` where it is not told."""
        left = self._producer.flush(wait)
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        if left:
            raise BrokerTrouble(f"{left} messages were not acknowledged")
