"""Names of files in the obi store: the escaped id of an obi, and the id of a name.

The paper takes Perl's ``uri_escape_utf8``; with URI::Escape of 2010 and later that is RFC 3986's
unreserved characters left as they are and ``%XX`` for each other byte of the id's UTF-8.
"""

from __future__ import annotations

import re
from enum import StrEnum
from hashlib import sha256
from urllib.parse import quote, unquote_to_bytes

from lafka.errors import BadId

LONGEST = 255
"""Bytes in a file's name, on every disk of today."""
CUT_MARK = "%%"
"""What stands in the name of a long id between its beginning and its hash; no escape has it."""
_CUT_TO = 221
_UPPER = re.compile(r"%[0-9A-F]{2}|[A-Z]")
_HANDLE = re.compile(r"[^:]+:.+", re.DOTALL)
# Nothing to be escaped but colons, as in nearly all handles.
_PLAIN = re.compile(r"[A-Za-z0-9_.~-]{1,50}(?::[A-Za-z0-9_.~-]{1,50}){1,3}")


class Names(StrEnum):
    """How a store writes ids as names, for ever: by its disk, which may be blind to case."""

    EXACT = "exact"
    FOLDED = "folded"

    def file_name(self, obi: str) -> str:
        """The name of the file of the obi with this id; ``BadId`` where no file can have it."""
        is_plain = _PLAIN.fullmatch(obi)
        escaped = obi.replace(":", "%3A") if is_plain else quote(_encoded(obi), safe="")
        if self is Names.FOLDED:
            escaped = _UPPER.sub(_fold, escaped)
        return escaped if len(escaped) <= LONGEST else _cut(escaped, obi)

    def inverse(self, name: str) -> str | None:
        """The id whose name this is; None where the name was cut, or is that of no id."""
        try:
            obi = unquote_to_bytes(name).decode()
            return obi if CUT_MARK not in name and self.file_name(obi) == name else None
        except (UnicodeDecodeError, BadId):
            return None


def _fold(found: re.Match[str]) -> str:
    """An upper-case letter as its escape; an escape stays as it is."""
    text = found[0]
    return text if text.startswith("%") else f"%{ord(text):02X}"


def _encoded(obi: str) -> bytes:
    # Without a colon a name could begin with a dot, as drafts do, or be one or two of them.
    if not _HANDLE.fullmatch(obi):
        raise BadId(f"{obi[:200]!r}: no id of an obi, which has a colon")
    try:
        return obi.encode()
    except UnicodeEncodeError:
        raise BadId(f"{obi[:200]!r}: no text that UTF-8 can hold") from None


def _cut(escaped: str, obi: str) -> str:
    head = escaped[:_CUT_TO]
    if "%" in head[-2:]:
        head = head[: head.rindex("%")]
    return f"{head}{CUT_MARK}{sha256(obi.encode()).hexdigest()[:32]}"
