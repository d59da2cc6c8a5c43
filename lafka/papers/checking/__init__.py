"""Proves that an archive is sound: the invariants, by other code than what wrote it.

A paper is sound when its suwaf and its WARC tell the same story to the byte: every record can be
read and has its digests, every fut is where the suwaf says, every fut of the WARC is in the suwaf,
nothing is stored twice, and nothing that was acknowledged has changed. docs/problems.md explains
each code.

``archive`` walks, ``paper`` compares the suwaf with the WARC, ``warc_content`` reads the WARC,
``feeds`` the outcome feeds. They stand on ``lafka.witness``, the strict reader.
"""

from lafka.papers.checking.archive import Verifier as Verifier
from lafka.witness.problems import PAPER_CODES as PAPER_CODES
from lafka.witness.problems import FileProblem as FileProblem
