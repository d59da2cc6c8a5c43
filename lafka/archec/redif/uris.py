"""The way from a ``File-URL`` to the URI that is the id of a file; the paper left that open.

The normal form N(u) is RFC 3986, 6.2.2 and 6.2.3, over exactly what Scrapy puts on the wire, so
the id *is* the request: ``w3lib.url.safe_url_string(N(u)) == N(u)`` and ``N(N(u)) == N(u)``.

1. Blanks at the ends go. Control characters, a user or password, a scheme other than http, https
   and ftp, no host: refused.
2. ``safe_url_string``: IDNA host, UTF-8 escapes for what cannot stand in a URL.
3. Scheme and host in lower case, default port dropped, empty path ``/``, escapes in upper-case
   hex, escaped unreserved characters unescaped, dot segments removed, fragment dropped.

Nothing else: the order of a query, ``+``, ``//`` in paths, case, a trailing slash, ``www.``, http
against https, a trailing dot of the host and bad escapes (``%zz``) stay, for no server promises
that they mean the same. ftp is normalised likewise and a class of its own: counted, never asked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from w3lib.url import safe_url_string

from lafka.errors import BadUrl
from lafka.urls import check_url

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ufffd\u2028\u2029\ud800-\udfff]")
# Nothing of step 2 or 3 to do: no escape, no fragment, no port; and no "/." in it.
_NORMAL = re.compile(
    r"https?://(?=[^/]{1,253}/)[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})*/"
    r"[A-Za-z0-9_~!$&()*+,;=:@./-]*(?:\?[A-Za-z0-9_~!$&()*+,;=:@./?-]+)?\Z"
)
_LONGEST_LOOKED_AT = 2_000
_LOOKS_MAX = 6
_SCHEME = re.compile(r"(https?|ftp)://", re.IGNORECASE)
_DEFAULT_PORTS = {"http": "80", "https": "443", "ftp": "21"}
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_UNESCAPED = {
    f"{byte:02X}": chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in range(256)
}
_BLANKS = re.compile(r"\s+")
_URL_LABEL = re.compile(r"url:\s*(?=\S)", re.IGNORECASE)
_WITHOUT_SCHEME = re.compile(r"www\.[A-Za-z0-9-]+\.[A-Za-z0-9]", re.IGNORECASE)


@dataclass(slots=True, kw_only=True)  # not frozen: made three times as fast
class FileUri:
    """One reading of a ``File-URL``.

    ``futli`` is the URL as it stands there, mended but not normalised; ``uri`` its normal form.
    ``second`` marks the form without blanks, asked only where the first is not found; ``mended``
    that ``http://`` was put before ``www.``.
    """

    futli: str
    uri: str
    second: bool = False
    mended: bool = False

    @property
    def is_ftp(self) -> bool:
        """True where this is of the class that is counted and never asked for."""
        return is_ftp(self.uri)


def is_ftp(uri: str) -> bool:
    """Return whether a normal form is of the class that is counted and never asked for."""
    return uri.startswith("ftp:")


def is_normal(url: str) -> bool:
    """Return whether *url* is seen at once to be its own normal form; False leaves that open."""
    return len(url) <= _LONGEST_LOOKED_AT and _NORMAL.match(url) is not None and "/." not in url


def normalise(url: str) -> str:
    """The normal form of *url*; BadUrl, with the reason, where it cannot be asked for."""
    if is_normal(url):
        return url
    # Dots that a bad escape kept apart, an escape that stayed for one in a segment that goes, a
    # host that IDNA reads anew: what one look gives may have more to do, or be no URL.
    for _ in range(_LOOKS_MAX):
        before, url = url, _checked_url(url)
        if is_normal(url) or (url == before and safe_url_string(url) == url):
            return url
    raise BadUrl("no normal form")


def _checked_url(url: str) -> str:
    url = url.strip()
    _check(url)
    try:
        safe = safe_url_string(url)
    except ValueError:  # UnicodeError is one
        raise BadUrl("a bad host or port") from None
    scheme, _, rest = safe.partition("#")[0].partition("://")
    cut = re.search(r"[/?]", rest)
    netloc, tail = (rest[: cut.start()], rest[cut.start() :]) if cut else (rest, "")
    path, mark, query = tail.partition("?")
    path = _without_dots(_escapes(path)) or "/"
    return f"{scheme}://{_netloc(scheme, netloc)}{path}{mark}{_escapes(query)}"


def _check(url: str) -> None:
    scheme = _SCHEME.match(url)
    # The ground's rules for hosts, ports and lengths are for http and https.
    check_url(f"http{url[3:]}" if scheme and scheme[1].lower() == "ftp" else url)
    if not scheme:
        raise BadUrl("no // behind the scheme")
    if control := _CONTROL.search(url):
        raise BadUrl(f"U+{ord(control[0]):04X} cannot stand in a URL")
    netloc = re.split(r"[/?#]", url[scheme.end() :], maxsplit=1)[0]
    if "@" in netloc:
        raise BadUrl("a user or password")


def _netloc(scheme: str, netloc: str) -> str:
    host, colon, port = netloc.lower().rpartition(":")
    if not colon or port.endswith("]"):
        return netloc.lower()
    return host if port in ("", _DEFAULT_PORTS[scheme]) else f"{host}:{port}"


def _escapes(text: str) -> str:
    """Escapes in upper-case hex, those of unreserved characters undone."""
    if "%" not in text:
        return text
    undone = _ESCAPE.sub(lambda escape: _UNESCAPED[escape[1].upper()], text)
    # %%34%31 and %c%31 would become escapes that nobody wrote; then all stay.
    staying = sum(_UNESCAPED[escape.upper()][0] == "%" for escape in _ESCAPE.findall(text))
    if len(_ESCAPE.findall(undone)) != staying:
        return _ESCAPE.sub(lambda escape: escape[0].upper(), text)
    return undone


def _without_dots(path: str) -> str:
    """*path* without its dot segments (RFC 3986, 5.2.4)."""
    if "/." not in path:
        return path
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            if len(kept) > 1:
                kept.pop()
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/".join(kept) or "/"


def file_uris(value: str) -> tuple[FileUri, ...]:
    """The one or two readings of the value of a ``File-URL``, most likely first; BadUrl.

    ReDIF has it that white space in a URL is ignored, and that is so for line breaks, which the
    reader of templates has taken out. A blank within a line nearly always belongs to the name of
    a file: so the form with ``%20`` comes first, that without blanks second.
    """
    if is_normal(value):
        return (FileUri(futli=value, uri=value),)
    text = _unwrapped(value)
    mended = bool(_WITHOUT_SCHEME.match(text))
    first = _reading(f"http://{text}" if mended else text, mended=mended)
    joined = _BLANKS.sub("", first.futli)
    if joined == first.futli:
        return (first,)
    try:
        second = _reading(joined, mended=mended, second=True)
    except BadUrl:
        return (first,)
    return (first,) if second.uri == first.uri else (first, second)


def _reading(futli: str, *, mended: bool, second: bool = False) -> FileUri:
    return FileUri(futli=futli, uri=normalise(futli), second=second, mended=mended)


def _unwrapped(value: str) -> str:
    """*value* without the ``<URL:...>`` in which RFC 1738 puts a URL into prose."""
    text = value.strip()
    before = None
    while text != before:
        before = text
        if text.startswith("<") and text.endswith(">"):
            text = text[1:-1].strip()
        text = _URL_LABEL.sub("", text, count=1) if _URL_LABEL.match(text) else text
    return text
