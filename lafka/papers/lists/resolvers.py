"""Names that stand in lists in the place of URLs, and where they are asked: at their resolvers."""

from __future__ import annotations

import re
from urllib.parse import quote

_SAFE = "/:;()@!$&'*+,=~"
"""What a path of RFC 3986 has as it stands."""
_DOI = re.compile(r"(?:doi:[ ]?)?(?P<name>10\.[0-9][0-9.]*/[^\s\x00-\x20].*)", re.IGNORECASE)
_HANDLE = re.compile(r"hdl:[ ]?(?P<name>[^\s/]+/[^\s\x00-\x20].*)", re.IGNORECASE)
_ARXIV = re.compile(
    r"arxiv:[ ]?(?P<name>\d{4}\.\d{4,5}(?:v\d+)?|[a-z-]+(?:\.[a-z]{2})?/\d{7}(?:v\d+)?)"
    r"(?:[ ]\[[a-z.-]+\])?",
    re.IGNORECASE,
)
_RESOLVERS = (
    (_DOI, "https://doi.org/"),  # DOI Handbook 3.8
    (_HANDLE, "https://hdl.handle.net/"),  # RFC 3650
    (_ARXIV, "https://arxiv.org/abs/"),  # https://info.arxiv.org/help/arxiv_identifier.html
)


def resolved(text: str) -> str | None:
    """The URL at which *text*, a DOI, handle or arXiv id, is asked for; None where it is none.

    ``doi:10.1000/182``, ``10.1000/182``, ``hdl:2027/x``, ``arXiv:2101.00001v2``. What a URL cannot
    have is escaped, ``%`` too, for these are names, not URLs.
    """
    if text.startswith("http"):  # as nearly all do
        return None
    for names, resolver in _RESOLVERS:
        if found := names.fullmatch(text):
            return resolver + quote(found["name"], safe=_SAFE)
    return None
