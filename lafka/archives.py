"""The name that ``lafka.papers.archive.archives`` had before: programs that import it go on."""

import warnings

from lafka.papers.archive.archives import Archive, StoredFut

__all__ = ["Archive", "StoredFut"]

warnings.warn(
    "lafka.archives is called lafka.papers now: from lafka.papers import Archive",
    DeprecationWarning,
    stacklevel=2,
)
