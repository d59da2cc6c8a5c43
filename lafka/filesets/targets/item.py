"""Items: ``item.json``, names on a disk, what every target can do, and parts of huge files.

``item.json`` is exactly what the ``internetarchive`` library's ``upload`` takes:

>>> import internetarchive, json  # doctest: +SKIP
>>> item = json.load(open("item.json"))
>>> internetarchive.upload(item["identifier"], files=item["files"], metadata=item["metadata"])
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Protocol, Self

from lafka.errors import ArchiveBusy, OperatorError
from lafka.filesets.model.types import FilesetPlatformItem, without_none
from lafka.pids import component
from lafka.warc import Fields

LONGEST_NAME = 200
"""Bytes of a part; a disk's own limit is 255, and ``.part-`` and ``.mismatch`` go round it."""

_UNFIT = re.compile(r"[:*?\"<>|%\x00-\x1f\x7f\\/]|^[.\- ]|[. ]$")
# https://learn.microsoft.com/windows/win32/fileio/naming-a-file
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|\Z)", re.IGNORECASE)
# What archive.org puts into an item itself.
_RESERVED_ENDS = ("_meta.xml", "_files.xml", "_meta.sqlite", "_archive.torrent", "_reviews.xml",
                  "_itemimage.jpg", "_thumb.png")  # fmt: skip
_RESERVED = ("__ia_thumb.jpg", "name")


def local_names(paths: Iterable[str], item_name: str = "") -> dict[str, str]:
    """Path of a manifest -> path below the item's ``files`` folder, all different.

    Parts that are equal under NFC and case folding: the first keeps its name, the others are
    escaped whole. *paths* are safe (``manifests.judge``) and all different.
    """
    known: dict[tuple[str, str], str] = {}  # (folder as given, part) -> local part
    taken: set[tuple[str, str]] = set()  # (folder as given, local part, folded)
    found = {}
    for path in paths:
        folder, local = "", []
        for part in path.split("/"):
            if (folder, part) not in known:
                name = _local(part, item_name)
                if (folder, _folded(name)) in taken:
                    name = _escaped_whole(part)
                taken.add((folder, _folded(name)))
                known[folder, part] = name
            local.append(known[folder, part])
            folder = f"{folder}/{part}"
        found[path] = "/".join(local)
    return found


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _local(part: str, item_name: str) -> str:
    if _stands_for_itself(part, item_name):
        return part
    escaped = component(part)
    # An option of many commands begins with "-", which stands for itself in a pid's path.
    return _escaped_whole(part) if escaped == part or part.startswith("-") else escaped


def _stands_for_itself(part: str, item_name: str) -> bool:
    if _UNFIT.search(part) or _DEVICE.match(part) or not unicodedata.is_normalized("NFC", part):
        return False
    if len(part.encode("utf-8", "surrogatepass")) > LONGEST_NAME:
        return False
    reserved = {*_RESERVED, *(item_name + end for end in _RESERVED_ENDS)}
    return _folded(part) not in {_folded(name) for name in reserved}


def _escaped_whole(part: str) -> str:
    """*part* with ``%XX`` for every byte; cut, with its SHA-256, where it gets too long."""
    data = part.encode("utf-8", "surrogatepass")
    name = "".join(f"%{byte:02X}" for byte in data)
    if len(name) <= LONGEST_NAME:
        return name
    mark = "%%" + sha256(b"whole" + data).hexdigest()[:32]
    head = (LONGEST_NAME - len(mark)) // 3 * 3
    return name[:head] + mark


MARKER = ".lafka.json"
DESCRIPTION = "item.json"


class ForeignItem(ArchiveBusy):
    """Something has an item's name and is not of its fileset: nothing is written there."""


class TargetTrouble(OperatorError):
    """The store of items refuses, or does not answer; the same command goes on later."""


