"""Leaves of a small XML document, read without entities, document types or anything external.

``index.rdf`` of a MAFF page and the metadata of an ARC 1.1 file are such documents. Not read by
ElementTree, which refuses undeclared prefixes, and builds a tree before it can be bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from ..errors import BadValue

DOCUMENT_MAX = 1 << 20
LEAVES_MAX = 10_000
DEPTH_MAX = 64


@dataclass(slots=True, kw_only=True)
class XmlLeaf:
    """An element without elements in it; names and attributes without their prefixes."""

    name: str
    attributes: dict[str, str]
    text: str = ""


@dataclass(slots=True)
class _Reading:
    leaves: list[XmlLeaf] = field(default_factory=list)
    open: list[XmlLeaf | None] = field(default_factory=list)

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        if len(self.open) == DEPTH_MAX or len(self.leaves) == LEAVES_MAX:
            raise BadValue("an XML document of too many elements")
        if self.open:
            self.open[-1] = None  # it has an element in it
        bare = {key.rpartition(":")[2]: value for key, value in attributes.items()}
        self.open.append(XmlLeaf(name=name.rpartition(":")[2], attributes=bare))

    def end(self, _: str) -> None:
        leaf = self.open.pop()
        if leaf:
            self.leaves.append(leaf)

    def text(self, data: str) -> None:
        if self.open and self.open[-1]:
            self.open[-1].text += data

    def refuse(self, *_: object) -> None:
        raise BadValue("an XML document with a document type of its own")


def leaves(document: bytes) -> Iterator[XmlLeaf]:
    """The leaves of *document*, in order.

    ``BadValue`` where it is no XML, over 1 MiB, has a document type, or is no small document.
    """
    if len(document) > DOCUMENT_MAX:
        raise BadValue(f"an XML document of more than {DOCUMENT_MAX} bytes")
    reading = _Reading()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = reading.begin
    parser.EndElementHandler = reading.end
    parser.CharacterDataHandler = reading.text
    parser.StartDoctypeDeclHandler = reading.refuse
    try:
        parser.Parse(document, True)
    except (expat.ExpatError, ValueError, LookupError) as error:  # an encoding that is none
        raise error if isinstance(error, BadValue) else BadValue(f"no XML: {error}") from None
    return iter(reading.leaves)
