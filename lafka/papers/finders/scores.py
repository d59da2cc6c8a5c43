"""A link's score: a sum of evidence, and what a PDF there would be."""

from __future__ import annotations

from dataclasses import dataclass, field

from lafka.papers.finders import weights

# Without one of these nothing says that a file is the paper, whatever its address looks like.
_EVIDENCE = frozenset({
    "own-identifier", "own-number", "own-address", "own-title", "title-as-text", "says-pdf",
    "says-full-text", "says-download", "says-open-file", "says-version", "says-cjk-full-text",
    "says-cjk-download", "says-pdf-in-title", "says-full-text-in-title", "says-download-in-title",
    "says-open-file-in-title", "says-version-in-title", "file-name-as-text", "size-in-text",
    "type-pdf", "class-pdf", "class-download", "icon-pdf", "near-pdf", "near-download",
    "near-size", "under-files", "chosen-file", "says-cjk-full-text-in-title",
    "says-cjk-download-in-title",
})  # fmt: skip
_WHOLE = frozenset({"says-full-text", "says-version", "says-cjk-full-text", "title-as-text"})
_SUPPLEMENT_SIGNS = frozenset({"says-supplement", "supplement-path"})


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
        if _EVIDENCE.isdisjoint(self.reasons):
            return "supplement" if "supplement" in self.labels else "other"
        if "says-part" in self.reasons and _WHOLE.isdisjoint(self.reasons):
            return "other"
        if self.value >= weights.PROMISING:
            return "fut"
        if "supplement" in self.labels:
            return "supplement"
        enough = weights.FUT_ELSEWHERE if "other-site" in self.reasons else weights.FUT_HERE
        return "other" if "other" in self.labels or self.value < enough else "fut"
