"""The topics of ingest: requests that are read, results that are written and persisted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lafka.jobs.kafka.topics import Topic

REQUESTS = (("ingest-file-requests-daily", 24), ("ingest-file-requests-bulk", 12),
            ("ingest-file-requests-priority", 6))  # fmt: skip
RESULTS = ("ingest-fileset-results", "ingest-file-results")
"""Of filesets, and of the single files that a ``success-file`` tells beside."""
_ASKED = {"cleanup.policy": "delete", "retention.ms": "7889400000"}  # a quarter of a year
_TOLD = {
    "cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1",
    "max.message.bytes": "31457280",
}  # fmt: skip
_SNAPPY = {"compression.type": "snappy"}


def topics(prefix: str, env: str) -> tuple[Topic, ...]:
    """All topics, as they should be: ``PREFIX-ENV.NAME``."""
    asked = [(name, count, _ASKED) for name, count in REQUESTS]
    told = [(name, 6, _TOLD) for name in RESULTS]
    return tuple(
        Topic(name=f"{prefix}-{env}.{name}", partitions=count, config={**config, **_SNAPPY})
        for name, count, config in (*asked, *told)
    )


def results(prefix: str, env: str) -> tuple[str, str]:
    """The names of the two topics of results."""
    fileset, file = (f"{prefix}-{env}.{name}" for name in RESULTS)
    return fileset, file


def group(prefix: str, env: str, worker: str) -> str:
    """The consumer group of a kind of *worker*: ``ingest-fileset``, ``persist-ingest-fileset``."""
    return f"{prefix}-{env}-{worker}"


def key(result: Mapping[str, Any]) -> str:
    """The key of a result's message: results of one request stay in order."""
    request = result["request"]
    return f"{request['ingest_type']}\t{request['base_url']}"
