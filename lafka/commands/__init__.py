"""One verb a file: argument, call, print. Results go to stdout, the rest to stderr."""

from __future__ import annotations

import sys

from lafka.errors import LafkaError


def refused(verb: str, error: LafkaError) -> int:
    """Say on stderr, in one sentence, why *verb* cannot be done; the exit code for it, 2."""
    print(f"scrapy {verb}: {error}", file=sys.stderr)
    return 2
