"""Addresses of topics, ``kafka://HOST[,HOST]/TOPIC``, and librdkafka's properties from a file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from lafka.errors import BadArgument

PREFIX = "kafka://"
_HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9a-fA-F:]+\])(?::[0-9]{1,5})?")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
OURS = frozenset({
    "bootstrap.servers", "group.id", "enable.auto.commit", "enable.auto.offset.store",
    "auto.offset.reset", "partition.assignment.strategy", "acks", "enable.idempotence",
})  # fmt: skip
"""Properties on which at-least-once stands: a file cannot change them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Brokers, comma-separated, and a topic, empty where none is said."""

    servers: str
    topic: str = ""

    @classmethod
    def parse(cls, url: str) -> Self:
        """*url* as ``kafka://HOST[:PORT][,HOST...][/TOPIC]``; ``BadArgument``."""
        servers, _, topic = url.removeprefix(PREFIX).partition("/")
        hosts = servers.split(",")
        if not url.startswith(PREFIX) or not all(map(_HOST.fullmatch, hosts)):
            shown = re.sub("//.*@", "//", url)  # a password is not told
            raise BadArgument(f"{shown!r} is not like kafka://HOST:9092,HOST:9092/TOPIC")
        if topic and not _TOPIC.fullmatch(topic):
            raise BadArgument(f"{topic!r} is no name of a topic")
        return cls(servers=servers, topic=topic)


def is_kafka(text: str) -> bool:
    return text.startswith(PREFIX)


def properties(path: str | None) -> dict[str, str]:
    """The properties in the file at *path*, ``name=value`` lines; ``BadArgument``.

    Empty lines and those that begin with ``#`` are passed over; properties that are ours are
    refused.
    """
    if not path:
        return {}
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadArgument(f"LAFKA_KAFKA: {path}: {error}") from None
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            name, is_there, value = line.partition("=")
            if not is_there or name.strip() in OURS:
                why = "is Lafka's own" if is_there else "is not like name=value"
                raise BadArgument(f"LAFKA_KAFKA: {path}:{number}: {name.strip()!r} {why}")
            found[name.strip()] = value.strip()
    return found
