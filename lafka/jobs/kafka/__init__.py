"""Kafka: topics, offsets of what is done, a consumer in a thread of its own, a producer that waits.

``topics``     ``kafka://HOST[,HOST]/TOPIC``, properties of librdkafka from a file, topics made on
               request and held against what they should be
``consuming``  messages for a crawl, polled for ever; for a worker in batches; whole partitions
``producing``  every delivery awaited

``confluent_kafka`` is imported in here alone; it is the extra ``lafka[kafka]``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar

from lafka.errors import BadArgument, LafkaError

_log = logging.getLogger(__name__)
_MINUTE = 60.0
_PAUSE = 0.5  # seconds
PASSING = frozenset(
    ("LEADER_NOT_AVAILABLE", "NOT_LEADER_FOR_PARTITION", "NOT_CONTROLLER", "REQUEST_TIMED_OUT",
     "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR",
     "_ALL_BROKERS_DOWN", "_TIMED_OUT", "_TRANSPORT")
)  # fmt: skip
"""Errors of a broker that has just begun, or that is not reached; asked again, it may answer."""
T = TypeVar("T")


class BrokerTrouble(LafkaError):
    """The broker refuses for good, or does not answer; what was not acknowledged is not done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of a topic; ``token`` tells it from one of the same offset read again."""

    topic: str
    partition: int
    offset: int
    value: bytes
    token: int = 0

    @property
    def place(self) -> str:
        return f"{self.topic}/{self.partition}@{self.offset}"


def library() -> ModuleType:
    """confluent_kafka; ``BadArgument`` where it is missing."""
    try:
        import confluent_kafka  # noqa: PLC0415
    except ImportError:
        raise BadArgument("Kafka needs confluent-kafka: pip install 'lafka[kafka]'") from None
    return confluent_kafka


def quiet() -> dict[str, Any]:
    """Properties with which brokers that are away are told once a minute, not at each try."""
    told_at = -_MINUTE

    def complain(error: Any) -> None:
        nonlocal told_at
        now = time.monotonic()
        if now - told_at >= _MINUTE:
            told_at = now
            _log.warning("Kafka: %s", error.str())

    return {"log_level": 0, "error_cb": complain}


def client(kind: str, settings: Mapping[str, Any]) -> Any:
    """The library's ``Consumer`` or ``Producer``; ``BrokerTrouble`` where it takes no property."""
    kafka = library()
    try:
        return getattr(kafka, kind)(settings)
    except kafka.KafkaException as error:
        raise BrokerTrouble(
            f"kafka://{settings['bootstrap.servers']}: {error.args[0].str()}"
        ) from None


def ask_again(ask: Callable[[], T], patience: float) -> T:
    """Return what *ask* returns, asked again for *patience* seconds while its error may pass.

    Raises the ``KafkaException`` of the last time.
    """
    begun_at = time.monotonic()
    while True:
        try:
            return ask()
        except library().KafkaException as error:
            is_late = time.monotonic() - begun_at >= patience
            if is_late or error.args[0].name() not in PASSING:
                raise
        time.sleep(_PAUSE)
