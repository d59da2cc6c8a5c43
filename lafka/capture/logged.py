"""Exchanges of the raw log as a crawl has them in hand: small, picklable values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from lafka.payloads import Payload


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The owner of an exchange, and the fields of its warcinfo.

    ``owner`` is a number that the crawl gives: files of the raw log stay until their owners are
    released. ``fields`` are the warcinfo's, names and values, each on one line. What is pulled for
    one ``key`` has the same record ids each time, so that it is known when it comes again.
    """

    owner: int
    fields: tuple[tuple[str, str], ...] = ()
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """*length* bytes at *offset* of the file *path*: one whole record of a raw WARC.

    ``head`` is its header through the blank line, empty where that has to be read.
    """

    path: str
    offset: int
    length: int
    head: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedExchange:
    """One request and its answer in the raw log; or a memento that was pulled: a resource.

    ``time`` is their WARC-Date. ``warcinfo`` and ``warcinfo_id`` are of the record that says whom
    they are for: one for all hops of a redirect, none and empty where they are nobody's.
    ``response`` is None where no byte came, ``payload`` where that is no HTTP. ``truncated`` is the
    WARC-Truncated reason where reading stopped early; ``dropped``: because the first bytes were not
    what is looked for; ``diverted``: its body went to a sink, past the log; ``too_big``: because
    the entity is, or was announced to be, over the limit; ``shared``: its connection had carried
    others.
    """

    url: str
    time: datetime
    request: Span | None = None
    response: Span | None = None
    warcinfo: Span | None = None
    warcinfo_id: str = ""
    payload: Payload | None = None
    truncated: str = ""
    too_big: bool = False
    dropped: bool = False
    diverted: bool = False
    shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedHops:
    """The exchanges of one request: those that redirected, then the last; retried ones go.

    ``requests``: how many there were in all, retries among them.
    """

    exchanges: tuple[LoggedExchange, ...] = ()
    requests: int = 0
