"""Shards of a list: several crawls share it, and each host is asked by one of them alone.

The shard of a line is a hash of the host that it is asked at, so it depends on no order of the
list and on no other line (docs/reference.md, "Shards of a list").
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from lafka.errors import BadArgument
from lafka.papers.lists.futlis import host_of

if TYPE_CHECKING:
    from lafka.papers.lists.futlis import Line

RESOLVERS = frozenset({"doi.org", "dx.doi.org", "hdl.handle.net"})
"""Hosts that answer with a redirect to another one; half of a list may stand at one of them."""

_SHARD = re.compile(r"([0-9]{1,9})/([0-9]{1,9})")


def shard_of(url: str, pid: str, n: int) -> int:
    """Return the shard, from 0 to *n* - 1, of a line with *url* and *pid*.

    It is the first 8 bytes of a SHA-256, a big-endian number, modulo *n*. Hashed is the host of
    *url* in lower case, without its port; at a resolver of DOIs and handles also the first part of
    the path, which names the registrant; where there is no host, the *pid*.
    """
    name = _politeness_name(url) or pid
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % n


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
