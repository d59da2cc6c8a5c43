"""Proves that an archive is sound: the invariants, by other code than what wrote it.

A paper is sound when its suwaf and its WARC tell the same story to the byte: every record can be
read and has its digests, every fut is where the suwaf says, every fut of the WARC is in the suwaf,
nothing is stored twice, and nothing that was acknowledged has changed. docs/problems.md explains
each code.

``archive`` walks, ``paper`` compares the two sides, ``warc_content`` reads the side of the WARC,
``summary`` that of the suwaf. They stand on ``lafka.witness``, the strict reader. A part is
imported when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lafka.papers.checking.archive import Verifier as Verifier
    from lafka.witness.problems import CODES as CODES
    from lafka.witness.problems import FileProblem as FileProblem

_HOMES = {"Verifier": "lafka.papers.checking.archive", "CODES": "lafka.witness.problems"}
_HOMES["FileProblem"] = _HOMES["CODES"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