class TargetItem(Protocol):
    """One item of a target, ``path`` being the folder in which its files are made."""

    path: Path
    description: ItemDescription
    is_remote: bool

    @property
    def is_described(self) -> bool:
        """True where ``item.json`` is there: the item was finished once."""

    def make(self) -> None:
        """Have the item's name; ``ForeignItem``, ``StorageTrouble``, ``TargetTrouble``."""

    def name_of(self, path: str) -> str:
        """Return where the file *path* of the manifest stands, below the item."""

    def final(self, path: str) -> Path:
        """Return where the file *path* is whole on the disk."""

    def finish(self) -> None:
        """Write ``item.json``, last of all, where it is not there."""

    def describe(self) -> None:
        """Write ``item.json``, for whatever is there in the folder."""


class Target(Protocol):
    """A place of items; ``work`` is the folder in which their files are made."""

    work: Path

    def item(self, description: ItemDescription, fileset_id: str) -> TargetItem:
        """The item that *description* names."""

    def sizes(self, item: str, names: Iterable[str]) -> Mapping[str, int]:
        """Bytes of those of an item's files *names* that are there; ``TargetTrouble``."""

    def opened(self, item: str, name: str) -> BinaryIO:
        """A file of an item, to read and to seek; ``OSError``, ``TargetTrouble``."""

    def place(self, item: str, name: str) -> Path | str:
        """Return where a file of an item stands: a path, or a URL."""


_CONTENT_RANGE = re.compile(r"bytes\s+(\d{1,18})-(\d{1,18})/(\d{1,18}|\*)", re.IGNORECASE)
_UNSATISFIED = re.compile(r"bytes\s+\*/(\d{1,18})", re.IGNORECASE)
_WHOLE = re.compile(r"\d{1,18}")


class DownloadStep(StrEnum):
    """The meaning of an answer to a request for the rest of a file."""

    GO_ON = "go-on"
    """Its body is what follows the part."""
    BEGIN = "begin"
    """Its body is the whole file: the part is emptied."""
    ASK_ANEW = "ask-anew"
    """It is of no use, and the part neither: ask for all of the file."""
    VERIFY = "verify"
    """Nothing is missing."""
    FAIL = "fail"
    """It says nothing of the file: the part stays for another try."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadProgress:
    """The progress of a download: ``offset`` bytes are synced; ``length`` None: not known.

    ``etag`` and ``last_modified`` are as the first answer had them, ``coding`` its content coding.
    What is coded has no validator: the rest would have to come in the very same coding.
    """

    url: str
    offset: int = 0
    length: int | None = None
    etag: str | None = None
    last_modified: str | None = None
    coding: str | None = None

    @property
    def validator(self) -> str | None:
        """Return a value for ``If-Range``: a strong ETag, else Last-Modified."""
        if self.coding:
            return None
        if self.etag and self.etag.startswith('"'):
            return self.etag
        return self.last_modified

    @property
    def is_whole(self) -> bool:
        return self.length is not None and self.offset == self.length

    def at(self, offset: int) -> Self:
        """With *offset* bytes synced."""
        return replace(self, offset=offset)

    def headers(self) -> dict[str, str]:
        """Request headers that ask for the rest; none where all of it has to be asked for."""
        if not self.offset or self.validator is None:
            return {}
        return {"Range": f"bytes={self.offset}-", "If-Range": self.validator}

    def as_json(self) -> dict[str, Any]:
        return without_none(self)

    def to_bytes(self) -> bytes:
        return json.dumps(self.as_json()).encode() + b"\n"

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """``ValueError`` where *data* is no part's; then the file is begun anew."""
        try:
            value = json.loads(data)
            part = cls(**value)
        except (RecursionError, TypeError) as error:
            raise ValueError(f"no part: {error}") from None
        texts = (part.url, part.etag or "", part.last_modified or "", part.coding or "")
        numbers = (part.offset, part.length or 0)
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("a part holds something that is no text")
        if not all(type(number) is int and number >= 0 for number in numbers):
            raise ValueError("a part holds something that is no whole number")
        return part


def begun(url: str, status: int, headers: Fields) -> DownloadProgress:
    """The part of a download that begins with a 200 of these *headers*."""
    length = headers.first("Content-Length").strip()
    coding = ",".join(headers.all("Content-Encoding")).lower()
    plain = coding.strip() in _PLAIN
    chunked = "Transfer-Encoding" in headers
    known = status == 200 and plain and not chunked and _WHOLE.fullmatch(length)
    return DownloadProgress(
        url=url,
        length=int(length) if known else None,
        etag=headers.first("ETag").strip() or None,
        last_modified=headers.first("Last-Modified").strip() or None,
        coding=None if plain else coding,
    )


