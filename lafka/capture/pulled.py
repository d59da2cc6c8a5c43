"""Mementos pulled from a gateway: what was kept of a URL at a time.

The gateway is the one address that is asked, by the addresses of ``lafka.urls.addresses``; what
leads away from it is trouble. What comes is no exchange with a site: there is no HTTP to record.
"""

from __future__ import annotations

import http.client
import json
import threading
from base64 import b64decode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from lafka.capture.exchanges import Spool
from lafka.errors import BadArgument, BadHttp, SiteError
from lafka.urls import addresses, memento
from lafka.urls.addresses import Addresses, GatewayAddresses

NOT_KEPT = "not in the ArchEc store"
TIMEOUT = 60.0
_REDIRECTS_MAX = 10
_TIMEMAP_MAX = 64 * 1024 * 1024
_PIECE = 256 * 1024


class NotKept(SiteError):
    """The gateway has nothing of a URL."""


class TakenDown(SiteError):
    """The gateway's keeper has taken the version down (451)."""


class GatewayAway(SiteError):
    """The gateway does not answer, or not as one does: the crawl stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PulledMemento:
    """A memento: what was kept of ``url`` at ``time``; ``body`` holds its bytes.

    ``source`` is the memento's own address, ``day`` when it was pulled. ``too_big``: the first
    bytes alone are here.
    """

    url: str
    time: datetime
    source: str
    day: datetime
    media_type: str
    body: Spool
    too_big: bool = False


class GatewayClient:
    """Asks the gateway at *base*, ``http://host:port``; each thread by a connection of its own.

    *most*: bytes of a memento that are read, 0 for all. *spool_dir* is for those that are big.
    """

    def __init__(self, base: str, *, most: int = 0, spool_dir: str | None = None) -> None:
        self.base = base
        self._at = Addresses(base=base)
        self._most = most
        self._spool_dir = spool_dir
        self._own = threading.local()

    def check(self) -> None:
        """``BadArgument`` where no gateway answers."""
        try:
            with self._answer_at(self._at.health) as answer:
                told = json.loads(answer.read(1 << 16)) if answer.status == 200 else None
        except (GatewayAway, ValueError) as error:
            raise BadArgument(f"legacy={self.base}: {error}") from None
        if not isinstance(told, dict) or "gateway" not in told:
            raise BadArgument(f"legacy={self.base}: what answers there is no gateway")

    def times(self, url: str) -> list[datetime]:
        """The times when the mementos of *url* were noted, oldest first; none where it is
        not kept.
        """
        found: list[datetime] = []
        place: str | None = self._at.timemap("json", url)
        while place:
            with self._answer_at(place) as answer:
                if answer.status in (400, 404):
                    return found
                told = self._json(answer)
            try:
                found += [_time(one["datetime"]) for one in told["mementos"]["list"]]
                place = told["pages"].get("next")
            except (LookupError, TypeError, ValueError, AttributeError):
                raise GatewayAway(f"{self.base}: a TimeMap that says nothing") from None
        return found

    def _json(self, answer: http.client.HTTPResponse) -> Any:
        self._check(answer)
        try:
            return json.loads(answer.read(_TIMEMAP_MAX))
        except (ValueError, RecursionError):
            raise GatewayAway(f"{self.base}: a TimeMap that is no JSON") from None

    def pull(self, url: str, time: datetime) -> PulledMemento:
        """Return what was there of *url* at *time*.

        ``NotKept``, ``TakenDown``; ``BadHttp`` where it is not what its digest says;
        ``GatewayAway``; ``StorageTrouble``.
        """
        place = self._at.timegate(url)
        for _ in range(_REDIRECTS_MAX):
            with self._answer_at(place, {"Accept-Datetime": memento.http_date(time)}) as answer:
                if answer.status != 302:
                    return self._pulled(place, answer)
                place = answer.headers.get("Location", "")
        raise GatewayAway(f"{self.base}: more than {_REDIRECTS_MAX} redirects from {url}")

    def _pulled(self, place: str, answer: http.client.HTTPResponse) -> PulledMemento:
        if answer.status in (400, 404):
            raise NotKept(NOT_KEPT)
        if answer.status == 451:
            raise TakenDown("taken down by the keeper of the store")
        self._check(answer)
        asked = addresses.read(place.removeprefix(self.base))
        try:
            time = memento.read_http_date(answer.headers.get("Memento-Datetime", ""))
        except ValueError:
            time = None
        if asked is None or asked.place is not GatewayAddresses.MEMENTO or time is None:
            raise GatewayAway(f"{self.base}: {place[:200]} is no memento")
        body, too_big = self._body(answer)
        return PulledMemento(
            url=asked.id,
            time=time,
            source=place,
            day=datetime.now(UTC),
            media_type=answer.headers.get("Content-Type", ""),
            body=body,
            too_big=too_big,
        )

    def _body(self, answer: http.client.HTTPResponse) -> tuple[Spool, bool]:
        spool, digest = Spool(self._spool_dir), sha256()
        try:
            while data := answer.read(_PIECE):
                if self._most and spool.size + len(data) > self._most:
                    spool.append(data[: self._most - spool.size])
                    return spool, True
                spool.append(data)
                digest.update(data)
        except (OSError, http.client.HTTPException) as error:
            spool.close()
            raise GatewayAway(f"{self.base}: {_reason(error)}") from error
        if answer.length:
            spool.close()
            raise GatewayAway(f"{self.base}: a memento that ends {answer.length} bytes early")
        if _is_other(answer.headers.get("Repr-Digest", ""), digest.digest()):
            spool.close()
            raise BadHttp("the memento is not what its digest says")
        return spool, False

    def _check(self, answer: http.client.HTTPResponse) -> None:
        if answer.status != 200:
            raise GatewayAway(f"{self.base}: HTTP status {answer.status}")

    def _answer_at(self, place: str, headers: Mapping[str, str] = {}) -> _Answer:
        """The answer at *place*, asked once more where a kept connection was closed meanwhile."""
        if not place.startswith(f"{self.base}/"):
            raise GatewayAway(f"{self.base}: leads away, to {place[:200]}")
        for last in (False, True):
            connection = self._connection(anew=last)
            try:
                connection.request("GET", place.removeprefix(self.base), headers=dict(headers))
                return _Answer(connection, connection.getresponse())
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if last:
                    raise GatewayAway(f"{self.base}: {_reason(error)}") from error
        raise AssertionError  # the second one was the last

    def _connection(self, *, anew: bool) -> http.client.HTTPConnection:
        kept: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if kept is None or anew:
            kept = http.client.HTTPConnection(urlsplit(self.base).netloc, timeout=TIMEOUT)
            self._own.connection = kept
        return kept


class _Answer:
    """An answer, of which nothing is left unread on its connection, or that is closed."""

    def __init__(
        self, connection: http.client.HTTPConnection, answer: http.client.HTTPResponse
    ) -> None:
        self._connection, self._answer = connection, answer

    def __enter__(self) -> http.client.HTTPResponse:
        return self._answer

    def __exit__(self, *_: object) -> None:
        if not self._answer.isclosed():
            with suppress(OSError, http.client.HTTPException):
                self._answer.read(_PIECE)
        if not self._answer.isclosed():
            self._connection.close()


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError(text)
    return time


def _is_other(stated: str, digest: bytes) -> bool:
    """Return whether the Repr-Digest *stated* names another SHA-256 (RFC 9530)."""
    algorithm, _, value = stated.partition("=")
    with suppress(ValueError):
        return algorithm.strip() == "sha-256" and b64decode(value.strip(" :")) != digest
    return True


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
