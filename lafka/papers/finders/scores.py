"""A link's score: a sum of evidence, and what a PDF there would be."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from lafka.papers.finders import weights

# Without one of these nothing says that a file is the paper, whatever its address looks like.
EVIDENCE = frozenset({
    "says-number", "only-file",
    "own-identifier", "own-number", "own-address", "own-title", "title-as-text", "says-pdf",
    "says-full-text", "says-download", "says-open-file", "says-version", "says-cjk-full-text",
    "says-cjk-download", "says-pdf-in-title", "says-full-text-in-title", "says-download-in-title",
    "says-open-file-in-title", "says-version-in-title", "file-name-as-text", "size-in-text",
    "type-pdf", "class-pdf", "class-download", "icon-pdf", "near-pdf", "near-download",
    "near-size", "under-files", "chosen-file", "says-cjk-full-text-in-title",
    "says-cjk-download-in-title",
})  # fmt: skip
_WHOLE = frozenset({"says-full-text", "says-cjk-full-text", "title-as-text"})
# What a button says that leads to something else, however loud it says PDF.
AGAINST = frozenset({"says-part", "says-business", "says-citation", "says-preview"})
_SUPPLEMENT_SIGNS = frozenset({"says-supplement", "supplement-path"})


def says_against(reasons: Collection[str]) -> bool:
    """Return whether a link's words say that it leads to something else than the paper."""
    if AGAINST.isdisjoint(reasons) or not _WHOLE.isdisjoint(reasons):
        return False
    return "says-part" in reasons or "own-identifier" not in reasons


@dataclass(slots=True)
class Score:
    """A sum in the making, with the names of what went into it."""

    value: float = 0.0
    reasons: list[str] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)

    def add(self, name: str, weight: float, label: str = "fut") -> None:
        self.value += weight
        self.reasons.append(name)
        if weight < 0 and label != "fut":
            self.labels.add(label)

    @property
    def label(self) -> str:
        """What a PDF there would be: by the address and words first, then by the sum."""
        if not _SUPPLEMENT_SIGNS.isdisjoint(self.reasons):
            return "supplement"
        if EVIDENCE.isdisjoint(self.reasons):
            return "supplement" if "supplement" in self.labels else "other"
        if says_against(self.reasons):
            return "other"
        if self.value >= weights.PROMISING:
            return "fut"
        if "supplement" in self.labels:
            return "supplement"
        enough = weights.FUT_ELSEWHERE if "other-site" in self.reasons else weights.FUT_HERE
        return "other" if "other" in self.labels or self.value < enough else "fut"