def step_after(part: DownloadProgress, status: int, headers: Fields) -> DownloadStep:
    """Return what an answer to ``part.headers()`` means."""
    if status == 200:
        return DownloadStep.BEGIN
    if status == 206:
        return DownloadStep.GO_ON if _follows(part, headers) else DownloadStep.ASK_ANEW
    if status == 416:
        found = _UNSATISFIED.fullmatch(headers.first("Content-Range").strip())
        whole = found is not None and int(found[1]) == part.offset
        return (
            DownloadStep.VERIFY
            if whole and part.length in (None, part.offset)
            else DownloadStep.ASK_ANEW
        )
    return DownloadStep.FAIL


def _follows(part: DownloadProgress, headers: Fields) -> bool:
    """Return whether a 206 begins where *part* ends, and is of the same file."""
    if not part.headers() or headers.first("Content-Encoding").strip().lower() not in _PLAIN:
        return False
    found = _CONTENT_RANGE.fullmatch(headers.first("Content-Range").strip())
    if found is None or int(found[1]) != part.offset or int(found[2]) < part.offset:
        return False
    if found[3] != "*":
        length = int(found[3])
        if part.length not in (None, length) or int(found[2]) != length - 1:
            return False
    elif part.length is not None and int(found[2]) != part.length - 1:
        return False
    return all(
        headers.first(name).strip() in ("", known or headers.first(name).strip())
        for name, known in (("ETag", part.etag), ("Last-Modified", part.last_modified))
    )


_PLAIN = ("", "identity")


FILES = "files"
"""The folder of an item's files, beside ``item.json``."""
COLLECTION = "datasets"

_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{2,79}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemDescription:
    """The content of an item's ``item.json``.

    ``metadata``: text or lists of texts. ``files``: remote name, which is the file's path in the
    manifest, to its path relative to the item's folder.
    """

    identifier: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, item: FilesetPlatformItem, paths: list[str], *, collection: str = "") -> Self:
        """The description of *item* with the files *paths*; ``ValueError`` where it has no name."""
        name = item.archiveorg_item_name
        if name is None or not _IDENTIFIER.fullmatch(name):
            raise ValueError(f"no name of an item: {name!r}")
        metadata = dict(item.archiveorg_item_meta or {})
        metadata["collection"] = collection or metadata.get("collection") or COLLECTION
        names = local_names(paths, name)
        return cls(
            identifier=name,
            metadata=metadata,
            files={path: f"{FILES}/{local}" for path, local in names.items()},
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "identifier": self.identifier,
            "metadata": dict(self.metadata),
            "files": dict(self.files),
        }

    def to_bytes(self) -> bytes:
        """The file's bytes: UTF-8, indented, ended by a newline."""
        return json.dumps(self.as_json(), ensure_ascii=False, indent=1).encode() + b"\n"

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """``ValueError`` where *data* is no ``item.json``, or names a file outside its folder."""
        try:
            value = json.loads(data)
        except RecursionError:
            raise ValueError("nested too deeply") from None
        if not isinstance(value, dict):
            raise ValueError("no object")
        name, metadata, files = (value.get(key) for key in ("identifier", "metadata", "files"))
        if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name):
            raise ValueError(f"no name of an item: {str(name)[:100]!r}")
        if not isinstance(metadata, dict) or not isinstance(files, dict):
            raise ValueError("metadata and files have to be objects")
        for local in files.values():
            if not isinstance(local, str) or not _is_inside(local):
                raise ValueError(f"a file outside its folder: {str(local)[:100]!r}")
        return cls(identifier=name, metadata=metadata, files=files)


def _is_inside(local: str) -> bool:
    folder, *parts = local.split("/")
    unsafe = {"", ".", ".."} & set(parts)
    return folder == FILES and bool(parts) and not unsafe and "\\" not in local
