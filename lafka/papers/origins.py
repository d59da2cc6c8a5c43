"""The origin of a capture's URL: the one table of what warcinfo and suwaf say of it.

A field more is a field of :class:`Origin` and a row of ``NAMES`` here, the place in the walk that
knows its value, and the proof's own table, which shares nothing with this one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lafka.warc.format.fields import Fields, one_line

PAPER_ID = "Paper-Id"
FUTLI = "Futli"
FUT = "fut"
"""The label, in a metadata record, of what is thought to be the fut."""
LEGACY_SOURCE = "Legacy-Source"
"""Of a capture that was pulled: the gateway. No suwaf has it: the time is that of the memento."""
NAMES = {
    "found_by": "Found-By",
    "html_url": "HTML-Url",
    "html_date": "HTML-Date",
    "label": "Label",
    "inside": "Inside",
}
"""Key of a suwaf's entry -> field of a capture's warcinfo (requirement paper, section 4).

``Inside`` stands in a metadata record behind the fut, with a ``Label`` that goes before that of the
warcinfo: it is known once the fut is had.
"""
TITLE_INSIDE = "title"
"""What a fut has inside that bears the title of its paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The way on which a URL was found; all is empty for a futli itself.

    ``html_url`` and ``html_date`` are those of the page on which it was found, the date cut to
    seconds, ``YYYY-MM-DDThh:mm:ssZ``. ``label`` is empty for what is thought to be the fut, else
    ``supplement`` or ``other``. ``inside`` is what the fut's first pages say (``finders.inside``),
    empty where they say nothing.
    """

    found_by: str = ""
    html_url: str = ""
    html_date: str = ""
    label: str = ""
    inside: str = ""

    def looked_into(self, inside: str) -> Origin:
        """Return the origin of a fut that *inside* was seen in, with the label that it makes.

        What the list itself names stays the fut, and what the page calls a supplement stays one.
        """
        label = self.label
        if inside and self.found_by and label != "supplement":
            label = _LABELS.get(inside, "other")
        return replace(self, inside=inside, label=label)

    def metadata(self) -> bytes:
        """The block of the metadata record that says what was seen inside, and the label."""
        fields = Fields([(NAMES["label"], self.label or FUT), (NAMES["inside"], self.inside)])
        return fields.to_bytes()

    def described(self, metadata: Fields) -> Origin:
        """Return this with what a metadata record says of the fut."""
        label, inside = (metadata.first(NAMES[key]) for key in ("label", "inside"))
        return replace(self, label="" if label == FUT else label, inside=inside) if inside else self

    def fields(self) -> Iterator[tuple[str, str]]:
        """The fields of a warcinfo, each on one line; none for what is empty."""
        for key, name in NAMES.items():
            if value := getattr(self, key):
                yield name, one_line(value)

    @classmethod
    def of_fields(cls, fields: Fields) -> Origin:
        return cls(**{key: fields.first(name) for key, name in NAMES.items()})

    def as_json(self) -> dict[str, str]:
        return {key: value for key in NAMES if (value := getattr(self, key))}

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> Origin:
        """``ValueError`` where a value is no text; keys that are not known are passed over."""
        texts = {key: values[key] for key in NAMES if key in values}
        if not all(isinstance(text, str) for text in texts.values()):
            raise ValueError("an entry holds something that is no text")
        return cls(**texts) if texts else FUTLI_ITSELF

    def on_lines(self) -> Origin:
        """As it comes back from a warcinfo."""
        return Origin(**{key: one_line(getattr(self, key)) for key in NAMES})


FUTLI_ITSELF = Origin()
_LABELS = {TITLE_INSIDE: "", "supplement": "supplement"}
