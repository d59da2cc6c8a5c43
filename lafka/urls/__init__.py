"""Judge whether a URL can be asked for as it stands: one table for lists and for links.

What it says is told to users as the reason of ``bad-url`` (docs/reference.md). ``memento`` has the
datetimes and link headers of RFC 7089, ``addresses`` where a gateway has what of a URL,
and what a gateway serves from. No file, no socket, no clock is touched here.
"""

from __future__ import annotations

import re
from ipaddress import IPv6Address
from urllib.parse import SplitResult, urlsplit

from lafka.errors import BadUrl

LONGEST_URL = 65_000
"""Bytes; a longer one cannot stand in a line of a WARC header that all readers take."""

_LABEL = r"[a-z0-9_][a-z0-9_-]{0,62}+(?<!-)"
_PLAIN_URL = re.compile(
    rf"https?://(?=[^/?#:]{{1,253}}+(?:[/?#:]|\Z)){_LABEL}(?:\.{_LABEL})*+\.?"
    r"(?::[1-9][0-9]{0,3})?(?:[/?#][!-~ ]*+(?<! ))?"
)
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
# Cc, the two separators at which others break lines, and what has no UTF-8.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_BRACKETED = re.compile(r"\[[0-9A-Fa-f:.]+\](?::[0-9]*)?")
# WHATWG URL, forbidden domain code points; the rest cannot be in a netloc.
_NOT_IN_HOST = re.compile(r"[\s<>\[\]^|%\\]")


def is_plain(url: str) -> bool:
    """Return whether *url*, as nearly all are, is ASCII and needs no second look."""
    return len(url) <= LONGEST_URL // 4 and _PLAIN_URL.fullmatch(url) is not None


def check_url(url: str) -> None:
    """BadUrl, with the reason, where *url* cannot be asked for as it stands.

    It can where it is absolute, http or https, with a host and a port that can exist, and
    without control characters. Spaces in the path or query are kept, as in a browser's bar.
    """
    if is_plain(url):
        return
    if (size := len(url.encode("utf-8", "surrogatepass"))) > LONGEST_URL:
        raise BadUrl(f"a URL of {size} bytes")
    if not url:
        raise BadUrl("no URL")
    if control := _CONTROL.search(url):
        raise BadUrl(f"U+{ord(control[0]):04X} cannot stand in a URL")
    scheme = _SCHEME.match(url)
    if not scheme or "." in scheme[1] or scheme[1].lower() == "localhost":
        raise BadUrl("no scheme")
    if scheme[1].lower() not in ("http", "https"):
        raise BadUrl(f"{scheme[1][:40]} is neither http nor https")
    try:
        _check_netloc(urlsplit(url))
    except ValueError as error:
        raise error if isinstance(error, BadUrl) else BadUrl("a bad host or port") from None


def _check_netloc(url: SplitResult) -> None:
    """BadUrl or ValueError where host or port cannot exist."""
    host = url.hostname or ""
    if not host.strip("."):
        raise BadUrl("no host")
    if "\\" in url.netloc:
        raise BadUrl("a backslash in the host")
    if url.port == 0:
        raise BadUrl("a bad port")
    if "[" in url.netloc or "]" in url.netloc:
        if not _BRACKETED.fullmatch(url.netloc.rpartition("@")[2]):
            raise BadUrl("a bad host or port")
        IPv6Address(host)
    elif _NOT_IN_HOST.search(host):
        raise BadUrl("a character that cannot stand in a host")
    # UnicodeError, a ValueError: an empty label, or one longer than DNS has.
    if len(host.encode("idna").removesuffix(b".")) > 253:
        raise BadUrl("a host longer than DNS has")
