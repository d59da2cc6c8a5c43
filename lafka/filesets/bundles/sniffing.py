"""What type a file's first bytes show: libmagic's word, and what it does not know of scholars' XML.

libmagic is C that reads foreign bytes: ``children.Children.mimetype`` calls this in a child.
"""

from __future__ import annotations

import re
from typing import Any

_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)
_XML = ("application/xml", "text/xml")
_HEAD = 1024
_XHTML = b'xmlns="http://www.w3.org/1999/xhtml"'


class Sniffer:
    """A libmagic of its own; not for several threads at once. It is ready when first asked."""

    def __init__(self) -> None:
        self._magic: Any = None

    def sniffed(self, prefix: bytes) -> str:
        """The media type that *prefix*, a file's first 64 KiB or all, shows; empty where none does.

        XHTML and JATS are told from other XML by their first kilobyte, as sandcrawler does.
        """
        if not prefix:
            return ""
        # pylibmagic brings libmagic for python-magic; it has to be imported first.
        import pylibmagic  # noqa: F401, PLC0415

        import magic  # noqa: PLC0415  isort: skip

        try:
            self._magic = self._magic or magic.Magic(mime=True)
            media_type = str(self._magic.from_buffer(prefix))
        except magic.MagicException:
            return ""
        if media_type in _XML:
            return _of_xml(prefix[:_HEAD]) or media_type
        return media_type if _MEDIA_TYPE.fullmatch(media_type) else ""


def _of_xml(head: bytes) -> str:
    if b"<htm" in head:
        return "application/xhtml+xml" if _XHTML in head else ""
    return "application/jats+xml" if b"<article " in head else ""
