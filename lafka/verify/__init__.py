"""Proves that an archive is sound: the invariants, by other code than what wrote it.

A paper is sound when its suwaf and its WARC tell the same story to the byte: every record can be
read and has its digests, every fut is where the suwaf says, every fut of the WARC is in the suwaf,
nothing is stored twice, and nothing that was acknowledged has changed. docs/problems.md explains
each code.

``archive`` walks, ``paper`` compares the two sides, ``story`` is what the WARC says, ``summary``
what the suwaf says, ``decoding`` undoes what a server did to a fut.
"""

from lafka.verify.archive import Verifier
from lafka.verify.problems import CODES

__all__ = ["CODES", "Verifier"]
