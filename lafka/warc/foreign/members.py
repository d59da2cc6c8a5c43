"""A volume in a zip file: its members are listed within bounds, what is wrong with them is told."""

from __future__ import annotations

from functools import cached_property

from ..errors import BadValue
from ..format.sources import Source
from . import zips
from .base import ForeignVolume
from .zips import ZipMember


class ZipVolume(ForeignVolume):
    """What MAFF and WACZ share."""

    @cached_property
    def members(self) -> tuple[ZipMember, ...]:
        """The members in the order in which they lie in the file, without folders and overlaps."""
        try:
            listed = zips.members(self.fd)
        except BadValue as error:
            self._report("bad-zip", 0, reason=str(error))
            return ()
        overlapping = set(zips.overlapping(listed))
        for member in overlapping:
            self._report("zip-overlap", member.offset, name=member.name)
        return tuple(m for m in listed if m not in overlapping and not m.name.endswith("/"))

    def content(self, member: ZipMember, most: int = zips.INFLATED_MAX) -> Source | None:
        """What *member* holds; None, and a problem, where it cannot be had."""
        try:
            return zips.content(self.fd, member, most)
        except BadValue as error:
            self._report("bad-member", member.offset, name=member.name, reason=str(error))
            return None

    def text(self, name: str, most: int = 1 << 20) -> bytes | None:
        """The content of the member *name* where there is one of at most *most* bytes."""
        member = next((member for member in self.members if member.name == name), None)
        content = self.content(member, most) if member else None
        if content is None or content.size > most:
            return None
        return content.read(0, content.size)
