"""MAFF, saved pages in a zip, read as a volume of resources (Mozilla Archive Format).

Each folder is a page; its ``index.rdf`` says where it came from and when.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from xml.parsers import expat

from ..errors import BadValue
from ..format.dates import WarcDate
from . import zips
from .base import ForeignRecord, Listing
from .zips import ZipMember, ZipVolume

INDEX = "index.rdf"
MEMBER_FIELD = "MAFF-Member"
"""The name of the file in the zip: all that the format says of where it came from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaffPage:
    """The page that an ``index.rdf`` describes; empty where it does not."""

    url: str = ""
    date: str = ""
    file: str = ""


class MaffVolume(ZipVolume):
    """Each file is a resource with the date of its page; the page itself has its URL too.

    What the format does not say is absent: URLs of what the page shows, and media types.
    An ``index.rdf`` is a metadata record.
    """

    @cached_property
    def pages(self) -> dict[str, MaffPage]:
        """The pages by the names of their folders."""
        names = [member.name for member in self.members if member.name.endswith("/" + INDEX)]
        return {name.removesuffix(INDEX): self._page(name) for name in names}

    def _page(self, name: str) -> MaffPage:
        try:
            data = self.text(name)
            found = leaves(data or b"")
        except BadValue as error:
            offset = next(member.offset for member in self.members if member.name == name)
            self._report("maff-index", offset, name=name, reason=str(error))
            return MaffPage()
        values = {leaf.name: leaf.attributes.get("resource", "") or leaf.text for leaf in found}
        date = WarcDate.of_message(values.get("archivetime", ""))
        return MaffPage(
            url=values.get("originalurl", "").strip(),
            date=date.text if date else "",
            file=values.get("indexfilename", "").strip(),
        )

    def entries(self) -> Iterator[Listing]:
        for member in self.members:
            yield member.offset, partial(self._record, member)

    def _record(self, member: ZipMember) -> ForeignRecord | None:
        content = self.content(member)
        if content is None:
            return None
        folder, _, _ = member.name.partition("/")
        page = self.pages.get(folder + "/", MaffPage())
        about = member.name == f"{folder}/{INDEX}"
        fields = [
            ("WARC-Type", "metadata" if about else "resource"),
            ("WARC-Date", page.date),
            ("WARC-Target-URI", page.url if member.name == f"{folder}/{page.file}" else ""),
            ("Content-Type", "application/rdf+xml" if about else ""),
            (MEMBER_FIELD, member.name),
        ]
        begin, length = zips.content_range(self.fd, member)
        found = member.offset, begin + length - member.offset
        return self.made(found, fields, content, place=begin if member.stored else None)


# ``index.rdf`` and the metadata of an ARC 1.1 file are small documents of XML. They are not read by
# ElementTree, which refuses undeclared prefixes, and builds a tree before it can be bounded.
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
