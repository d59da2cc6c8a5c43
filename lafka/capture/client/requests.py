"""The bytes of a request, as Scrapy's own handler writes them; no I/O."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urldefrag, urlsplit

from scrapy import Request
from scrapy.exceptions import UnsupportedURLSchemeError
from scrapy.utils.url import add_http_if_no_scheme
from twisted.internet.abstract import isIPv6Address
from twisted.web.client import URI
from twisted.web.http_headers import Headers

_VALID = re.compile(rb"[\x21-\x7e]+")
_METHOD = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_REPEATABLE = ("GET", "HEAD", "OPTIONS", "DELETE", "TRACE")
_PORTS = {"http": 80, "https": 443}
_AUTHORIZATION = b"Proxy-Authorization"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The connections that serve a request; requests of equal routes may share one.

    *host* is whom TLS is spoken with, where *secure*. With *tunnel*, a proxy's host and port, that
    is reached through it; *authorization* is the value of Proxy-Authorization. *proxied*: the host
    is a proxy itself. *bind*: our own address and port.
    """

    host: str
    port: int
    secure: bool = False
    proxied: bool = False
    tunnel: tuple[str, int] | None = None
    authorization: bytes | None = None
    bind: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRequest:
    """A request: ``head`` and ``body`` as they are written, and the ``route`` it takes.

    Requests of one ``group`` and route may use one connection, one after the other; without a
    group a request has a connection of its own. ``repeatable``: it may be sent again where a kept
    connection turns out to be closed.
    """

    method: str
    head: bytes
    body: bytes
    route: Route
    group: Hashable = None

    @property
    def repeatable(self) -> bool:
        return self.method in _REPEATABLE and not self.body


def wire_request(request: Request, bind: Any = None, group: Hashable = None) -> WireRequest:
    """Return what is written for *request*; *bind* is the setting DOWNLOAD_BIND_ADDRESS.

    ``ValueError`` for what cannot be written, ``UnsupportedURLSchemeError`` for schemes but http
    and https, ``NotImplementedError`` for https through a proxy that is asked by https.
    """
    url = urldefrag(request.url)[0].strip().encode("ascii")
    if not _METHOD.fullmatch(request.method):
        raise ValueError(f"Invalid method {request.method!r}")
    if not _VALID.fullmatch(url):
        raise ValueError(f"Invalid URI {url!r}")
    uri: Any = URI.fromBytes(url)  # type: ignore[no-untyped-call]
    headers: Any = Headers(request.headers)
    authorization = request.headers.get(_AUTHORIZATION)
    bound = request.meta.get("bindaddress") or bind
    if isinstance(bound, str):
        bound = bound, 0
    route = _route(uri, request.meta.get("proxy"), authorization, bound)
    if route.tunnel:
        headers.removeHeader(_AUTHORIZATION)
    target = url if route.proxied else uri.originForm
    head = _head(request, target, uri, headers)
    return WireRequest(
        method=request.method, head=head, body=request.body, route=route, group=group
    )


def _head(request: Request, target: bytes, uri: Any, headers: Any) -> bytes:
    lines = [b"%b %b HTTP/1.1" % (request.method.encode(), target)]
    if request.body or request.method in ("PUT", "POST"):
        lines.append(b"Content-Length: %d" % len(request.body))
    if not headers.hasHeader(b"Host"):
        headers.addRawHeader(b"Host", _host_of(uri))
    if len(headers.getRawHeaders(b"Host", ())) != 1:
        raise ValueError("Exactly one Host header required")
    for name, values in headers.getAllRawHeaders():
        lines += [b"%b: %b" % (name, value) for value in values]
    return b"\r\n".join([*lines, b"", b""])


def _host_of(uri: Any) -> bytes:
    host: bytes = uri.host
    if isIPv6Address(host.decode("ascii")):
        host = b"[%b]" % host
    return host if uri.port == _PORTS[_scheme(uri)] else b"%b:%d" % (host, uri.port)


def _scheme(uri: Any) -> str:
    scheme: str = uri.scheme.decode("ascii")
    if scheme not in _PORTS:
        raise UnsupportedURLSchemeError(f"Unsupported scheme: {scheme!r}")
    return scheme


def _route(
    uri: Any, proxy: str | None, authorization: bytes | None, bind: tuple[str, int] | None
) -> Route:
    secure = _scheme(uri) == "https"
    host = uri.host.decode("ascii")
    if not proxy:
        return Route(host=host, port=uri.port, secure=secure, bind=bind)
    parts = urlsplit(add_http_if_no_scheme(proxy))
    if parts.scheme not in _PORTS:
        raise UnsupportedURLSchemeError(f"Unsupported scheme: {parts.scheme!r}")
    place = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    over_tls = parts.scheme == "https"
    if not secure:
        return Route(host=place[0], port=place[1], secure=over_tls, proxied=True, bind=bind)
    if over_tls:
        raise NotImplementedError("HTTPS proxies for HTTPS destinations are not supported")
    return Route(
        host=host, port=uri.port, secure=True, tunnel=place, authorization=authorization, bind=bind
    )
