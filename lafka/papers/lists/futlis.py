"""A futli, a line of a list with its verdict, and the feeder that keeps lines by host.

``lafka.papers.lists.listfiles`` reads lines, ``lafka.papers.lists.rows`` knows the formats and
judges. Several crawls share a list by shards, and each host is asked by one of them alone: the
shard of a line is a hash of the host that it is asked at, so it depends on no order of the list and
on no other line (docs/reference.md, "Shards of a list").
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from lafka.errors import BadArgument
from lafka.pids import Pid
from lafka.politeness.feeder import HostFeeder

# What the urlsplit of the standard library says too, in a tenth of its time.
_PLAIN_HOST = re.compile(r"https?://([a-z0-9._-]+)(?::[0-9]+)?(?:[/?#]|\Z)")


# Not frozen, nor is Line: to set a field of a frozen one costs three times as much, and there are
# millions of them. Nobody sets one that is made.
@dataclass(slots=True, kw_only=True, unsafe_hash=True)
class Futli:
    """A link that came with a pid, char by char as it came.

    ``title`` is the paper's, if given; ``as_written`` what the list has where that is no URL, as
    ``doi:10.1000/182``, and else the same.
    """

    pid: Pid
    url: str
    title: str = field(default="", compare=False)
    as_written: str = field(default="", compare=False)

    @property
    def host(self) -> str:
        """Host name in lower case, without port: the slot in which Scrapy asks for the URL."""
        return host_of(self.url)


def host_of(url: str) -> str:
    """The host name of *url* in lower case, without port; empty where it has none."""
    if plain := _PLAIN_HOST.match(url):
        return plain[1]
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


@dataclass(slots=True, kw_only=True, unsafe_hash=True)
class Line:
    """One line of a list and its verdict.

    ``number`` counts every line of the file from 1. ``outcome`` is None where ``futli`` can be
    asked for, else ``bad-pid``, ``bad-url`` or ``restricted`` with the reason in ``problem``;
    a bad line has no futli, a restricted one has. What is not UTF-8 stands as escapes in the
    texts. Of a line that has no columns the texts show the beginning. ``since``: a fut that was had
    before it is asked for again. ``others``: what more the list says, by column; the feeder does
    not keep it.
    """

    number: int
    pid_text: str
    url_text: str
    futli: Futli | None = None
    outcome: str | None = None
    problem: str | None = None
    since: datetime | None = None
    others: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def host(self) -> str:
        """The host to ask for it; empty where it needs no request."""
        return host_of(self.futli.url) if self.futli and self.outcome is None else ""


class Feeder(HostFeeder[Line]):
    """Lines of a list of futlis, interleaved by host; those that need no request come first."""

    def __init__(self, path: Path, *, per_host: int = 1, probes: int | None = None) -> None:
        super().__init__(path, LineForm(), per_host=per_host, probes=probes)


class LineForm:
    """Lines of a list as bytes."""

    def pack(self, line: Line) -> bytes:
        fields = [line.pid_text, line.url_text, line.outcome, line.problem]
        packed = [_NONE if field is None else _bytes(field) for field in fields]
        if futli := line.futli:
            packed += [
                _AS_CAME if futli.pid.text == line.pid_text else _bytes(futli.pid.text),
                _bytes(futli.pid.path),
                _AS_CAME if futli.url == line.url_text else _bytes(futli.url),
                _bytes(futli.title),
            ]
            if line.since:
                packed.append(line.since.isoformat().encode())
        return _END.join(packed)

    def unpack(self, number: int, data: bytes) -> Line:
        pid_text, url_text, outcome, problem, *futli = data.split(_END)
        return Line(
            number=number,
            pid_text=_text(pid_text),
            url_text=_text(url_text),
            outcome=None if outcome == _NONE else _text(outcome),
            problem=None if problem == _NONE else _text(problem),
            futli=_futli(*futli[:4], pid_text=pid_text, url_text=url_text) if futli else None,
            since=datetime.fromisoformat(futli[4].decode()) if len(futli) > 4 else None,
        )


# Bytes that are in no UTF-8, not even with surrogates: no text is mistaken for them.
_END = b"\xff"
_NONE = b"\xfe"
_AS_CAME = b"\xfd"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _futli(
    pid: bytes, path: bytes, url: bytes, title: bytes, *, pid_text: bytes, url_text: bytes
) -> Futli:
    return Futli(
        pid=Pid(text=_text(pid_text if pid == _AS_CAME else pid), path=_text(path)),
        url=_text(url_text if url == _AS_CAME else url),
        title=_text(title),
        as_written=_text(url_text),
    )


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


RESOLVERS = frozenset({"doi.org", "dx.doi.org", "hdl.handle.net"})
"""Hosts that answer with a redirect to another one; half of a list may stand at one of them."""

_SHARD = re.compile(r"([0-9]{1,9})/([0-9]{1,9})")


def shard_of(url: str, pid: str, n: int) -> int:
    """Return the shard, from 0 to *n* - 1, of a line with *url* and *pid*.

    It is the first 8 bytes of a SHA-256, a big-endian number, modulo *n*. Hashed is the host of
    *url* in lower case, without its port; at a resolver of DOIs and handles also the first part of
    the path, which names the registrant; where there is no host, the *pid*.
    """
    return _hashed(_politeness_name(url) or pid) % n


@lru_cache(maxsize=10_000)  # most lines are of few hosts
def _hashed(name: str) -> int:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big")


def shard_of_line(line: Line, n: int) -> int:
    """Return the shard of *line* of *n*, by what it is asked for, or by its texts if it is bad."""
    futli = line.futli
    url, pid = (futli.url, futli.pid.text) if futli else (line.url_text, line.pid_text)
    return shard_of(url, pid, n)


def _politeness_name(url: str) -> str:
    host = host_of(url)
    if host not in RESOLVERS:
        return host
    registrant, _, _ = urlsplit(url).path.removeprefix("/").partition("/")
    return f"{host}/{registrant.lower()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """The shard ``number``, counted from 0, of ``count`` shards of a list."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the shard ``k/n`` of *text*; ``BadArgument`` unless k is below n."""
        found = _SHARD.fullmatch(text)
        if not found or int(found[1]) >= int(found[2]):
            raise BadArgument(
                f"shard={text!r} is not like 0/4: a number from 0, and how many shards there are"
            )
        return cls(number=int(found[1]), count=int(found[2]))

    def holds(self, line: Line) -> bool:
        """Return whether *line* belongs to this shard; bad lines belong to one, too."""
        return shard_of_line(line, self.count) == self.number
