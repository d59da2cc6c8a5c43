"""MAFF, saved pages in a zip, read as a volume of resources (Mozilla Archive Format).

Each folder is a page; its ``index.rdf`` says where it came from and when.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial

from ..errors import BadValue
from ..format.dates import WarcDate
from . import rdf, zips
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
            leaves = rdf.leaves(data or b"")
        except BadValue as error:
            offset = next(member.offset for member in self.members if member.name == name)
            self._report("maff-index", offset, name=name, reason=str(error))
            return MaffPage()
        values = {leaf.name: leaf.attributes.get("resource", "") or leaf.text for leaf in leaves}
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
