"""A candidate: what a finder says of a splap and the walk asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# Names of finders that others than the finder itself go by.
CITATION_PDF_URL = "citation_pdf_url"
"""The meta that the requirement paper asks for first: a fut from it ends the trail."""
FORM = "form"
"""A form's action, asked for by GET whatever the form says."""
KEPT = 0.1
"""The probability below which a PDF labelled ``other`` is another paper's: no part of this one."""
PLATFORM = "platform:"
"""With it begins what the table of platforms makes of the page's address."""
REWRITE = "rewrite:"
"""With it begins what a viewer's address becomes when it is stepped over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A URL found on a splap that may lead to the fut.

    ``url`` is absolute, http or https, without fragment. ``found_by`` names the finder.
    ``score`` orders candidates, higher is surer; ``place`` is the position among the splap's
    candidates in document order, from 0; ``reasons`` are the names of the rules that made the
    score. ``promising`` says that the score alone is worth a request. ``label`` guesses what
    a PDF there would be: ``fut``, ``supplement`` or ``other``; ``probability`` says how likely it
    is the paper's full text, calibrated on labelled pages (docs/finding.md).
    """

    url: str
    found_by: str
    score: float = 0.0
    place: int = 0
    reasons: tuple[str, ...] = ()
    promising: bool = False
    label: str = "fut"
    probability: float = 0.0

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def of_json(cls, values: dict[str, Any]) -> Candidate:
        """``LookupError``, ``TypeError`` or ``ValueError`` where *values* are no candidate."""
        return cls(
            url=str(values["url"]),
            found_by=str(values["found_by"]),
            score=float(values["score"]),
            place=int(values["place"]),
            reasons=tuple(map(str, values["reasons"])),
            promising=bool(values["promising"]),
            label=str(values["label"]),
            probability=float(values["probability"]),
        )
