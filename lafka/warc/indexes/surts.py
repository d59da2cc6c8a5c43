"""SURT keys: URLs in reverse and in one form, as indexes sort them (Sort-friendly URI Reordering).

``http://www.Example.com:80/a/?b&a#c`` is ``com,example)/a?a&b``. The rules are those of the
Internet Archive's CDX files, by its published examples: ``www`` and ``www2`` dropped, default
ports, user info and fragments too; percent-encoding undone as often as it was done, and done
once; all in lower case; session ids removed, parameters sorted, a final slash dropped. Several URLs
can share a key, so an index keeps the URL beside it. URIs without a host (``dns:``, ``urn:``,
``filedesc:``, ``mailto:``) are their own keys.

A key is printable ASCII without a space, whatever it was made of; making one never fails and
takes time linear in the URL.
"""

from __future__ import annotations

import ipaddress
import re
from contextlib import suppress
from dataclasses import dataclass

NONE = "-"
"""The key of no URL."""

_IGNORED = re.compile("[\t\r\n\u2028\u2029]")
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_PORT_AND_PATH = re.compile(r"\d*(?:[/?#]|$)", re.ASCII)
_AGAIN = re.compile(r"(?:/*(https?):(?=//))+", re.IGNORECASE)
_PORTS = {"http": "80", "https": "443"}
_OWN_KEYS = {"filedesc", "warcinfo", "dns"}
_HOST_AND_PORT = re.compile(r"(\[[^\]]*\]|.*?)(?::(\d*))?", re.ASCII | re.DOTALL)
_WWW = re.compile(r"www\d*\.", re.ASCII)
_NUMBER = r"(?:0x[0-9a-f]{0,16}|[0-9]{1,20})"
_ADDRESS = re.compile(rf"{_NUMBER}(?:\.{_NUMBER}){{0,3}}", re.ASCII)
_IDNA_MAX = 1000  # a name has at most 253 characters
_UNSAFE = re.compile(rb"[\x00-\x20\x7f-\xff#%]")
_UNPRINTABLE = re.compile(rb"[\x00-\x20\x7f-\xff]")
_HEX = {ord(c): int(c, 16) for c in "0123456789abcdefABCDEF"}
# Cookieless ASP.NET sessions, /(S(24 letters))/ before a page, and Java's behind one.
_PATH_SESSIONS = re.compile(
    r"(?<=/)(?:\((?:[a-z]\([0-9a-z]{24}\))+\)|\([0-9a-z]{24}\))/(?=[^?]+\.aspx)"
    r"|;jsessionid=[0-9a-z]{32}(?![0-9a-z])"
)
_QUERY_SESSIONS = re.compile(
    r"(?<![^&])(?:(?:jsessionid|phpsessid|sid)=[0-9a-z]{32}|aspsessionid[a-z]{8}=[a-z]{24}"
    r"|cfid=[^&]+&cftoken=[^&]+)(?:&|$)"
)


def surt(url: str) -> str:
    """The key of *url*; ``-`` where it is empty."""
    return _Parts.of(url).key()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """A URL in pieces, each made canonical but for what cannot be undone: order, last slash."""

    host: str
    path: str = ""
    query: str = ""
    opaque: bool = False

    @classmethod
    def of(cls, url: str) -> _Parts:
        url = _IGNORED.sub("", url.strip())
        scheme, rest = _without_scheme(url)
        if not scheme:
            return cls(host=_escaped(_UNPRINTABLE, _bytes(url)) or NONE, opaque=True)
        rest, _, _ = rest.partition("#")
        rest, _, query = rest.partition("?")
        authority, _, path = rest.partition("/")
        return cls(
            host=_authority(authority, scheme),
            path=_PATH_SESSIONS.sub("", _path(path)),
            query=_canonical(_bytes(query)) if query else "",
        )

    def key(self) -> str:
        if self.opaque:
            return self.host
        path, query = self.path.rstrip("/") or "/", self.query
        if query:
            bare = _QUERY_SESSIONS.sub("", query) if "=" in query else query
            query = "&".join(map("=".join, sorted(one.split("=", 1) for one in bare.split("&"))))
        return f"{self.host}){path}?{query}" if query else f"{self.host}){path}"

    def in_order(self) -> str:
        """Like the key, with session ids, parameters and the last slash where they were."""
        query = f"?{self.query}" if self.query else ""
        return self.host if self.opaque else f"{self.host}){self.path}{query}"


def _without_scheme(url: str) -> tuple[str, str]:
    """The scheme and what follows its slashes; no scheme where the URI names no host."""
    found = _SCHEME.match(url)
    if not found:
        return ("http", url.lstrip("/")) if url else ("", "")
    scheme, rest = found[1].lower(), url[found.end() :]
    if scheme in _PORTS:
        if again := _AGAIN.match(rest):  # http://https://x.example
            scheme, rest = again[1].lower(), rest[again.end() :]
        return scheme, rest.lstrip("/")
    named = "." in scheme or scheme == "localhost"
    if named and _PORT_AND_PATH.match(rest):  # x.example:8080/path
        return "http", url
    hierarchical = rest.startswith("//") and not rest.startswith("///")
    return (scheme, rest[2:]) if hierarchical and scheme not in _OWN_KEYS else ("", "")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _canonical(data: bytes) -> str:
    """*data* in lower case, percent-encoded once and no more than needed."""
    return _escaped(_UNSAFE, _unescaped(data).lower())


