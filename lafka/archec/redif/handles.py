"""RePEc handles: the ids of archives, series, institutions, papers and persons.

A handle has two parts (``RePEc:nbr``, an archive), three (``RePEc:nbr:nberwo``, a series;
``RePEc:edi:frbgvus``, an institution) or four (``RePEc:nbr:nberwo:0001``, a paper or another
item; ``RePEc:per:1965-06-05:thomas_krichel``, a person). It is split on the first three colons,
never by columns: what follows is the number, whatever colons it has.

Canonical: ``RePEc`` in that spelling, archive and series in lower case, the number as given. A
handle of another authority (``spz:``, ``ReLIS:``) is folded to lower case as a whole, as in the
Socionet collection. White space is no part of a handle (ReDIF 1). A canonical handle of four
parts is the same string as the pid of that paper.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lafka.errors import BadHandle, BadPid
from lafka.pids import LONGEST_PID, SCHEMES

# Of str.isspace all but the five control characters that mean no blank.
_WHITE = re.compile(r"[^\S\x1c-\x1f\x85]+")
_PLAIN = re.compile(r"RePEc:[a-z0-9_-]{1,100}(?::[a-z0-9_-]{1,100}(?::[!-~]{1,1000})?)?")
# The characters that no pid may hold (docs/formats.md): Cc, blanks, U+FEFF, U+FFFD, surrogates.
_REFUSED = re.compile("[\\s\x00-\x1f\x7f-\x9f\ufeff\ufffd\ud800-\udfff]")
_SOCIONET = SCHEMES["Socionet"]


@dataclass(slots=True, kw_only=True, order=True, unsafe_hash=True)  # not frozen, as Template
class Handle:
    """A handle in its canonical form; made by ``parse``."""

    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def parts(self) -> tuple[str, ...]:
        """Authority, archive and, where it has them, series and number."""
        return tuple(self.text.split(":", 3))

    @property
    def authority(self) -> str:
        """``RePEc``, or that of another in lower case."""
        return self.text.partition(":")[0]

    @property
    def archive(self) -> str:
        """The code of the archive: ``nbr``."""
        return self.text.split(":", 2)[1]

    @property
    def series(self) -> str | None:
        """The code of the series, or what stands in its place; None for an archive."""
        parts = self.parts
        return parts[2] if len(parts) > 2 else None

    @property
    def number(self) -> str | None:
        """The part behind the series; None for an archive, a series, an institution."""
        parts = self.parts
        return parts[3] if len(parts) > 3 else None

    @property
    def enclosing(self) -> tuple[str, ...]:
        """The handles of what this belongs to, the nearest first: of its series, its archive."""
        parts = self.parts
        return tuple(":".join(parts[:count]) for count in range(len(parts) - 1, 1, -1))

    @property
    def folder(self) -> str:
        """The folder of its template below ``ReDIF_directory``: ``nbr/nberwo``, else ``nbr``."""
        parts = self.parts
        return "/".join(parts[1:3]) if len(parts) == 4 else parts[1]

    def owns(self, place: str) -> bool:
        """Return whether a file at *place*, below the folder of all archives, is in ``folder``.

        Of several templates of one handle that counts which stands there (decision D19).
        """
        return place.lower().startswith(f"{self.folder}/")


def parse(text: str) -> Handle:
    """The handle that *text* means; BadHandle, with the reason, where it means none."""
    if not _PLAIN.fullmatch(text):
        text = _canonical(_WHITE.sub("", text))
    return Handle(text=text)


def _canonical(text: str) -> str:
    if not text:
        raise BadHandle("an empty handle")
    parts = text.split(":", 3)
    if len(parts) < 2:
        raise _bad(text, "fewer than two parts")
    if not all(parts):
        raise _bad(text, "an empty part")
    if refused := _REFUSED.search(text):
        raise _bad(text, f"U+{ord(refused[0]):04X} cannot stand in a handle")
    if parts[0].lower() == "repec":
        parts[:3] = "RePEc", *(part.lower() for part in parts[1:3])
        text = ":".join(parts)
    else:
        text = _of_another_authority(text.lower())
    if len(text.encode()) > LONGEST_PID:
        raise _bad(text, f"a handle of over {LONGEST_PID} bytes")
    return text


def _of_another_authority(text: str) -> str:
    """*text*; BadHandle where its four-part form were no pid of Socionet's but a DOI, a URL..."""
    missing = 3 - text.count(":")
    try:
        pid = _SOCIONET.pid(text + ":x" * missing)
    except BadPid as error:
        raise BadHandle(str(error)) from None
    if pid.path.startswith("any/"):
        raise _bad(text, "an identifier of another kind")
    return text


def _bad(text: str, reason: str) -> BadHandle:
    return BadHandle(f"{text if len(text) <= 200 else f'{text[:200]}...'}: {reason}")
