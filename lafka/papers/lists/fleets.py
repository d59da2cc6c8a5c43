"""Lines of a list as messages of a fleet's two topics, and the join of both by their key.

The key of a line and of its outcome is ``pid TAB futli``, as the list has them, in UTF-8; the
value of a line is ``{"futli": {...}}`` as far as the list has more than that, with ``since``, a
time before which an outcome does not count. docs/formats.md, "The topics of a fleet".
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import datetime
from typing import Any

from lafka.errors import BadList
from lafka.papers.lists.futlis import Line, shard_of_line
from lafka.papers.lists.rows import ListRow, verdict
from lafka.pids import Scheme

_BITS = 40
"""Bits of a line's number that are its offset; the partition is above them."""
_TIME = re.compile(rb'"time": ?"([^"]{20})"')
_FOREVER = 10**14


def number_of(partition: int, offset: int) -> int:
    """Return the number of the line at *offset* of *partition*."""
    return partition << _BITS | offset


def numbers_of(partition: int) -> range:
    """Return the numbers that lines of *partition* can have."""
    return range(partition << _BITS, (partition + 1) << _BITS)


def partition_of(number: int) -> int:
    """Return the partition of the line *number*."""
    return number >> _BITS


def key_of(line: Line) -> bytes:
    """Return the key of *line*."""
    return f"{line.pid_text}\t{line.url_text}".encode()


def name_of(line: Line) -> tuple[str, str]:
    """Return the pid and the futli as written that the outcome feed has of *line*."""
    return line.futli.pid.text if line.futli else line.pid_text, line.url_text


def value_of(line: Line, scheme: Scheme, since: str = "") -> bytes:
    """Return the value of *line*, whose pid was judged by *scheme*."""
    more: dict[str, Any] = {}
    if line.futli is None:
        bare = verdict(line.number, ListRow(line.pid_text, line.url_text), scheme)
        if (bare.outcome, bare.problem) != (line.outcome, line.problem):
            more = {"outcome": line.outcome, "problem": line.problem}
    else:
        if line.futli.title:
            more["title"] = line.futli.title
        if line.outcome:
            more["restriction"] = line.problem
    if "\t" in line.pid_text:
        more["pid"] = line.pid_text
    value: dict[str, Any] = {"futli": more} if more else {}
    if since:
        value["since"] = since
    return json.dumps(value, ensure_ascii=False).encode() if value else b"{}"


def line_of(key: bytes, value: bytes, number: int, partitions: int, scheme: Scheme) -> Line:
    """Return the line of a message; ``BadList``, with the reason, where it is none."""
    try:
        text, values = key.decode(), json.loads(value)
        more = values.get("futli", {})
        pid = more.get("pid") or text.partition("\t")[0]
        since = values.get("since")
        time = datetime.fromisoformat(since) if since else None
        if not text.startswith(f"{pid}\t"):
            raise BadList("the key is not a pid, a tab and a futli")
        row = ListRow(pid, text[len(pid) + 1 :], more.get("restriction", ""),
                      title=more.get("title", ""))  # fmt: skip
        line = replace(verdict(number, row, scheme), since=time)
        if outcome := more.get("outcome"):
            if outcome not in ("bad-pid", "bad-url"):
                raise ValueError(outcome)
            problem = str(more.get("problem"))
            line = replace(line, futli=None, outcome=outcome, problem=problem)
        if time and not time.tzinfo:
            raise BadList("since has no time zone")
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise BadList("the message is no line of a list") from None
    if key_of(line) != key:
        raise BadList("the key is not as a list has it")
    if shard_of_line(line, partitions) != partition_of(number):
        raise BadList("the line stands in the partition of another host")
    return line


def outcome_value(feed_line: dict[str, Any], worker: str) -> bytes:
    """Return the value of an outcome: the line of the outcome feed, and who brought it."""
    feed_line.pop("chain", None)
    return json.dumps({**feed_line, "worker": worker}, ensure_ascii=False).encode()


class OutcomeTimes:
    """Times at which the lines of one partition ended, by a hash of their keys."""

    def __init__(self) -> None:
        self._times: dict[int, int] = {}

    def add(self, key: bytes, value: bytes | None) -> None:
        """Take an outcome; None withdraws it."""
        if value is None:
            self._times.pop(hash(key), None)
        else:
            found = _TIME.search(value)
            self._times[hash(key)] = _digits(found[1]) if found else 0

    def is_open(self, key: bytes, value: bytes) -> bool:
        """Return whether the line is to be asked for, by what is known of its outcome."""
        ended = self._times.get(hash(key))
        if ended is None:
            return True
        if b'"since"' not in value:
            return False
        try:
            since = str(json.loads(value).get("since", "")).encode()
        except (ValueError, AttributeError):
            return False
        return _digits(since) > ended

    def give(self, key: bytes) -> None:
        """Note that the line was given out, so that it is not given again."""
        self._times[hash(key)] = _FOREVER


def _digits(time: bytes) -> int:
    return int(re.sub(rb"[^0-9]", b"", time)[:14] or b"0")