def _escaped(unsafe: re.Pattern[bytes], data: bytes) -> str:
    return unsafe.sub(lambda found: b"%%%02x" % found[0][0], data).decode("ascii")


def _unescaped(data: bytes) -> bytes:
    """*data* with its percent-encoding undone until none is left, in one pass."""
    if b"%" not in data:
        return data
    done = bytearray()
    for byte in data:
        done.append(byte)
        while len(done) > 2 and done[-3] == 0x25 and done[-2] in _HEX and done[-1] in _HEX:
            done[-3:] = [_HEX[done[-2]] << 4 | _HEX[done[-1]]]
    return bytes(done)


def _authority(authority: str, scheme: str) -> str:
    """The host, turned round, with its port where that is not the scheme's own."""
    found = _HOST_AND_PORT.fullmatch(authority.rpartition("@")[2])
    assert found is not None  # it takes anything
    host, port = found[1], (found[2] or "").lstrip("0")
    turned = _turned(host)
    return f"{turned}:{port}" if port and port != _PORTS.get(scheme) else turned


def _turned(host: str) -> str:
    if host.startswith("[") and host.endswith("]"):
        return _ipv6(host[1:-1])
    name = _unescaped(_bytes(host)).decode("utf-8", "surrogateescape").lower()
    name = ".".join(filter(None, name.split(".")))
    name = _ipv4(name) or _WWW.sub("", _ascii(name), count=1) if name else ""
    return ",".join(reversed(name.split(".")))


def _ascii(name: str) -> str:
    if not name.isascii() and len(name) <= _IDNA_MAX:
        with suppress(UnicodeError):
            name = name.encode("idna").decode("ascii")
    return _escaped(_UNSAFE, name.encode("utf-8", "surrogateescape"))


def _ipv6(text: str) -> str:
    try:
        return ipaddress.IPv6Address(text.partition("%")[0]).compressed
    except ValueError:
        return _canonical(_bytes(text))


def _ipv4(name: str) -> str:
    """The address that *name* is in any of the forms that ``inet_aton`` takes, or nothing."""
    if not (name[0].isdigit() and _ADDRESS.fullmatch(name)):
        return ""
    try:
        *firsts, last = (_number(part) for part in name.split("."))
    except ValueError:
        return ""
    room = 1 << 8 * (4 - len(firsts))
    if any(first > 255 for first in firsts) or (firsts and last >= room):
        return ""
    value = last % room  # the Archive holds hosts that are numbers beyond 32 bits
    for place, first in enumerate(firsts):
        value |= first << 8 * (3 - place)
    return str(ipaddress.IPv4Address(value))


def _number(text: str) -> int:
    if text.startswith("0x"):
        return int(text[2:] or "0", 16)
    return int(text, 8 if text.startswith("0") and text != "0" else 10)


def _path(path: str) -> str:
    """The canonical path, from its first slash; dots resolved, empty segments dropped."""
    parts: list[bytes] = []
    segments = _unescaped(_bytes(path)).split(b"/")
    for segment in segments:
        if segment == b"..":
            del parts[-1:]
        elif segment not in (b"", b"."):
            parts.append(segment)
    if parts and segments[-1] in (b"", b".", b".."):
        parts.append(b"")
    return "/" + _escaped(_UNSAFE, b"/".join(parts).lower())


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """The beginning of a URL to search for; each key that matches begins with ``start``."""

    start: str
    _next: str = ""
    _in_order: str = ""

    @classmethod
    def of(cls, url: str) -> Prefix:
        """*url* is the beginning of a URL, or ``*.host`` for all that is under a name.

        A beginning that stops at the host means that host, not those whose names go on.
        """
        scheme, _, rest = url.rpartition("//")
        if rest.startswith("*."):
            return cls(start=_Parts.of(f"{scheme}//{rest[2:]}").host, _next=",):")
        parts = _Parts.of(url)
        if parts.opaque:
            return cls(start=parts.host)
        if parts.query:
            path = parts.path.rstrip("/") or "/"
            return cls(start=f"{parts.host}){path}?", _in_order=parts.in_order())
        slashed = parts.path.endswith("/") and parts.path != "/"
        start = f"{parts.host}){parts.path[:-1] if slashed else parts.path}"
        return cls(start=start, _next="/?" if slashed else "")

    def matches(self, key: str, url: str) -> bool:
        """Return whether the capture of *url*, which has the key *key*, begins so."""
        if not key.startswith(self.start):
            return False
        if self._in_order:
            return _Parts.of(url).in_order().startswith(self._in_order)
        rest = key[len(self.start) :]
        return not (self._next and rest) or rest[0] in self._next
