"""Proves that an archive is sound: the invariants, by other code than what wrote it.

A paper is sound when its suwaf and its WARC tell the same story to the byte: every record can be
read and has its digests, every fut is where the suwaf says, every fut of the WARC is in the suwaf,
nothing is stored twice, and nothing that was acknowledged has changed. docs/problems.md explains
each code.

``archive`` walks, ``paper`` compares the two sides, ``story`` is what the WARC says, ``summary``
what the suwaf says, ``decoding`` undoes what a server did to a fut. Below them the strict reader of
WARCs, which imports nothing of Lafka's but itself: ``reader`` frames records, ``headers`` reads
what they say by the ``tables`` of the standard, ``blocks`` finds the PDF in one, ``digests`` proves
its bytes. So what is below is imported when it is asked for.
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
