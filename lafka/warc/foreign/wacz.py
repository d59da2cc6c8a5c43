"""WACZ, WARCs and their indexes in a zip, read as one volume (Web Archive Collection Zipped 1.1.1).

The WARCs in ``archive/`` are stored members: their records are read in place, and their offsets are
those of the file. ``datapackage.json`` lists every member with its length and digest.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from ..errors import BadValue, BadWarc
from ..format.digests import Digest
from ..format.sources import Source
from ..problems import Problem
from ..reading.stored import StoredRecord
from ..reading.volumes import Volume
from . import zips
from .base import Listing
from .zips import ZipMember, ZipVolume

PACKAGE = "datapackage.json"
SIGNED = "datapackage-digest.json"
_JSON_MAX = 4 << 20


class WaczVolume(ZipVolume):
    """The records of all its WARCs, one WARC after the other.

    Who asks for ``problems`` has all members compared with ``datapackage.json``, once. Signatures
    are not checked, only named. A WARC that the zip compressed is inflated aside; offsets of its
    records are then those in the WARC.
    """

    @cached_property
    def volumes(self) -> tuple[_Inner, ...]:
        """Its WARCs."""
        members = [
            m
            for m in self.members
            if m.name.startswith("archive/") and m.name.lower().endswith((".warc", ".warc.gz"))
        ]
        if not members:
            self._report("wacz-empty", 0)
        opened = (self._opened(member) for member in members)
        return tuple(volume for volume in opened if volume is not None)

    @cached_property
    def indexes(self) -> tuple[str, ...]:
        """The names of its indexes of records."""
        return tuple(m.name for m in self.members if m.name.startswith("indexes/"))

    def _opened(self, member: ZipMember) -> _Inner | None:
        if not member.stored:
            self._report("wacz-packed", member.offset, name=member.name)
            source = self.content(member)
            return _Inner(self, source=source, part=None) if source else None
        try:
            begin, length = zips.content_range(self.fd, member)
        except BadValue as error:
            self._report("bad-member", member.offset, name=member.name, reason=str(error))
            return None
        return _Inner(self, source=None, part=(begin, begin + length))

    @property
    def is_plain(self) -> bool:
        return False

    def entries(self) -> Iterator[Listing]:
        return iter(())

    def _plain_records(self, start: int) -> Iterator[StoredRecord]:
        for volume in self.volumes:
            if start < volume.size or not volume.in_place:
                volume.watch, volume.refused = self.watch, self.refused
                yield from volume.records(start=start if volume.in_place else 0)
                volume.close()
        if self.watch:
            self._compare()

    def at(self, offset: int, inner: int = 0) -> StoredRecord:
        for volume in self.volumes:
            if volume.in_place and volume.begin <= offset < volume.size:
                return volume.at(offset, inner)
        raise BadWarc(self.path, "no WARC lies here", offset)

    def after(self, record: StoredRecord) -> StoredRecord | None:
        return record.next()

    def first_behind(self, volume: _Inner) -> StoredRecord | None:
        """The first record behind those of *volume*, one of :attr:`volumes`."""
        place = self.volumes.index(volume) + 1
        firsts = (other.first() for other in self.volumes[place:])
        return next((first for first in firsts if first is not None), None)

    def close(self) -> None:
        for volume in self.__dict__.get("volumes", ()):
            volume.close()
        super().close()

    @property
    def problems(self) -> list[Problem]:
        """The problems of the file, and of its WARCs as far as they were read, by offset."""
        self._compare()
        inner = (problem for volume in self.volumes for problem in volume.problems)
        return sorted([*super().problems, *inner], key=lambda problem: problem.offset)

    # ---- What datapackage.json says

    def _compare(self) -> None:
        if self._compared:
            return
        self._compared = True
        members = {member.name: member for member in self.members}
        resources = self._resources(members)
        for name in resources.keys() & members.keys():
            self._compare_one(members[name], resources[name])
        if missing := sorted(resources.keys() - members.keys()):
            offset = members[PACKAGE].offset
            self._report("wacz-missing", offset, names=", ".join(map(repr, missing))[:1000])
        if resources:
            for name in members.keys() - resources.keys() - {PACKAGE, SIGNED}:
                self._report("wacz-unlisted", members[name].offset, name=name)
        self._compare_signed(members)

    _compared = False

    def _resources(self, members: dict[str, ZipMember]) -> dict[str, dict[str, Any]]:
        """Return the entries of ``datapackage.json`` by the names of their members."""
        if not members:
            return {}
        package = self._json(PACKAGE)
        listed = package.get("resources") if package else None
        if not isinstance(listed, list):
            offset = members[PACKAGE].offset if PACKAGE in members else 0
            reason = "it lists no resources" if package else "there is none, or it is no JSON"
            self._report("wacz-package", offset, reason=reason)
            return {}
        return {
            resource["path"]: resource
            for resource in listed
            if isinstance(resource, dict) and isinstance(resource.get("path"), str)
        }

    def _compare_one(self, member: ZipMember, listed: dict[str, Any]) -> None:
        stats = listed.get("stats")
        stats = stats if isinstance(stats, dict) else {}
        length = listed.get("bytes", stats.get("bytes"))
        if isinstance(length, int) and length != member.size:
            self._report(
                "wacz-length", member.offset, name=member.name, found=member.size, value=length
            )
        value = listed.get("hash", stats.get("hash"))
        if isinstance(value, str):
            label = listed.get("hashing", "md5")
            self._compare_digest(member, value if ":" in value else f"{label}:{value}")

    def _compare_digest(self, member: ZipMember, value: str) -> None:
        try:
            digest = Digest.parse(value)
            content = self.content(member) if digest.known else None
            found = Digest.of(content.chunks(), digest.algorithm) if content else digest
        except BadValue as error:
            self._report("bad-member", member.offset, name=member.name, reason=str(error))
            return
        if found != digest:
            self._report(
                "wacz-digest",
                member.offset,
                name=member.name,
                found=found.text,
                value=digest.text,
            )

    def _compare_signed(self, members: dict[str, ZipMember]) -> None:
        signed = self._json(SIGNED) if SIGNED in members else None
        if not signed:
            return
        if isinstance(signed.get("hash"), str) and PACKAGE in members:
            self._compare_digest(members[PACKAGE], signed["hash"])
        data = signed.get("signedData")
        if isinstance(data, dict):
            domain = str(data.get("domain", data.get("publicKey", "")))
            self._report("wacz-signed", members[SIGNED].offset, domain=domain[:80])

    def _json(self, name: str) -> dict[str, Any] | None:
        try:
            found = json.loads(self.text(name, _JSON_MAX) or b"")
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None


class _Inner(Volume):
    """A WARC in a WACZ: its last record is followed by the first of the next one."""

    def __init__(self, owner: WaczVolume, *, part: tuple[int, int] | None, source: Source | None):
        super().__init__(owner.path, source=source, part=part, strict=owner.strict)
        self.begin = part[0] if part else 0
        self.in_place = part is not None
        self._owner = owner

    def after(self, record: StoredRecord) -> StoredRecord | None:
        return super().after(record) or self._owner.first_behind(self)
